//===- Recurrent.cpp - gradients of recurrent layers --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forward node stays: its output Y is what the gates read in every step but
// the first, so that they are computed anew by matrix products over all steps
// at once. A Scan against the direction of the layer then carries the gradients
// of the state, and stacks those of the gates, from which those of weights and
// inputs follow by products over all steps.
//
// All is in the layout of 0: steps first. Where sequences have lengths, the
// state of the steps behind them is that of before.
//
//===----------------------------------------------------------------------===//

#include "GradientRules.h"
#include "RecurrentActivation.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/OperatorTable.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace amp::onnx {

namespace {

// Positions of inputs.
enum { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeepholes };

/// What the steps of a direction carry: values or gradients, [batch, hidden].
using State = SmallVector<Expr, 2>;

/// One direction of a layer, [steps, batch, …] and [gates * hidden, …], and its
/// gradients.
struct Direction {
  bool isReverse = false;
  SmallVector<RecurrentActivation> activations;
  Expr w, r, inputBias, hiddenBias, peepholes, h0, c0, y;
  /// Whether steps are within the lengths, [steps, batch, 1]; null: all.
  Expr isValid;
  Expr dy, dyh, dyc;
  /// The sums that the activations of the gates take from the input.
  Expr fromInput;
  /// The hidden state before each step.
  Expr previous;

  /// Gradients of the sums that gates take from inputs, and from the state.
  Expr dInput, dHidden;
  /// The gradient of R where it is not that of `previous` times R.
  Expr dr;
  Expr dh0, dc0, dPeepholes;
};

class Layer {
public:
  explicit Layer(Gradient &g, unsigned gates, unsigned functions)
      : g(g), b(g.b), gates(gates), functions(functions) {}

  LogicalResult build(void (Layer::*differentiate)(Direction &));

  void differentiateRNN(Direction &d);
  void differentiateGRU(Direction &d);
  void differentiateLSTM(Direction &d);

private:
  LogicalResult readAttributes();
  void addOutputY();
  Direction readDirection(unsigned i);
  void finish(ArrayRef<Direction> directions);

  /// Of a value with a dimension for the directions, that of this one.
  Expr pick(Expr value, int64_t axis, unsigned i);
  /// Puts what directions have together again; null if any is.
  Expr stack(ArrayRef<Direction> directions, Expr Direction::*part,
             int64_t axis);
  /// The parts, of `size` times the hidden size each, of the last dimension.
  Expr part(Expr value, int64_t first, int64_t size = 1) {
    return b.slice(value, {first * hidden}, {(first + size) * hidden}, {-1});
  }
  Expr rows(Expr value, int64_t first, int64_t size = 1) {
    return b.slice(value, {first * hidden}, {(first + size) * hidden}, {0});
  }
  /// The state before each step from that after it.
  Expr shift(const Direction &d, Expr states, Expr initial);
  /// x * matrix^T, over all steps.
  Expr product(Expr x, Expr matrix) {
    return matmul(x, b.transpose(matrix, {1, 0}));
  }
  /// a^T * b, summed over all steps.
  Expr outer(Expr a, Expr c) {
    Expr flat = b.apply("Flatten", {a}, b.attr("axis", 2));
    return matmul(b.transpose(flat, {1, 0}),
                  b.apply("Flatten", {c}, b.attr("axis", 2)));
  }
  Expr zeroWhereInvalid(const Direction &d, Expr value) {
    return d.isValid ? b.where(d.isValid, value, 0.0) : value;
  }
  Expr oneWhereInvalid(const Direction &d, Expr value) {
    return d.isValid ? b.where(d.isValid, value, 1.0) : value;
  }

  /// A Scan over steps, in the direction of the layer or against it. `body`
  /// makes the next state, and then slices, from the state and slices.
  using Body = llvm::function_ref<SmallVector<Value>(State, State)>;
  SmallVector<Expr> scan(bool isReverse, State initial, State steps,
                         unsigned numSlices, Body body);

