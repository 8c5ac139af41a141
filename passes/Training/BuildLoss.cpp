//===- BuildLoss.cpp - amp-build-loss -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LossTerms.h"
#include "NamedValues.h"
#include "TrainingState.h"

#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Passes/Training.h"
#include "amp/Support/NearestName.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/Sequence.h"
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

/// Without the dimension of classes.
template <typename T>
SmallVector<T> dropClasses(ArrayRef<T> list, int64_t axis) {
  SmallVector<T> kept(list);
  kept.erase(kept.begin() + axis);
  return kept;
}

/// The type of labels of values that have one score for each class along an
/// axis: int64, of the other dimensions.
RankedTensorType getLabelsType(RankedTensorType type, int64_t axis) {
  Attribute encoding;
  if (auto names = dyn_cast_if_present<onnx::DimsAttr>(type.getEncoding())) {
    SmallVector<StringAttr> kept = dropClasses(names.getNames(), axis);
    if (llvm::any_of(kept, [](StringAttr name) { return !name.empty(); }))
      encoding = onnx::DimsAttr::get(type.getContext(), kept);
  }
  return RankedTensorType::get(dropClasses(type.getShape(), axis),
                               IntegerType::get(type.getContext(), 64),
                               encoding);
}

/// The axis of classes where none is asked for: PyTorch's, 1, unless the size
/// of the last alone is known: how many classes there are is.
int64_t inferClassAxis(RankedTensorType type) {
  int64_t rank = type.getRank();
  bool onlyLast = rank > 2 && !type.isDynamicDim(rank - 1);
  for (int64_t axis = 1; axis < rank - 1; ++axis)
    onlyLast = onlyLast && type.isDynamicDim(axis);
  return onlyLast ? rank - 1 : rank == 1 ? 0 : 1;
}

class BuildLossPass : public impl::BuildLossBase<BuildLossPass> {
public:
  using BuildLossBase::BuildLossBase;

  void runOnOperation() override {
    func::FuncOp main = findMainGraph(getOperation());
    if (!main)
      return signalPassFailure();
    if (failed(buildAll(main)))
      signalPassFailure();
  }

private:
  LogicalResult buildAll(func::FuncOp main);
  LogicalResult findOutputs(func::FuncOp main);
  FailureOr<Output> findOutput(func::FuncOp main, ArrayRef<Output> all,
                               StringRef name);
  FailureOr<Value> build(func::FuncOp main, const LossTerm &term);
  FailureOr<Value> useValue(func::FuncOp main, StringRef name);
  FailureOr<int64_t> chooseClassAxis(func::FuncOp main, StringRef scores,
                                     RankedTensorType type);
  Expr buildCrossEntropy(NodeBuilder &b, Expr scores, Expr labels,
                         int64_t axis);
  void nameNodes(Operation *before, Operation *end);

  SmallVector<LossTerm> terms;
  /// What losses are built on, in their order.
  SmallVector<Output> scored;
  /// How many are built.
  unsigned numBuilt = 0;
  llvm::StringMap<unsigned> nodeCounts;
};

/// What the losses that are built are built on, before there are any.
LogicalResult BuildLossPass::findOutputs(func::FuncOp main) {
  SmallVector<StringRef> named;
  for (StringRef name : outputs)
    if (!name.empty())
      named.push_back(name);
  size_t wanted = llvm::count_if(
      terms, [](const LossTerm &term) { return term.isBuilt(); });
  if (wanted == 0 && !named.empty())
    return main.emitError() << "output: expects the loss cross-entropy or mse, "
                               "but got "
                            << quoted(terms.front().name);
  if (!named.empty() && named.size() != wanted)
    return main.emitError() << "output: expected one for each loss that is "
                               "built, "
                            << wanted << ", but got " << named.size();
  if (wanted > 0)
    named.resize(wanted);
  SmallVector<Output> all = getOutputs(main);
  for (StringRef name : named) {
    FailureOr<Output> found = findOutput(main, all, name);
    if (failed(found))
      return failure();
    scored.push_back(*found);
  }
  return success();
}

