//===- ToleranceSearch.cpp - the most nodes that may be low ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToleranceSearch.h"

#include "ModelStatistics.h"
#include "TrialConversion.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Support/Quantities.h"
#include "amp/Support/Quoted.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace amp;
using namespace mlir;
namespace json = llvm::json;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// SearchState
//===----------------------------------------------------------------------===//

namespace {
/// The ranking of nodes and the errors of probes, in a file.
class SearchState {
public:
  /// Reads the file, if there is one. Fails if it is of another search.
  static llvm::Expected<SearchState> open(StringRef path,
                                          std::string fingerprint);

  std::optional<double> lookup(StringRef key) const {
    auto found = errors.find(key);
    return found == errors.end() ? std::nullopt
                                 : std::optional<double>(found->second);
  }
  /// Adds the error of a probe and writes the file.
  llvm::Error add(StringRef key, double error) {
    errors[key] = error;
    return write();
  }
  /// Positions of candidates; none before they are ranked.
  ArrayRef<size_t> getRanking() const { return ranking; }
  /// Sets them and writes the file.
  llvm::Error setRanking(ArrayRef<size_t> positions) {
    ranking.assign(positions.begin(), positions.end());
    return write();
  }
  void remove() {
    if (!path.empty())
      (void)llvm::sys::fs::remove(path);
  }

private:
  llvm::Error write() const;

  std::string path, fingerprint;
  llvm::StringMap<double> errors;
  std::vector<size_t> ranking;
};
} // namespace

llvm::Expected<SearchState> SearchState::open(StringRef path,
                                              std::string fingerprint) {
  SearchState state;
  state.path = path.str();
  state.fingerprint = std::move(fingerprint);
  if (path.empty() || !llvm::sys::fs::exists(path))
    return state;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError("cannot read " + quoted(path) + ": " +
                                   buffer.getError().message());
  llvm::Expected<json::Value> value = json::parse((*buffer)->getBuffer());
  const json::Object *object = value ? value->getAsObject() : nullptr;
  const json::Object *probes = object ? object->getObject("probes") : nullptr;
  if (!value)
    llvm::consumeError(value.takeError());
  if (!probes || object->getString("search") != state.fingerprint)
    return llvm::createStringError(
        quoted(path) + " is of another search (model, data or options are not "
                       "the same): remove it, or name another file with "
                       "--search-state");
  // Null stands for an infinite error.
  for (const auto &[key, error] : *probes)
    state.errors[key] = error.getAsNumber().value_or(kInfinity);
  if (const json::Array *ranking = object->getArray("ranking"))
    for (const json::Value &position : *ranking)
      state.ranking.push_back(position.getAsUINT64().value_or(0));
  return state;
}

