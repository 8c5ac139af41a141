//===- JoinedGraphs.h - graphs that are joined in one -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_JOINEDGRAPHS_H
#define AMP_PASSES_TRAINING_JOINEDGRAPHS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringSet.h"

namespace amp {

/// On operations of a joined graph: which one they were in, 0 for the main
/// graph, 1 for the first algorithm.
inline constexpr llvm::StringLiteral kOrigin = "onnx.training_origin";
void setOrigin(mlir::Operation *op, unsigned graph);

inline constexpr llvm::StringLiteral kGradient =
    "onnx.preview.training.Gradient";

/// Adds an entry to the inputs or outputs of a graph: `entry`, if it is not
/// null, under another name.
void addEntry(mlir::Operation *graph, llvm::StringRef key, llvm::StringRef name,
              mlir::Attribute entry);

/// A name like this that is none of `names`, which it is added to.
std::string makeUnique(llvm::StringRef name, llvm::StringSet<> &names);

/// Collects the names of a graph's nodes, in subgraphs, too.
void collectNodeNames(mlir::func::FuncOp graph, llvm::StringSet<> &names);
/// Gives nodes whose name is taken another one: ONNX Runtime wants that.
void renameNodes(mlir::Operation *root, llvm::StringSet<> &names);

/// The names of a graph's values.
llvm::StringSet<> collectNames(mlir::func::FuncOp graph);

} // namespace amp

#endif // AMP_PASSES_TRAINING_JOINEDGRAPHS_H
