//===- TrialConversion.h - conversions to look at ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_TRIALCONVERSION_H
#define AMP_TOOLS_ONNX_AMP_TRIALCONVERSION_H

#include "amp/Passes/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>

namespace amp {

/// A copy of `module` in mixed precision, as `convert` would write it; the
/// annotations of `module` (amp.keep, amp.ranges) count. `inspect`, if there is
/// one, sees the copy while amp.category and amp.reason are there. Null after
/// an error of the context.
mlir::OwningOpRef<mlir::ModuleOp>
convertCopy(mlir::ModuleOp module, AutocastPipelineOptions &options,
            const std::function<void(mlir::ModuleOp)> &inspect = {});

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_TRIALCONVERSION_H