/// The output of this name, or the only one of floats.
FailureOr<Output> BuildLossPass::findOutput(func::FuncOp main,
                                            ArrayRef<Output> all,
                                            StringRef name) {
  SmallVector<Output> candidates(all);
  if (!name.empty()) {
    const Output *found = llvm::find_if(
        candidates, [&](const Output &output) { return output.name == name; });
    if (found == candidates.end()) {
      SmallVector<StringRef> names;
      for (const Output &candidate : candidates)
        names.push_back(candidate.name);
      InFlightDiagnostic error = main.emitError()
                                 << "output: the model has no output "
                                 << quoted(name);
      if (StringRef nearest = findNearestName(name, names); !nearest.empty())
        error << "; did you mean " << quoted(nearest) << "?";
      return error;
    }
    if (!isFloatTensor(found->value.getType()))
      return main.emitError() << "output: " << quoted(name)
                              << " expects a tensor of floats, but it is "
                              << found->value.getType();
    return *found;
  }
  // Running statistics, too, are floats, and so are losses of the model's own.
  llvm::StringSet<> states;
  for (const auto &[input, next] : getStatePairs(getOperation()))
    states.insert(next);
  for (const LossTerm &term : terms)
    states.insert(term.name);
  llvm::erase_if(candidates, [&](const Output &candidate) {
    return !isFloatTensor(candidate.value.getType()) ||
           states.contains(candidate.name);
  });
  if (candidates.empty())
    return main.emitError("output: the model has no output of floats to build "
                          "a loss on");
  if (candidates.size() > 1)
    return main.emitError()
           << "output: the model has " << candidates.size()
           << " outputs of floats, expected one of " << listNames(candidates);
  return candidates.front();
}

/// The axis of classes, from 0, and a remark where it might be another one.
FailureOr<int64_t> BuildLossPass::chooseClassAxis(func::FuncOp main,
                                                  StringRef scores,
                                                  RankedTensorType type) {
  llvm::Expected<std::optional<int64_t>> asked = parseClassAxis(classAxis);
  if (!asked)
    return main.emitError() << llvm::toString(asked.takeError());
  int64_t rank = type.getRank();
  if (*asked) {
    int64_t axis = **asked;
    if (axis < -rank || axis >= rank)
      return main.emitError()
             << "class-axis: " << quoted(scores) << " expects an axis from "
             << -rank << " to " << rank - 1 << ", but got " << axis;
    return axis < 0 ? axis + rank : axis;
  }
  int64_t axis = inferClassAxis(type);
  // Whether a size is that of classes or of a sequence, no type says.
  if (axis > 1)
    main.emitRemark() << "classes are dimension " << axis << " of "
                      << quoted(scores)
                      << ", whose size alone is known; --class-axis chooses "
                         "another one";
  else if (rank == 3)
    main.emitRemark() << "classes are dimension 1 of " << quoted(scores)
                      << ", as in PyTorch; where they are the last, say "
                         "--class-axis 2";
  return axis;
}

/// The mean over labels. Scores with the classes last are a list of examples as
/// they lie in memory.
Expr BuildLossPass::buildCrossEntropy(NodeBuilder &b, Expr scores, Expr labels,
                                      int64_t axis) {
  int64_t rank = *scores.getRank();
  if (rank == 1) {
    scores = b.unsqueeze(scores, 0);
    labels = b.unsqueeze(labels, 0);
  } else if (rank > 2 && axis == rank - 1) {
    scores = b.apply("Flatten", {scores}, b.attr("axis", rank - 1));
    labels = b.reshape(labels, {-1});
  } else if (axis != 1) {
    SmallVector<int64_t> order = dropClasses<int64_t>(
        llvm::to_vector(llvm::seq<int64_t>(0, rank)), axis);
    order.insert(order.begin() + 1, axis);
    scores = b.transpose(scores, order);
  }
  return b.apply(
      "SoftmaxCrossEntropyLoss", {scores, labels},
      {b.attr("ignore_index", kIgnoredLabel), b.attr("reduction", "mean")});
}

/// What autocast is to leave alone has a name, each its own.
void BuildLossPass::nameNodes(Operation *before, Operation *end) {
  for (Operation *op = end->getPrevNode(); op && op != before;
       op = op->getPrevNode()) {
    std::string name = op->getName().stripDialect().str();
    if (unsigned count = nodeCounts[name]++)
      name += "_" + std::to_string(count);
    op->setAttr(ONNXDialect::kName,
                StringAttr::get(&getContext(), kLossNodePrefix + name));
  }
}

/// A float32, or a float64, for what is computed with it.
Expr widen(NodeBuilder &b, Value value) {
  Expr expr = b.expr(value);
  return expr.getElementType().isF64()
             ? expr
             : b.cast(expr, b.getBuilder().getF32Type());
}

