//===- StochasticRounding.cpp - amp-stochastic-rounding -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StochasticRounding.h"

#include "NamedValues.h"
#include "RandomNumbers.h"
#include "TrainingState.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Regex.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_STOCHASTICROUNDING
#include "amp/Passes/Training.h.inc"

using onnx::Expr;
using onnx::NodeBuilder;

Expr roundStochastically(Expr value, Expr fraction) {
  NodeBuilder &b = value.getBuilder();
  Type bf16 = b.getBuilder().getBF16Type(), f32 = value.getElementType();
  auto rounded = [&](Expr x) { return b.cast(b.cast(x, bf16), f32); };
  Expr nearest = rounded(value);
  Expr rest = value - nearest; // exact
  // 5/8 to 5/4 of the distance to the next number, which is 2^-7 to 2^-8 of a
  // normal one, and half as much below a power of two: rounds to that number.
  // Subnormal numbers are 2^-133 apart.
  Expr step = max(abs(nearest) * 0x1.4p-8, b.number(0x1.4p-134, f32));
  Expr other = rounded(b.where(rest < 0.0, nearest - step, nearest + step));
  // NaN, for what is not finite, is not less.
  Expr isOther = fraction * abs(other - nearest) < abs(rest);
  return b.cast(b.where(isOther, other, nearest), bf16);
}

namespace {

/// Streams of Dropout nodes count from 0.
constexpr uint32_t kRoundingStream = 0x80000000;

/// A state that is to be kept in bfloat16.
struct State {
  BlockArgument value;
  unsigned output;
  int64_t size;
};

class StochasticRoundingPass
    : public impl::StochasticRoundingBase<StochasticRoundingPass> {
public:
  using StochasticRoundingBase::StochasticRoundingBase;

  void runOnOperation() override {
    func::FuncOp main = findMainGraph(getOperation());
    if (!main)
      return signalPassFailure();
    if (failed(narrow(main)))
      signalPassFailure();
  }

private:
  FailureOr<SmallVector<State>> findStates(func::FuncOp main);
  LogicalResult narrow(func::FuncOp main);
};

FailureOr<SmallVector<State>>
StochasticRoundingPass::findStates(func::FuncOp main) {
  llvm::Expected<llvm::Regex> regex =
      getWholeNameRegex(states.empty() ? ".*" : StringRef(states));
  if (!regex)
    return main.emitError() << "states: " << llvm::toString(regex.takeError());
  llvm::StringSet<> parameters;
  if (auto names = main->getAttrOfType<ArrayAttr>(AMPDialect::kParameters))
    for (auto name : names.getAsRange<StringAttr>())
      parameters.insert(name.getValue());

  Operation *end = main.getBody().front().getTerminator();
  llvm::StringMap<unsigned> outputs;
  for (unsigned i = 0; i < end->getNumOperands(); ++i)
    outputs[getOutputName(main, i)] = i;
  NamedValues named(main);
  SmallVector<State> found;
  for (const auto &[input, output] : getStatePairs(getOperation())) {
    if (states.empty() ? !parameters.contains(input) : !regex->match(input))
      continue;
    auto argument = dyn_cast_if_present<BlockArgument>(named.lookup(input));
    auto type = argument ? dyn_cast<RankedTensorType>(argument.getType())
                         : RankedTensorType();
    auto position = outputs.find(output);
    if (!type || !type.getElementType().isF32() || !type.hasStaticShape() ||
        position == outputs.end())
      continue;
    found.push_back({argument, position->second, type.getNumElements()});
  }
  if (found.empty())
    return main.emitError()
           << "states: no float32 state of static shape "
           << (states.empty() ? "is a parameter"
                              : "has a name like " + quoted(states));
  return found;
}

/// Gives an input and its default the type bfloat16; the old type for readers.
void narrowInput(BlockArgument value, NodeBuilder &b) {
  Type wide = value.getType(), f32 = b.getBuilder().getF32Type();
  auto bf16 = BFloat16Type::get(value.getContext());
  value.setType(withFloatElementType(wide, bf16));
  SmallVector<OpOperand *> uses;
  SmallVector<Operation *> copies;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto initial = dyn_cast<onnx::DefaultInputOp>(user))
      initial.setValueAttr(
          onnx::TensorAttr::get(value.getContext(),
                                RoundedAttr::get(initial.getValue().getValue(),
                                                 Overflow::Infinity, bf16),
                                DictionaryAttr()));
    else if (isa<onnx::CastOp>(user) &&
             user->getResult(0).getType() == value.getType())
      copies.push_back(user);
    else
      uses.push_back(&use);
  }
  // The working copies of autocast.
  for (Operation *copy : copies) {
    copy->getResult(0).replaceAllUsesWith(value);
    copy->erase();
  }
  Value widened = b.cast(b.expr(value), f32);
  for (OpOperand *use : uses)
    use->set(widened);
}

LogicalResult StochasticRoundingPass::narrow(func::FuncOp main) {
  FailureOr<SmallVector<State>> found = findStates(main);
  if (failed(found))
    return failure();
  FailureOr<RandomNumbers> numbers = RandomNumbers::get(main, seed);
  if (failed(numbers))
    return failure();
  Block &block = main.getBody().front();
  OpBuilder atStart = OpBuilder::atBlockBegin(&block);
  NodeBuilder inputs(atStart, main);
  for (const State &state : *found)
    narrowInput(state.value, inputs);

  // Numbers for all at once: a block of random numbers takes a hundred nodes.
  Operation *end = block.getTerminator();
  OpBuilder atEnd(end);
  NodeBuilder b(atEnd, main);
  int64_t count = 0;
  for (const State &state : *found)
    count += state.size;
  Expr fractions = numbers->drawFractions(b, kRoundingStream, count);
  int64_t begin = 0;
  for (const State &state : *found) {
    Expr value = b.expr(end->getOperand(state.output));
    Expr own = b.slice(fractions, begin, begin + state.size, 0);
    begin += state.size;
    end->setOperand(state.output,
                    roundStochastically(value, b.reshapeLike(own, value)));
  }
  updateType(main);
  return success();
}

} // namespace
} // namespace amp