  Gradient &g;
  NodeBuilder &b;
  unsigned gates, functions;
  unsigned numDirections = 1;
  bool isReverse = false, isBatchFirst = false;
  /// Attributes linear_before_reset and input_forget.
  bool isLinear = false, isCoupled = false;
  int64_t hidden = 0;
  SmallVector<RecurrentActivation> activations;
  Expr x, y, isValid;
  /// Gradients of the outputs.
  Expr dys[3];
};

LogicalResult Layer::readAttributes() {
  StringRef direction = g.getString("direction", "forward");
  numDirections = direction == "bidirectional" ? 2 : 1;
  isReverse = direction == "reverse";
  isBatchFirst = g.getInt("layout", 0) != 0;
  isLinear = g.getInt("linear_before_reset", 0) != 0;
  isCoupled = g.getInt("input_forget", 0) != 0;
  if (g.getOperation()->hasAttr("clip"))
    return g.fail("with attribute 'clip'");
  std::optional<int64_t> size = g.x(kR).getSize(-1);
  hidden = g.getInt("hidden_size", size.value_or(0));
  if (hidden <= 0)
    return g.fail("without attribute 'hidden_size'");
  static constexpr StringLiteral defaults[] = {"Sigmoid", "Tanh", "Tanh"};
  // An RNN has but the second kind.
  ArrayRef<StringLiteral> known(defaults);
  known = functions == 1 ? known.drop_front() : known;
  FailureOr<SmallVector<RecurrentActivation>> read = readActivations(
      g, known.take_front(functions), functions * numDirections);
  if (failed(read))
    return failure();
  activations = std::move(*read);
  return success();
}

/// The gradient reads Y: it becomes an output where it is none.
void Layer::addOutputY() {
  y = g.y(0);
  if (y)
    return;
  Operation *op = g.getOperation();
  OpBuilder builder(op);
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(op->getOperands());
  // All of them, so that the names stand at their positions.
  unsigned number = gates == 4 ? 3 : 2;
  SmallVector<unsigned, 8> positions = outputPositions(op);
  SmallVector<Type> types(number, UnknownType::get(op->getContext()));
  SmallVector<Attribute> names(number, builder.getStringAttr(""));
  auto known = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs);
  for (auto [position, result] : llvm::zip_equal(positions, op->getResults())) {
    types[position] = result.getType();
    if (known && position < known.size())
      names[position] = known[position];
  }
  state.addTypes(types);
  state.addAttributes(op->getAttrs());
  state.attributes.set(
      "resultSegmentSizes",
      builder.getDenseI32ArrayAttr(SmallVector<int32_t>(number, 1)));
  state.attributes.set(ONNXDialect::kOutputs, builder.getArrayAttr(names));
  Operation *full = builder.create(state);
  b.infer(full);
  y = b.expr(full->getResult(0));
  SmallVector<Value> results;
  for (unsigned position : positions)
    results.push_back(full->getResult(position));
  g.getContext().replace(op, results);
}

Expr Layer::pick(Expr value, int64_t axis, unsigned i) {
  if (!Value(value))
    return {};
  if (numDirections == 1)
    return b.squeeze(value, {axis});
  return b.apply("Gather", {value, b.integer(i)}, b.attr("axis", axis));
}

Expr Layer::stack(ArrayRef<Direction> directions, Expr Direction::*part,
                  int64_t axis) {
  SmallVector<Value> parts;
  for (const Direction &d : directions) {
    if (!Value(d.*part))
      return {};
    parts.push_back(b.unsqueeze(d.*part, {axis}));
  }
  return b.concat(parts, axis);
}

Expr Layer::shift(const Direction &d, Expr states, Expr initial) {
  Expr first = b.unsqueeze(initial, {0});
  if (d.isReverse)
    return b.concat(
        {b.slice(states, {1}, {std::numeric_limits<int64_t>::max()}, {0}),
         first},
        0);
  return b.concat({first, b.slice(states, {0}, {-1}, {0})}, 0);
}

