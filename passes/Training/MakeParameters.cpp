//===- MakeParameters.cpp - amp-make-parameters ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActivePaths.h"
#include "NamedValues.h"
#include "NeverTrained.h"
#include "TrainingState.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/AMP/ConstantData.h"
#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Passes/Training.h"
#include "amp/Support/NearestName.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_MAKEPARAMETERS
#include "amp/Passes/Training.h.inc"

namespace {

using onnx::ONNXDialect;

/// An initializer of the main graph: an operation, or the default of an input,
/// as all of them were until IR version 3.
struct Initializer {
  StringRef name;
  Value value;
  onnx::TensorAttr tensor;
  Operation *op;
};

/// Those that are not state of the step already, as running statistics are.
SmallVector<Initializer> findInitializers(func::FuncOp main) {
  SmallVector<Initializer> found;
  llvm::StringSet<> states;
  for (const auto &[input, output] :
       getStatePairs(main->getParentOfType<ModuleOp>()))
    states.insert(input);
  auto fields = main->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
  auto inputs = fields ? fields.getAs<ArrayAttr>("input") : ArrayAttr();
  for (Operation &op : main.getBody().front()) {
    StringAttr name;
    if (auto initializer = dyn_cast<onnx::InitializerOp>(op)) {
      auto names = op.getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs);
      if (names && names.size() == 1)
        name = dyn_cast<StringAttr>(names[0]);
      if (name)
        found.push_back({name.getValue(), initializer.getResult(),
                         initializer.getValue(), &op});
    } else if (auto input = dyn_cast<onnx::DefaultInputOp>(op)) {
      auto argument = dyn_cast<BlockArgument>(input.getInput());
      if (argument && inputs && argument.getArgNumber() < inputs.size())
        if (auto entry =
                dyn_cast<DictionaryAttr>(inputs[argument.getArgNumber()]))
          name = entry.getAs<StringAttr>("name");
      if (name && !states.contains(name))
        found.push_back({name.getValue(), argument, input.getValue(), &op});
    }
  }
  return found;
}

/// True for what float32 holds: types that masters are made of.
bool canBeMaster(Type type) {
  FloatType element =
      isa<RankedTensorType>(type) ? getFloatElementType(type) : FloatType();
  return element && (element.isF32() || element.isF16() || element.isBF16());
}

/// A tensor in float32; null if its data can't be had.
onnx::TensorAttr widen(onnx::TensorAttr tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  auto wide = cast<RankedTensorType>(
      withFloatElementType(type, Float32Type::get(tensor.getContext())));
  if (type == wide)
    return tensor;
  std::optional<SmallVector<double>> elements =
      readElements(tensor.getValue(), std::numeric_limits<uint64_t>::max());
  if (!elements)
    return {};
  SmallVector<float> floats(elements->begin(), elements->end());
  return onnx::TensorAttr::get(
      tensor.getContext(),
      DenseElementsAttr::get(wide, ArrayRef<float>(floats)), DictionaryAttr());
}

class MakeParametersPass : public impl::MakeParametersBase<MakeParametersPass> {
public:
  using MakeParametersBase::MakeParametersBase;

  void runOnOperation() override {
    func::FuncOp main = findMainGraph(getOperation());
    if (!main)
      return signalPassFailure();
    if (failed(makeParameters(main)))
      signalPassFailure();
  }

private:
  LogicalResult makeParameters(func::FuncOp main);
  LogicalResult explainNoParameters(func::FuncOp main,
                                    ArrayRef<Initializer> all,
                                    ArrayRef<Initializer> matching);
  void remark(func::FuncOp main, ArrayRef<Initializer> fixed,
              ArrayRef<Initializer> parameters);
  LogicalResult makeParameter(InterfaceUpdate &interface, func::FuncOp main,
                              const Initializer &parameter);
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
  SmallVector<Initializer> all = findInitializers(main), matching, parameters,
                           fixed;
  llvm::copy_if(all, std::back_inserter(matching),
                [&](const Initializer &i) { return regex->match(i.name); });
  for (const Initializer &i : matching)
    if (canBeMaster(i.value.getType()) && sources.contains(i.value))
      (describeFixedRole(i.value).empty() ? parameters : fixed).push_back(i);
  if (parameters.empty())
    return explainNoParameters(main, all, matching);
  remark(main, fixed, parameters);

  SmallVector<StringRef> names;
  for (const Initializer &parameter : parameters)
    names.push_back(parameter.name);
  main->setAttr(AMPDialect::kParameters,
                Builder(main.getContext()).getStrArrayAttr(names));
  InterfaceUpdate interface(main);
  for (const Initializer &parameter : parameters)
    if (failed(makeParameter(interface, main, parameter)))
      return failure();
  return success();
}

