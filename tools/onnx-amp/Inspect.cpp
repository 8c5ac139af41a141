//===- Inspect.cpp - onnx-amp inspect -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "FatalErrors.h"
#include "Messages.h"
#include "ModelFile.h"
#include "ModelStatistics.h"
#include "Sibling.h"
#include "TypeSpelling.h"

#include "amp/Analysis/CostModel.h"
#include "amp/Dialect/ONNX/TypeInference.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Runtime/ExecutableFormat.h"
#include "amp/Support/Quantities.h"
#include "amp/Support/Quoted.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace amp;
using namespace mlir;
using onnx::ONNXDialect;
namespace json = llvm::json;

namespace {
/// What is shown, in one form and the other.
class Inspection {
public:
  Inspection(StringRef path, uint64_t fileBytes, ModuleOp module,
             std::vector<std::string> missingData);

  /// What the model moves in each run, which takes inferred types.
  MovedBytes moved;

  std::string toText() const;
  std::string toJSON() const;

private:
  struct Value {
    StringRef name;
    Type type;
  };
  struct Tensor {
    StringRef name;
    onnx::TensorAttr value;
  };

  StringRef getField(StringRef name) const;
  void collectGraph(func::FuncOp graph);
  void collectLargest(ModuleOp module);

  void printHead(llvm::raw_ostream &stream) const;
  void printGraph(llvm::raw_ostream &stream) const;
  void printOperators(llvm::raw_ostream &stream) const;
  void printWeights(llvm::raw_ostream &stream) const;
  void printMoved(llvm::raw_ostream &stream) const;

  uint64_t weightBytes() const;
  uint64_t lowBytes() const;

  StringRef path;
  uint64_t fileBytes;
  /// Locations of external data that is not there.
  std::vector<std::string> missingData;
  DictionaryAttr model;
  int64_t irVersion = 0;
  std::vector<std::pair<std::string, int64_t>> opsets;
  StringRef graphName;
  std::vector<Value> inputs, outputs;
  std::vector<StringRef> functions;
  uint64_t trainingGraphs = 0;
  /// The largest, biggest first.
  std::vector<Tensor> largest;
  ModelStatistics statistics;
};
} // namespace

/// How many of the largest tensors are shown.
static constexpr size_t kLargest = 5;

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

StringRef Inspection::getField(StringRef name) const {
  auto text = model ? model.getAs<StringAttr>(name) : StringAttr();
  return text ? text.getValue() : StringRef();
}

void Inspection::collectGraph(func::FuncOp graph) {
  auto fields = graph->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
  if (!fields || graph.isExternal())
    return;
  if (auto name = fields.getAs<StringAttr>("name"))
    graphName = name.getValue();
  auto collect = [&](StringRef kind, TypeRange types,
                     std::vector<Value> &into) {
    for (auto [i, type] : llvm::enumerate(types))
      into.push_back({getInterfaceName(graph, kind, i), type});
  };
  collect("input", graph.getArgumentTypes(), inputs);
  collect("output", graph.getResultTypes(), outputs);
}

void Inspection::collectLargest(ModuleOp module) {
  auto isLarger = [](const Tensor &a, const Tensor &b) {
    return getTensorBytes(a.value) > getTensorBytes(b.value);
  };
  module.walk([&](Operation *op) {
    onnx::TensorAttr tensor = getStoredTensor(op);
    if (!tensor)
      return;
    Tensor candidate{getOutputName(op, 0), tensor};
    largest.insert(llvm::upper_bound(largest, candidate, isLarger), candidate);
    if (largest.size() > kLargest)
      largest.pop_back();
  });
}

Inspection::Inspection(StringRef path, uint64_t fileBytes, ModuleOp module,
                       std::vector<std::string> missingData)
    : path(path), fileBytes(fileBytes), missingData(std::move(missingData)),
      model(module->getAttrOfType<DictionaryAttr>(ONNXDialect::kModel)),
      statistics(ModelStatistics::collect(module)) {
  if (model) {
    if (auto version = model.getAs<IntegerAttr>("ir_version"))
      irVersion = version.getInt();
    if (auto imports = model.getAs<ArrayAttr>("opset_import")) {
      for (auto import : imports.getAsRange<DictionaryAttr>()) {
        auto domain = import.getAs<StringAttr>("domain");
        auto version = import.getAs<IntegerAttr>("version");
        bool isDefault = !domain || domain.empty();
        opsets.push_back({isDefault ? "ai.onnx" : domain.str(),
                          version ? version.getInt() : 0});
      }
    }
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.getSymName() == "main")
      collectGraph(function);
    else if (function->hasAttr(ONNXDialect::kTraining))
      ++trainingGraphs;
    else
      functions.push_back(function.getSymName());
  }
  collectLargest(module);
}

uint64_t Inspection::weightBytes() const {
  uint64_t bytes = 0;
  for (const auto &[type, totals] : statistics.weights)
    bytes += totals.bytes;
  return bytes;
}

