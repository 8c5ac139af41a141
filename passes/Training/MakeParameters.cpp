//===- MakeParameters.cpp - amp-make-parameters ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActivePaths.h"
#include "NamedValues.h"
#include "TrainingState.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quoted.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_MAKEPARAMETERS
#include "amp/Passes/Training.h.inc"

namespace {

using onnx::ONNXDialect;

StringRef getResultName(Operation *op) {
  auto names = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs);
  auto name = names && names.size() == 1 ? dyn_cast<StringAttr>(names[0])
                                         : StringAttr();
  return name ? name.getValue() : StringRef();
}

/// Running statistics of a BatchNormalization are measured, not learned.
bool isStatistic(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    return isa<onnx::BatchNormalizationOp>(use.getOwner()) &&
           use.getOperandNumber() >= 3;
  });
}

class MakeParametersPass : public impl::MakeParametersBase<MakeParametersPass> {
public:
  using MakeParametersBase::MakeParametersBase;

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.getBody().empty()) {
      getOperation().emitError("has no main graph to train");
      return signalPassFailure();
    }
    if (failed(makeParameters(main)))
      signalPassFailure();
  }

private:
  LogicalResult makeParameters(func::FuncOp main);
};

LogicalResult MakeParametersPass::makeParameters(func::FuncOp main) {
  llvm::Expected<llvm::Regex> regex = getWholeNameRegex(trainable);
  if (!regex)
    return main.emitError()
           << "trainable: " << llvm::toString(regex.takeError());
  NamedValues named(main);
  Value lossValue = named.lookup(loss);
  if (!lossValue) {
    InFlightDiagnostic error = main.emitError()
                               << "loss: no value is named " << quoted(loss);
    if (StringRef nearest = named.nearest(loss); !nearest.empty())
      error << "; did you mean " << quoted(nearest) << "?";
    return error;
  }
  llvm::DenseSet<Value> sources = ActivePaths(main).findSources({lossValue});
  SmallVector<onnx::InitializerOp> parameters;
  bool anyMatches = false;
  for (auto initializer :
       main.getBody().front().getOps<onnx::InitializerOp>()) {
    StringRef name = getResultName(initializer);
    if (name.empty() || !regex->match(name))
      continue;
    anyMatches = true;
    auto type = dyn_cast<RankedTensorType>(initializer.getType());
    if (type && type.getElementType().isF32() &&
        sources.contains(initializer.getResult()) &&
        !isStatistic(initializer.getResult()))
      parameters.push_back(initializer);
  }
  if (parameters.empty())
    return main.emitError() << "trainable: no float32 initializer "
                            << (anyMatches ? "that the loss depends on " : "")
                            << "has a name like " << quoted(trainable);
  SmallVector<StringRef> names;
  for (onnx::InitializerOp initializer : parameters)
    names.push_back(getResultName(initializer));
  main->setAttr(AMPDialect::kParameters,
                Builder(main.getContext()).getStrArrayAttr(names));
  for (onnx::InitializerOp initializer : parameters) {
    BlockArgument argument = addInput(main, getResultName(initializer),
                                      initializer.getValue().getValue());
    argument.setType(initializer.getType());
    initializer.getResult().replaceAllUsesWith(argument);
    initializer.erase();
  }
  updateType(main);
  return success();
}

} // namespace
} // namespace amp