/// Builds a loss on the output that is its turn.
FailureOr<Value> BuildLossPass::build(func::FuncOp main, const LossTerm &term) {
  const Output &found = scored[numBuilt++];
  bool isCrossEntropy = term.name == "cross-entropy";
  auto type = dyn_cast<RankedTensorType>(found.value.getType());
  if (!type || (isCrossEntropy && type.getRank() == 0))
    return main.emitError() << "output: " << quoted(found.name) << " expects "
                            << (type ? "a dimension of classes" : "a rank")
                            << ", but it is " << found.value.getType();
  std::string suffix = numBuilt > 1 ? "." + std::to_string(numBuilt) : "";
  std::string input = (isCrossEntropy ? "labels" : "targets") + suffix;
  std::string output = kLossName.str() + suffix;
  NamedValues named(main);
  for (StringRef name : {StringRef(input), StringRef(output)})
    if (named.lookup(name))
      return main.emitError()
             << "loss: a new " << (name == input ? "input" : "output")
             << " would be named " << quoted(name) << ", as another value is";
  OpBuilder builder(main.getBody().front().getTerminator());
  NodeBuilder b(builder, main);
  if (b.getOpset() < NodeBuilder::kMinOpset)
    return main.emitError()
           << "expects opset " << NodeBuilder::kMinOpset
           << " or later of ai.onnx, but the model imports " << b.getOpset();
  int64_t axis = 0;
  if (isCrossEntropy) {
    FailureOr<int64_t> chosen = chooseClassAxis(main, found.name, type);
    if (failed(chosen))
      return failure();
    axis = *chosen;
  }
  Expr value = widen(b, found.value);
  Expr result;
  if (isCrossEntropy) {
    Expr labels = b.expr(addInput(main, input, getLabelsType(type, axis)));
    result = buildCrossEntropy(b, value, labels, axis);
  } else {
    Expr difference = value - widen(b, addInput(main, input, type));
    result = b.reduceMean(difference * difference, {}, /*keepDims=*/false);
  }
  addOutput(main, output, result);
  return Value(result);
}

LogicalResult BuildLossPass::buildAll(func::FuncOp main) {
  SmallVector<std::string> texts(losses.begin(), losses.end());
  if (texts.empty())
    texts.push_back("cross-entropy");
  llvm::Expected<SmallVector<LossTerm>> parsed = parseLossTerms(texts);
  if (!parsed)
    return main.emitError() << llvm::toString(parsed.takeError());
  terms = std::move(*parsed);
  if (!classAxis.empty() && llvm::none_of(terms, [](const LossTerm &term) {
        return term.name == "cross-entropy";
      }))
    return main.emitError() << "class-axis: expects the loss cross-entropy, "
                               "but got "
                            << quoted(terms.front().name);
  scored.clear();
  nodeCounts.clear();
  numBuilt = 0;
  if (failed(findOutputs(main)))
    return failure();
  Operation *terminator = main.getBody().front().getTerminator();
  Operation *before = terminator->getPrevNode();
  SmallVector<Value> values;
  for (const LossTerm &term : terms) {
    FailureOr<Value> value =
        term.isBuilt() ? build(main, term) : useValue(main, term.name);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  if (isWeightedSum(terms)) {
    if (NamedValues(main).lookup(kTotalLossName))
      return main.emitError()
             << "loss: a new output would be named " << quoted(kTotalLossName)
             << ", as another value is";
    OpBuilder builder(terminator);
    NodeBuilder b(builder, main);
    Type element = builder.getF32Type();
    if (llvm::any_of(values, [](Value value) {
          return getFloatElementType(value.getType()).isF64();
        }))
      element = builder.getF64Type();
    Expr total;
    for (auto [value, term] : llvm::zip_equal(values, terms)) {
      Expr part = b.cast(b.expr(value), element);
      if (part.getRank() != 0)
        part = b.reshape(part, b.ints({}));
      if (term.weight != 1)
        part = part * term.weight;
      total = total ? total + part : part;
    }
    addOutput(main, kTotalLossName, total);
  }
  nameNodes(before, terminator);
  return success();
}

/// Takes a value that the model has.
FailureOr<Value> BuildLossPass::useValue(func::FuncOp main, StringRef name) {
  NamedValues named(main);
  Value value = named.lookup(name);
  if (!value) {
    InFlightDiagnostic error = main.emitError()
                               << "loss: no value is named " << quoted(name);
    StringRef nearest = findNearestName(name, {"cross-entropy", "mse"});
    if (nearest.empty())
      nearest = named.nearest(name);
    if (!nearest.empty())
      error << "; did you mean " << quoted(nearest) << "?";
    return error;
  }
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!isFloatTensor(value.getType()) ||
      (type &&
       llvm::any_of(type.getShape(), [](int64_t size) { return size != 1; })))
    return main.emitError()
           << "loss: " << quoted(name)
           << " expects a scalar of floats, but it is " << value.getType();
  if (!llvm::is_contained(main.getBody().front().getTerminator()->getOperands(),
                          value))
    addOutput(main, name, value);
  return value;
}

} // namespace
} // namespace amp
