//===- ExpandOptimizers.cpp - onnx-expand-optimizers ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas are those of the operators' descriptions, which are not those of
// torch.optim: epsilon, bias correction and regularization differ. Factors that
// attributes and counts alone make are computed in double and rounded once.
//
//===----------------------------------------------------------------------===//

#include "ExpandFunctions.h"

#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Passes/Training.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_EXPANDOPTIMIZERS
#include "amp/Passes/Training.h.inc"

namespace {

using onnx::Expr;
using onnx::NodeBuilder;

/// An optimized tensor, its gradient, and what is kept for it.
using Group = SmallVector<Expr, 4>;

double toDouble(std::optional<APFloat> number, double missing) {
  return number ? number->convertToDouble() : missing;
}

/// What all three read first.
struct Step {
  NodeBuilder &b;
  Expr rate;
  Expr count;

  Expr inDouble(Expr value) const {
    return b.cast(value, b.getBuilder().getF64Type());
  }
  Expr number(double value) const {
    return b.number(value, b.getBuilder().getF64Type());
  }
  /// A factor, of double, for formulas on a tensor.
  Expr factor(Expr value, Expr tensor) const {
    return b.castLike(value, tensor);
  }
};

/// G + norm_coefficient * X.
Expr regularize(const Group &group, double coefficient) {
  return coefficient == 0 ? group[1] : coefficient * group[0] + group[1];
}

void expand(onnx::PreviewTrainingAdagradOp op, const Step &step, Group &group) {
  Expr &x = group[0], &h = group[2];
  Expr rate = step.inDouble(step.rate);
  if (double decay = toDouble(op.getDecayFactor(), 0); decay != 0)
    rate = rate / (1.0 + step.inDouble(step.count) * decay);
  Expr g = regularize(group, toDouble(op.getNormCoefficient(), 0));
  h = h + g * g;
  x = x -
      step.factor(rate, x) * g / (sqrt(h) + toDouble(op.getEpsilon(), 1e-6f));
}

void expand(onnx::PreviewTrainingAdamOp op, const Step &step, Group &group) {
  Expr &x = group[0], &v = group[2], &h = group[3];
  double alpha = toDouble(op.getAlpha(), 0.9f),
         beta = toDouble(op.getBeta(), 0.999f),
         post = toDouble(op.getNormCoefficientPost(), 0);
  Expr g = regularize(group, toDouble(op.getNormCoefficient(), 0));
  v = alpha * v + (1 - alpha) * g;
  h = beta * h + (1 - beta) * (g * g);
  Expr count = step.inDouble(step.count), rate = step.inDouble(step.rate);
  Expr corrected = rate * sqrt(1.0 - pow(step.number(beta), count)) /
                   (1.0 - pow(step.number(alpha), count));
  rate = step.b.where(count > 0, corrected, rate);
  x = x -
      step.factor(rate, x) * (v / (sqrt(h) + toDouble(op.getEpsilon(), 1e-6f)));
  if (post != 0)
    x = (1 - post) * x;
}

void expand(onnx::PreviewTrainingMomentumOp op, const Step &step,
            Group &group) {
  Expr &x = group[0], &v = group[2];
  double alpha = toDouble(op.getAlpha(), 0), beta = toDouble(op.getBeta(), 0);
  Expr g = regularize(group, toDouble(op.getNormCoefficient(), 0));
  // The first gradient is taken whole.
  Expr part = beta == 1
                  ? g
                  : step.factor(step.b.where(step.inDouble(step.count) > 0,
                                             step.number(beta), 1.0),
                                g) *
                        g;
  v = alpha * v + part;
  Expr direction = op.getMode() == "nesterov" ? g + alpha * v : v;
  x = x - step.factor(step.inDouble(step.rate), x) * direction;
}

/// Replaces a node on groups of this size, which it gives back without their
/// gradients.
template <typename OpTy>
LogicalResult replaceNode(OpTy op, unsigned groupSize) {
  OpBuilder builder(op);
  NodeBuilder b(builder, op);
  b.setLocation(op.getLoc());
  if (b.getOpset() < NodeBuilder::kMinOpset)
    return op->emitError() << onnx::describeNode(op) << " expects opset "
                           << NodeBuilder::kMinOpset
                           << " or later of ai.onnx, but the model imports "
                           << b.getOpset();
  auto inputs = op.getInputs();
  if (inputs.size() % groupSize != 0)
    return op->emitError() << onnx::describeNode(op) << " expects inputs by "
                           << groupSize << " behind R and T, but got "
                           << inputs.size();
  unsigned count = inputs.size() / groupSize;
  // A tensor of one element must not add dimensions.
  auto scalar = [&](Value value) {
    return b.reshape(b.expr(value), ArrayRef<int64_t>());
  };
  Step step{b, scalar(op.getR()), scalar(op.getT())};
  SmallVector<Expr> outputs(count * (groupSize - 1));
  for (unsigned i = 0; i < count; ++i) {
    Group group;
    for (unsigned j = 0; j < groupSize; ++j)
      group.push_back(b.expr(inputs[j * count + i]));
    for (Expr value : group)
      if (failed(verifyCompatibleShape(value.getType(), group[0].getType())) ||
          value.getElementType() != group[0].getElementType())
        return op->emitError()
               << onnx::describeNode(op) << " expects tensors of one type for "
               << "each that it optimizes, but got " << group[0].getType()
               << " and " << value.getType();
    expand(op, step, group);
    group.erase(group.begin() + 1);
    for (auto [j, value] : llvm::enumerate(group))
      outputs[j * count + i] = value;
  }
  SmallVector<Value> results;
  for (auto [result, position] :
       llvm::zip_equal(op->getResults(), onnx::outputPositions(op))) {
    if (position >= outputs.size())
      return op->emitError() << onnx::describeNode(op) << " expects at most "
                             << outputs.size() << " outputs";
    Value value = outputs[position];
    // More may be declared than follows from what is known of inputs.
    if (isa<RankedTensorType>(result.getType()))
      value.setType(result.getType());
    results.push_back(value);
  }
  replaceBy(op, results, b);
  return success();
}

bool mayBeNumber(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return !tensor || !tensor.hasStaticShape() || tensor.getNumElements() == 1;
}

/// Tensors whose element types formulas need, behind a rate and a count.
LogicalResult checkTypes(Operation *op) {
  for (Value operand : op->getOperands())
    if (!isa<TensorType>(operand.getType()))
      return op->emitError()
             << onnx::describeNode(op) << " expects tensors, but got "
             << operand.getType();
  Type rate = op->getOperand(0).getType(), count = op->getOperand(1).getType();
  if (!mayBeNumber(rate) || !mayBeNumber(count) ||
      !getElementTypeOrSelf(count).isInteger(64))
    return op->emitError() << onnx::describeNode(op)
                           << " expects a float and an int64 for R and T, but "
                              "got "
                           << rate << " and " << count;
  return success();
}

class ExpandOptimizersPass
    : public impl::ExpandOptimizersBase<ExpandOptimizersPass> {
public:
  void runOnOperation() override {
    SmallVector<Operation *> list;
    getOperation().walk([&](Operation *op) {
      if (isa<onnx::PreviewTrainingAdagradOp, onnx::PreviewTrainingAdamOp,
              onnx::PreviewTrainingMomentumOp>(op))
        list.push_back(op);
    });
    for (Operation *op : list)
      if (failed(checkTypes(op)) || failed(replace(op)))
        return signalPassFailure();
  }

private:
  static LogicalResult replace(Operation *op) {
    if (auto adagrad = dyn_cast<onnx::PreviewTrainingAdagradOp>(op))
      return replaceNode(adagrad, 3);
    if (auto adam = dyn_cast<onnx::PreviewTrainingAdamOp>(op))
      return replaceNode(adam, 4);
    return replaceNode(cast<onnx::PreviewTrainingMomentumOp>(op), 3);
  }
};

} // namespace
} // namespace amp
