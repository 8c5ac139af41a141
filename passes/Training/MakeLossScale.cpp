//===- MakeLossScale.cpp - amp-make-loss-scale ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamedValues.h"
#include "TrainingState.h"

#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quoted.h"

#include <cmath>

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_MAKELOSSSCALE
#include "amp/Passes/Training.h.inc"

namespace {

class MakeLossScalePass : public impl::MakeLossScaleBase<MakeLossScalePass> {
public:
  using MakeLossScaleBase::MakeLossScaleBase;

  void runOnOperation() override {
    func::FuncOp main = findMainGraph(getOperation());
    if (!main)
      return signalPassFailure();
    if (failed(makeLossScale(main)))
      signalPassFailure();
  }

private:
  LogicalResult makeLossScale(func::FuncOp main);
};

LogicalResult MakeLossScalePass::makeLossScale(func::FuncOp main) {
  auto number = static_cast<float>(initial);
  if (!(std::isfinite(number) && number > 0))
    return main.emitError()
           << "initial: expected a positive number of float32, "
              "but got "
           << initial;
  if (NamedValues(main).lookup(kLossScaleName))
    return main.emitError()
           << "the loss scale would be named " << quoted(kLossScaleName)
           << ", as another value is";
  Builder types(main.getContext());
  auto value = DenseElementsAttr::get(
      RankedTensorType::get({}, types.getF32Type()), number);
  if (isDynamic) {
    addInput(main, kLossScaleName, value);
    return success();
  }
  OpBuilder builder = OpBuilder::atBlockBegin(&main.getBody().front());
  auto initializer = onnx::InitializerOp::create(
      builder, main.getLoc(), value.getType(),
      onnx::TensorAttr::get(main.getContext(), value, DictionaryAttr()));
  initializer->setAttr(onnx::ONNXDialect::kOutputs,
                       builder.getStrArrayAttr({kLossScaleName}));
  return success();
}

} // namespace
} // namespace amp
