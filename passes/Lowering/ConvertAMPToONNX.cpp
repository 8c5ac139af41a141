//===- ConvertAMPToONNX.cpp - amp operations as ONNX operators ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Passes/Lowering.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/ONNXOps.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_CONVERTAMPTOONNX
#include "amp/Passes/Lowering.h.inc"

namespace {

LogicalResult convertCast(CastOp op, IRRewriter &rewriter) {
  FloatType element = getFloatElementType(op.getType());
  std::optional<onnx::ElementType> number = onnx::fromType(element);
  if (!number || !isa<TensorType>(op.getType()))
    return op.emitOpError("to ") << op.getType() << " has no ONNX operator";
  OperationState state(op.getLoc(), onnx::CastOp::getOperationName());
  state.addOperands(op.getInput());
  state.addTypes(op.getType());
  state.addAttribute("to", rewriter.getI64IntegerAttr(int64_t(*number)));
  rewriter.setInsertionPoint(op);
  Operation *cast = rewriter.create(state);
  rewriter.replaceOp(op, cast->getResults());
  return success();
}

/// An input that has another type now has a default value of that type. (What
/// reads it was given a cast back to the old one.)
void convertDefault(onnx::DefaultInputOp op) {
  if (auto cast = op.getInput().getDefiningOp<CastOp>();
      cast && isa<BlockArgument>(cast.getInput()))
    op.getInputMutable().assign(cast.getInput());
  FloatType element = getFloatElementType(op.getInput().getType());
  TypedAttr value = op.getValue().getValue();
  FloatType source = getFloatElementType(value.getType());
  if (!element || !source || element == source)
    return;
  auto rounded = RoundedAttr::get(value, Overflow::Saturate, element);
  op.setValueAttr(onnx::TensorAttr::get(op.getContext(), rounded,
                                        op.getValue().getProto()));
}

struct ConvertAMPToONNXPass final
    : impl::ConvertAMPToONNXBase<ConvertAMPToONNXPass> {
  using Base::Base;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk(convertDefault);
    WalkResult result = getOperation()->walk(
        [&](CastOp cast) { return WalkResult(convertCast(cast, rewriter)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace

} // namespace amp