llvm::Error SearchState::write() const {
  if (path.empty())
    return llvm::Error::success();
  json::Object probes;
  for (const auto &entry : errors)
    probes[entry.first()] = std::isfinite(entry.second)
                                ? json::Value(entry.second)
                                : json::Value(nullptr);
  json::Object state{{"search", fingerprint}, {"probes", std::move(probes)}};
  if (!ranking.empty())
    state["ranking"] = json::Array(ranking);
  json::Value text = std::move(state);
  llvm::Error problem =
      llvm::writeToOutput(path, [&](llvm::raw_ostream &stream) {
        stream << llvm::formatv("{0:2}\n", text);
        return llvm::Error::success();
      });
  if (problem)
    return llvm::createStringError("cannot write " + quoted(path) + ": " +
                                   llvm::toString(std::move(problem)));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Fingerprint
//===----------------------------------------------------------------------===//

static void addFile(std::string &text, StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  uint64_t hash = buffer ? llvm::xxh3_64bits(llvm::arrayRefFromStringRef(
                               (*buffer)->getBuffer()))
                         : 0;
  text += "|" + llvm::utohexstr(hash);
}

/// Of all that errors depend on, but for external data.
static std::string makeFingerprint(ModuleOp module,
                                   const AutocastPipelineOptions &pipeline,
                                   ArrayRef<std::string> data,
                                   StringRef inputPath) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "1|" << pipeline.low << "|" << pipeline.policy << "|"
         << int(pipeline.ioTypes.getValue()) << "|"
         << int(pipeline.placement.getValue()) << "|" << pipeline.keepIslands
         << "|" << pipeline.rangeMargin;
  for (const auto *list :
       {&pipeline.dimensions, &pipeline.keepOps, &pipeline.keepNodes}) {
    stream << "|";
    for (const std::string &entry : *list)
      stream << entry << ";";
  }
  module.walk([&](Operation *op) {
    for (StringRef name : {AMPDialect::kRanges, AMPDialect::kArgumentRanges})
      if (Attribute ranges = op->getDiscardableAttr(name))
        stream << ranges;
  });
  addFile(text, inputPath);
  addFile(text, pipeline.policy);
  for (const std::string &file : data)
    addFile(text, file);
  return llvm::utohexstr(llvm::xxh3_64bits(llvm::arrayRefFromStringRef(text)));
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

namespace {
class Search {
public:
  Search(ModuleOp module, Engine &engine, const EngineModel &reference,
         const SearchOptions &options, AutocastPipelineOptions &pipeline,
         std::vector<std::string> data, SearchState state)
      : module(module), context(module.getContext()), engine(engine),
        reference(reference), options(options), pipeline(pipeline),
        data(std::move(data)), state(std::move(state)) {}

  LogicalResult run();
  SearchResult result;

private:
  using Nodes = std::vector<size_t>; // positions in `candidates`, sorted

  LogicalResult findCandidates();
  /// Of the file, where it has one, as that takes a conversion and a run.
  LogicalResult rank();
  bool readRanking();
  /// The error with these nodes in float32.
  FailureOr<double> probe(const Nodes &kept);
  FailureOr<bool> passes(const Nodes &kept);
  void mark(const Nodes &kept, bool isMarked);
  Nodes takeFirst(size_t count) const;
  bool hasProbes() const { return result.probes < options.maxProbes; }

  LogicalResult findPrefix(Nodes &kept);
  LogicalResult giveBack(Nodes &kept);

  ModuleOp module;
  MLIRContext *context;
  Engine &engine;
  const EngineModel &reference;
  const SearchOptions &options;
  AutocastPipelineOptions &pipeline;
  std::vector<std::string> data;
  SearchState state;

  /// Nodes that are low if nothing is kept, in the order of the model.
  std::vector<Operation *> candidates;
  /// Their positions, those first that add the most error.
  Nodes ranking;
};
} // namespace

/// Numbers the operations, so that a copy's can be told apart.
static constexpr StringLiteral kIndex = "onnx_amp.index";

static bool isLow(Operation *op) {
  auto autocast = dyn_cast<AutocastOpInterface>(op);
  if (!autocast || autocast.isAutocastConstant())
    return false;
  auto isLowType = [](Type type) {
    FloatType element = getFloatElementType(type);
    return element && element.getWidth() == 16;
  };
  return llvm::any_of(op->getOperandTypes(), isLowType) ||
         llvm::any_of(op->getResultTypes(), isLowType);
}

LogicalResult Search::findCandidates() {
  std::vector<Operation *> ops;
  Builder builder(context);
  module.walk([&](Operation *op) {
    // Region operations are where their insides are.
    if (op == module || op->getNumRegions() > 0 || !isNode(op) || isLow(op))
      return;
    op->setDiscardableAttr(kIndex, builder.getI64IntegerAttr(ops.size()));
    ops.push_back(op);
  });
  OwningOpRef<ModuleOp> copy =
      convertCopy(module, pipeline, [&](ModuleOp converted) {
        converted.walk([&](Operation *op) {
          auto index =
              dyn_cast_if_present<IntegerAttr>(op->getDiscardableAttr(kIndex));
          if (index && isLow(op))
            candidates.push_back(ops[index.getInt()]);
          op->removeDiscardableAttr(kIndex);
        });
      });
  for (Operation *op : ops)
    op->removeDiscardableAttr(kIndex);
  return success(bool(copy));
}

/// False if there is none, or not one of these candidates.
bool Search::readRanking() {
  ranking = state.getRanking();
  std::vector<bool> isRanked(candidates.size());
  for (size_t position : ranking) {
    if (position >= isRanked.size() || isRanked[position])
      return false;
    isRanked[position] = true;
  }
  return ranking.size() == candidates.size();
}

LogicalResult Search::rank() {
  if (readRanking())
    return success();
  ranking.resize(candidates.size());
  std::iota(ranking.begin(), ranking.end(), 0);
  OwningOpRef<ModuleOp> copy = convertCopy(module, pipeline);
  if (!copy)
    return failure();
  FailureOr<EngineModel> low = EngineModel::write(*copy, engine, "low.onnx");
  if (failed(low))
    return failure();
  FailureOr<std::vector<Difference>> differences =
      compareModels(context, engine, reference, *low, data);
  if (failed(differences))
    return failure();
  llvm::StringMap<double> errors;
  for (const Difference &difference : *differences)
    errors[difference.name] = difference.getError();

  auto getError = [&](Value value) {
    auto result = dyn_cast<OpResult>(value);
    return result ? errors.lookup(getOutputName(result.getOwner(),
                                                result.getResultNumber()))
                  : 0.0;
  };
  std::vector<double> added;
  for (Operation *op : candidates) {
    // Inside of a subgraph nothing is measured but what comes out of it.
    while (!isa<func::FuncOp>(op->getParentOp()))
      op = op->getParentOp();
    double in = 0, out = 0;
    for (Value operand : op->getOperands())
      in = std::max(in, getError(operand));
    for (Value result : op->getResults())
      out = std::max(out, getError(result));
    added.push_back(in == kInfinity ? 0 : out - in);
  }
  llvm::sort(ranking, [&](size_t a, size_t b) {
    return added[a] != added[b] ? added[a] > added[b] : a < b;
  });
  return report(context, state.setRanking(ranking));
}

void Search::mark(const Nodes &kept, bool isMarked) {
  auto reason = StringAttr::get(context, "the search for a relative error of " +
                                             formatNumber(options.tolerance) +
                                             " on data keeps it in float32");
  for (size_t i : kept)
    if (isMarked)
      candidates[i]->setDiscardableAttr(AMPDialect::kKeep, reason);
    else
      candidates[i]->removeDiscardableAttr(AMPDialect::kKeep);
}

FailureOr<double> Search::probe(const Nodes &kept) {
  std::string text;
  for (size_t i : kept)
    text += std::to_string(i) + ",";
  std::string key =
      llvm::utohexstr(llvm::xxh3_64bits(llvm::arrayRefFromStringRef(text)));
  ++result.probes;
  if (std::optional<double> known = state.lookup(key)) {
    ++result.reused;
    return *known;
  }
  if (options.onProbe)
    options.onProbe(result.probes);
  mark(kept, true);
  OwningOpRef<ModuleOp> copy = convertCopy(module, pipeline);
  mark(kept, false);
  if (!copy)
    return failure();
  FailureOr<EngineModel> candidate =
      EngineModel::write(*copy, engine, "probe.onnx");
  if (failed(candidate))
    return failure();
  FailureOr<Difference> difference =
      scoreModel(context, engine, reference, *candidate, data);
  if (failed(difference))
    return failure();
  if (failed(report(context, state.add(key, difference->getError()))))
    return failure();
  return difference->getError();
}

FailureOr<bool> Search::passes(const Nodes &kept) {
  FailureOr<double> error = probe(kept);
  if (failed(error))
    return failure();
  if (*error > options.tolerance)
    return false;
  result.error = *error;
  return true;
}

Search::Nodes Search::takeFirst(size_t count) const {
  Nodes nodes(ranking.begin(), ranking.begin() + count);
  llvm::sort(nodes);
  return nodes;
}

/// How many of the first in the ranking must stay: doubles, then bisects.
LogicalResult Search::findPrefix(Nodes &kept) {
  size_t fails = 0, works = candidates.size();
  for (size_t count = 1; count < works && hasProbes(); count *= 2) {
    FailureOr<bool> good = passes(takeFirst(count));
    if (failed(good))
      return failure();
    (*good ? works : fails) = count;
    if (*good)
      break;
  }
  while (works - fails > 1 && hasProbes()) {
    size_t middle = fails + (works - fails) / 2;
    FailureOr<bool> good = passes(takeFirst(middle));
    if (failed(good))
      return failure();
    (*good ? works : fails) = middle;
  }
  kept = takeFirst(works);
  // Nobody looked at all of them yet.
  if (works < candidates.size())
    return success();
  FailureOr<double> error = probe(kept);
  if (failed(error))
    return failure();
  result.error = *error;
  if (*error > options.tolerance && !options.keepsState)
    state.remove();
  if (*error > options.tolerance)
    return report(context,
                  llvm::createStringError(
                      "no choice of nodes stays within a relative error of " +
                      formatNumber(options.tolerance) +
                      ": with all of them in float32 it is " +
                      formatNumber(*error)));
  return success();
}

/// Gives parts of what is kept back to the low format: halves, quarters, ….
LogicalResult Search::giveBack(Nodes &kept) {
  for (size_t size = (kept.size() + 1) / 2; size > 0 && kept.size() > 1;
       size = size == 1 ? 0 : (size + 1) / 2) {
    for (size_t begin = 0; begin < kept.size();) {
      if (!hasProbes())
        return success();
      size_t end = std::min(begin + size, kept.size());
      Nodes fewer(kept.begin(), kept.begin() + begin);
      fewer.insert(fewer.end(), kept.begin() + end, kept.end());
      double before = result.error;
      FailureOr<bool> good = passes(fewer);
      if (failed(good))
        return failure();
      if (*good) {
        kept = std::move(fewer);
      } else {
        result.error = before;
        begin = end;
      }
    }
  }
  return success();
}

LogicalResult Search::run() {
  result.tolerance = options.tolerance;
  if (failed(findCandidates()))
    return failure();
  result.candidates = candidates.size();
  FailureOr<bool> allLow = passes({});
  if (failed(allLow))
    return failure();
  Nodes kept;
  if (!*allLow &&
      (failed(rank()) || failed(findPrefix(kept)) || failed(giveBack(kept))))
    return failure();
  mark(kept, true);
  for (size_t i : kept)
    result.kept.push_back(getNodeName(candidates[i]).str());
  if (!options.keepsState)
    state.remove();
  return success();
}

FailureOr<SearchResult> amp::searchKeptNodes(ModuleOp module, Engine &engine,
                                             const EngineModel &reference,
                                             const SearchOptions &options,
                                             AutocastPipelineOptions &pipeline,
                                             StringRef inputPath) {
  MLIRContext *context = module.getContext();
  llvm::Expected<std::vector<std::string>> data = findData(options.data);
  if (!data)
    return report(context, data.takeError());
  llvm::Expected<SearchState> state = SearchState::open(
      options.statePath, makeFingerprint(module, pipeline, *data, inputPath));
  if (!state)
    return report(context, state.takeError());
  Search search(module, engine, reference, options, pipeline, std::move(*data),
                std::move(*state));
  if (failed(search.run()))
    return failure();
  return std::move(search.result);
}

//===----------------------------------------------------------------------===//
// SearchResult
//===----------------------------------------------------------------------===//

json::Object SearchResult::toJSON() const {
  json::Array names;
  for (const std::string &name : kept)
    names.push_back(json::fixUTF8(name));
  return json::Object{
      {"tolerance", tolerance},   {"error", error},
      {"kept", std::move(names)}, {"candidates", candidates},
      {"probes", probes},         {"reused", reused},
  };
}

std::string SearchResult::toText() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << kept.size() << " of " << candidates
         << " nodes kept in float32, relative error " << formatNumber(error)
         << ", " << formatPlural(probes, "probe");
  if (reused)
    stream << ", " << reused << " of them from before";
  return text;
}
