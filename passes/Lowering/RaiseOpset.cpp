//===- RaiseOpset.cpp - a later opset where the low format needs it -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Passes/Lowering.h"

#include "amp/Analysis/PrecisionAnalysis.h"
#include "amp/Dialect/AMP/FloatTypes.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/OpsetUpgrade.h"
#include "amp/Dialect/ONNX/Schema.h"
#include "amp/Dialect/ONNX/TypeInference.h"
#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Support/Quoted.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_RAISEOPSET
#include "amp/Passes/Lowering.h.inc"

namespace {

/// True if every float32 operand of a node may be of this type by a schema.
bool admits(Operation *op, const onnx::Schema &schema, FloatType lowType) {
  for (auto [position, value] :
       llvm::zip_equal(onnx::inputPositions(op), op->getOperands())) {
    FloatType elementType = getFloatElementType(value.getType());
    const onnx::Parameter *parameter = schema.inputAt(position);
    if (elementType && elementType.isF32() && parameter &&
        parameter->typeVariable >= 0 &&
        !parameter->types.admits(
            withFloatElementType(value.getType(), lowType)))
      return false;
  }
  return true;
}

struct RaiseOpsetPass final : impl::RaiseOpsetBase<RaiseOpsetPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  /// The first opset after the node's where it admits the type; none if there
  /// is none.
  std::optional<int64_t> findOpset(Operation *op, FloatType lowType) const;
  /// Has a model import ai.onnx that has no node of it, if an opset is asked
  /// for.
  void importLatest();
  /// Fills in the first node that has no other form, and why.
  bool canRaise(int64_t to, std::string &why);
  /// Fills in the first value whose declared shape is wrong, as only a later
  /// opset can tell.
  bool keepsShapes(int64_t to, std::string &why);
};
} // namespace

std::optional<int64_t> RaiseOpsetPass::findOpset(Operation *op,
                                                 FloatType lowType) const {
  const onnx::OperatorInfo *info = onnx::lookupOperator(op->getName());
  std::optional<int64_t> version = onnx::getOpsetVersion(op, "");
  if (!info || !info->domain.empty() || !version)
    return std::nullopt;
  int64_t last = onnx::latestOpset("");
  if (maxOpset > 0)
    last = std::min<int64_t>(last, maxOpset);
  for (int64_t opset = *version + 1; opset <= last; ++opset) {
    const onnx::Schema *schema = onnx::lookupSchema("", info->name, opset);
    if (schema && admits(op, *schema, lowType))
      return opset;
  }
  return std::nullopt;
}

void RaiseOpsetPass::importLatest() {
  auto model =
      getOperation()->getAttrOfType<DictionaryAttr>(onnx::ONNXDialect::kModel);
  int64_t opset = std::max(minOpset.getValue(), preferredOpset.getValue());
  if (model && opset > 0 && !onnx::getOpsetVersion(getOperation(), ""))
    getOperation()->setAttr(onnx::ONNXDialect::kModel,
                            onnx::withOpsetVersion(model, opset));
}

bool RaiseOpsetPass::canRaise(int64_t to, std::string &why) {
  WalkResult walk = getOperation().walk([&](Operation *op) {
    std::optional<int64_t> from = onnx::getOpsetVersion(op, "");
    if (!from || *from >= to)
      return WalkResult::advance();
    std::string problem = onnx::explainNoUpgrade(op, *from, to);
    if (problem.empty())
      return WalkResult::advance();
    if (why.empty()) {
      auto autocast = dyn_cast<AutocastOpInterface>(op);
      StringRef name = autocast ? autocast.getAutocastNodeName() : StringRef();
      if (autocast && name.empty() && op->getNumResults() > 0)
        name = autocast.getAutocastResultName(0);
      why =
          "opset " + std::to_string(to) + " is out of reach for " +
          (autocast ? autocast.getAutocastName() : op->getName().stripDialect())
              .str() +
          (name.empty() ? "" : " " + quoted(name)) + ": " + problem;
    }
    return WalkResult::interrupt();
  });
  return !walk.wasInterrupted();
}

