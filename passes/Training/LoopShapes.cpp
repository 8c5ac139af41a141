//===- LoopShapes.cpp - shapes of what loops carry ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopShapes.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/TypeInference.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace amp {

namespace {

using onnx::DimsAttr;

StringAttr nameOf(RankedTensorType type, int64_t dimension) {
  auto names = dyn_cast_if_present<DimsAttr>(type.getEncoding());
  return names ? names.getNames()[dimension]
               : StringAttr::get(type.getContext());
}

/// What is known of both; null if that is not even a rank.
RankedTensorType join(Type a, Type b) {
  auto one = dyn_cast_if_present<RankedTensorType>(a),
       other = dyn_cast_if_present<RankedTensorType>(b);
  if (!one || !other || one.getRank() != other.getRank() ||
      one.getElementType() != other.getElementType())
    return {};
  SmallVector<int64_t> shape(one.getShape());
  SmallVector<StringAttr> names;
  for (int64_t i = 0; i < one.getRank(); ++i) {
    StringAttr name = nameOf(one, i);
    bool isSame = shape[i] == other.getDimSize(i) &&
                  (!one.isDynamicDim(i) || name == nameOf(other, i));
    names.push_back(isSame ? name : StringAttr::get(one.getContext()));
    shape[i] = isSame ? shape[i] : ShapedType::kDynamic;
  }
  bool isNamed =
      llvm::any_of(names, [](StringAttr name) { return !name.empty(); });
  return RankedTensorType::get(
      shape, one.getElementType(),
      isNamed ? Attribute(DimsAttr::get(one.getContext(), names))
              : Attribute());
}

class Inferrer {
public:
  void inferBlock(Block &block) {
    for (Operation &op : block.without_terminator())
      inferOperation(&op);
  }

private:
  void inferOperation(Operation *op);
  void inferLoop(Operation *op, unsigned firstArgument, unsigned firstYielded,
                 unsigned numCarried);

  onnx::NodeInference inference;
  /// Loops in loops are looked at several times: of hostile ones, not all are.
  unsigned budget = 100'000;
  unsigned depth = 0;
};

void Inferrer::inferOperation(Operation *op) {
  if (depth != 0) {
    if (budget == 0)
      return;
    --budget;
  }
  StringRef name = op->getName().getStringRef();
  bool isLoop = name == "onnx.Loop";
  if ((isLoop || name == "onnx.Scan") && !op->getRegion(0).empty()) {
    unsigned first = isLoop ? 2 : 0;
    unsigned arguments = op->getRegion(0).getNumArguments();
    auto scanned = op->getAttrOfType<IntegerAttr>("num_scan_inputs");
    int64_t carried =
        int64_t(arguments) - first - (scanned ? scanned.getInt() : 0);
    if (carried >= 0 && carried <= op->getNumResults() &&
        carried + (scanned ? scanned.getInt() : 0) <= op->getNumOperands())
      return inferLoop(op, first, isLoop ? 1 : 0, carried);
  }
  for (Region &region : op->getRegions())
    for (Block &block : region)
      inferBlock(block);
  if (op->getNumRegions() == 0)
    inference.infer(op);
}

void Inferrer::inferLoop(Operation *op, unsigned firstArgument,
                         unsigned firstYielded, unsigned numCarried) {
  Block &body = op->getRegion(0).front();
  Operation *end = body.getTerminator();
  if (end->getNumOperands() < firstYielded + numCarried)
    return;
  SmallVector<std::pair<Value, Type>> before;
  op->getRegion(0).walk([&](Block *block) {
    for (Value argument : block->getArguments())
      before.push_back({argument, argument.getType()});
    for (Operation &inner : *block)
      for (Value result : inner.getResults())
        before.push_back({result, result.getType()});
  });
  unsigned numScanned = body.getNumArguments() - firstArgument - numCarried;
  OperandRange initial =
      op->getOperands().drop_back(numScanned).take_back(numCarried);
  SmallVector<Type> carried(initial.getTypes());

  // A dimension that changes is one that is not known in the next round.
  constexpr unsigned kMaxRounds = 4;
  for (unsigned round = 0; round < kMaxRounds && budget != 0; ++round) {
    bool isStable = true;
    for (unsigned i = 0; i < numCarried; ++i) {
      Value argument = body.getArgument(firstArgument + i);
      auto declared = dyn_cast<RankedTensorType>(argument.getType());
      if (carried[i] && isa<RankedTensorType>(carried[i]) &&
          !(declared && declared.hasStaticShape()))
        argument.setType(carried[i]);
    }
    ++depth;
    inferBlock(body);
    --depth;
    for (unsigned i = 0; i < numCarried; ++i) {
      if (!carried[i])
        continue;
      Type next = join(carried[i], end->getOperand(firstYielded + i).getType());
      isStable &= next == carried[i];
      carried[i] = next;
    }
    if (isStable) {
      for (auto [type, result] : llvm::zip(carried, op->getResults()))
        if (auto known = dyn_cast<RankedTensorType>(result.getType());
            type && !(known && known.hasStaticShape()))
          result.setType(type);
      return;
    }
    for (auto [value, type] : before)
      value.setType(type);
  }
}

} // namespace

void inferLoopShapes(Block &block) {
  // A graph declares what leaves it.
  OperandRange returned = block.getTerminator()->getOperands();
  SmallVector<Type> declared(returned.getTypes());
  Inferrer().inferBlock(block);
  for (auto [value, type] : llvm::zip_equal(returned, declared))
    value.setType(type);
}

} // namespace amp
