//===- MergeCasts.cpp - autocast's casts and the model's ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Passes/Lowering.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Interfaces/AutocastOpInterface.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_MERGECASTS
#include "amp/Passes/Lowering.h.inc"

namespace {

bool isLow(Type type) { return type && (type.isF16() || type.isBF16()); }

Type getElementType(Value value) {
  auto tensor = dyn_cast<TensorType>(value.getType());
  return tensor ? tensor.getElementType() : Type();
}

/// True if rounding to float32 and then to `low` is rounding to `low`, for all
/// values of the type.
bool isOneRounding(Type source, Type low) {
  if (source == low || source.isF32())
    return true;
  auto integer = dyn_cast<IntegerType>(source);
  // Up to float16's largest value, float32 has every integer; bfloat16 goes
  // beyond what float32 has exactly.
  return integer && (low.isF16() || integer.getWidth() <= 16);
}

struct MergeCastsPass final : impl::MergeCastsBase<MergeCastsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<onnx::CastOp> casts;
    getOperation()->walk<WalkOrder::PreOrder>(
        [&](onnx::CastOp op) { casts.push_back(op); });
    for (onnx::CastOp op : casts) {
      numMerged += readSource(op);
      numMerged += writeLow(op);
    }
  }

private:
  static bool admits(int variable, Operation *op, Type element) {
    return cast<AutocastOpInterface>(op).supportsElementType(
        variable, cast<FloatType>(element));
  }

  /// Of what was widened to float32 for a Cast. (Strings show the format.)
  static bool readSource(onnx::CastOp op) {
    auto widening = op->getOperand(0).getDefiningOp<CastOp>();
    Type element = getElementType(op->getResult(0));
    if (!widening || !isLow(getElementType(widening.getInput())) || !element ||
        !(isa<IntegerType>(element) || element.isF32() || element.isF64()))
      return false;
    auto autocast = cast<AutocastOpInterface>(op.getOperation());
    if (!admits(autocast.getOperandTypeVariable(0), op,
                getElementType(widening.getInput())))
      return false;
    op->setOperand(0, widening.getInput());
    if (widening->use_empty())
      widening->erase();
    return true;
  }

  /// What everybody reads through one cast.
  static bool writeLow(onnx::CastOp op) {
    Value result = op->getResult(0);
    Type element = getElementType(result);
    if (!element || !element.isF32() || !result.hasOneUse())
      return false;
    auto narrowing = dyn_cast<CastOp>(*result.user_begin());
    Type low = narrowing ? getElementType(narrowing.getResult()) : Type();
    Type source = getElementType(op->getOperand(0));
    std::optional<onnx::ElementType> number =
        isLow(low) ? onnx::fromType(low) : std::nullopt;
    auto autocast = cast<AutocastOpInterface>(op.getOperation());
    if (!number || !source || !isOneRounding(source, low) ||
        !admits(autocast.getResultTypeVariable(0), op, low))
      return false;
    result.setType(
        withFloatElementType(result.getType(), cast<FloatType>(low)));
    op->setAttr("to", IntegerAttr::get(IntegerType::get(op->getContext(), 64),
                                       int64_t(*number)));
    narrowing->replaceAllUsesWith(ValueRange(result));
    narrowing->erase();
    return true;
  }
};

} // namespace

} // namespace amp
