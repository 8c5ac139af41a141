//===- ExplainKernels.h - what runs each node -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_EXPLAINKERNELS_H
#define AMP_TOOLS_ONNX_AMP_EXPLAINKERNELS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace amp {

/// A line for each command of a compiled module, in the order in which they
/// run, those of branches and loops indented below these: what runs, and the
/// nodes that it stands for. Then how many of each kind.
std::string explainKernels(mlir::ModuleOp module);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_EXPLAINKERNELS_H
