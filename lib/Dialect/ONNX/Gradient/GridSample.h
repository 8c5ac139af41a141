//===- GridSample.h - the gradient of GridSample ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_GRADIENT_GRIDSAMPLE_H
#define AMP_LIB_DIALECT_ONNX_GRADIENT_GRIDSAMPLE_H

#include "GradientRules.h"

namespace amp::onnx {

llvm::LogicalResult gridSample(Gradient &g);

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_GRADIENT_GRIDSAMPLE_H