/// Why none of the initializers that match is a parameter.
LogicalResult
MakeParametersPass::explainNoParameters(func::FuncOp main,
                                        ArrayRef<Initializer> all,
                                        ArrayRef<Initializer> matching) {
  if (all.empty()) {
    SmallVector<StatePair> states =
        getStatePairs(main->getParentOfType<ModuleOp>());
    if (!states.empty())
      return main.emitError()
             << "trainable: the model is a training step already: "
             << quoted(states.front().first) << " is state";
    return main.emitError("trainable: the model has no initializers");
  }
  if (matching.empty()) {
    SmallVector<StringRef> names;
    for (const Initializer &initializer : all)
      names.push_back(initializer.name);
    InFlightDiagnostic error = main.emitError()
                               << "trainable: no initializer has a name like "
                               << quoted(trainable);
    if (StringRef nearest = findNearestName(trainable, names); !nearest.empty())
      error << "; did you mean " << quoted(nearest) << "?";
    return error;
  }
  const Initializer *shown = llvm::find_if(matching, [](const Initializer &i) {
    return canBeMaster(i.value.getType());
  });
  bool isFloat = shown != matching.end();
  if (!isFloat)
    shown = matching.begin();
  InFlightDiagnostic error = main.emitError()
                             << "trainable: " << quoted(shown->name);
  if (matching.size() > 1)
    error << ", one of " << matching.size() << " like " << quoted(trainable)
          << ",";
  if (!isFloat)
    return error << " expects floats of 16 or 32 bits, but it is "
                 << shown->value.getType();
  if (std::string role = describeFixedRole(shown->value); !role.empty())
    return error << " is " << role << ": no weight";
  return error << " has no differentiable path to the loss";
}

/// "'a' (one element), 'b' (a mask) and 1 more".
std::string list(ArrayRef<std::pair<StringRef, std::string>> entries) {
  constexpr size_t kShown = 6;
  std::string text;
  for (const auto &[name, what] : entries.take_front(kShown))
    text += (text.empty() ? "" : ", ") + quoted(name) + " (" + what + ")";
  if (entries.size() > kShown)
    text += " and " + std::to_string(entries.size() - kShown) + " more";
  return text;
}

/// Says what is left out, and what perhaps should be.
void MakeParametersPass::remark(func::FuncOp main, ArrayRef<Initializer> fixed,
                                ArrayRef<Initializer> parameters) {
  SmallVector<std::pair<StringRef, std::string>> kept, doubtful;
  // Statistics are no surprise.
  for (const Initializer &i : fixed)
    if (std::string role = describeFixedRole(i.value);
        !StringRef(role).contains("BatchNormalization"))
      kept.push_back({i.name, role});
  for (const Initializer &i : parameters)
    if (StringRef doubt = describeDoubt(cast<ShapedType>(i.value.getType()),
                                        i.tensor.getValue());
        !doubt.empty())
      doubtful.push_back({i.name, doubt.str()});
  if (kept.empty() && doubtful.empty())
    return;
  std::string text;
  if (!kept.empty())
    text = "not trained: " + list(kept);
  if (!doubtful.empty())
    text += (text.empty() ? "" : "; ") +
            ("trained, though perhaps constant: " + list(doubtful)) +
            "; --trainable leaves out what is";
  main.emitRemark() << text;
}

/// Makes an initializer an input of float32, and casts it back for those who
/// read it.
LogicalResult MakeParametersPass::makeParameter(InterfaceUpdate &interface,
                                                func::FuncOp main,
                                                const Initializer &parameter) {
  onnx::TensorAttr master = widen(parameter.tensor);
  if (!master)
    return main.emitError() << "trainable: the data of "
                            << quoted(parameter.name) << " can't be read";
  FloatType element = getFloatElementType(parameter.value.getType());
  auto argument = dyn_cast<BlockArgument>(parameter.value);
  if (argument && element.isF32())
    return success();
  if (argument) {
    argument.setType(master.getType());
    OpBuilder builder(parameter.op);
    onnx::DefaultInputOp::create(builder, main.getLoc(), argument, master);
  } else {
    argument = interface.addInput(parameter.name, master);
    Value(parameter.value).replaceAllUsesWith(argument);
  }
  parameter.op->erase();
  if (element.isF32())
    return success();
  OpBuilder builder = OpBuilder::atBlockBegin(&main.getBody().front());
  onnx::NodeBuilder nodes(builder, main);
  Value narrow = nodes.cast(nodes.expr(argument), element);
  argument.replaceUsesWithIf(narrow, [&](OpOperand &use) {
    return use.getOwner() != narrow.getDefiningOp() &&
           !isa<onnx::DefaultInputOp>(use.getOwner());
  });
  return success();
}

} // namespace
} // namespace amp
