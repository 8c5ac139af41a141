//===- TrainingBindings.cpp - what TrainingInfoProtos assign --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingBindings.h"

#include "NamedValues.h"

#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Support/NearestName.h"
#include "amp/Support/Quoted.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace amp {

using onnx::ONNXDialect;

static constexpr StringLiteral kTrainings = "training";
static constexpr StringLiteral kInitializationBinding =
    "initialization_binding";
static constexpr StringLiteral kUpdateBinding = "update_binding";

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static SmallVector<Binding> readBindings(DictionaryAttr fields, StringRef key) {
  SmallVector<Binding> bindings;
  if (auto entries = fields ? fields.getAs<ArrayAttr>(key) : ArrayAttr())
    for (auto entry : entries.getAsRange<DictionaryAttr>()) {
      auto text = [&](StringRef field) {
        auto value = entry.getAs<StringAttr>(field);
        return value ? value.str() : std::string();
      };
      bindings.push_back({text("key"), text("value")});
    }
  return bindings;
}

std::vector<TrainingInfo> readTrainingInfos(ModuleOp module) {
  auto model = module->getAttrOfType<DictionaryAttr>(ONNXDialect::kModel);
  auto list = model ? model.getAs<ArrayAttr>(kTrainings) : ArrayAttr();
  std::vector<TrainingInfo> infos(list ? list.size() : 0);
  for (auto [index, info] : llvm::enumerate(infos)) {
    auto fields = dyn_cast<DictionaryAttr>(list[index]);
    info.initializationBindings = readBindings(fields, kInitializationBinding);
    info.updateBindings = readBindings(fields, kUpdateBinding);
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    auto training =
        function->getAttrOfType<DictionaryAttr>(ONNXDialect::kTraining);
    auto index =
        training ? training.getAs<IntegerAttr>("index") : IntegerAttr();
    auto role = training ? training.getAs<StringAttr>("role") : StringAttr();
    if (!index || !role || !index.getValue().ult(infos.size()) ||
        function.getBody().empty())
      continue;
    TrainingInfo &info = infos[index.getInt()];
    (role == "initialization" ? info.initialization : info.algorithm) =
        function;
  }
  return infos;
}

void writeBindings(ModuleOp module, ArrayRef<TrainingInfo> infos) {
  Builder builder(module.getContext());
  SmallVector<Attribute> list;
  for (const TrainingInfo &info : infos) {
    NamedAttrList fields;
    for (auto [key, bindings] :
         {std::pair(kInitializationBinding,
                    ArrayRef(info.initializationBindings)),
          std::pair(kUpdateBinding, ArrayRef(info.updateBindings))}) {
      SmallVector<Attribute> entries;
      for (const Binding &binding : bindings)
        entries.push_back(builder.getDictionaryAttr(
            {builder.getNamedAttr("key", builder.getStringAttr(binding.key)),
             builder.getNamedAttr("value",
                                  builder.getStringAttr(binding.value))}));
      if (!entries.empty())
        fields.set(key, builder.getArrayAttr(entries));
    }
    list.push_back(fields.getDictionary(module.getContext()));
  }
  NamedAttrList model(
      module->getAttrOfType<DictionaryAttr>(ONNXDialect::kModel));
  if (list.empty())
    model.erase(kTrainings);
  else
    model.set(kTrainings, builder.getArrayAttr(list));
  module->setAttr(ONNXDialect::kModel,
                  model.getDictionary(module.getContext()));
}

