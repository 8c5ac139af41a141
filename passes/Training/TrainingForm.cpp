//===- TrainingForm.cpp - amp-training-form -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActiveDropout.h"
#include "ExpandFunctions.h"
#include "InlineCall.h"
#include "RunningStatistics.h"
#include "TrainingState.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/TypeInference.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_TRAININGFORM
#include "amp/Passes/Training.h.inc"

namespace {

/// Functions with nodes that have a training form, in what they call, too.
llvm::StringSet<>
findFunctions(ModuleOp module,
              llvm::function_ref<bool(Operation *)> hasTrainingForm) {
  llvm::StringSet<> found;
  auto holds = [&](Operation *op) {
    auto call = dyn_cast<onnx::CallOp>(op);
    return hasTrainingForm(op) || (call && found.contains(call.getCallee()));
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto function : module.getOps<func::FuncOp>())
      if (!found.contains(function.getName()) &&
          function
              ->walk([&](Operation *op) {
                return holds(op) ? WalkResult::interrupt()
                                 : WalkResult::advance();
              })
              .wasInterrupted()) {
        found.insert(function.getName());
        changed = true;
      }
  }
  return found;
}

class TrainingFormPass : public impl::TrainingFormBase<TrainingFormPass> {
public:
  using TrainingFormBase::TrainingFormBase;

  void runOnOperation() override {
    func::FuncOp main = findMainGraph(getOperation());
    if (!main)
      return signalPassFailure();
    if (failed(convert(main)))
      signalPassFailure();
  }

private:
  bool isMeant(Operation *op) const {
    return (batchNorm == NodeForm::Train &&
            isa<onnx::BatchNormalizationOp>(op)) ||
           (dropout == NodeForm::Train && isa<onnx::DropoutOp>(op));
  }
  LogicalResult inlineCalls(func::FuncOp main);
  LogicalResult convert(func::FuncOp main);
};

/// What stands in functions is state of the main graph.
LogicalResult TrainingFormPass::inlineCalls(func::FuncOp main) {
  llvm::StringSet<> functions =
      findFunctions(getOperation(), [&](Operation *op) { return isMeant(op); });
  SymbolTable symbols(getOperation());
  size_t budget = 1'000'000;
  bool changed = false;
  while (true) {
    SmallVector<onnx::CallOp> calls;
    main.walk([&](onnx::CallOp call) {
      if (functions.contains(call.getCallee()))
        calls.push_back(call);
    });
    if (calls.empty())
      break;
    for (onnx::CallOp call : calls) {
      FailureOr<SmallVector<Value>> values = inlineCall(call, symbols, budget);
      if (failed(values))
        return failure();
      OpBuilder builder(call);
      onnx::NodeBuilder nodes(builder, call);
      replaceBy(call, *values, nodes);
    }
    changed = true;
  }
  return success(!changed || succeeded(onnx::inferTypes(getOperation(),
                                                        {/*shapes=*/true})));
}

LogicalResult TrainingFormPass::convert(func::FuncOp main) {
  std::optional<ScalerMode> mode = symbolizeScalerMode(scalerMode);
  if (!mode)
    return main.emitError() << "scaler-mode: expects torch or safe, but got "
                            << quoted(scalerMode);
  if (failed(inlineCalls(main)))
    return failure();
  SmallVector<onnx::BatchNormalizationOp> normalizations;
  SmallVector<onnx::DropoutOp> dropouts;
  main.walk([&](Operation *op) {
    if (!isMeant(op))
      return;
    if (auto normalization = dyn_cast<onnx::BatchNormalizationOp>(op))
      normalizations.push_back(normalization);
    else
      dropouts.push_back(cast<onnx::DropoutOp>(op));
  });
  if (normalizations.empty() && dropouts.empty())
    return success();
  std::optional<int64_t> opset = onnx::getOpsetVersion(main, "");
  if (opset.value_or(0) < onnx::NodeBuilder::kMinOpset)
    return main.emitError() << "expects opset " << onnx::NodeBuilder::kMinOpset
                            << " or later of ai.onnx, but the model imports "
                            << opset.value_or(0);
  StatisticsOptions statistics;
  statistics.isUnbiased = unbiasedVariance;
  statistics.keepsFinite = *mode == ScalerMode::Safe;
  return success(succeeded(trainStatistics(main, normalizations, statistics)) &&
                 succeeded(activateDropout(main, dropouts, seed)));
}

} // namespace
} // namespace amp