/// Returns how many nodes have another operator now.
static unsigned raise(ModuleOp module, int64_t to) {
  IRRewriter rewriter(module.getContext());
  SmallVector<std::pair<Operation *, int64_t>> nodes;
  SmallVector<func::FuncOp> functions;
  unsigned upgraded = 0;
  module.walk([&](Operation *op) {
    if (auto function = dyn_cast<func::FuncOp>(op);
        function && function->hasAttr(onnx::ONNXDialect::kFunction))
      functions.push_back(function);
    else if (onnx::lookupOperator(op->getName()))
      if (std::optional<int64_t> from = onnx::getOpsetVersion(op, "");
          from && *from < to)
        nodes.push_back({op, *from});
  });
  for (auto [op, from] : nodes) {
    const onnx::OperatorInfo *info = onnx::lookupOperator(op->getName());
    const onnx::Schema *before = onnx::lookupSchema("", info->name, from);
    const onnx::Schema *after = onnx::lookupSchema("", info->name, to);
    if (before && after && before->sinceVersion != after->sinceVersion)
      ++upgraded;
    onnx::upgrade(rewriter, op, from, to);
  }
  auto raiseImports = [&](Operation *op, StringRef name) {
    auto fields = op->getAttrOfType<DictionaryAttr>(name);
    std::optional<int64_t> from = onnx::getOpsetVersion(op, "");
    if (fields && from && *from < to)
      op->setAttr(name, onnx::withOpsetVersion(fields, to));
  };
  for (func::FuncOp function : functions)
    raiseImports(function, onnx::ONNXDialect::kFunction);
  raiseImports(module, onnx::ONNXDialect::kModel);
  return upgraded;
}

bool RaiseOpsetPass::keepsShapes(int64_t to, std::string &why) {
  OwningOpRef<ModuleOp> trial = getOperation().clone();
  raise(*trial, to);
  std::string name;
  bool contradicted = false;
  auto note = [&](Value value) {
    auto result = dyn_cast<OpResult>(value);
    auto op = result ? dyn_cast<AutocastOpInterface>(result.getOwner())
                     : AutocastOpInterface();
    if (!contradicted && op)
      name = op.getAutocastResultName(result.getResultNumber()).str();
    contradicted = true;
  };
  onnx::InferenceOptions options;
  options.shapes = true;
  options.contradicted = note;
  if (failed(onnx::inferTypes(*trial, options)))
    return false;
  if (contradicted && why.empty())
    why = "opset " + std::to_string(to) +
          " is out of reach: there the shape that the model declares of " +
          (name.empty() ? "a value" : quoted(name)) + " is wrong";
  return !contradicted;
}

void RaiseOpsetPass::runOnOperation() {
  llvm::Expected<Policy> loaded = Policy::load(policy, keepOps, keepNodes);
  if (!loaded) {
    getOperation().emitError() << llvm::toString(loaded.takeError());
    return signalPassFailure();
  }
  PrecisionOptions options;
  std::optional<FloatFormat> format =
      low.empty() ? loaded->low().value_or(FloatFormat::fp16())
                  : FloatFormat::parse(low);
  if (!format) {
    getOperation().emitError()
        << "expects a float format, but got '" << low.getValue() << "'";
    return signalPassFailure();
  }
  options.low = *format;
  auto unsupported = findUnsupported(getOperation(), *loaded, options);
  if (failed(unsupported))
    return signalPassFailure();
  std::set<int64_t> opsets;
  for (auto [op, lowType] : *unsupported)
    if (std::optional<int64_t> opset = findOpset(op, lowType))
      opsets.insert(*opset);

  importLatest();
  std::optional<int64_t> version = onnx::getOpsetVersion(getOperation(), "");
  for (int64_t opset : {minOpset.getValue(), preferredOpset.getValue()})
    if (version && *version < opset)
      opsets.insert(std::min<int64_t>(opset, onnx::latestOpset("")));

  std::string why;
  for (int64_t opset : llvm::reverse(opsets)) {
    if (!canRaise(opset, why) || !keepsShapes(opset, why))
      continue;
    numUpgraded += raise(getOperation(), opset);
    break;
  }
  if (why.empty())
    return;
  version = onnx::getOpsetVersion(getOperation(), "");
  if (version && *version < minOpset) {
    getOperation().emitError() << why;
    return signalPassFailure();
  }
  getOperation().emitWarning() << why;
}

} // namespace amp
