//===- Plugin.cpp - the passes, for tools that load plugins ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As a pass plugin it brings the passes; `amp-autocast` begins with
// amp-register-models. As a dialect plugin it brings the amp dialect, for tools
// that read what the passes left:
//
//   mlir-opt-22 --load-dialect-plugin=libOnnxAMPPlugin.so \
//     --load-pass-plugin=libOnnxAMPPlugin.so \
//     --pass-pipeline='builtin.module(amp-autocast{low=bf16},amp-to-tosa)'
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Passes/Embedding.h"
#include "amp/Passes/Passes.h"
#include "amp/Passes/Pipelines.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

static void registerDialects(mlir::DialectRegistry *registry) {
  registry->insert<amp::AMPDialect>();
  amp::registerForeignAutocastModels(*registry);
}

static void registerPasses() {
  amp::registerAutocastPasses();
  amp::registerEmbeddingPasses();
  mlir::PassPipelineRegistration<amp::AutocastPipelineOptions>(
      "amp-autocast",
      "Mixed precision by a policy, for MLIR's own dialects and others",
      [](mlir::OpPassManager &manager,
         const amp::AutocastPipelineOptions &options) {
        manager.addPass(amp::createRegisterModels());
        amp::buildAutocastPipeline(manager, options);
      });
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "OnnxAMP", AMP_VERSION, registerDialects};
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "OnnxAMP", AMP_VERSION, registerPasses};
}
