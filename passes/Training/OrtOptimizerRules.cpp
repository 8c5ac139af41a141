//===- OrtOptimizerRules.cpp - optimizers of ONNX Runtime -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operators change their operands in place. Rewritten, they give the new
// values, which become outputs of the graph, paired with the inputs that they
// are the next values of.
//
//===----------------------------------------------------------------------===//

#include "OrtNode.h"
#include "OrtSequences.h"
#include "TrainingState.h"

using namespace mlir;

namespace amp {

using onnx::Expr;
using onnx::NodeBuilder;

namespace {

/// What was changed in place goes to the output that the operator has for it,
/// or to a new output of the graph.
LogicalResult setState(OrtNode &n, unsigned output, Value state, Expr next) {
  if (n.isUsed(output)) {
    n.set(output, next);
    return success();
  }
  auto input = dyn_cast<BlockArgument>(state);
  StringRef name = input ? nameOfInput(input) : StringRef();
  if (name.empty())
    return n.fail("what it changes in place is no input of the graph");
  std::string nameOfNext = nextName(name);
  addOutput(n.getGraph(), nameOfNext, next);
  addStatePairs(n.getGraph()->getParentOfType<ModuleOp>(),
                {{name.str(), nameOfNext}});
  return success();
}

/// Whether something was changed: always, without a signal.
void setFlag(OrtNode &n, Expr signal) {
  NodeBuilder &b = n.b;
  Value flag = n.getOutput(0);
  auto type =
      flag ? dyn_cast<RankedTensorType>(flag.getType()) : RankedTensorType();
  SmallVector<int64_t> shape = type && type.hasStaticShape()
                                   ? SmallVector<int64_t>(type.getShape())
                                   : SmallVector<int64_t>{1};
  if (signal)
    return n.set(0, b.reshape(signal, shape));
  auto isTrue = DenseElementsAttr::get(
      RankedTensorType::get(shape, b.getBuilder().getI1Type()), true);
  n.set(0, b.constant(isTrue));
}

//===----------------------------------------------------------------------===//
// Accumulation
//===----------------------------------------------------------------------===//

/// buffer + value, or value alone where the buffer starts anew.
LogicalResult accumulateV2(OrtNode &n) {
  NodeBuilder &b = n.b;
  Expr buffer = n.x(0), value = b.castLike(n.x(1), buffer);
  Expr sum = buffer + value;
  if (Expr restarts = n.x(2)) {
    if (buffer.getRank() == 0)
      restarts = b.squeeze(restarts, {0});
    sum = b.where(restarts, value, sum);
  }
  Value(sum).setType(buffer.getType());
  if (Value flag = n.getOutput(0)) {
    removeOutputs(n.getGraph(), flag);
    if (!flag.use_empty())
      setFlag(n, Expr());
  }
  return setState(n, 1, buffer, sum);
}

/// buffer + value, or the buffer as it is without a signal to update it.
LogicalResult accumulate(OrtNode &n) {
  NodeBuilder &b = n.b;
  Expr buffer = n.x(0), sum = buffer + b.castLike(n.x(1), buffer);
  n.set(0, n.x(2) ? b.where(n.x(2), sum, buffer) : sum);
  return success();
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

Expr sumOfSquares(NodeBuilder &b, Expr value) {
  return b.apply("ReduceSumSquare", {value}, b.attr("keepdims", 0));
}

/// The norm of all inputs together.
LogicalResult reduceAllL2(OrtNode &n) {
  NodeBuilder &b = n.b;
  SmallVector<Value> sums;
  for (Value operand : n.getOperation().getInputs())
    sums.push_back(sumOfSquares(b, b.widen(b.expr(operand))));
  n.set(0, sqrt(sums.size() == 1 ? b.expr(sums[0]) : b.apply("Sum", sums)));
  return success();
}

/// Times min(1, max_norm / (norm + 1e-6)).
LogicalResult clipGradNorm(OrtNode &n) {
  NodeBuilder &b = n.b;
  Value gradients = n.x(0);
  Value zero = b.number(0.0, b.getBuilder().getF32Type());
  Expr total = b.expr(forEachPosition(
      b, gradients, {zero}, [&](Expr position, ValueRange carried) {
        Expr sum =
            b.expr(carried[0]) + sumOfSquares(b, at(b, gradients, position));
        return SmallVector<Value>{sum};
      })[0]);
  Expr quotient =
      n.getFloat("max_norm", 1) / (sqrt(total) + static_cast<double>(1e-6f));
  Expr factor = b.where(quotient > 1.0, 1.0, quotient);
  n.set(0, b.expr(mapPositions(b, gradients, 1, [&](Expr position) {
    return SmallVector<Value>{at(b, gradients, position) * factor};
  })[0]));
  return success();
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

/// A parameter, its gradient and moments; all become what they are afterwards.
struct Update {
  Expr weight, gradient, moment1, moment2;
};

/// ONNX Runtime's AdamW. Mode 0 is torch.optim's; mode 1 corrects the learning
/// rate instead of the moments, so that epsilon is not corrected, and decays
/// weights after the update. Scalars are float32, as there.
class AdamW {
public:
  AdamW(OrtNode &n, Expr rate, Expr step);
  void update(Update &state) const;

private:
  NodeBuilder &b;
  bool isMode0;
  double alpha, beta, epsilon, decay;
  Expr rate;
  /// 1 - alpha^step, 1 - beta^step; null without correction.
  Expr correction1, correction2;
};

/// 1 - base in float32.
double complementOf(double base) { return 1.f - static_cast<float>(base); }

AdamW::AdamW(OrtNode &n, Expr rate, Expr step)
    : b(n.b), isMode0(n.getInt("adam_mode", 0) == 0),
      alpha(n.getFloat("alpha", 0.9f)), beta(n.getFloat("beta", 0.999f)),
      epsilon(n.getFloat("epsilon", 1e-8f)),
      decay(n.getFloat("weight_decay", 1e-2f)), rate(rate) {
  if (n.getInt("correct_bias", 1) == 0)
    return;
  Builder &types = b.getBuilder();
  Expr count = b.cast(step, types.getF64Type());
  auto correct = [&](double base) {
    Expr power = pow(b.number(base, types.getF64Type()), count);
    return 1.0 - b.cast(power, types.getF32Type());
  };
  correction1 = correct(alpha);
  correction2 = correct(beta);
}

void AdamW::update(Update &state) const {
  Expr g = state.gradient, w = state.weight;
  Expr m1 = state.moment1 * alpha + g * complementOf(alpha);
  Expr m2 = state.moment2 * beta + g * complementOf(beta) * g;
  state.moment1 = m1;
  state.moment2 = m2;
  if (isMode0) {
    if (decay != 0)
      w = w - w * rate * decay;
    Expr root = sqrt(correction2 ? m2 / correction2 : m2) + epsilon;
    state.weight = w - m1 * rate / (correction1 ? root * correction1 : root);
    return;
  }
  Expr corrected =
      correction1 ? rate * (sqrt(correction2) / correction1) : rate;
  w = w - m1 * corrected / (sqrt(m2) + epsilon);
  if (decay != 0)
    w = w - w * (rate * decay);
  state.weight = w;
}

/// A scalar, also of what is a list of one.
Expr toScalar(NodeBuilder &b, Expr value) {
  return value.getRank() == 0 ? value : b.reshape(value, b.ints({}));
}

/// The optimizers' sequences: weights, then moments, and the new ones.
LogicalResult setUpdates(OrtNode &n, ArrayRef<Value> sequences, Expr signal,
                         llvm::function_ref<void(Expr, Update &)> update) {
  NodeBuilder &b = n.b;
  SmallVector<Value> next =
      mapPositions(b, sequences[0], sequences.size(), [&](Expr position) {
        SmallVector<Expr> before;
        for (Value sequence : sequences)
          before.push_back(at(b, sequence, position));
        Update state;
        state.weight = before[0];
        if (before.size() > 1)
          std::tie(state.moment1, state.moment2) =
              std::pair(before[1], before[2]);
        update(position, state);
        SmallVector<Value> after;
        for (auto [i, value] : llvm::enumerate(
                 ArrayRef<Expr>{state.weight, state.moment1, state.moment2}))
          if (i < before.size())
            after.push_back(signal ? b.where(signal, value, before[i]) : value);
        return after;
      });
  for (auto [i, sequence] : llvm::enumerate(sequences))
    if (failed(setState(n, i + 1, sequence, b.expr(next[i]))))
      return failure();
  setFlag(n, signal);
  return success();
}

LogicalResult adamW(OrtNode &n) {
  NodeBuilder &b = n.b;
  AdamW rule(n, toScalar(b, n.x(0)), toScalar(b, n.x(1)));
  Value gradients = n.x(3);
  Expr signal = n.x(6) ? toScalar(b, n.x(6)) : Expr();
  return setUpdates(n, {n.x(2), n.x(4), n.x(5)}, signal,
                    [&](Expr position, Update &state) {
                      state.gradient = at(b, gradients, position);
                      rule.update(state);
                    });
}

LogicalResult sgdV2(OrtNode &n) {
  NodeBuilder &b = n.b;
  Expr rate = -toScalar(b, n.x(0));
  Value gradients = n.x(2);
  Expr signal = n.x(3) ? toScalar(b, n.x(3)) : Expr();
  return setUpdates(n, {n.x(1)}, signal, [&](Expr position, Update &state) {
    state.weight = state.weight + at(b, gradients, position) * rate;
  });
}

constexpr OrtRule rules[] = {
    {"AdamWOptimizer", adamW},
    {"InPlaceAccumulator", accumulate},
    {"InPlaceAccumulatorV2", accumulateV2},
    {"InplaceClipGradNorm", clipGradNorm},
    {"ReduceAllL2", reduceAllL2},
    {"SGDOptimizerV2", sgdV2},
};

} // namespace

ArrayRef<OrtRule> getOrtOptimizerRules() { return rules; }

} // namespace amp
