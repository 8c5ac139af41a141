//===- BuildLoss.cpp - amp-build-loss -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamedValues.h"
#include "TrainingState.h"

#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Passes/Training.h"
#include "amp/Support/NearestName.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_BUILDLOSS
#include "amp/Passes/Training.h.inc"

namespace {

using onnx::Expr;
using onnx::NodeBuilder;
using onnx::ONNXDialect;

/// What PyTorch's losses leave out unless told otherwise.
constexpr int64_t kIgnoredLabel = -100;

/// An output of a graph.
struct Output {
  StringRef name;
  Value value;
};

SmallVector<Output> getOutputs(func::FuncOp graph) {
  SmallVector<Output> outputs;
  auto fields = graph->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
  auto entries = fields ? fields.getAs<ArrayAttr>("output") : ArrayAttr();
  Operation *terminator = graph.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    auto entry = entries && index < entries.size()
                     ? dyn_cast<DictionaryAttr>(entries[index])
                     : DictionaryAttr();
    auto name = entry ? entry.getAs<StringAttr>("name") : StringAttr();
    outputs.push_back({name ? name.getValue() : StringRef(), value});
  }
  return outputs;
}

bool isFloatTensor(Type type) {
  return isa<TensorType>(type) && getFloatElementType(type);
}

/// "'a', 'b' and 1 more".
std::string listNames(ArrayRef<Output> outputs) {
  constexpr size_t kShown = 4;
  std::string text;
  for (const Output &output : outputs.take_front(kShown))
    text += (text.empty() ? "" : ", ") + quoted(output.name);
  if (outputs.size() > kShown)
    text += " and " + std::to_string(outputs.size() - kShown) + " more";
  return text;
}

/// The type of labels of values that have one score for each class in
/// dimension 1: int64, of the other dimensions.
RankedTensorType getLabelsType(RankedTensorType type) {
  auto dropClasses = [](auto list) {
    list.erase(list.begin() + (list.size() == 1 ? 0 : 1));
    return list;
  };
  Attribute encoding;
  if (auto names = dyn_cast_if_present<onnx::DimsAttr>(type.getEncoding())) {
    SmallVector<StringAttr> kept =
        dropClasses(llvm::to_vector(names.getNames()));
    if (llvm::any_of(kept, [](StringAttr name) { return !name.empty(); }))
      encoding = onnx::DimsAttr::get(type.getContext(), kept);
  }
  return RankedTensorType::get(dropClasses(llvm::to_vector(type.getShape())),
                               IntegerType::get(type.getContext(), 64),
                               encoding);
}

class BuildLossPass : public impl::BuildLossBase<BuildLossPass> {
public:
  using BuildLossBase::BuildLossBase;

  void runOnOperation() override {
    func::FuncOp main = findMainGraph(getOperation());
    if (!main)
      return signalPassFailure();
    bool isBuilt = isBuiltLoss(loss);
    if (failed(isBuilt ? build(main) : useValue(main)))
      signalPassFailure();
  }

private:
  LogicalResult build(func::FuncOp main);
  LogicalResult useValue(func::FuncOp main);
  FailureOr<Output> findOutput(func::FuncOp main);
};

/// The output that a loss is built on.
FailureOr<Output> BuildLossPass::findOutput(func::FuncOp main) {
  SmallVector<Output> outputs = getOutputs(main);
  if (!output.empty()) {
    const Output *found = llvm::find_if(outputs, [&](const Output &candidate) {
      return candidate.name == output;
    });
    if (found == outputs.end()) {
      SmallVector<StringRef> names;
      for (const Output &candidate : outputs)
        names.push_back(candidate.name);
      InFlightDiagnostic error = main.emitError()
                                 << "output: the model has no output "
                                 << quoted(output);
      if (StringRef nearest = findNearestName(output, names); !nearest.empty())
        error << "; did you mean " << quoted(nearest) << "?";
      return error;
    }
    if (!isFloatTensor(found->value.getType()))
      return main.emitError() << "output: " << quoted(output)
                              << " expects a tensor of floats, but it is "
                              << found->value.getType();
    return *found;
  }
  // Running statistics, too, are floats.
  llvm::StringSet<> states;
  for (const auto &[input, next] : getStatePairs(getOperation()))
    states.insert(next);
  llvm::erase_if(outputs, [&](const Output &candidate) {
    return !isFloatTensor(candidate.value.getType()) ||
           states.contains(candidate.name);
  });
  if (outputs.empty())
    return main.emitError("output: the model has no output of floats to build "
                          "a loss on");
  if (outputs.size() > 1)
    return main.emitError()
           << "output: the model has " << outputs.size()
           << " outputs of floats, expected one of " << listNames(outputs);
  return outputs.front();
}

