//===- ScaleOrtLoss.cpp - onnx-scale-ort-loss -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamedValues.h"
#include "OrtSequences.h"
#include "TrainingState.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quoted.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_SCALEORTLOSS
#include "amp/Passes/Training.h.inc"

namespace {

using onnx::CustomOp;
using onnx::Expr;
using onnx::NodeBuilder;

constexpr StringLiteral kScale = "loss_scale";
constexpr StringLiteral kTracker = "amp.growth_tracker";
constexpr StringLiteral kFoundInf = "amp.found_inf";

/// The position of the signal of an optimizer that updates parameters only if
/// it is true; none for other operators.
std::optional<unsigned> getSignalPosition(CustomOp op) {
  return llvm::StringSwitch<std::optional<unsigned>>(op.getOpType())
      .Case("AdamWOptimizer", 6)
      .Case("SGDOptimizerV2", 3)
      .Default(std::nullopt);
}

/// The position of its gradients.
unsigned getGradientsPosition(CustomOp op) {
  return op.getOpType() == "AdamWOptimizer" ? 3 : 2;
}

class ScaleOrtLossPass final : public impl::ScaleOrtLossBase<ScaleOrtLossPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp main = findMainGraph(getOperation());
    if (!main)
      return signalPassFailure();
    SmallVector<CustomOp> accumulators, optimizers;
    for (auto op : main.getBody().front().getOps<CustomOp>()) {
      if (op.getOpType() == "InPlaceAccumulatorV2")
        accumulators.push_back(op);
      else if (getSignalPosition(op))
        optimizers.push_back(op);
    }
    if (accumulators.empty() && optimizers.empty()) {
      main.emitError("expects ONNX Runtime's training model or optimizer "
                     "model, but has no InPlaceAccumulatorV2, AdamWOptimizer "
                     "or SGDOptimizerV2");
      return signalPassFailure();
    }
    if (!accumulators.empty() && failed(scale(main, accumulators)))
      return signalPassFailure();
    for (CustomOp op : optimizers)
      guard(op);
  }

private:
  LogicalResult scale(func::FuncOp main, ArrayRef<CustomOp> accumulators);
  FailureOr<Value> findSeed(func::FuncOp main);
  void guard(CustomOp optimizer);
};

/// The gradient of the loss, which ONNX Runtime's models have as an
/// initializer.
FailureOr<Value> ScaleOrtLossPass::findSeed(func::FuncOp main) {
  NamedValues named(main);
  auto fields = main->getAttrOfType<DictionaryAttr>(onnx::ONNXDialect::kGraph);
  auto outputs = fields ? fields.getAs<ArrayAttr>("output") : ArrayAttr();
  if (outputs)
    for (auto entry : outputs.getAsRange<DictionaryAttr>())
      if (auto name = entry.getAs<StringAttr>("name")) {
        Value seed = named.lookup(getGradientName(name.getValue()));
        if (seed && isa_and_present<onnx::InitializerOp>(seed.getDefiningOp()))
          return seed;
      }
  return main.emitError("expects an initializer 'LOSS_grad' for an output "
                        "'LOSS', the gradient of the loss, but has none");
}