SmallVector<std::string> getEntryNames(func::FuncOp graph, StringRef key) {
  SmallVector<std::string> names;
  auto fields = graph->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
  if (auto entries = fields ? fields.getAs<ArrayAttr>(key) : ArrayAttr())
    for (Attribute entry : entries) {
      auto dictionary = dyn_cast<DictionaryAttr>(entry);
      auto name =
          dictionary ? dictionary.getAs<StringAttr>("name") : StringAttr();
      names.push_back(name ? name.str() : std::string());
    }
  return names;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

Value asInitializer(Value value) {
  bool isInitializer =
      value && (value.getDefiningOp<onnx::InitializerOp>() ||
                llvm::any_of(value.getUsers(), [](Operation *user) {
                  return isa<onnx::DefaultInputOp>(user);
                }));
  return isInitializer ? value : Value();
}

/// True unless types say that one can't be assigned to the other.
static bool mayAssign(Type from, Type to) {
  if (isa<onnx::UnknownType>(from))
    return true;
  auto source = dyn_cast<TensorType>(from), target = dyn_cast<TensorType>(to);
  if (!source || !target)
    return from == to;
  return source.getElementType() == target.getElementType() &&
         succeeded(verifyCompatibleShape(source, target));
}

namespace {
/// Verifies one TrainingInfoProto after the other.
class Verifier {
public:
  explicit Verifier(func::FuncOp main) : main(main), mainValues(main) {}

  LogicalResult verify(const TrainingInfo &info);

private:
  InFlightDiagnostic fail() {
    return main->getParentOp()->emitError()
           << "training_info " << index << ": ";
  }
  LogicalResult verifyInitialization(func::FuncOp graph);
  LogicalResult verifyAlgorithm(func::FuncOp graph);
  LogicalResult verifyBindings(StringRef field, ArrayRef<Binding> bindings,
                               func::FuncOp graph, StringRef graphName,
                               const NamedValues *algorithmValues,
                               llvm::StringMap<unsigned> &assigned);

  func::FuncOp main;
  NamedValues mainValues;
  unsigned index = 0;
  /// By name, the index that says so.
  llvm::StringMap<unsigned> updated;
};
} // namespace

LogicalResult Verifier::verifyInitialization(func::FuncOp graph) {
  if (graph.getNumArguments() != 0)
    return fail() << "the initialization graph expects no inputs, but has "
                  << graph.getNumArguments();
  for (auto reference : graph.getBody().front().getOps<onnx::ReferenceOp>())
    return fail() << "the initialization graph reads "
                  << quoted(reference.getName()) << " of the main graph";
  return success();
}

LogicalResult Verifier::verifyAlgorithm(func::FuncOp graph) {
  auto isFree = [&](StringRef name) -> LogicalResult {
    if (name.empty() || !mainValues.contains(name))
      return success();
    return fail() << "the algorithm defines " << quoted(name)
                  << ", as the main graph does";
  };
  for (StringRef name : getEntryNames(graph, "input"))
    if (failed(isFree(name)))
      return failure();
  for (Operation &op : graph.getBody().front()) {
    if (auto reference = dyn_cast<onnx::ReferenceOp>(op)) {
      if (!mainValues.contains(reference.getName()))
        return fail() << "the algorithm reads " << quoted(reference.getName())
                      << ", which the main graph does not define";
      continue;
    }
    for (StringRef name : getResultNames(&op))
      if (failed(isFree(name)))
        return failure();
  }
  return success();
}

LogicalResult Verifier::verifyBindings(StringRef field,
                                       ArrayRef<Binding> bindings,
                                       func::FuncOp graph, StringRef graphName,
                                       const NamedValues *algorithmValues,
                                       llvm::StringMap<unsigned> &assigned) {
  bool isUpdate = field == kUpdateBinding;
  llvm::StringMap<Value> outputs;
  auto addOutputs = [&](func::FuncOp from) {
    for (auto [name, value] :
         llvm::zip(getEntryNames(from, "output"),
                   from.getBody().front().getTerminator()->getOperands()))
      outputs.try_emplace(name, value);
  };
  if (graph)
    addOutputs(graph);
  if (isUpdate)
    addOutputs(main);
  for (const auto &[key, value] : bindings) {
    Value target = asInitializer(mainValues.lookup(key));
    if (!target && algorithmValues)
      target = asInitializer(algorithmValues->lookup(key));
    if (!target) {
      InFlightDiagnostic error =
          fail() << field << " assigns to " << quoted(key)
                 << ", which is no dense initializer of the main graph or the "
                    "algorithm";
      std::string nearest = mainValues.nearest(key).str();
      if (nearest.empty() && algorithmValues)
        nearest = algorithmValues->nearest(key).str();
      if (!nearest.empty() && nearest != key)
        error << "; did you mean " << quoted(nearest) << "?";
      return error;
    }
    auto [other, isNew] = assigned.try_emplace(key, index);
    if (!isNew) {
      InFlightDiagnostic error = fail()
                                 << field << " assigns to " << quoted(key);
      if (other->second == index)
        return error << " twice";
      return error << ", as training_info " << other->second << " does";
    }
    auto output = outputs.find(value);
    if (output == outputs.end()) {
      InFlightDiagnostic error = fail() << field << " assigns " << quoted(value)
                                        << " to " << quoted(key) << ", but "
                                        << graphName << " has no such output";
      if (StringRef nearest =
              findNearestName(value, llvm::to_vector(outputs.keys()));
          !nearest.empty())
        error << "; did you mean " << quoted(nearest) << "?";
      return error;
    }
    Type type = output->second.getType();
    if (!mayAssign(type, target.getType()))
      return fail() << field << " assigns " << quoted(value) << ", a " << type
                    << ", to " << quoted(key) << ", a " << target.getType();
  }
  return success();
}

LogicalResult Verifier::verify(const TrainingInfo &info) {
  for (func::FuncOp graph : {info.initialization, info.algorithm})
    if (graph &&
        (getEntryNames(graph, "input").size() != graph.getNumArguments() ||
         getEntryNames(graph, "output").size() != graph.getNumResults()))
      return fail() << "expects a name for each input and output of "
                    << graph.getSymNameAttr();
  if (info.initialization && failed(verifyInitialization(info.initialization)))
    return failure();
  if (info.algorithm && failed(verifyAlgorithm(info.algorithm)))
    return failure();
  std::optional<NamedValues> values;
  if (info.algorithm)
    values.emplace(info.algorithm);
  const NamedValues *algorithmValues = values ? &*values : nullptr;
  llvm::StringMap<unsigned> initialized;
  if (failed(verifyBindings(kInitializationBinding, info.initializationBindings,
                            info.initialization, "the initialization graph",
                            algorithmValues, initialized)) ||
      failed(verifyBindings(kUpdateBinding, info.updateBindings, info.algorithm,
                            "the algorithm", algorithmValues, updated)))
    return failure();
  ++index;
  return success();
}

LogicalResult verifyTrainingInfos(func::FuncOp main,
                                  ArrayRef<TrainingInfo> infos) {
  Verifier verifier(main);
  for (const TrainingInfo &info : infos)
    if (failed(verifier.verify(info)))
      return failure();
  return success();
}

} // namespace amp