LogicalResult BuildLossPass::build(func::FuncOp main) {
  FailureOr<Output> found = findOutput(main);
  if (failed(found))
    return failure();
  bool isCrossEntropy = loss == "cross-entropy";
  auto type = dyn_cast<RankedTensorType>(found->value.getType());
  if (!type || (isCrossEntropy && type.getRank() == 0))
    return main.emitError() << "output: " << quoted(found->name) << " expects "
                            << (type ? "a dimension of classes" : "a rank")
                            << ", but it is " << found->value.getType();
  StringRef input = isCrossEntropy ? "labels" : "targets";
  NamedValues named(main);
  for (StringRef name : {input, StringRef(kLossName)})
    if (named.lookup(name))
      return main.emitError()
             << "loss: a new " << (name == input ? "input" : "output")
             << " would be named " << quoted(name) << ", as another value is";

  Operation *terminator = main.getBody().front().getTerminator();
  Operation *before = terminator->getPrevNode();
  OpBuilder builder(terminator);
  NodeBuilder b(builder, main);
  if (b.getOpset() < NodeBuilder::kMinOpset)
    return main.emitError()
           << "expects opset " << NodeBuilder::kMinOpset
           << " or later of ai.onnx, but the model imports " << b.getOpset();
  Type wide = builder.getF32Type();
  auto widen = [&](Value value) {
    Expr expr = b.expr(value);
    return expr.getElementType().isF64() ? expr : b.cast(expr, wide);
  };
  Expr value = widen(found->value);
  Expr result;
  if (isCrossEntropy) {
    Expr labels = b.expr(addInput(main, input, getLabelsType(type)));
    if (type.getRank() == 1) {
      value = b.unsqueeze(value, 0);
      labels = b.unsqueeze(labels, 0);
    }
    result = b.apply(
        "SoftmaxCrossEntropyLoss", {value, labels},
        {b.attr("ignore_index", kIgnoredLabel), b.attr("reduction", "mean")});
  } else {
    Expr difference = value - widen(addInput(main, input, type));
    result = b.reduceMean(difference * difference, {}, /*keepDims=*/false);
  }

  // What autocast is to leave alone has a name, each its own.
  llvm::StringMap<unsigned> counts;
  for (Operation *op = terminator->getPrevNode(); op && op != before;
       op = op->getPrevNode()) {
    std::string name = op->getName().stripDialect().str();
    if (unsigned count = counts[name]++)
      name += "_" + std::to_string(count);
    op->setAttr(ONNXDialect::kName,
                builder.getStringAttr(kLossNodePrefix + name));
  }
  addOutput(main, kLossName, result);
  return success();
}

/// Takes a value that the model has.
LogicalResult BuildLossPass::useValue(func::FuncOp main) {
  if (!output.empty())
    return main.emitError() << "output: expects the loss cross-entropy or mse, "
                               "but got "
                            << quoted(loss);
  NamedValues named(main);
  Value value = named.lookup(loss);
  if (!value) {
    InFlightDiagnostic error = main.emitError()
                               << "loss: no value is named " << quoted(loss);
    StringRef nearest = findNearestName(loss, {"cross-entropy", "mse"});
    if (nearest.empty())
      nearest = named.nearest(loss);
    if (!nearest.empty())
      error << "; did you mean " << quoted(nearest) << "?";
    return error;
  }
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!isFloatTensor(value.getType()) ||
      (type &&
       llvm::any_of(type.getShape(), [](int64_t size) { return size != 1; })))
    return main.emitError()
           << "loss: " << quoted(loss)
           << " expects a scalar of floats, but it is " << value.getType();
  if (!llvm::is_contained(main.getBody().front().getTerminator()->getOperands(),
                          value))
    addOutput(main, loss, value);
  return success();
}

} // namespace
} // namespace amp
