//===- OperatorWork.h - how much an operator computes -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_OPERATORWORK_H
#define AMP_DIALECT_ONNX_OPERATORWORK_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <optional>

namespace amp {

using Shape = llvm::SmallVector<int64_t, 4>;
/// The shape that a value had; none if it is not known.
using ShapeOf = llvm::function_ref<std::optional<Shape>(mlir::Value)>;

struct OperatorWork {
  /// Additions and multiplications; one per element for what is elementwise.
  double flops = 0;
  /// How many numbers are added for one element of the result; 1 where nothing
  /// is.
  int64_t depth = 1;
  /// A product of matrices, or what is computed as one.
  bool isProduct = false;
};

/// The work of an operation with this operator, "Conv" or "domain:Name". None
/// where a shape that matters is not known.
std::optional<OperatorWork> getWork(mlir::Operation *op, llvm::StringRef name,
                                    ShapeOf shapeOf);

int64_t countElements(const Shape &shape);

/// The shape that a value's type says, if it says all of it.
std::optional<Shape> getStaticShape(mlir::Type type);

} // namespace amp

#endif // AMP_DIALECT_ONNX_OPERATORWORK_H
