//===- InitAll.h - all dialects and passes of this project ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_INITALL_H
#define AMP_INITALL_H

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Passes/Codegen.h"
#include "amp/Passes/Embedding.h"
#include "amp/Passes/Executable.h"
#include "amp/Passes/Lowering.h"
#include "amp/Passes/Passes.h"
#include "amp/Passes/Pipelines.h"
#include "amp/Passes/Training.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/DialectRegistry.h"

namespace amp {

/// Adds the project's dialects, and those that its passes work on, with their
/// models of AutocastOpInterface.
inline void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<AMPDialect, rt::AMPRTDialect, onnx::ONNXDialect,
                  mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect,
                  mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                  mlir::math::MathDialect, mlir::quant::QuantDialect,
                  mlir::scf::SCFDialect, mlir::tensor::TensorDialect,
                  mlir::tosa::TosaDialect>();
  registerForeignAutocastModels(registry);
}

/// Adds passes and pipelines to the global registry, for command lines.
inline void registerAllPasses() {
  registerAutocastPasses();
  registerCodegenPasses();
  registerEmbeddingPasses();
  registerExecutablePasses();
  registerLoweringPasses();
  registerPipelines();
  registerTrainingPasses();
  registerTrainingPipelines();
}

} // namespace amp

#endif // AMP_INITALL_H