uint64_t Inspection::lowBytes() const {
  uint64_t bytes = 0;
  for (const auto &[type, totals] : statistics.weights)
    if (type == "float16" || type == "bfloat16")
      bytes += totals.bytes;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

void Inspection::printHead(llvm::raw_ostream &stream) const {
  stream << quoted(path) << ", " << formatBytes(fileBytes) << "\n";
  stream << "IR version  " << irVersion << "\n";
  stream << "opsets      ";
  for (auto [i, opset] : llvm::enumerate(opsets))
    stream << (i > 0 ? ", " : "") << spellName(opset.first) << " "
           << opset.second;
  stream << "\n";
  if (!getField("producer_name").empty()) {
    stream << "producer    " << quoted(getField("producer_name"));
    if (!getField("producer_version").empty())
      stream << " " << spellName(getField("producer_version"));
    stream << "\n";
  }
}

void Inspection::printGraph(llvm::raw_ostream &stream) const {
  stream << "graph       " << quoted(graphName) << "\n";
  auto print = [&](StringRef title, const std::vector<Value> &values) {
    size_t width = 0;
    for (const Value &value : values)
      width = std::max(width, spellName(value.name).size());
    stream << "\n" << title << "\n";
    for (const Value &value : values) {
      std::string name = spellName(value.name);
      stream << "  " << name << std::string(width - name.size() + 2, ' ')
             << spellType(value.type) << "\n";
    }
  };
  print("inputs", inputs);
  print("outputs", outputs);
}

void Inspection::printOperators(llvm::raw_ostream &stream) const {
  stream << "\nnodes       " << statistics.nodes;
  if (statistics.subgraphs)
    stream << ", of these " << statistics.subgraphNodes << " in "
           << formatPlural(statistics.subgraphs, "subgraph");
  stream << "\n";
  // The most frequent first.
  std::vector<std::pair<std::string, uint64_t>> sorted(
      statistics.operators.begin(), statistics.operators.end());
  llvm::sort(sorted, [](const auto &a, const auto &b) {
    return std::make_pair(b.second, a.first) <
           std::make_pair(a.second, b.first);
  });
  for (const auto &[name, count] : sorted)
    stream << llvm::formatv("  {0,6}  {1}\n", count, spellName(name));
  if (!functions.empty()) {
    stream << "\nfunctions\n";
    for (StringRef function : functions)
      stream << "  " << spellName(function) << "\n";
  }
  if (trainingGraphs)
    stream << "\ntraining    " << formatPlural(trainingGraphs, "graph") << "\n";
}

void Inspection::printWeights(llvm::raw_ostream &stream) const {
  uint64_t elements = 0, tensors = 0;
  for (const auto &[type, totals] : statistics.weights) {
    elements += totals.elements;
    tensors += totals.tensors;
  }
  stream << "\nweights     " << formatPlural(tensors, "tensor") << ", "
         << formatCount(elements) << " elements, "
         << formatBytes(weightBytes());
  if (weightBytes())
    stream << llvm::formatv(", {0:f0}% of it in 16-bit floats",
                            100 * double(lowBytes()) / double(weightBytes()));
  stream << "\n";
  for (const auto &[type, totals] : statistics.weights)
    stream << llvm::formatv("  {0,-10} {1,-12} {2}\n", type,
                            formatPlural(totals.tensors, "tensor"),
                            formatBytes(totals.bytes));
  if (!largest.empty()) {
    stream << "largest\n";
    size_t width = 0;
    for (const Tensor &tensor : largest)
      width = std::max(width, spellName(tensor.name).size());
    for (const Tensor &tensor : largest)
      stream << "  " << llvm::left_justify(spellName(tensor.name), width)
             << "  " << spellType(tensor.value.getType()) << "  "
             << formatBytes(getTensorBytes(tensor.value)) << "\n";
  }
  if (!statistics.externalData.empty()) {
    stream << "external data\n";
    for (const auto &[location, totals] : statistics.externalData)
      stream << "  " << quoted(location) << "  "
             << formatPlural(totals.tensors, "tensor") << ", "
             << formatBytes(totals.bytes)
             << (llvm::is_contained(missingData, location) ? ", missing" : "")
             << "\n";
  }
}

void Inspection::printMoved(llvm::raw_ostream &stream) const {
  stream << "\nmoved       " << formatBytes(moved.total()) << " a run, "
         << formatBytes(moved.casts) << " of it by casts between floats\n";
}

std::string Inspection::toText() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printHead(stream);
  printGraph(stream);
  printOperators(stream);
  printWeights(stream);
  printMoved(stream);
  return text;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static json::Value toValue(StringRef text) {
  return json::isUTF8(text) ? text.str() : json::fixUTF8(text);
}

std::string Inspection::toJSON() const {
  auto valueList = [](const std::vector<Value> &values) {
    json::Array array;
    for (const Value &value : values)
      array.push_back(json::Object{{"name", toValue(value.name)},
                                   {"type", toValue(spellType(value.type))}});
    return array;
  };
  json::Object opsetVersions;
  for (const auto &[domain, version] : opsets)
    opsetVersions[json::fixUTF8(domain)] = version;
  json::Array operators, weights, largestTensors, dataFiles, functionNames;
  for (const auto &[name, count] : statistics.operators)
    operators.push_back(
        json::Object{{"operator", toValue(name)}, {"count", count}});
  for (const auto &[type, totals] : statistics.weights)
    weights.push_back(json::Object{{"type", type},
                                   {"tensors", totals.tensors},
                                   {"elements", totals.elements},
                                   {"bytes", totals.bytes}});
  for (const Tensor &tensor : largest)
    largestTensors.push_back(
        json::Object{{"name", toValue(tensor.name)},
                     {"type", toValue(spellType(tensor.value.getType()))},
                     {"bytes", getTensorBytes(tensor.value)}});
  for (const auto &[location, totals] : statistics.externalData)
    dataFiles.push_back(
        json::Object{{"location", toValue(location)},
                     {"tensors", totals.tensors},
                     {"bytes", totals.bytes},
                     {"missing", llvm::is_contained(missingData, location)}});
  for (StringRef function : functions)
    functionNames.push_back(toValue(function));

  json::Object report{
      {"path", toValue(path)},
      {"bytes", fileBytes},
      {"ir_version", irVersion},
      {"opsets", std::move(opsetVersions)},
      {"producer_name", toValue(getField("producer_name"))},
      {"producer_version", toValue(getField("producer_version"))},
      {"graph", toValue(graphName)},
      {"inputs", valueList(inputs)},
      {"outputs", valueList(outputs)},
      {"nodes", json::Object{{"total", statistics.nodes},
                             {"in_subgraphs", statistics.subgraphNodes}}},
      {"subgraphs", statistics.subgraphs},
      {"operators", std::move(operators)},
      {"functions", std::move(functionNames)},
      {"weights", std::move(weights)},
      {"weight_bytes", weightBytes()},
      {"low_bytes", lowBytes()},
      {"largest", std::move(largestTensors)},
      {"external_data", std::move(dataFiles)},
      {"moved_bytes",
       json::Object{{"total", moved.total()}, {"casts", moved.casts}}},
  };
  return llvm::formatv("{0:2}\n", json::Value(std::move(report)));
}

static Movement getMovement(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (name == "onnx.Shape" || name == "onnx.Size")
    return Movement::None;
  if (name != "onnx.Cast")
    return Movement::Computes;
  FloatType from = getFloatElementType(op->getOperand(0).getType());
  FloatType to = getFloatElementType(op->getResult(0).getType());
  // From or to integers it is an operation as any other; to the type that its
  // operand has it is a name.
  if (!from || !to)
    return Movement::Computes;
  return from == to ? Movement::None : Movement::Casts;
}

/// True for a file that `compile` has made.
static bool isExecutable(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFileSlice(
      path, sizeof(runtime::executableMagic), /*Offset=*/0);
  return file && (*file)->getBuffer() ==
                     llvm::StringRef(runtime::executableMagic,
                                     sizeof(runtime::executableMagic));
}

int amp::runInspect(const llvm::opt::InputArgList &arguments) {
  std::vector<std::string> paths = arguments.getAllArgValues(OPT_INPUT);
  if (paths.empty())
    return wrongUsage("expected an input, the model to inspect");
  if (paths.size() > 1)
    return wrongUsage("expected one input, but got " + quoted(paths[0]) +
                      " and " + quoted(paths[1]));
  if (isExecutable(paths[0]))
    return becomeSibling("amp-run", {paths[0].c_str(), "--describe"});
  CostOptions costs;
  for (const std::string &dimension : arguments.getAllArgValues(OPT_dim))
    if (llvm::Error error = costs.addDimension(dimension))
      return wrongUsage("--dim: " + llvm::toString(std::move(error)));
  setFatalErrorSubject(quoted(paths[0]));

  MLIRContext &context = makeContext();
  FirstErrorPrinter errors(&context);
  ImportOptions options;
  options.allowLinks = arguments.hasArg(OPT_allow_links);
  options.inferTypes = false; // what the file says is what is asked for
  std::vector<std::string> missingData;
  options.missingData = &missingData;
  uint64_t bytes = 0;
  ModuleOp module = readModel(paths[0], &context, options, bytes).release();
  if (!module)
    return ExitFailure;
  Inspection inspection(paths[0], bytes, module, std::move(missingData));
  // From here on the module is another one than the file's.
  onnx::InferenceOptions inference;
  inference.shapes = true;
  if (failed(onnx::inferTypes(module, inference)))
    return ExitFailure;
  inspection.moved = countMovedBytes(module, std::move(costs), getMovement);
  std::string text =
      arguments.hasArg(OPT_json) ? inspection.toJSON() : inspection.toText();
  return printOutput(text) ? ExitSuccess : ExitFailure;
}
