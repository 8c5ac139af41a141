//===- Positions.h - elements by their position -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What gradients of data movement are made of: sums by index, and positions of
// elements that are moved as the elements are.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_GRADIENT_POSITIONS_H
#define AMP_LIB_DIALECT_ONNX_GRADIENT_POSITIONS_H

#include "amp/Dialect/ONNX/NodeBuilder.h"

namespace amp::onnx {

/// Zeros with a shape, which is a list of int64.
Expr zeros(Expr shape, mlir::Type elementType);
/// The sizes of the dimensions from `start` to `end`, or to the last: a list of
/// int64.
Expr sizesOf(Expr value, int64_t start, std::optional<int64_t> end = {});
/// The number of elements, a scalar of int64.
Expr countOf(Expr value);
/// The same for the dimensions from `start` to `end`, or to the last.
Expr countOf(Expr value, int64_t start, std::optional<int64_t> end = {});
/// 0, 1, … below a scalar of int64.
Expr rangeTo(Expr count);
/// The number that each element has in row-major order, with the shape of the
/// value.
Expr positionsOf(Expr value);

/// Sums in the shape of `like`: each update is added where its position, as by
/// positionsOf(), says. 16-bit updates give a sum in float32.
///
/// One list is what ONNX Runtime's ScatterElements is fastest with; its
/// ScatterND adds to one place from several threads at once, and loses some.
Expr sumAtPositions(Expr like, Expr positions, Expr updates);
/// The same for rows of `size` elements, a scalar, by the numbers of the rows.
/// Numbers may be negative, and count from the end.
Expr sumRows(Expr like, Expr rows, Expr size, Expr updates);

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_GRADIENT_POSITIONS_H