Direction Layer::readDirection(unsigned i) {
  Direction d;
  d.isReverse = isReverse || i == 1;
  d.activations.assign(activations.begin() + functions * i,
                       activations.begin() + functions * (i + 1));
  d.isValid = isValid;
  d.w = pick(g.x(kW), 0, i);
  d.r = pick(g.x(kR), 0, i);
  if (Expr bias = pick(g.x(kB), 0, i)) {
    d.inputBias = part(bias, 0, gates);
    d.hiddenBias = part(bias, gates, gates);
  }
  int64_t stateAxis = isBatchFirst ? 1 : 0, stepAxis = isBatchFirst ? 2 : 1;
  auto steps = [&](Expr value) {
    Expr picked = pick(value, stepAxis, i);
    return picked && isBatchFirst ? b.transpose(picked, {1, 0, 2}) : picked;
  };
  d.peepholes = pick(g.x(kPeepholes), 0, i);
  d.h0 = pick(g.x(kInitialH), stateAxis, i);
  d.c0 = pick(g.x(kInitialC), stateAxis, i);
  d.y = steps(y);
  // Gradients of what is no output are zero.
  Expr zeros;
  auto orZeros = [&](Expr value) {
    if (!Value(value) && !Value(zeros))
      zeros = b.filledLike(b.squeeze(b.slice(d.y, {0}, {1}, {0}), {0}), 0.0);
    return value ? value : zeros;
  };
  d.h0 = orZeros(d.h0);
  d.dy = steps(dys[0]);
  d.dyh = orZeros(pick(dys[1], stateAxis, i));
  if (gates == 4) {
    d.c0 = orZeros(d.c0);
    d.dyc = orZeros(pick(dys[2], stateAxis, i));
  }
  if (d.isValid) {
    d.y = b.where(d.isValid, d.y, d.h0);
    if (d.dy)
      d.dy = b.where(d.isValid, d.dy, 0.0);
  }
  d.previous = shift(d, d.y, d.h0);
  return d;
}

static Type sliceType(Type type) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked || ranked.getRank() == 0)
    return UnrankedTensorType::get(getElementTypeOrSelf(type));
  return RankedTensorType::get(ranked.getShape().drop_front(),
                               ranked.getElementType());
}

/// Says a rank that inference does not find where that of the layer's input is
/// not declared: runtimes want it of all that the body of a Scan gives.
static void declareRank(Value value, int64_t rank) {
  if (isa<RankedTensorType>(value.getType()))
    return;
  value.setType(
      RankedTensorType::get(SmallVector<int64_t>(rank, ShapedType::kDynamic),
                            getElementTypeOrSelf(value.getType())));
}

