//===- Loops.cpp - gradients of Loop and Scan -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of both is a Loop over the iterations that were run, the last
// one first. It carries
//
//   the number of the forward iteration,
//   the gradients of what that carries,
//   the sums of the gradients of what its body reads from outside,
//
// and stacks the gradients of slices. Values that the gradient of an iteration
// reads are more scan outputs of the forward operation.
//
//===----------------------------------------------------------------------===//

#include "Subgraphs.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"

#include "mlir/IR/TypeUtilities.h"

#include <numeric>

using namespace mlir;

namespace amp::onnx {

namespace {

/// Where slices of a tensor are, and from which end they are taken.
struct Slicing {
  int64_t axis = 0;
  bool isReversed = false;
};

/// A Loop or a Scan.
class Form {
public:
  explicit Form(Gradient &g);

  /// Fails if there is no gradient for it.
  LogicalResult verify() const;

  Block &getBody() const { return op->getRegion(0).front(); }
  Operation *getEnd() const { return getBody().getTerminator(); }
  Value getInitial(unsigned i) const {
    return op->getOperand(firstOperand + i);
  }
  Value getArgument(unsigned i) const {
    return getBody().getArgument(firstArgument + i);
  }
  Value getYielded(unsigned i) const {
    return getEnd()->getOperand(firstYielded + i);
  }
  /// The argument of the iteration's number; null for a Scan.
  Value getIteration() const {
    return isLoop ? Value(getBody().getArgument(0)) : Value();
  }
  Slicing getInput(unsigned i) const {
    return {list("scan_input_axes", i), list("scan_input_directions", i) != 0};
  }
  Slicing getOutput(unsigned i) const {
    return {list("scan_output_axes", i),
            list("scan_output_directions", i) != 0};
  }

  Gradient &g;
  Operation *op;
  bool isLoop;
  unsigned firstOperand, firstArgument, firstYielded;
  unsigned numCarried = 0, numInputs = 0, numOutputs = 0;

private:
  int64_t list(StringRef name, unsigned i) const {
    auto values = op->getAttrOfType<DenseI64ArrayAttr>(name);
    return values && i < values.size() ? values[i] : 0;
  }
};

Form::Form(Gradient &g)
    : g(g), op(g.getOperation()),
      isLoop(op->getName().getStringRef() == "onnx.Loop"),
      firstArgument(isLoop ? 2 : 0), firstYielded(isLoop ? 1 : 0) {
  unsigned arguments = getBody().getNumArguments();
  numInputs = isLoop ? 0 : unsigned(g.getInt("num_scan_inputs", 0));
  numInputs =
      std::min(numInputs, arguments - std::min(arguments, firstArgument));
  numCarried = arguments - std::min(arguments, firstArgument) - numInputs;
  unsigned yielded = getEnd()->getNumOperands();
  numOutputs = yielded - std::min(yielded, firstYielded + numCarried);
  firstOperand = op->getNumOperands() -
                 std::min(op->getNumOperands(), numCarried + numInputs);
}

LogicalResult Form::verify() const {
  if (op->getNumOperands() < numCarried + numInputs ||
      getBody().getNumArguments() < firstArgument ||
      getEnd()->getNumOperands() != firstYielded + numCarried + numOutputs ||
      op->getNumResults() != numCarried + numOutputs)
    return g.fail("where its subgraph takes or returns another number of "
                  "values than it");
  for (unsigned i = 0; i < numCarried; ++i)
    if (g.getContext().isNeeded(getArgument(i)) &&
        !isa<TensorType>(getArgument(i).getType()))
      return g.fail("where it carries a value that is no tensor");
  return success();
}

/// True if two shapes can't be the same.
bool haveOtherShapes(Type a, Type b) {
  auto one = dyn_cast<RankedTensorType>(a),
       other = dyn_cast<RankedTensorType>(b);
  if (!one || !other)
    return false;
  return failed(verifyCompatibleShape(one.getShape(), other.getShape()));
}

/// The gradient of a Form while it is built.
class LoopGradient {
public:
  explicit LoopGradient(Gradient &g)
      : g(g), b(g.b), builder(g.b.getBuilder()), form(g) {}

  LogicalResult build();

private:
  LogicalResult buildBody();
  LogicalResult repeatControlFlow();
  LogicalResult saveValues();
  LogicalResult checkStackable(const SavedValues &saved);
  void buildLoop();

  bool isNeeded(Value value) const { return g.getContext().isNeeded(value); }
  Block &getBlock() const { return draft->getRegion(0).front(); }
  /// The number, in forward order, of the slice that an iteration sees.
  Value indexOf(Slicing slicing) const {
    return getBlock().getArgument(slicing.isReversed ? 0 : 2);
  }
  Value take(NodeBuilder &nodes, Value tensor, Slicing slicing, Value like);
  Value finishSlices(Value stacked, Slicing slicing, Value like);

