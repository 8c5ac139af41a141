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

#include <cmath>

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
  SmallVector<Value> states = {state}, nexts = {next};
  if (std::optional<OperandRange> elements = getElements(state)) {
    states.assign(elements->begin(), elements->end());
    nexts.assign(getElements(next)->begin(), getElements(next)->end());
  }
  SmallVector<StatePair> pairs;
  InterfaceUpdate interface(n.getGraph());
  for (auto [value, nextValue] : llvm::zip_equal(states, nexts)) {
    auto input = dyn_cast<BlockArgument>(value);
    StringRef name = input ? nameOfInput(input) : StringRef();
    if (name.empty())
      return n.fail("what it changes in place is no input of the graph");
    pairs.push_back({name.str(), nextName(name)});
    interface.addOutput(pairs.back().second, nextValue);
  }
  addStatePairs(n.getGraph()->getParentOfType<ModuleOp>(), pairs);
  return success();
}

/// Notes that an output of the operator is the next value of a state, if both
/// are of the graph.
void pairOutput(OrtNode &n, unsigned output, Value state) {
  auto input = dyn_cast<BlockArgument>(state);
  Value next = n.getOutput(output);
  if (!input || !next)
    return;
  for (OpOperand &use : next.getUses())
    if (use.getOwner()->hasTrait<OpTrait::IsTerminator>())
      addStatePairs(
          n.getGraph()->getParentOfType<ModuleOp>(),
          {{nameOfInput(input).str(),
            getOutputName(n.getGraph(), use.getOperandNumber()).str()}});
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
        const Expr updated[] = {state.weight, state.moment1, state.moment2};
        SmallVector<Value> after;
        for (auto [value, old] : llvm::zip(updated, before))
          after.push_back(signal ? b.where(signal, value, old) : Value(value));
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

//===----------------------------------------------------------------------===//
// LAMB
//===----------------------------------------------------------------------===//

// Tensors of all parameters are inputs, five for each: weight, gradient, two
// moments, and the weight in 16 bits. The outputs are their next values. The
// operator has kernels for GPUs only; formulas are those of
// training_ops/cuda/optimizer/lamb.cu of version 1.19.
constexpr unsigned kLambFirstInput = 5, kLambFirstOutput = 1, kLambGroup = 5;

/// What holds for all parameters.
struct Lamb {
  Expr signal, scale, norm, rate, step;
  double leastRatio, mostRatio;
  bool correctsBias;
};

/// Scalars of float32, true where numbers are finite.
Expr isFinite(Expr value) {
  return abs(value) < std::numeric_limits<double>::infinity();
}

/// 1 - base^step, and 1 for the steps before the first.
Expr buildCorrection(NodeBuilder &b, const Lamb &all, double base) {
  Type f64 = b.getBuilder().getF64Type(), f32 = b.getBuilder().getF32Type();
  Expr power = pow(b.number(base, f64), b.cast(all.step, f64));
  return b.where(all.step > 0.0, 1.0 - b.cast(power, f32), 1.0);
}

void lambUpdate(OrtNode &n, const Lamb &all, unsigned group) {
  NodeBuilder &b = n.b;
  unsigned input = kLambFirstInput + group * kLambGroup;
  unsigned output = kLambFirstOutput + group * kLambGroup;
  auto setting = [&](StringRef name, double missing) {
    auto list = dyn_cast_if_present<DenseF32ArrayAttr>(n.getAttribute(name));
    return list && group < list.size() ? double(list[group]) : missing;
  };
  double alpha = setting("alpha", 0.9f), beta = setting("beta", 0.999f);
  double decay = setting("lambda", 0), epsilon = setting("epsilon", 1e-6f);
  double maxNorm = setting("max_norm_clip", 1);
  Expr weight = n.x(input), gradient = n.x(input + 1);
  Expr w = b.widen(weight), g = b.castLike(gradient, w);
  Expr m1 = b.castLike(n.x(input + 2), w), m2 = b.castLike(n.x(input + 3), w);
  auto like = [&](Expr value) { return b.castLike(value, w); };

  // The gradient, without the loss scale, its norm clipped.
  if (all.scale || all.norm) {
    Expr divisor =
        all.scale ? like(all.scale) : b.number(1, w.getElementType());
    if (all.norm)
      divisor = b.where(like(all.norm) > divisor * maxNorm,
                        like(all.norm) / maxNorm, divisor);
    g = g / divisor;
  }
  Expr new1 = m1 * alpha + g * complementOf(alpha);
  Expr new2 = m2 * beta + g * complementOf(beta) * g;
  Expr corrected1 = new1, corrected2 = new2;
  if (all.step && all.correctsBias) {
    corrected1 = new1 / like(buildCorrection(b, all, alpha));
    corrected2 = new2 / like(buildCorrection(b, all, beta));
  }
  Expr direction = corrected1 / (sqrt(corrected2) + epsilon);
  if (decay != 0)
    direction = w * decay + direction;
  Expr moves = isFinite(direction);
  new1 = b.where(moves, new1, m1);
  new2 = b.where(moves, new2, m2);
  // The kernel keeps it where the gradient was.
  direction = like(b.castLike(b.where(moves, direction, 0.0), gradient));

  Expr rate = like(all.rate);
  Expr squares = sumOfSquares(b, direction), sizes = sumOfSquares(b, w);
  Expr ratio = sqrt(sizes / squares);
  Type element = w.getElementType();
  if (std::isfinite(all.mostRatio))
    ratio = min(b.number(all.mostRatio, element), ratio);
  if (std::isfinite(all.leastRatio))
    ratio = max(b.number(all.leastRatio, element), ratio);
  Expr hasRatio = logicalAnd(sizes > 0.0, squares > 0.0);
  Expr delta = -b.where(hasRatio, rate * ratio, rate) * direction;
  Expr moved = w + delta, holds = isFinite(moved);
  moved = b.where(holds, moved, w);
  delta = b.where(holds, delta, 0.0);

  auto finish = [&](unsigned position, Expr next, bool isState = true) {
    Expr before = n.x(input + position);
    if (!before || !n.getOutput(output + position))
      return;
    if (isState)
      pairOutput(n, output + position, before);
    next = b.castLike(next, before);
    n.set(output + position,
          all.signal ? b.where(all.signal, next, before) : next);
  };
  finish(0, moved);
  finish(1, delta, /*isState=*/false);
  finish(2, new1);
  finish(3, new2);
  finish(4, moved);
}

LogicalResult lamb(OrtNode &n) {
  NodeBuilder &b = n.b;
  auto scalar = [&](unsigned position) {
    Expr value = n.x(position);
    return value ? toScalar(b, value) : value;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Lamb all{scalar(0),
           scalar(1),
           scalar(2),
           scalar(3),
           scalar(4),
           n.getFloat("ratio_min", -kInfinity),
           n.getFloat("ratio_max", kInfinity),
           n.getInt("do_bias_correction", 1) != 0};
  if (!all.rate)
    return n.fail("it has no learning rate");
  unsigned groups = 0;
  while (n.x(kLambFirstInput + groups * kLambGroup))
    ++groups;
  for (unsigned group = 0; group < groups; ++group) {
    for (unsigned i = 1; i < 4; ++i)
      if (!n.x(kLambFirstInput + group * kLambGroup + i))
        return n.fail("parameter " + Twine(group) +
                      " has no gradient or moments");
    lambUpdate(n, all, group);
  }
  if (Expr step = n.x(4)) {
    pairOutput(n, 0, step);
    Expr one = b.integer(1);
    if (all.signal)
      one = b.cast(all.signal, b.getBuilder().getI64Type());
    n.set(0, step + one);
  }
  return success();
}

constexpr OrtRule rules[] = {
    {"AdamWOptimizer", adamW},
    {"InPlaceAccumulator", accumulate},
    {"InPlaceAccumulatorV2", accumulateV2},
    {"InplaceClipGradNorm", clipGradNorm},
    {"LambOptimizer", lamb},
    {"ReduceAllL2", reduceAllL2},
    {"SGDOptimizerV2", sgdV2},
};

} // namespace

ArrayRef<OrtRule> getOrtOptimizerRules() { return rules; }

} // namespace amp
