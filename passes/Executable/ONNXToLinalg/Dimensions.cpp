//===- Dimensions.cpp - which dimensions have one size --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dimensions.h"

#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Dialect/ONNX/ONNXOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace amp {

namespace {

int64_t getRank(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : -1;
}

/// The argument of the same function that is the first to have the symbol of an
/// argument's dimension.
std::optional<std::pair<Value, unsigned>> findSymbol(BlockArgument argument,
                                                     unsigned dimension) {
  auto function =
      dyn_cast_if_present<func::FuncOp>(argument.getOwner()->getParentOp());
  auto signature = function ? function->getAttrOfType<DictionaryAttr>(
                                  rt::AMPRTDialect::kSignature)
                            : DictionaryAttr();
  auto inputs = signature ? signature.getAs<ArrayAttr>("inputs") : ArrayAttr();
  if (!inputs)
    return std::nullopt;
  auto getSymbol = [&](unsigned input, unsigned at) {
    auto entry = dyn_cast<DictionaryAttr>(inputs[input]);
    auto symbols = entry ? entry.getAs<ArrayAttr>("symbols") : ArrayAttr();
    auto symbol = symbols && at < symbols.size()
                      ? dyn_cast<StringAttr>(symbols[at])
                      : StringAttr();
    return symbol ? symbol.getValue() : StringRef();
  };
  if (argument.getArgNumber() >= inputs.size())
    return std::nullopt;
  StringRef symbol = getSymbol(argument.getArgNumber(), dimension);
  if (symbol.empty())
    return std::nullopt;
  for (BlockArgument other : argument.getOwner()->getArguments())
    for (int64_t i = 0; i < getRank(other); ++i)
      if (other.getArgNumber() < inputs.size() &&
          getSymbol(other.getArgNumber(), i) == symbol)
        return std::make_pair(Value(other), unsigned(i));
  return std::nullopt;
}

} // namespace

/// A step of a question, which is over when the first step is.
class Dimensions::Question {
public:
  explicit Question(Dimensions &dimensions) : dimensions(dimensions) {
    dimensions.steps = dimensions.depth++ == 0 ? 0 : dimensions.steps + 1;
  }
  ~Question() { --dimensions.depth; }
  bool mayGoOn() const { return dimensions.steps < kMostSteps; }

private:
  Dimensions &dimensions;
};

Size Dimensions::get(Value value, unsigned dimension) {
  const Size own = {ShapedType::kDynamic, value, dimension};
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.isDynamicDim(dimension))
    return {type.getDimSize(dimension), Value(), 0};
  auto found = known.find({value, dimension});
  if (found != known.end())
    return found->second;
  Question question(*this);
  if (!question.mayGoOn())
    return own;
  Size size = own;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto source = findSymbol(argument, dimension))
      if (*source != std::make_pair(value, dimension))
        size = get(source->first, source->second);
  } else if (DimensionRule rule = findDimensionRule(value.getDefiningOp())) {
    size = rule(*this, cast<OpResult>(value), dimension).value_or(own);
  }
  if (isRemembering)
    known[{value, dimension}] = size;
  return size;
}

std::optional<Size> Dimensions::getElement(Value list, unsigned index) {
  Operation *op = list ? list.getDefiningOp() : nullptr;
  ElementRule rule = op ? findElementRule(op) : nullptr;
  Question question(*this);
  return rule && question.mayGoOn() ? rule(*this, cast<OpResult>(list), index)
                                    : std::nullopt;
}

void Dimensions::remember(Operation *root) {
  isRemembering = true;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      if (isa<RankedTensorType>(result.getType()))
        get(result);
  });
}

SmallVector<Size> Dimensions::get(Value value) {
  SmallVector<Size> sizes;
  for (int64_t i = 0; i < getRank(value); ++i)
    sizes.push_back(get(value, i));
  return sizes;
}

void Dimensions::set(Value value, ArrayRef<Size> sizes) {
  for (auto [i, size] : llvm::enumerate(sizes))
    if (!size.isStatic())
      known[{value, unsigned(i)}] = size;
}

} // namespace amp
