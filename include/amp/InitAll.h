//===- InitAll.h - all dialects and passes of this project ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_INITALL_H
#define AMP_INITALL_H

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Passes/Lowering.h"
#include "amp/Passes/Passes.h"
#include "amp/Passes/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"

namespace amp {

/// Adds the project's dialects, and those that its modules consist of.
inline void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<AMPDialect, onnx::ONNXDialect, mlir::func::FuncDialect>();
}

/// Adds passes and pipelines to the global registry, for command lines.
inline void registerAllPasses() {
  registerAutocastPasses();
  registerLoweringPasses();
  registerPipelines();
}

} // namespace amp

#endif // AMP_INITALL_H