LogicalResult ScaleOrtLossPass::scale(func::FuncOp main,
                                      ArrayRef<CustomOp> accumulators) {
  for (BlockArgument input : main.getArguments())
    if (nameOfInput(input) == kScale)
      return main.emitError()
             << "has an input " << quoted(kScale) << " already";
  FailureOr<Value> seed = findSeed(main);
  if (failed(seed))
    return failure();
  for (CustomOp op : accumulators)
    if (op->getNumOperands() < 2 ||
        !cast<ShapedType>(op->getOperand(1).getType()).getElementType().isF32())
      return op->emitError()
             << onnx::describeNode(op) << " expects a gradient in float32";

  OpBuilder builder(seed->getDefiningOp());
  builder.setInsertionPointAfter(seed->getDefiningOp());
  NodeBuilder b(builder, main);
  auto scalar = [](Type element) { return RankedTensorType::get({}, element); };
  bool isStatic = staticScale != 0;
  Value factor = isStatic
                     ? Value(b.number(staticScale, builder.getF32Type()))
                     : addInput(main, kScale, scalar(builder.getF32Type()));
  auto scaled =
      ScaleOp::create(builder, main.getLoc(), seed->getType(), *seed, factor);
  seed->replaceAllUsesExcept(scaled.getScaled(), scaled);

  // Behind all gradients.
  Operation *end = main.getBody().front().getTerminator();
  builder.setInsertionPoint(end);
  SmallVector<Value> gradients;
  SmallVector<Type> types;
  for (CustomOp op : accumulators) {
    gradients.push_back(op->getOperand(1));
    types.push_back(op->getOperand(1).getType());
    op->moveBefore(end);
  }
  builder.setInsertionPoint(accumulators.front());
  types.push_back(scalar(builder.getI1Type()));
  auto mode = ScalerModeAttr::get(&getContext(), scalerMode == "torch"
                                                     ? ScalerMode::Torch
                                                     : ScalerMode::Safe);
  auto unscale =
      UnscaleOp::create(builder, main.getLoc(), types, mode, gradients, factor);
  for (auto [op, gradient] :
       llvm::zip_equal(accumulators, unscale.getUnscaled())) {
    CustomOp accumulator = op;
    accumulator->setOperand(1, gradient);
  }
  // Whether something overflowed is for the optimizer to see.
  if (isStatic)
    return success();
  Value tracker = addInput(main, kTracker, scalar(builder.getI32Type()));
  auto updated = UpdateScaleOp::create(
      builder, main.getLoc(), scalar(builder.getF32Type()),
      scalar(builder.getI32Type()), mode, factor, tracker,
      ValueRange(unscale.getFoundInf()), builder.getF64FloatAttr(growthFactor),
      builder.getF64FloatAttr(backoffFactor),
      builder.getI64IntegerAttr(growthInterval), FloatAttr(), FloatAttr());
  addOutput(main, kFoundInf, unscale.getFoundInf());
  addOutput(main, nextName(kScale), updated.getNewScale());
  addOutput(main, nextName(kTracker), updated.getNewGrowthTracker());
  addStatePairs(getOperation(), {{kScale.str(), nextName(kScale)},
                                 {kTracker.str(), nextName(kTracker)}});
  return success();
}

/// Gradients that are not finite update nothing.
void ScaleOrtLossPass::guard(CustomOp optimizer) {
  OpBuilder builder(optimizer);
  NodeBuilder b(builder, optimizer);
  SmallVector<unsigned, 8> positions = onnx::inputPositions(optimizer);
  Value gradients;
  unsigned signalAt = *getSignalPosition(optimizer);
  OpOperand *known = nullptr;
  for (auto [position, operand] :
       llvm::zip_equal(positions, optimizer->getOpOperands())) {
    if (position == getGradientsPosition(optimizer))
      gradients = operand.get();
    if (position == signalAt)
      known = &operand;
  }
  if (!gradients)
    return;
  auto isTrue = DenseElementsAttr::get(
      RankedTensorType::get({}, builder.getI1Type()), true);
  SmallVector<Value> carried = forEachPosition(
      b, gradients, {b.constant(isTrue)}, [&](Expr position, ValueRange all) {
        // In smaller numbers a sum of magnitudes is finite if they are.
        Expr sum = b.apply("ReduceL1", {at(b, gradients, position) * 0x1p-64},
                           b.attr("keepdims", 0));
        Expr isFinite = sum < std::numeric_limits<double>::infinity();
        return SmallVector<Value>{logicalAnd(b.expr(all[0]), isFinite)};
      });
  Operation *loop = carried[0].getDefiningOp();
  loop->setDiscardableAttr(
      AMPDialect::kKeep,
      builder.getStringAttr("looks whether gradients are finite"));
  Expr signal = b.reshape(b.expr(carried[0]), b.ints({1}));
  if (known)
    return known->set(logicalAnd(b.expr(known->get()), signal));
  // It was left out, by an empty name perhaps; it is the last input.
  if (auto absent = optimizer->getAttrOfType<DenseI64ArrayAttr>(
          onnx::ONNXDialect::kAbsentInputs)) {
    SmallVector<int64_t> others(absent.asArrayRef());
    llvm::erase(others, int64_t(signalAt));
    optimizer->setAttr(onnx::ONNXDialect::kAbsentInputs,
                       builder.getDenseI64ArrayAttr(others));
  }
  optimizer->insertOperands(optimizer->getNumOperands(), {Value(signal)});
}

} // namespace
} // namespace amp