  Gradient &g;
  NodeBuilder &b;
  OpBuilder &builder;
  Form form;
  Operation *draft = nullptr;
  /// Carried values with a gradient: their numbers and the initial gradients.
  SmallVector<unsigned> carried;
  SmallVector<Value> initial;
  /// Values from outside whose gradients are summed, and scan inputs whose
  /// slices have one.
  SmallVector<Value> captured, summed;
  SmallVector<unsigned> sliced;
  /// The number of iterations: a list of one.
  Expr count;
};

/// A slice of `tensor`, with the type of `like`.
Value LoopGradient::take(NodeBuilder &nodes, Value tensor, Slicing slicing,
                         Value like) {
  Value slice = nodes.apply("Gather", {tensor, indexOf(slicing)},
                            nodes.attr("axis", slicing.axis));
  auto type = dyn_cast<RankedTensorType>(slice.getType());
  if (!type || !type.hasStaticShape())
    slice.setType(like.getType());
  return slice;
}

LogicalResult LoopGradient::buildBody() {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = form.op->getLoc();
  auto number = RankedTensorType::get({}, builder.getI64Type());
  auto flag = RankedTensorType::get({}, builder.getI1Type());
  Block &block = *builder.createBlock(&draft->getRegion(0), {},
                                      {number, flag, number}, {loc, loc, loc});
  SmallVector<std::pair<Value, Value>> seeds;
  for (unsigned i : carried) {
    Value yielded = form.getYielded(i);
    Value dy = block.addArgument(yielded.getType(), loc);
    if (isNeeded(yielded))
      seeds.push_back({yielded, dy});
  }
  for (unsigned i = 0; i < form.numOutputs; ++i) {
    Value yielded = form.getYielded(form.numCarried + i);
    Value dy =
        g.getContext().getGradient(form.op->getResult(form.numCarried + i));
    if (dy && isNeeded(yielded))
      seeds.push_back({yielded, take(b, dy, form.getOutput(i), yielded)});
  }
  // In the order: carried, captured, slices.
  SmallVector<Value> wanted;
  for (unsigned i : carried)
    wanted.push_back(form.getArgument(i));
  llvm::append_range(wanted, captured);
  for (unsigned i = 0; i < form.numInputs; ++i)
    wanted.push_back(form.getArgument(form.numCarried + i));
  FailureOr<SmallVector<Value>> gradients =
      g.getContext().differentiate(form.getBody(), seeds, wanted);
  if (failed(gradients))
    return failure();
  b.setLocation(loc);

  Expr one = b.integer(1);
  auto yes = DenseElementsAttr::get(flag, true);
  SmallVector<Value> yielded = {b.constant(yes),
                                b.expr(block.getArgument(2)) - one};
  ArrayRef<Value> rest = *gradients;
  for (unsigned i : carried) {
    yielded.push_back(rest.front()
                          ? rest.front()
                          : Value(b.filledLike(form.getArgument(i), 0)));
    rest = rest.drop_front();
  }
  for (Value value : captured) {
    Value gradient = rest.front();
    rest = rest.drop_front();
    if (!gradient)
      continue;
    // Sums of 16-bit values are float32 until the end.
    Type element = getElementTypeOrSelf(value);
    if (element.isF16() || element.isBF16())
      element = builder.getF32Type();
    Value sum = block.addArgument(
        cast<TensorType>(value.getType()).clone(element), loc);
    yielded.push_back(b.expr(sum) + b.cast(b.expr(gradient), element));
    summed.push_back(value);
  }
  for (auto [i, gradient] : llvm::enumerate(rest))
    if (gradient) {
      yielded.push_back(gradient);
      sliced.push_back(i);
    }
  b.yield(yielded);
  return success();
}

/// Fails for values that can't be stacked: if one has its shape from what is
/// carried, and the first iteration changes that.
LogicalResult LoopGradient::checkStackable(const SavedValues &saved) {
  for (auto &[value, uses] : saved)
    if (!isa<TensorType>(value.getType()))
      return g.fail("where its body makes a value that is no tensor and that "
                    "the gradient needs");
    else if (!form.isLoop && !isa<RankedTensorType>(value.getType()))
      // ONNX Runtime allocates what a Scan stacks before it runs.
      return g.fail("where the rank of a value that its body makes is not "
                    "known: declare the shapes of the model's inputs");
  // The types of the first iteration.
  SmallVector<std::pair<Value, Type>> before;
  auto setType = [&](Value value, Type type) {
    before.push_back({value, value.getType()});
    value.setType(type);
  };
  for (unsigned i = 0; i < form.numCarried; ++i)
    if (isa<RankedTensorType>(form.getInitial(i).getType()))
      setType(form.getArgument(i), form.getInitial(i).getType());
  NodeInference inference;
  for (Operation &op : form.getBody().without_terminator())
    if (op.getNumRegions() == 0) {
      for (Value result : op.getResults())
        before.push_back({result, result.getType()});
      inference.infer(&op);
    }
  bool isChanged = false;
  for (unsigned i = 0; i < form.numCarried; ++i)
    isChanged |= haveOtherShapes(form.getArgument(i).getType(),
                                 form.getYielded(i).getType());
  SmallVector<Type> types;
  for (auto &[value, uses] : saved)
    types.push_back(value.getType());
  for (auto [value, type] : llvm::reverse(before))
    value.setType(type);
  if (!isChanged)
    return success();
  for (auto [entry, type] : llvm::zip_equal(saved, types))
    if (type != entry.first.getType())
      return g.fail("where a value that it needs has another shape in the next "
                    "iteration: that can't be stacked");
  return success();
}

/// What subgraphs in the body make may have another size in each iteration:
/// stacks of as many slices as an inner loop had iterations, nothing for a
/// branch that was not taken. It is computed anew, from values that can be
/// stacked.
LogicalResult LoopGradient::repeatControlFlow() {
  Region &forward = form.op->getRegion(0), &backward = draft->getRegion(0);
  auto repeats = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    Operation *maker = value.getDefiningOp();
    return maker && maker->getNumRegions() != 0 &&
           !(type && type.hasStaticShape());
  };
  // The last one first: it may read what others make.
  for (Operation &op : llvm::reverse(form.getBody())) {
    if (op.getNumRegions() == 0)
      continue;
    SavedValues saved = findSaved(forward, backward);
    bool isRepeated = llvm::any_of(saved, [&](auto &entry) {
      return entry.first.getDefiningOp() == &op && repeats(entry.first);
    });
    if (!isRepeated)
      continue;
    if (Operation *random = findRandom(&op))
      return g.fail("where its body has " + Twine(describeNode(random)) +
                    " in a subgraph: it would have to run twice, alike");
    OpBuilder atStart(builder.getContext());
    atStart.setInsertionPointToStart(&getBlock());
    Operation *copy = atStart.clone(op);
    copy->walk([](Operation *inner) {
      inner->removeAttr(ONNXDialect::kOutputs);
      inner->removeAttr(ONNXDialect::kName);
      dropValueNames(inner);
    });
    for (auto &[value, uses] : saved)
      if (auto result = dyn_cast<OpResult>(value);
          result && result.getOwner() == &op)
        readFrom(uses, copy->getResult(result.getResultNumber()));
  }
  return success();
}

/// Makes what the gradient of an iteration reads of the forward one slices of
/// scan outputs, and finds the number of iterations.
LogicalResult LoopGradient::saveValues() {
  SavedValues saved = findSaved(form.op->getRegion(0), draft->getRegion(0));
  OpBuilder atStart(builder.getContext());
  atStart.setInsertionPointToStart(&getBlock());
  NodeBuilder slices(atStart, draft);

  // What needs no stack.
  saved.remove_if([&](auto &entry) {
    auto &[value, uses] = entry;
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (value == form.getIteration() && type && type.getRank() == 0) {
      readFrom(uses, getBlock().getArgument(2));
      return true;
    }
    for (unsigned i = 0; i < form.numCarried; ++i)
      if (value == form.getArgument(i) && value == form.getYielded(i)) {
        readFrom(uses, form.getInitial(i));
        return true;
      }
    for (unsigned i = 0; i < form.numInputs; ++i)
      if (value == form.getArgument(form.numCarried + i)) {
        readFrom(uses, take(slices, form.getInitial(form.numCarried + i),
                            form.getInput(i), value));
        return true;
      }
    for (unsigned i = 0; i < form.numOutputs; ++i)
      if (value == form.getYielded(form.numCarried + i)) {
        readFrom(uses, take(slices, form.op->getResult(form.numCarried + i),
                            form.getOutput(i), value));
        return true;
      }
    return false;
  });
  if (failed(checkStackable(saved)))
    return failure();

  unsigned known = form.op->getNumResults();
  SmallVector<Value> more;
  for (auto &[value, uses] : saved)
    more.push_back(value);
  bool isCounted = !form.isLoop || form.numOutputs != 0 || !more.empty();
  if (!isCounted)
    more.push_back(form.getIteration());
  Operation *forward = form.op;
  if (!more.empty()) {
    form.getEnd()->insertOperands(form.getEnd()->getNumOperands(), more);
    for (StringRef name : {"scan_output_axes", "scan_output_directions"})
      if (auto list = forward->getAttrOfType<DenseI64ArrayAttr>(name)) {
        SmallVector<int64_t> longer(list.asArrayRef());
        longer.append(more.size(), 0);
        forward->setAttr(name, builder.getDenseI64ArrayAttr(longer));
      }
    forward = addResults(form.op, more.size());
    b.infer(forward);
    for (auto [i, entry] : llvm::enumerate(saved))
      readFrom(entry.second,
               take(slices, forward->getResult(known + i), {}, entry.first));
    g.getContext().replace(
        form.op, forward->getResults().take_front(form.op->getNumResults()));
    form.op = forward;
  }
  if (form.isLoop)
    count = b.sizeOf(forward->getResult(form.numCarried), 0);
  else
    count = b.sizeOf(form.getInitial(form.numCarried), form.getInput(0).axis);
  return success();
}

/// Slices are stacked in the order of the backward iterations.
Value LoopGradient::finishSlices(Value stacked, Slicing slicing, Value like) {
  Expr all = b.expr(stacked);
  if (!slicing.isReversed)
    all = b.slice(all, {-1}, {std::numeric_limits<int64_t>::min()}, {0}, {-1});
  auto type = dyn_cast<RankedTensorType>(like.getType());
  if (!type || slicing.axis == 0)
    return all;
  SmallVector<int64_t> permutation(type.getRank());
  int64_t axis =
      slicing.axis < 0 ? slicing.axis + type.getRank() : slicing.axis;
  for (int64_t i = 0, from = 1; i < type.getRank(); ++i)
    permutation[i] = i == axis ? 0 : from++;
  return b.transpose(all, permutation);
}

void LoopGradient::buildLoop() {
  Expr number = b.squeeze(count, {0});
  // ONNX Runtime fails where a subgraph's Loop leaves out the condition.
  auto flag = RankedTensorType::get({}, builder.getI1Type());
  SmallVector<Value> inputs = {number,
                               b.constant(DenseElementsAttr::get(flag, true)),
                               number - b.integer(1)};
  llvm::append_range(inputs, initial);
  for (Value value : summed) {
    Expr zeros = b.filledLike(value, 0.0);
    Type element = zeros.getElementType();
    inputs.push_back(element.isF16() || element.isBF16()
                         ? b.cast(zeros, builder.getF32Type())
                         : zeros);
  }
  unsigned sums = 1 + carried.size(), slices = sums + summed.size();
  Operation *loop = b.node("Loop", inputs, {}, slices + sliced.size());
  loop->getRegion(0).takeBody(draft->getRegion(0));
  b.erase(draft);
  b.infer(loop);
  for (auto [i, carriedValue] : llvm::enumerate(carried))
    if (Value value = form.getInitial(carriedValue); isNeeded(value))
      g.getContext().addGradient(value, loop->getResult(1 + i));
  for (auto [i, value] : llvm::enumerate(summed)) {
    Value sum = loop->getResult(sums + i);
    sum.setType(
        cast<TensorType>(value.getType()).clone(getElementTypeOrSelf(sum)));
    g.getContext().addGradient(value, b.castLike(b.expr(sum), value));
  }
  for (auto [i, input] : llvm::enumerate(sliced))
    if (Value value = form.getInitial(form.numCarried + input); isNeeded(value))
      g.getContext().addGradient(value,
                                 finishSlices(loop->getResult(slices + i),
                                              form.getInput(input), value));
}

LogicalResult LoopGradient::build() {
  if (failed(form.verify()))
    return failure();
  captured = findCaptured(g);
  for (unsigned i = 0; i < form.numCarried; ++i) {
    if (!isNeeded(form.getArgument(i)) && !isNeeded(form.getYielded(i)))
      continue;
    Value result = form.op->getResult(i);
    Value dy = g.getContext().getGradient(result);
    carried.push_back(i);
    initial.push_back(dy ? dy : Value(b.filledLike(result, 0.0)));
  }
  for (unsigned i = 0; i < form.numInputs; ++i)
    if (Slicing input = form.getInput(i);
        input.axis != 0 && isNeeded(form.getArgument(form.numCarried + i)) &&
        !isa<RankedTensorType>(form.getInitial(form.numCarried + i).getType()))
      return g.fail("where the rank of a scanned input is not known: declare "
                    "its shape");
  draft = b.node("Loop", {}, {}, 0);
  if (failed(buildBody()) || failed(repeatControlFlow()) ||
      failed(saveValues()))
    return failure();
  buildLoop();
  return success();
}

} // namespace

LogicalResult differentiateLoop(Gradient &g) { return LoopGradient(g).build(); }
LogicalResult differentiateScan(Gradient &g) { return LoopGradient(g).build(); }

} // namespace amp::onnx
