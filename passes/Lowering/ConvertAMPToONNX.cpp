//===- ConvertAMPToONNX.cpp - amp operations as ONNX operators ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvertLossScaling.h"

#include "amp/Passes/Lowering.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/FunctionIdentity.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/OpsetUpgrade.h"
#include "amp/Dialect/ONNX/Schema.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
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

/// The model's version of the default domain, for a function of another one if
/// its operators are the same in both: where they are not, as Cast may not be
/// now, ONNX refuses the function.
void alignOpset(func::FuncOp function, int64_t modelVersion) {
  std::optional<int64_t> version = onnx::getOpsetVersion(function, "");
  if (!version || *version == modelVersion)
    return;
  auto isSame = [&](StringRef name) {
    const onnx::Schema *mine = onnx::lookupSchema("", name, *version);
    const onnx::Schema *theirs = onnx::lookupSchema("", name, modelVersion);
    return mine && theirs && mine->sinceVersion == theirs->sinceVersion;
  };
  bool areOthersSame = true;
  function.walk([&](Operation *op) {
    const onnx::OperatorInfo *info = onnx::lookupOperator(op->getName());
    if (info && info->domain.empty() && !isa<onnx::CastOp>(op))
      areOthersSame &= isSame(info->name);
  });
  // Before opset 13 there was no bfloat16.
  const onnx::Schema *cast = onnx::lookupSchema("", "Cast", modelVersion);
  if (!areOthersSame || isSame("Cast") || !cast || cast->sinceVersion < 13)
    return;
  auto fields =
      function->getAttrOfType<DictionaryAttr>(onnx::ONNXDialect::kFunction);
  function->setAttr(onnx::ONNXDialect::kFunction,
                    onnx::withOpsetVersion(fields, modelVersion));
}

/// What a node computes in is its metadata, for whoever compiles the model.
constexpr StringLiteral kComputeKey = "amp.compute";

/// Writes `amp.compute` into the metadata, or removes what an earlier
/// conversion has left there.
void convertCompute(Operation *op) {
  auto compute = op->getAttrOfType<StringAttr>(AMPDialect::kCompute);
  op->removeDiscardableAttr(AMPDialect::kCompute);
  auto fields = op->getAttrOfType<DictionaryAttr>(onnx::ONNXDialect::kNode);
  auto metadata =
      fields ? fields.getAs<ArrayAttr>("metadata_props") : ArrayAttr();
  Builder builder(op->getContext());
  SmallVector<Attribute> entries;
  bool isKnown = false;
  if (metadata) {
    for (Attribute entry : metadata) {
      auto pair = dyn_cast<DictionaryAttr>(entry);
      auto key = pair ? pair.getAs<StringAttr>("key") : StringAttr();
      if (key && key == kComputeKey)
        isKnown = true;
      else
        entries.push_back(entry);
    }
  }
  if (!compute && !isKnown)
    return;
  if (compute)
    entries.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("key", builder.getStringAttr(kComputeKey)),
         builder.getNamedAttr("value", compute)}));
  NamedAttrList all(fields);
  if (entries.empty())
    all.erase("metadata_props");
  else
    all.set("metadata_props", builder.getArrayAttr(entries));
  if (all.empty())
    op->removeDiscardableAttr(onnx::ONNXDialect::kNode);
  else
    op->setDiscardableAttr(onnx::ONNXDialect::kNode,
                           all.getDictionary(op->getContext()));
}

struct ConvertAMPToONNXPass final
    : impl::ConvertAMPToONNXBase<ConvertAMPToONNXPass> {
  using Base::Base;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([](Operation *op) {
      if (auto input = dyn_cast<onnx::DefaultInputOp>(op))
        convertDefault(input);
      else
        convertCompute(op);
    });
    onnx::identifyCopies(getOperation());
    llvm::SetVector<func::FuncOp> functions;
    WalkResult result = getOperation()->walk([&](CastOp cast) {
      if (auto function = cast->getParentOfType<func::FuncOp>();
          function && function->hasAttr(onnx::ONNXDialect::kFunction))
        functions.insert(function);
      return WalkResult(convertCast(cast, rewriter));
    });
    if (result.wasInterrupted() || failed(convertLossScaling(getOperation())))
      return signalPassFailure();
    if (std::optional<int64_t> version =
            onnx::getOpsetVersion(getOperation(), ""))
      for (func::FuncOp function : functions)
        alignOpset(function, *version);
  }
};

} // namespace

} // namespace amp