SmallVector<Expr> Layer::scan(bool isReverse, State initial, State steps,
                              unsigned numSlices, Body body) {
  SmallVector<Value> inputs(initial.begin(), initial.end());
  inputs.append(steps.begin(), steps.end());
  SmallVector<int64_t> in(steps.size(), isReverse), out(numSlices, isReverse);
  Operation *scan = b.node("Scan", inputs,
                           {b.attr("num_scan_inputs", int64_t(steps.size())),
                            b.attr("scan_input_directions", in),
                            b.attr("scan_output_directions", out)},
                           initial.size() + numSlices);
  {
    OpBuilder &builder = b.getBuilder();
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&scan->getRegion(0));
    State state, slices;
    for (Expr value : initial)
      state.push_back(
          b.expr(block->addArgument(value.getType(), b.getLocation())));
    for (Expr value : steps)
      slices.push_back(b.expr(
          block->addArgument(sliceType(value.getType()), b.getLocation())));
    SmallVector<Value> yielded(body(state, slices));
    for (Value value : yielded)
      declareRank(value, 2); // batch and units
    b.yield(yielded);
  }
  b.infer(scan);
  SmallVector<Expr> results;
  for (auto [i, result] : llvm::enumerate(scan->getResults())) {
    declareRank(result, i < initial.size() ? 2 : 3);
    results.push_back(b.expr(result));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// RNN: h = f(x W^T + h' R^T + …)
//===----------------------------------------------------------------------===//

void Layer::differentiateRNN(Direction &d) {
  const RecurrentActivation &f = d.activations[0];
  Expr sum;
  if (f.needsInput()) {
    sum = d.fromInput + product(d.previous, d.r);
    if (d.hiddenBias)
      sum = sum + d.hiddenBias;
  }
  State steps = {zeroWhereInvalid(d, f.slope(sum, d.y))};
  if (d.dy)
    steps.push_back(d.dy);
  if (d.isValid)
    steps.push_back(b.where(d.isValid, b.number(0, x.getElementType()),
                            b.number(1, x.getElementType())));
  SmallVector<Expr> found =
      scan(!d.isReverse, {d.dyh}, steps, 1, [&](State state, State slices) {
        Expr dh = d.dy ? state[0] + slices[1] : state[0];
        Expr dSum = dh * slices[0];
        Expr before = matmul(dSum, d.r);
        if (d.isValid)
          before = before + dh * slices.back();
        return SmallVector<Value>{before, dSum};
      });
  d.dh0 = found[0];
  d.dInput = d.dHidden = found[1];
}

//===----------------------------------------------------------------------===//
// GRU: z, r = f(…); n = g(x W^T + (r h') R^T + …); h = (1 - z) n + z h'
//===----------------------------------------------------------------------===//

void Layer::differentiateGRU(Direction &d) {
  const RecurrentActivation &f = d.activations[0], &tanh = d.activations[1];
  Expr zrWeights = rows(d.r, 0, 2), nWeights = rows(d.r, 2);
  Expr zrSum = part(d.fromInput, 0, 2) + product(d.previous, zrWeights);
  if (d.hiddenBias)
    zrSum = zrSum + part(d.hiddenBias, 0, 2);
  Expr zr = f.apply(zrSum), zrSlope = f.slope(zrSum, zr);
  Expr z = part(zr, 0), r = part(zr, 1);
  // What n reads of the state: [h' R^T + bias], or r h' for it.
  Expr read = isLinear ? product(d.previous, nWeights) : r * d.previous;
  if (isLinear && d.hiddenBias)
    read = read + part(d.hiddenBias, 2);
  Expr nSum =
      part(d.fromInput, 2) + (isLinear ? r * read : product(read, nWeights));
  if (!isLinear && d.hiddenBias)
    nSum = nSum + part(d.hiddenBias, 2);
  Expr n = tanh.apply(nSum);

  // Of gates' sums, by that of h; of r, by that of what n reads.
  Expr zFactor = zeroWhereInvalid(d, (d.previous - n) * part(zrSlope, 0));
  Expr nFactor = zeroWhereInvalid(d, (1.0 - z) * tanh.slope(nSum, n));
  Expr rFactor = isLinear ? nFactor * read * part(zrSlope, 1)
                          : d.previous * part(zrSlope, 1);
  State steps = {oneWhereInvalid(d, z), zFactor, nFactor, rFactor, r};
  if (d.dy)
    steps.push_back(d.dy);
  SmallVector<Expr> found =
      scan(!d.isReverse, {d.dyh}, steps, 2, [&](State state, State slices) {
        Expr dh = d.dy ? state[0] + slices[5] : state[0];
        Expr dz = dh * slices[1], dn = dh * slices[2];
        if (isLinear) {
          Expr dHidden = b.concat({dz, dh * slices[3], dn * slices[4]}, -1);
          return SmallVector<Value>{dh * slices[0] + matmul(dHidden, d.r),
                                    dHidden, dn};
        }
        Expr dRead = matmul(dn, nWeights);
        Expr dzr = b.concat({dz, dRead * slices[3]}, -1);
        return SmallVector<Value>{dh * slices[0] + dRead * slices[4] +
                                      matmul(dzr, zrWeights),
                                  dzr, dn};
      });
  d.dh0 = found[0];
  if (isLinear) {
    d.dHidden = found[1];
    d.dInput = b.concat({part(found[1], 0, 2), found[2]}, -1);
    return;
  }
  d.dInput = d.dHidden = b.concat({found[1], found[2]}, -1);
  if (g.isNeeded(kR))
    d.dr = b.concat({outer(found[1], d.previous), outer(found[2], read)}, 0);
}

//===----------------------------------------------------------------------===//
// LSTM: i, o, f = f(…); n = g(…); c = f c' + i n; h = o h(c)
//===----------------------------------------------------------------------===//

void Layer::differentiateLSTM(Direction &d) {
  const RecurrentActivation &gate = d.activations[0],
                            &candidate = d.activations[1],
                            &output = d.activations[2];
  Expr sums = d.fromInput + product(d.previous, d.r);
  if (d.hiddenBias)
    sums = sums + d.hiddenBias;
  Expr iSum = part(sums, 0), oSum = part(sums, 1), fSum = part(sums, 2),
       nSum = part(sums, 3);
  Expr n = candidate.apply(nSum);
  Expr pi, po, pf;
  if (d.peepholes) {
    pi = part(d.peepholes, 0);
    po = part(d.peepholes, 1);
    pf = part(d.peepholes, 2);
  }

  // The cells, which the node does not give. Without peepholes their gates are
  // known for all steps.
  Expr i, f;
  auto gatesOf = [&](Expr iSum, Expr fSum) {
    i = gate.apply(iSum);
    f = isCoupled ? 1.0 - i : gate.apply(fSum);
  };
  Expr cells;
  if (d.peepholes) {
    State steps = {iSum, fSum, n};
    if (d.isValid)
      steps.push_back(d.isValid);
    cells = scan(d.isReverse, {d.c0}, steps, 1, [&](State state, State slices) {
      Expr c = state[0];
      gatesOf(slices[0] + pi * c, slices[1] + pf * c);
      Expr next = f * c + i * slices[2];
      if (d.isValid)
        next = b.where(slices[3], next, c);
      return SmallVector<Value>{next, next};
    })[1];
    Expr before = shift(d, cells, d.c0);
    iSum = iSum + pi * before;
    fSum = fSum + pf * before;
    oSum = oSum + po * cells;
    gatesOf(iSum, fSum);
  } else {
    gatesOf(iSum, fSum);
    cells = scan(d.isReverse, {d.c0},
                 {oneWhereInvalid(d, f), zeroWhereInvalid(d, i * n)}, 1,
                 [&](State state, State slices) {
                   Expr next = slices[0] * state[0] + slices[1];
                   return SmallVector<Value>{next, next};
                 })[1];
  }
  Expr before = shift(d, cells, d.c0);
  Expr o = gate.apply(oSum), shown = output.apply(cells);

  // Of the sums and the cell, by those of h and of c.
  Expr oFactor = zeroWhereInvalid(d, shown * gate.slope(oSum, o));
  Expr cFactor = zeroWhereInvalid(d, o * output.slope(cells, shown));
  Expr iFactor =
      zeroWhereInvalid(d, (isCoupled ? n - before : n) * gate.slope(iSum, i));
  Expr nFactor = zeroWhereInvalid(d, i * candidate.slope(nSum, n));
  State steps = {oFactor, cFactor, iFactor, nFactor, oneWhereInvalid(d, f)};
  if (!isCoupled)
    steps.push_back(zeroWhereInvalid(d, before * gate.slope(fSum, f)));
  if (d.isValid)
    steps.push_back(b.where(d.isValid, b.number(0, x.getElementType()),
                            b.number(1, x.getElementType())));
  if (d.dy)
    steps.push_back(d.dy);
  SmallVector<Expr> found = scan(
      !d.isReverse, {d.dyh, d.dyc}, steps, 1, [&](State state, State slices) {
        Expr dh = d.dy ? state[0] + slices.back() : state[0];
        Expr dO = dh * slices[0];
        Expr dc = state[1] + dh * slices[1];
        if (d.peepholes)
          dc = dc + dO * po;
        Expr dI = dc * slices[2], dN = dc * slices[3];
        Expr dF = isCoupled ? b.filledLike(dI, 0.0) : dc * slices[5];
        Expr dSums = b.concat({dI, dO, dF, dN}, -1);
        Expr dhBefore = matmul(dSums, d.r), dcBefore = dc * slices[4];
        if (d.isValid)
          dhBefore = dhBefore + dh * slices[isCoupled ? 5 : 6];
        if (d.peepholes) {
          dcBefore = dcBefore + dI * pi;
          if (!isCoupled)
            dcBefore = dcBefore + dF * pf;
        }
        return SmallVector<Value>{dhBefore, dcBefore, dSums};
      });
  d.dh0 = found[0];
  d.dc0 = found[1];
  d.dInput = d.dHidden = found[2];
  if (d.peepholes && g.isNeeded(kPeepholes)) {
    Expr products =
        b.concat({part(found[2], 0) * before, part(found[2], 1) * cells,
                  part(found[2], 2) * before},
                 -1);
    d.dPeepholes = b.reduceSum(products, {0, 1}, /*keepDims=*/false);
  }
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

void Layer::finish(ArrayRef<Direction> directions) {
  SmallVector<Direction, 2> all(directions);
  Expr dx;
  for (Direction &d : all) {
    if (g.isNeeded(kX)) {
      Expr one = matmul(d.dInput, d.w);
      dx = dx ? dx + one : one;
    }
    Expr &dBias = d.inputBias;
    if (g.isNeeded(kB)) {
      Expr fromInput = b.reduceSum(d.dInput, {0, 1}, /*keepDims=*/false);
      Expr fromHidden = Value(d.dInput) == Value(d.dHidden)
                            ? fromInput
                            : b.reduceSum(d.dHidden, {0, 1}, false);
      dBias = b.concat({fromInput, fromHidden}, 0);
    }
    if (g.isNeeded(kW))
      d.w = outer(d.dInput, x);
    if (g.isNeeded(kR))
      d.r = d.dr ? d.dr : outer(d.dHidden, d.previous);
  }
  if (dx)
    g.set(kX, isBatchFirst ? b.transpose(dx, {1, 0, 2}) : dx);
  auto set = [&](unsigned position, Expr Direction::*part, int64_t axis) {
    if (g.isNeeded(position))
      g.set(position, stack(all, part, axis));
  };
  set(kW, &Direction::w, 0);
  set(kR, &Direction::r, 0);
  set(kB, &Direction::inputBias, 0);
  set(kInitialH, &Direction::dh0, isBatchFirst ? 1 : 0);
  set(kInitialC, &Direction::dc0, isBatchFirst ? 1 : 0);
  set(kPeepholes, &Direction::dPeepholes, 0);
}

LogicalResult Layer::build(void (Layer::*differentiate)(Direction &)) {
  if (failed(readAttributes()))
    return failure();
  for (unsigned i = 0; i < 3; ++i)
    dys[i] = g.dy(i);
  addOutputY();
  x = g.x(kX);
  if (isBatchFirst)
    x = b.transpose(x, {1, 0, 2});
  if (Expr lengths = g.x(kLengths)) {
    Expr count = b.squeeze(b.sizeOf(x, 0), {0});
    Expr times = b.apply("Range", {b.integer(0), count, b.integer(1)});
    Expr ends = b.cast(lengths, b.getBuilder().getI64Type());
    isValid = b.unsqueeze(times, {1, 2}) < b.unsqueeze(ends, {0, 2});
  }
  SmallVector<Direction, 2> directions;
  for (unsigned i = 0; i < numDirections; ++i) {
    Direction d = readDirection(i);
    bool readsInput = gates > 1 || d.activations[0].needsInput();
    if (readsInput) {
      d.fromInput = product(x, d.w);
      if (d.inputBias)
        d.fromInput = d.fromInput + d.inputBias;
    }
    (this->*differentiate)(d);
    directions.push_back(d);
  }
  finish(directions);
  return success();
}

} // namespace

ArrayRef<GradientRule> getRecurrentRules() {
  static constexpr GradientRule rules[] = {
      {"RNN",
       [](Gradient &g) {
         return Layer(g, 1, 1).build(&Layer::differentiateRNN);
       }},
      {"GRU",
       [](Gradient &g) {
         return Layer(g, 3, 2).build(&Layer::differentiateGRU);
       }},
      {"LSTM",
       [](Gradient &g) {
         return Layer(g, 4, 3).build(&Layer::differentiateLSTM);
       }},
  };
  return rules;
}

} // namespace amp::onnx
