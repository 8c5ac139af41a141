//===- AttachScaler.cpp - amp-attach-scaler -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamedValues.h"
#include "TrainingState.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quoted.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_ATTACHSCALER
#include "amp/Passes/Training.h.inc"

namespace {

class AttachScalerPass : public impl::AttachScalerBase<AttachScalerPass> {
public:
  using AttachScalerBase::AttachScalerBase;

  void runOnOperation() override {
    func::FuncOp main = findMainGraph(getOperation());
    if (!main)
      return signalPassFailure();
    if (failed(attach(main)))
      signalPassFailure();
  }

private:
  LogicalResult attach(func::FuncOp main);
};

LogicalResult AttachScalerPass::attach(func::FuncOp main) {
  std::optional<ScalerMode> mode = symbolizeScalerMode(scalerMode);
  if (!mode)
    return main.emitError() << "scaler-mode: expects torch or safe, but got "
                            << quoted(scalerMode);
  auto scale =
      dyn_cast_if_present<BlockArgument>(NamedValues(main).lookup(seed));
  if (!scale)
    return main.emitError() << "seed: no input is named " << quoted(seed);
  SmallVector<Value> found;
  for (auto unscale : main.getBody().front().getOps<UnscaleOp>())
    if (unscale.getScale() == scale)
      found.push_back(unscale.getFoundInf());
  if (found.empty())
    return main.emitError() << "seed: no optimizer unscales by " << quoted(seed)
                            << ": amp-attach-optimizer comes before";

  constexpr StringLiteral kTracker = "amp.growth_tracker";
  OpBuilder builder(main.getBody().front().getTerminator());
  auto counterType = RankedTensorType::get({}, builder.getI32Type());
  Value tracker =
      addInput(main, kTracker, DenseElementsAttr::get(counterType, int32_t(0)));
  auto update = UpdateScaleOp::create(
      builder, main.getLoc(), RankedTensorType::get({}, builder.getF32Type()),
      counterType, ScalerModeAttr::get(main.getContext(), *mode), scale,
      tracker, found, builder.getF64FloatAttr(growthFactor),
      builder.getF64FloatAttr(backoffFactor),
      builder.getI64IntegerAttr(growthInterval), FloatAttr(), FloatAttr());
  addOutput(main, nextName(seed), update.getNewScale());
  addOutput(main, nextName(kTracker), update.getNewGrowthTracker());
  addStatePairs(getOperation(),
                {{seed, nextName(seed)}, {kTracker.str(), nextName(kTracker)}});
  return success();
}

} // namespace
} // namespace amp
