//===- FlattenTraining.cpp - onnx-flatten-training ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpandGradients.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Passes/Training.h"
#include "amp/Passes/TrainingInfo.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_FLATTENTRAINING
#include "amp/Passes/Training.h.inc"

namespace {

class FlattenTrainingPass
    : public impl::FlattenTrainingBase<FlattenTrainingPass> {
public:
  void runOnOperation() override {
    if (!hasTrainingInfo(getOperation())) {
      getOperation().emitError("has no training_info to make a step of");
      return signalPassFailure();
    }
    FailureOr<JoinedTraining> joined = JoinedTraining::join(getOperation());
    if (failed(joined) || failed(joined->flatten()))
      signalPassFailure();
  }
};

} // namespace
} // namespace amp
