//===- Slicing.h - gradients of Slice and Pad -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each is the other's gradient, where steps are one and padding is constant.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_GRADIENT_SLICING_H
#define AMP_LIB_DIALECT_ONNX_GRADIENT_SLICING_H

#include "GradientRules.h"

namespace amp::onnx {

llvm::LogicalResult sliceGradient(Gradient &g);
llvm::LogicalResult padGradient(Gradient &g);

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_GRADIENT_SLICING_H
