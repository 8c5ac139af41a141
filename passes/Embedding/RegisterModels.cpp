//===- RegisterModels.cpp - MLIR's own dialects, for autocast -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Linalg/AutocastModels.h"
#include "amp/Dialect/TOSA/AutocastModels.h"
#include "amp/Passes/Embedding.h"

namespace amp {
#define GEN_PASS_DEF_REGISTERMODELS
#include "amp/Passes/Embedding.h.inc"
} // namespace amp

void amp::registerForeignAutocastModels(mlir::DialectRegistry &registry) {
  registerArithAutocastModels(registry);
  registerLinalgAutocastModels(registry);
  registerMathAutocastModels(registry);
  registerScfAutocastModels(registry);
  registerTensorAutocastModels(registry);
  registerTosaAutocastModels(registry);
}

namespace {
class RegisterModelsPass final
    : public amp::impl::RegisterModelsBase<RegisterModelsPass> {
public:
  void getDependentDialects(mlir::DialectRegistry &registry) const final {
    amp::registerForeignAutocastModels(registry);
  }
  void runOnOperation() final {}
};
} // namespace
