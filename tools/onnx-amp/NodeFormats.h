//===- NodeFormats.h - the formats that a node runs in ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_NODEFORMATS_H
#define AMP_TOOLS_ONNX_AMP_NODEFORMATS_H

#include "amp/Interfaces/AutocastOpInterface.h"

#include "llvm/ADT/SetVector.h"

namespace amp {

/// The float types of what autocast could choose for an operation, in the order
/// of its operands and results.
llvm::SmallSetVector<mlir::FloatType, 2> getFormats(AutocastOpInterface op);

/// True for the formats that autocast chooses instead of float32.
bool isLow(mlir::FloatType type);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_NODEFORMATS_H
