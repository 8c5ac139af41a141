//===- Diff.cpp - onnx-amp diff -------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Differences.h"
#include "EngineArguments.h"
#include "FatalErrors.h"
#include "Messages.h"
#include "ModelFile.h"
#include "ModelStatistics.h"
#include "ProgressLine.h"
#include "TypeSpelling.h"

#include "amp/Support/Quantities.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace amp;
using namespace mlir;
namespace json = llvm::json;

namespace {
/// What is shown, in one form and the other.
class Comparison {
public:
  std::string a, b, data;
  size_t samples = 0;
  double tolerance = 0;
  bool perNode = false;
  std::vector<Difference> differences;

  void collect(const EngineModel &first, const EngineModel &second);
  std::string toText() const;
  std::string toJSON() const;

private:
  /// "value 'x' of MatMul '/mm'".
  std::string describe(const Difference &difference) const;
  json::Object toObject(const Difference &difference) const;

  llvm::StringMap<Operation *> producers;
  size_t onlyInA = 0, onlyInB = 0;
  /// Null if nothing is beyond the tolerance, or nothing differs.
  const Difference *first = nullptr, *worst = nullptr;
  const Difference *worstOutput = nullptr;
};
} // namespace

void Comparison::collect(const EngineModel &modelA, const EngineModel &modelB) {
  llvm::StringSet<> compared, outputs;
  for (const std::string &name : modelA.outputs)
    outputs.insert(name);
  for (const Difference &difference : differences) {
    compared.insert(difference.name);
    if (!first && difference.getError() > tolerance)
      first = &difference;
    if (!worst || isWorse(difference, *worst))
      worst = &difference;
    if (outputs.contains(difference.name) &&
        (!worstOutput || isWorse(difference, *worstOutput)))
      worstOutput = &difference;
  }
  for (const EngineModel::Observable &value : modelA.values) {
    producers[value.name] = value.op;
    onlyInA += !compared.contains(value.name);
  }
  for (const EngineModel::Observable &value : modelB.values)
    onlyInB += !compared.contains(value.name);
}

std::string Comparison::describe(const Difference &difference) const {
  std::string text = "value " + quoted(difference.name);
  if (Operation *op = producers.lookup(difference.name)) {
    text += " of " + spellName(getOperatorName(op));
    if (StringRef name = getNodeName(op); name != difference.name)
      text += " " + quoted(name);
  }
  return text;
}

std::string Comparison::toText() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (perNode)
    for (const Difference &difference : differences)
      stream << llvm::format("%-10.3g ", difference.getError())
             << describe(difference) << ": " << difference.toText() << "\n";

  stream << quoted(a) << " and " << quoted(b) << " on " << quoted(data) << ", "
         << formatPlural(samples, "sample") << "\n";
  auto line = [&](StringRef title) -> llvm::raw_ostream & {
    return stream << "  " << llvm::left_justify(title, 10);
  };
  line("values") << differences.size() << " compared, " << onlyInA
                 << " of the first alone, " << onlyInB
                 << " of the second alone\n";
  auto print = [&](StringRef title, const Difference *difference) {
    if (!difference)
      return;
    line(title) << describe(*difference) << ": " << difference->toText();
    if (samples > 1)
      stream << ", in sample " << difference->sample;
    stream << "\n";
  };
  print("first", first);
  if (!first)
    line("first") << llvm::format("none beyond a relative error of %g\n",
                                  tolerance);
  print("worst", worst);
  print("output", worstOutput);
  return text;
}

json::Object Comparison::toObject(const Difference &difference) const {
  json::Object object = difference.toJSON();
  if (Operation *op = producers.lookup(difference.name)) {
    object["operator"] = json::fixUTF8(getOperatorName(op));
    object["node"] = json::fixUTF8(getNodeName(op));
  }
  return object;
}

std::string Comparison::toJSON() const {
  auto toValue = [&](const Difference *difference) {
    return difference ? json::Value(toObject(*difference))
                      : json::Value(nullptr);
  };
  json::Object report{
      {"a", json::fixUTF8(a)},          {"b", json::fixUTF8(b)},
      {"data", json::fixUTF8(data)},    {"samples", samples},
      {"tolerance", tolerance},         {"compared", differences.size()},
      {"only_in_a", onlyInA},           {"only_in_b", onlyInB},
      {"first", toValue(first)},        {"worst", toValue(worst)},
      {"output", toValue(worstOutput)},
  };
  if (perNode) {
    json::Array all;
    for (const Difference &difference : differences)
      all.push_back(toObject(difference));
    report["values"] = std::move(all);
  }
  return llvm::formatv("{0:2}\n", json::Value(std::move(report)));
}

int amp::runDiff(const llvm::opt::InputArgList &arguments) {
  std::vector<std::string> paths = arguments.getAllArgValues(OPT_INPUT);
  if (paths.size() != 2)
    return wrongUsage("expected two inputs, the models to compare, but got " +
                      llvm::Twine(paths.size()));
  if (!arguments.hasArg(OPT_data))
    return wrongUsage("expected '--data DATA', what the models run on");
  std::optional<EngineOptions> engineOptions = readEngineOptions(arguments);
  if (!engineOptions)
    return ExitUsage;
  std::optional<double> tolerance =
      readNumber(arguments, OPT_tolerance, /*least=*/0, /*missing=*/0.01);
  if (!tolerance)
    return ExitUsage;
  Comparison comparison;
  comparison.a = paths[0];
  comparison.b = paths[1];
  comparison.data = arguments.getLastArgValue(OPT_data);
  comparison.tolerance = *tolerance;
  comparison.perNode = arguments.hasArg(OPT_per_node);

  MLIRContext &context = makeContext();
  ProgressLine progress(/*isWanted=*/true);
  FirstErrorPrinter errors(&context, [&] { progress.stop(); });
  llvm::Expected<std::vector<std::string>> data = findData(comparison.data);
  if (!data)
    return (void)report(&context, data.takeError()), ExitFailure;
  llvm::Expected<Engine> engine = Engine::create(*engineOptions);
  if (!engine)
    return (void)report(&context, engine.takeError()), ExitFailure;

  ImportOptions options;
  options.allowLinks = arguments.hasArg(OPT_allow_links);
  EngineModel models[2];
  for (int i : {0, 1}) {
    setFatalErrorSubject(quoted(paths[i]));
    uint64_t bytes = 0;
    ModuleOp module = readModel(paths[i], &context, options, bytes).release();
    if (!module)
      return ExitFailure;
    errors.setSubject(quoted(paths[i]));
    FailureOr<EngineModel> model =
        EngineModel::write(module, *engine, i ? "b.onnx" : "a.onnx");
    if (failed(model))
      return ExitFailure;
    models[i] = std::move(*model);
    errors.setSubject("");
  }
  progress.begin("running the models");
  FailureOr<std::vector<Difference>> differences =
      compareModels(&context, *engine, models[0], models[1], *data);
  progress.stop();
  if (failed(differences))
    return ExitFailure;
  comparison.samples = data->size();
  comparison.differences = std::move(*differences);
  comparison.collect(models[0], models[1]);
  std::string text =
      arguments.hasArg(OPT_json) ? comparison.toJSON() : comparison.toText();
  return printOutput(text) ? ExitSuccess : ExitFailure;
}
