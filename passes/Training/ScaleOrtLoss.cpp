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

/// Where a joined model's optimizer reads gradients: the operation that makes
/// the sequence; null if it is an input.
Operation *findSequence(CustomOp optimizer) {
  Value gradients;
  for (auto [position, operand] : llvm::zip_equal(
           onnx::inputPositions(optimizer), optimizer->getOperands()))
    if (position == getGradientsPosition(optimizer))
      gradients = operand;
  while (auto clip =
             gradients ? gradients.getDefiningOp<CustomOp>() : CustomOp())
    gradients = clip->getNumOperands() ? clip->getOperand(0) : Value();
  return gradients ? gradients.getDefiningOp<onnx::SequenceConstructOp>()
                   : nullptr;
}

class ScaleOrtLossPass final : public impl::ScaleOrtLossBase<ScaleOrtLossPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp main = findMainGraph(getOperation());
    if (!main)
      return signalPassFailure();
    std::optional<ScalerMode> known = symbolizeScalerMode(scalerMode);
    if (!known) {
      main.emitError() << "scaler-mode: expects torch or safe, but got "
                       << quoted(scalerMode);
      return signalPassFailure();
    }
    mode = *known;
    SmallVector<CustomOp> optimizers;
    SmallVector<OpOperand *> gradients;
    for (auto op : main.getBody().front().getOps<CustomOp>()) {
      if (op.getOpType() == "InPlaceAccumulatorV2" && op->getNumOperands() >= 2)
        gradients.push_back(&op->getOpOperand(1));
      else if (getSignalPosition(op))
        optimizers.push_back(op);
    }
    for (CustomOp op : optimizers)
      if (Operation *sequence = findSequence(op))
        for (OpOperand &operand : sequence->getOpOperands())
          gradients.push_back(&operand);
    if (gradients.empty() && optimizers.empty()) {
      main.emitError("expects ONNX Runtime's training model or optimizer "
                     "model, but has no InPlaceAccumulatorV2, AdamWOptimizer "
                     "or SGDOptimizerV2");
      return signalPassFailure();
    }
    Value found;
    if (!gradients.empty() && failed(scale(main, gradients, found)))
      return signalPassFailure();
    for (CustomOp op : optimizers)
      guard(op, findSequence(op) ? found : Value());
  }

private:
  LogicalResult scale(func::FuncOp main, ArrayRef<OpOperand *> gradients,
                      Value &found);
  FailureOr<Value> findSeed(func::FuncOp main);
  Value addState(func::FuncOp main, StringRef name, TypedAttr initial,
                 bool hasDefault);
  void guard(CustomOp optimizer, Value found);

  ScalerMode mode = ScalerMode::Safe;
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

/// An input that is state. ONNX Runtime's training API feeds all inputs; who
/// runs a joined step wants to know what it begins with.
Value ScaleOrtLossPass::addState(func::FuncOp main, StringRef name,
                                 TypedAttr initial, bool hasDefault) {
  return hasDefault ? addInput(main, name, initial)
                    : addInput(main, name, initial.getType());
}

/// `found` becomes whether a gradient is not finite.
LogicalResult ScaleOrtLossPass::scale(func::FuncOp main,
                                      ArrayRef<OpOperand *> gradients,
                                      Value &found) {
  for (BlockArgument input : main.getArguments())
    if (nameOfInput(input) == kScale)
      return main.emitError()
             << "has an input " << quoted(kScale) << " already";
  FailureOr<Value> seed = findSeed(main);
  if (failed(seed))
    return failure();
  for (OpOperand *gradient : gradients)
    if (auto type = dyn_cast<ShapedType>(gradient->get().getType());
        !type || !type.getElementType().isF32())
      return gradient->getOwner()->emitError()
             << onnx::describeNode(gradient->getOwner())
             << " expects a gradient in float32";

  OpBuilder builder(seed->getDefiningOp());
  builder.setInsertionPointAfter(seed->getDefiningOp());
  NodeBuilder b(builder, main);
  auto scalar = [](Type element) { return RankedTensorType::get({}, element); };
  bool isStatic = staticScale != 0;
  bool isJoined = isa<onnx::SequenceConstructOp>(gradients.front()->getOwner());
  constexpr float kInitialScale = 65536; // torch.amp.GradScaler's
  Value factor =
      isStatic ? Value(b.number(staticScale, builder.getF32Type()))
               : addState(main, kScale,
                          DenseElementsAttr::get(scalar(builder.getF32Type()),
                                                 kInitialScale),
                          isJoined);
  auto scaled =
      ScaleOp::create(builder, main.getLoc(), seed->getType(), *seed, factor);
  seed->replaceAllUsesExcept(scaled.getScaled(), scaled);

  // Behind all gradients.
  Operation *end = main.getBody().front().getTerminator();
  SmallVector<Value> values;
  SmallVector<Type> types;
  for (OpOperand *gradient : gradients) {
    values.push_back(gradient->get());
    types.push_back(gradient->get().getType());
    if (!isJoined)
      gradient->getOwner()->moveBefore(end);
  }
  builder.setInsertionPoint(gradients.front()->getOwner());
  types.push_back(scalar(builder.getI1Type()));
  auto modeAttr = ScalerModeAttr::get(&getContext(), mode);
  auto unscale = UnscaleOp::create(builder, main.getLoc(), types, modeAttr,
                                   values, factor);
  for (auto [gradient, unscaled] :
       llvm::zip_equal(gradients, unscale.getUnscaled()))
    gradient->set(unscaled);
  found = unscale.getFoundInf();
  // Whether something overflowed is for the optimizer to see.
  if (isStatic)
    return success();
  Value tracker =
      addState(main, kTracker,
               DenseElementsAttr::get(scalar(builder.getI32Type()), int32_t(0)),
               isJoined);
  auto updated = UpdateScaleOp::create(
      builder, main.getLoc(), scalar(builder.getF32Type()),
      scalar(builder.getI32Type()), modeAttr, factor, tracker,
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

/// Gradients that are not finite update nothing. In an optimizer model, whose
/// `found` is null, all are looked at.
void ScaleOrtLossPass::guard(CustomOp optimizer, Value found) {
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
  Expr allFinite;
  if (found) {
    allFinite = logicalNot(b.expr(found));
  } else {
    allFinite = b.expr(forEachPosition(
        b, gradients, {b.constant(isTrue)}, [&](Expr position, ValueRange all) {
          // In smaller numbers a sum of magnitudes is finite if they are.
          Expr sum = b.apply("ReduceL1", {at(b, gradients, position) * 0x1p-64},
                             b.attr("keepdims", 0));
          Expr isFinite = sum < std::numeric_limits<double>::infinity();
          return SmallVector<Value>{logicalAnd(b.expr(all[0]), isFinite)};
        })[0]);
    Operation *loop = Value(allFinite).getDefiningOp();
    loop->setDiscardableAttr(
        AMPDialect::kKeep,
        builder.getStringAttr("looks whether gradients are finite"));
  }
  Expr signal = b.reshape(allFinite, b.ints({1}));
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
