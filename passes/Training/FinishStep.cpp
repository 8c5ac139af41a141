//===- FinishStep.cpp - amp-finish-step -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeadNodes.h"
#include "PlainLosses.h"
#include "TrainingState.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quoted.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_FINISHSTEP
#include "amp/Passes/Training.h.inc"

namespace {

using onnx::ONNXDialect;

class FinishStepPass : public impl::FinishStepBase<FinishStepPass> {
public:
  using FinishStepBase::FinishStepBase;

  void runOnOperation() override {
    func::FuncOp main = findMainGraph(getOperation());
    if (!main)
      return signalPassFailure();
    expandLosses(main);
    eraseDeadNodes(main.getBody().front());
    main->removeAttr(AMPDialect::kParameters);
    raiseIRVersion();
    if (failed(checkNames(main)))
      signalPassFailure();
  }

private:
  void raiseIRVersion();
  LogicalResult checkNames(func::FuncOp main);
};

/// Before IR version 4 defaults of inputs were constants to runtimes.
void FinishStepPass::raiseIRVersion() {
  constexpr int64_t kMinVersion = 4;
  auto fields =
      getOperation()->getAttrOfType<DictionaryAttr>(ONNXDialect::kModel);
  auto version = fields ? fields.getAs<IntegerAttr>("ir_version") : nullptr;
  if (!version || version.getValue().sge(kMinVersion))
    return;
  NamedAttrList entries(fields);
  entries.set("ir_version", IntegerAttr::get(version.getType(), kMinVersion));
  getOperation()->setAttr(ONNXDialect::kModel,
                          entries.getDictionary(&getContext()));
}

/// State is found by name. Values inside may get other names, these can't.
LogicalResult FinishStepPass::checkNames(func::FuncOp main) {
  Block &block = main.getBody().front();
  auto fields = main->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
  llvm::StringMap<Value> names;
  auto check = [&](StringRef key, ValueRange values) {
    auto entries = fields ? fields.getAs<ArrayAttr>(key) : ArrayAttr();
    if (!entries)
      return success();
    llvm::StringSet<> seen;
    for (auto [attribute, value] : llvm::zip(entries, values)) {
      auto entry = dyn_cast<DictionaryAttr>(attribute);
      auto name = entry ? entry.getAs<StringAttr>("name") : StringAttr();
      if (!name)
        continue;
      auto [known, isNew] = names.try_emplace(name.getValue(), value);
      bool isTwice = !seen.insert(name.getValue()).second;
      if (isTwice || (!isNew && known->second != value))
        return LogicalResult(main.emitError()
                             << "an " << key << " of the step would be named "
                             << quoted(name.getValue())
                             << ", as another one is");
    }
    return success();
  };
  if (failed(check("input", block.getArguments())))
    return failure();
  return check("output", block.getTerminator()->getOperands());
}

} // namespace
} // namespace amp
