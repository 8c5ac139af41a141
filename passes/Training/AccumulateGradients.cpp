//===- AccumulateGradients.cpp - amp-accumulate-gradients -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingState.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Passes/Training.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_ACCUMULATEGRADIENTS
#include "amp/Passes/Training.h.inc"

namespace {

class AccumulateGradientsPass
    : public impl::AccumulateGradientsBase<AccumulateGradientsPass> {
public:
  using AccumulateGradientsBase::AccumulateGradientsBase;

  void runOnOperation() override {
    func::FuncOp main = findMainGraph(getOperation());
    if (!main)
      return signalPassFailure();
    if (failed(accumulate(main)))
      signalPassFailure();
  }

private:
  LogicalResult accumulate(func::FuncOp main);
};

LogicalResult AccumulateGradientsPass::accumulate(func::FuncOp main) {
  if (!main->hasAttr(AMPDialect::kMicroBatches))
    return main.emitError("has no number of micro-batches: amp-differentiate "
                          "takes it, as 'micro-batches', and it is 2 at least");
  FailureOr<SmallVector<TrainedInput>> trained = findTrainedInputs(main);
  if (failed(trained))
    return failure();
  Operation *terminator = main.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  onnx::NodeBuilder b(builder, main);
  SmallVector<StatePair> pairs;
  auto addUp = [&](InterfaceUpdate &interface, const TrainedInput &parameter) {
    std::string name = getAccumulatorName(parameter.name);
    auto type = cast<RankedTensorType>(parameter.value.getType());
    Value accumulator = interface.addInput(
        name, DenseElementsAttr::get(
                  RankedTensorType::get(type.getShape(), builder.getF32Type()),
                  0.0f));
    // Behind the gradient, which need not be kept any longer then.
    Value gradient = terminator->getOperand(parameter.gradient);
    builder.setInsertionPointAfterValue(gradient);
    Value sum =
        b.expr(accumulator) + b.cast(b.expr(gradient), builder.getF32Type());
    terminator->setOperand(parameter.gradient, sum);
    interface.addOutput(nextName(name), sum);
    pairs.push_back({name, nextName(name)});
  };
  {
    InterfaceUpdate interface(main);
    for (const TrainedInput &parameter : *trained)
      addUp(interface, parameter);
  }
  addStatePairs(getOperation(), pairs);
  SmallVector<StringRef> outputs;
  for (unsigned i = 0; i < terminator->getNumOperands(); ++i)
    outputs.push_back(getOutputName(main, i));
  main->setAttr(AMPDialect::kMicroOutputs, builder.getStrArrayAttr(outputs));
  return success();
}

} // namespace
} // namespace amp
