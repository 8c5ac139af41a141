//===- Kernel.h - the loops of a kernel's body ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is a list of `linalg.generic`. Their loops are one when they are at
// the same place of an intermediate tensor; so the list has a few dimensions:
//
//   outer   parallel wherever it occurs, and in all results: what threads share
//   inner   all others: the kernel runs along them within one outer iteration
//
// softmax along rows: b is outer, n is inner
//   max[b] = max x[b,n];  e[b,n] = exp(x[b,n] - max[b]);  sum[b] += e[b,n]; …
// gradient of a bias: n is outer, b is inner
//   db[n] += dy[b,n]
//
// An intermediate value has memory for inner dimensions only, or none.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_CODEGEN_COMPILE_KERNEL_H
#define AMP_PASSES_CODEGEN_COMPILE_KERNEL_H

#include "Size.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <string>

namespace amp::codegen {

/// Why a function is not compiled, and what in it is the reason.
struct Refusal {
  mlir::Operation *op;
  std::string reason;
};

struct Dim {
  Size size;
  bool outer = false;
};

/// Where an element of a tensor lies: the sum of index * stride, in elements.
struct Access {
  struct Term {
    unsigned dim;
    Size stride;
  };
  llvm::SmallVector<Term, 4> terms;

  /// Null if the dimension does not matter.
  const Size *getStride(unsigned dim) const;
};

/// What an operand of a generic is.
struct Source {
  enum Kind { Argument, Node, Splat, Undefined } kind = Undefined;
  unsigned argument = 0;
  Access access;         // of an argument
  mlir::OpResult result; // of a node
  mlir::TypedAttr splat;
};

/// A `linalg.generic`.
struct Node {
  mlir::linalg::GenericOp op;
  /// The dimension of each loop; -1 for a single iteration, or for a loop that
  /// has become part of the next one's dimension.
  llvm::SmallVector<int> dims;
  /// Inner dimensions that it runs along, outermost first.
  llvm::SmallVector<unsigned> space;
  llvm::SmallVector<Source, 0> sources;
  /// For each result: whether it is reduced, and by which operation of the body
  /// if lanes may do so one by one.
  llvm::SmallVector<bool> reduced;
  llvm::SmallVector<mlir::Operation *> combiners;

  bool isReduction() const { return llvm::is_contained(reduced, true); }
};

/// A result of the function.
struct Store {
  mlir::OpResult value;
  Access access;
};

struct Kernel {
  mlir::func::FuncOp func;
  /// Outer ones first; in either part the one with the least strides is last.
  llvm::SmallVector<Dim, 0> dims;
  llvm::SmallVector<Node, 0> nodes;
  llvm::SmallVector<Store, 0> stores;
  llvm::DenseMap<mlir::Operation *, unsigned> nodeOf;

  Node &getNode(mlir::Value value) {
    return nodes[nodeOf.lookup(value.getDefiningOp())];
  }
  /// The dimensions that outer iterations count.
  llvm::SmallVector<unsigned> getOuter() const;
  /// Inner dimensions along which a node's result extends.
  llvm::SmallVector<unsigned> getExtent(mlir::OpResult value);
};

/// Brings a body to generics with no reshapes between.
void prepareKernel(mlir::func::FuncOp func);

/// Finds the dimensions of a prepared kernel.
std::optional<Refusal> analyzeKernel(mlir::func::FuncOp func, Kernel &kernel);

/// Why an operation of a generic's body has no machine code; empty if it has.
std::string whyNotScalar(mlir::Operation *op);

/// The size that an index value is, if it is one of arguments.
std::optional<Size> getSize(mlir::Value value);

/// The dimensions of a result, if they are those of arguments.
std::optional<llvm::SmallVector<Size>> getSizes(mlir::Value result);

} // namespace amp::codegen

#endif // AMP_PASSES_CODEGEN_COMPILE_KERNEL_H
