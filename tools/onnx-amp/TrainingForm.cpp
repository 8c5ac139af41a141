//===- TrainingForm.cpp - what becomes of a model's training_info ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingForm.h"

#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Passes/Training.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace amp;
using namespace mlir;

LogicalResult TrainingForm::begin(ModuleOp module) {
  if (!hasTrainingInfo(module))
    return success();
  FailureOr<JoinedTraining> made = JoinedTraining::join(module);
  if (failed(made))
    return failure();
  joined.emplace(std::move(*made));
  return success();
}

int64_t TrainingForm::getMinOpset(ModuleOp module, bool toStep) const {
  WalkResult walk = module.walk([&](Operation *op) {
    const onnx::OperatorInfo *info = onnx::lookupOperator(op->getName());
    bool isExpanded = info && info->domain == "ai.onnx.preview.training" &&
                      (toStep || info->name == "Gradient");
    return isExpanded ? WalkResult::interrupt() : WalkResult::advance();
  });
  return joined && walk.wasInterrupted() ? onnx::NodeBuilder::kMinOpset : 0;
}

LogicalResult TrainingForm::end(ModuleOp module, bool toStep) {
  if (!joined)
    return success();
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  manager.addPass(createExpandGradients());
  if (toStep)
    manager.addPass(createExpandOptimizers());
  if (failed(manager.run(module)))
    return failure();
  if (!toStep)
    joined->split();
  else if (failed(joined->flatten()))
    return failure();
  joined.reset();
  return verify(module);
}
