//===- Advice.cpp - which format a model can run in -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Advice.h"

#include "Commands.h"
#include "ModelStatistics.h"
#include "TrialConversion.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/AMP/Annotations.h"
#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Policy/FloatFormat.h"
#include "amp/Support/Quantities.h"
#include "amp/Support/Quoted.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace amp;
using namespace mlir;
namespace json = llvm::json;

namespace {
/// What NVIDIA's data sheet says of the A100 (40 GB), in numbers per second.
/// Bounds are ratios: other devices with tensor cores have similar ones.
namespace device {
constexpr double kFloat32 = 19.5e12;
constexpr double kTF32 = 156e12;
constexpr double kLow = 312e12;
constexpr double kBytes = 1.555e12;
} // namespace device
} // namespace

/// The nodes of the main graph.
template <typename CallbackT>
static void forEachNode(ModuleOp module, CallbackT callback) {
  for (Operation &op :
       module.lookupSymbol<func::FuncOp>("main").getBody().front())
    if (isNode(&op))
      callback(&op);
}

static unsigned getElementBytes(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  std::optional<onnx::ElementType> element =
      tensor ? onnx::fromType(tensor.getElementType()) : std::nullopt;
  return element ? onnx::byteSize(*element, 1).value_or(0) : 0;
}

static uint64_t countWeightBytes(ModuleOp module) {
  uint64_t bytes = 0;
  for (const auto &[type, totals] : ModelStatistics::collect(module).weights)
    bytes += totals.bytes;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Estimates
//===----------------------------------------------------------------------===//

void Advice::estimate(FormatEvidence &evidence, ModuleOp module,
                      const WidthsOf &widths, double castBytes) const {
  auto shapeOf = [&](Value value) { return calibration->getShape(value); };
  double plainTime = 0, time = 0, memoryTime = 0, moved = castBytes;
  forEachNode(module, [&](Operation *op) {
    std::optional<OperatorWork> work =
        getWork(op, getOperatorName(op), shapeOf);
    if (!work)
      return;
    auto found = widths.find(op);
    const Widths *own = found == widths.end() ? nullptr : &found->second;
    double plainBytes = 0, bytes = 0;
    auto add = [&](Value value, ArrayRef<unsigned> list, unsigned index) {
      std::optional<Shape> shape = shapeOf(value);
      if (!shape)
        return;
      double elements = double(countElements(*shape));
      unsigned width = getElementBytes(value.getType());
      plainBytes += elements * width;
      bytes += elements * (own && index < list.size() ? list[index] : width);
    };
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      add(operand, own ? own->operands : ArrayRef<unsigned>(), i);
    for (auto [i, result] : llvm::enumerate(op->getResults()))
      add(result, own ? own->results : ArrayRef<unsigned>(), i);

    bool isTF32 = widths.empty() && !evidence.name.empty();
    double rate = device::kFloat32;
    if (work->isProduct && own && own->isLow)
      rate = device::kLow;
    else if (work->isProduct && isTF32)
      rate = device::kTF32;
    plainTime +=
        std::max(work->flops / device::kFloat32, plainBytes / device::kBytes);
    double computing = work->flops / rate, moving = bytes / device::kBytes;
    time += std::max(computing, moving);
    if (moving >= computing)
      memoryTime += moving;
    moved += bytes;
  });
  time += castBytes / device::kBytes;
  memoryTime += castBytes / device::kBytes;
  evidence.movedBytes = moved;
  evidence.speedup = time > 0 ? plainTime / time : 1;
  evidence.memoryBound = time > 0 ? memoryTime / time : 0;
}

/// Looks at what was measured of the values that are low in a conversion.
void Advice::findRanges(FormatEvidence &evidence, ModuleOp module,
                        const WidthsOf &widths) const {
  bool isHalf = StringRef(evidence.name).starts_with("fp16");
  FloatFormat format = isHalf ? FloatFormat::fp16() : FloatFormat::bf16();
  int smallest = std::ilogb(format.smallestSubnormal());
  auto look = [&](const MeasuredValue &value) {
    if (value.absmax > format.maxFinite())
      evidence.overflows.push_back(value.name);
    uint64_t nonzero = value.count - value.zeros - value.countNonFinite();
    if (nonzero > 0 && value.countBelow(smallest) == nonzero)
      evidence.underflows.push_back(value.name);
  };
  forEachNode(module, [&](Operation *op) {
    auto found = widths.find(op);
    if (found == widths.end())
      return;
    for (auto [result, width] :
         llvm::zip_equal(op->getResults(), found->second.results))
      if (const MeasuredValue *value = calibration->lookup(result))
        if (width == 2 && getFloatElementType(result.getType()))
          look(*value);
  });
}

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

/// What is numerically delicate, or not worth the rounding; null for the rest.
static const char *getDelicateKind(StringRef name) {
  return llvm::StringSwitch<const char *>(name)
      .Cases({"Det", "com.microsoft:Inverse", "com.microsoft:MatrixInverse"},
             "linear algebra")
      .Cases({"DFT", "STFT", "MelWeightMatrix", "HannWindow", "HammingWindow",
              "BlackmanWindow"},
             "signal processing")
      .Cases({"ImageDecoder", "Resize", "GridSample", "AffineGrid",
              "TfIdfVectorizer", "StringNormalizer"},
             "preparing inputs")
      .Cases({"NonMaxSuppression", "RoiAlign", "TopK", "MaxRoiPool"},
             "choosing among results")
      .Cases({"CumSum", "CumProd", "ReduceProd", "ReduceSumSquare"},
             "long sums and products")
      .Default(nullptr);
}

void Advice::findDelicateParts(ModuleOp module) {
  llvm::MapVector<StringRef, std::vector<std::string>> parts;
  module.walk([&](Operation *op) {
    if (!isNode(op))
      return;
    if (const char *kind = getDelicateKind(getOperatorName(op)))
      parts[kind].push_back(getNodeName(op).str());
  });
  for (auto &[what, nodes] : parts)
    delicate.push_back({what.str(), std::move(nodes)});
}

LogicalResult Advice::tryFormat(FormatEvidence evidence, StringRef low,
                                ModuleOp module, Engine &engine,
                                const EngineModel &reference) {
  AutocastPipelineOptions options;
  options.low = low.str();
  options.policy = policy;
  options.placement = Placement::Optimal;

  // Values keep their names, so that an operation is found by its first.
  llvm::StringMap<Operation *> byName;
  forEachNode(module, [&](Operation *op) {
    if (StringRef name = getOutputName(op, 0); !name.empty())
      byName[name] = op;
  });
  WidthsOf widths;
  double castBytes = 0;
  auto inspect = [&](ModuleOp converted) {
    forEachNode(converted, [&](Operation *op) {
      Operation *original = byName.lookup(getOutputName(op, 0));
      if (!original || original->getNumOperands() != op->getNumOperands())
        return;
      Widths &entry = widths[original];
      auto add = [&](Type type, SmallVectorImpl<unsigned> &list) {
        list.push_back(getElementBytes(type));
        FloatType element = getFloatElementType(type);
        entry.isLow |= element && element.getWidth() == 16;
      };
      for (Type type : op->getOperandTypes())
        add(type, entry.operands);
      for (Type type : op->getResultTypes())
        add(type, entry.results);
    });
    converted.walk([&](AutocastOpInterface op) {
      auto isLowType = [](Type type) {
        FloatType element = getFloatElementType(type);
        return element && element.getWidth() == 16;
      };
      evidence.loweredNodes +=
          isNode(op) && !op.isAutocastConstant() &&
          (llvm::any_of(op->getOperandTypes(), isLowType) ||
           llvm::any_of(op->getResultTypes(), isLowType));
    });
    converted.walk([&](CastOp cast) {
      Value input = cast.getInput();
      auto function = dyn_cast<func::FuncOp>(cast->getParentOp());
      if (!function || function.getSymName() != "main")
        return;
      if (auto shape = calibration->getShape(input))
        castBytes +=
            double(countElements(*shape)) * (getElementBytes(input.getType()) +
                                             getElementBytes(cast.getType()));
    });
  };
  OwningOpRef<ModuleOp> copy = convertCopy(module, options, inspect);
  if (!copy)
    return failure();
  evidence.weightBytes = countWeightBytes(*copy);
  FailureOr<EngineModel> candidate =
      EngineModel::write(*copy, engine, "candidate.onnx");
  if (failed(candidate))
    return failure();
  FailureOr<Difference> error =
      scoreModel(module.getContext(), engine, reference, *candidate, files);
  if (failed(error))
    return failure();
  evidence.error = std::move(*error);
  estimate(evidence, module, widths, castBytes);
  findRanges(evidence, module, widths);
  formats.push_back(std::move(evidence));
  return success();
}

LogicalResult Advice::collect(ModuleOp module, Engine &engine) {
  MLIRContext *context = module.getContext();
  llvm::Expected<std::vector<std::string>> found = findData(data);
  if (!found)
    return report(context, found.takeError());
  files = std::move(*found);
  FailureOr<EngineModel> reference =
      EngineModel::write(module, engine, "reference.onnx");
  if (failed(reference))
    return failure();
  FailureOr<Calibration> measured =
      Calibration::measure(module, engine, *reference, data);
  if (failed(measured))
    return failure();
  calibration = std::move(*measured);
  history = WeightHistory::collect(module);
  weightBytes = countWeightBytes(module);
  findDelicateParts(module);
  module.walk([&](Operation *op) {
    auto function = dyn_cast_if_present<func::FuncOp>(op->getParentOp());
    nodes += isNode(op);
    insideNodes += isNode(op) && !(function && function.getSymName() == "main");
  });
  forEachNode(module, [&](Operation *op) {
    std::optional<OperatorWork> work =
        getWork(op, getOperatorName(op),
                [&](Value value) { return calibration->getShape(value); });
    if (!work)
      return;
    flops += work->flops;
    if (!work->isProduct)
      return;
    productFlops += work->flops;
    FloatType element = getFloatElementType(op->getResult(0).getType());
    if (element && element.isF32())
      products.push_back(getOutputName(op, 0));
  });

  FormatEvidence tf32;
  tf32.name = "TF32";
  tf32.weightBytes = weightBytes;
  FailureOr<Difference> error =
      scoreModel(context, engine, *reference, *reference, files, products);
  if (failed(error))
    return failure();
  tf32.error = std::move(*error);
  estimate(tf32, module, WidthsOf(), 0);
  movedBytes = tf32.movedBytes;
  formats.push_back(std::move(tf32));

  FormatEvidence bf16, fp16;
  bf16.name = "bf16";
  bf16.options = {"--dtype", "bf16"};
  fp16.name = "fp16";
  fp16.options = {"--dtype", "fp16"};
  if (failed(tryFormat(std::move(bf16), "bf16", module, engine, *reference)) ||
      failed(tryFormat(std::move(fp16), "fp16", module, engine, *reference)))
    return failure();
  if (formats.back().overflows.empty())
    return success();
  FormatEvidence calibrated;
  calibrated.name = "fp16 calibrated";
  calibrated.options = {"--dtype", "fp16", "--calibrate", data};
  calibration->annotate(module);
  LogicalResult result =
      tryFormat(std::move(calibrated), "fp16", module, engine, *reference);
  removeAnnotations(module);
  return result;
}

//===----------------------------------------------------------------------===//
// Recommending
//===----------------------------------------------------------------------===//

const FormatEvidence *Advice::find(StringRef name) const {
  auto found = llvm::find_if(formats, [&](const FormatEvidence &evidence) {
    return evidence.name == name;
  });
  return found == formats.end() ? nullptr : &*found;
}

/// A word of a shell's command line.
static std::string spellWord(StringRef word) {
  bool isPlain = !word.empty() && llvm::all_of(word, [](char c) {
    return llvm::isAlnum(c) || StringRef("-_./=+:,@%").contains(c);
  });
  if (isPlain)
    return word.str();
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

bool Advice::isWorthwhile(const FormatEvidence &evidence) const {
  // Less than a tenth is less than kernels that are not there may cost.
  constexpr double kLeast = 1.1;
  bool savesWeights =
      evidence.weightBytes < weightBytes &&
      double(weightBytes) >= kLeast * double(evidence.weightBytes);
  return savesWeights || (!isMostlyInside() && evidence.speedup >= kLeast);
}

Advice::Recommendation Advice::recommend() const {
  auto command = [&](StringRef suffix, ArrayRef<std::string> options) {
    StringRef stem = StringRef(model).ends_with(".onnx")
                         ? StringRef(model).drop_back(5)
                         : StringRef(model);
    std::string text = "onnx-amp convert " + spellWord(model) + " -o " +
                       spellWord((stem + "." + suffix + ".onnx").str());
    // TF32 has a policy of its own, by which it was tried.
    if (policy != kDefaultPolicy && suffix != "tf32")
      text += " --policy " + spellWord(policy);
    for (const std::string &option : options)
      text += " " + spellWord(option);
    return text;
  };
  const FormatEvidence &tf32 = *find("TF32"), &bf16 = *find("bf16"),
                       &fp16 = *find("fp16");
  const FormatEvidence *calibrated = find("fp16 calibrated");

  constexpr double kLeast = 1.1;
  if (!isWorthwhile(fp16) && !isWorthwhile(bf16) && accepts(tf32) &&
      !isMostlyInside() && tf32.speedup >= kLeast)
    return {command("tf32", {"--dtype", "tf32"}),
            "16 bits save little, and TF32 stays within the tolerance"};
  if (!isWorthwhile(fp16) && !isWorthwhile(bf16))
    return {"",
            "16 bits save little: stay in float32" +
                std::string(accepts(tf32) ? ", TF32 is precise enough"
                                          : "; TF32 is not precise enough")};
  auto serves = [&](const FormatEvidence *evidence) {
    return evidence && isWorthwhile(*evidence) && accepts(*evidence);
  };
  if (history.isBFloat16() && serves(&bf16))
    return {command("bf16", bf16.options),
            "the weights were trained in bf16, whose range they may need; it "
            "stays within the tolerance"};
  if (serves(&fp16) && fp16.overflows.empty())
    return {command("fp16", fp16.options),
            "fp16 is the more precise of the 16-bit formats, nothing leaves "
            "its range, and it stays within the tolerance"};
  if (serves(calibrated))
    return {command("fp16", calibrated->options),
            "with what leaves its range in float32, fp16 stays within the "
            "tolerance"};
  if (serves(&bf16))
    return {command("bf16", bf16.options),
            "fp16 does not stay within the tolerance, bf16 does"};
  // Where the least has to stay float32.
  bool wantsHalf =
      !isWorthwhile(bf16) || fp16.error.getError() <= bf16.error.getError();
  std::vector<std::string> options = wantsHalf ? fp16.options : bf16.options;
  if (calibrated &&
      (wantsHalf || calibrated->error.getError() <= bf16.error.getError()))
    options = calibrated->options;
  options.insert(options.end(),
                 {"--tolerance", formatNumber(tolerance), "--data", data});
  return {command(options[1], options),
          "no format stays within the tolerance on all nodes: search for "
          "those that can be low"};
}

//===----------------------------------------------------------------------===//
// Telling
//===----------------------------------------------------------------------===//

/// "'a', 'b' and 7 more".
static std::string listNames(ArrayRef<std::string> names) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (i ? ", " : "") + quoted(names[i]);
  if (names.size() > kShown)
    text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

static std::string spellError(const Difference &error) {
  if (error.nonFinite)
    return "not finite";
  return error.relative == 0 ? "0"
                             : llvm::formatv("{0:e2}", error.relative).str();
}

std::string Advice::toText() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto line = [&](StringRef title) -> llvm::raw_ostream & {
    return stream << "  " << llvm::left_justify(title, 12);
  };
  stream << quoted(model) << " on " << calibration->toText() << "\n\n";
  auto row = [&](StringRef name, StringRef error, uint64_t low,
                 uint64_t weights, double moved, StringRef speed) {
    stream << llvm::formatv(
        "  {0,-16}{1,-12}{2,-11}{3,-10}{4,-10}{5}\n", name, error, low,
        formatBytes(weights),
        isMostlyInside() ? "?" : formatBytes(uint64_t(moved)), speed);
  };
  stream << llvm::formatv("  {0,-16}{1,-12}{2,-11}{3,-10}{4,-10}{5}\n",
                          "format", "error", "low nodes", "weights", "moves",
                          "faster at most");
  row("float32", "0", 0, weightBytes, movedBytes, "");
  for (const FormatEvidence &each : formats)
    row(each.name, spellError(each.error), each.loweredNodes, each.weightBytes,
        each.movedBytes,
        isMostlyInside()
            ? std::string("?")
            : llvm::formatv("{0:f1} times, {1:f0}% of the time bound by memory",
                            each.speedup, 100 * each.memoryBound)
                  .str());
  stream << "\n";
  line("work") << formatCount(uint64_t(flops)) << " operations";
  if (flops > 0)
    stream << llvm::formatv(", {0:f0}% of them for tensor cores",
                            100 * productFlops / flops);
  stream << "; bounds are for an A100\n";
  if (insideNodes)
    line("") << insideNodes << " of " << nodes
             << " nodes are in subgraphs and functions, and not counted\n";
  for (const FormatEvidence &each : formats) {
    if (each.name == "fp16 calibrated")
      continue;
    if (!each.overflows.empty())
      line("overflow") << each.name << ": " << listNames(each.overflows)
                       << "\n";
    if (!each.underflows.empty())
      line("underflow") << each.name << ": all of "
                        << listNames(each.underflows) << "\n";
  }
  if (history.isBFloat16())
    line("history") << "the weights are bfloat16 numbers: trained in bf16\n";
  else if (history.isFloat16())
    line("history") << "the weights are float16 numbers: trained or stored in "
                       "fp16\n";
  if (find("bf16")->loweredNodes < find("fp16")->loweredNodes)
    line("opset") << "operators that lack bf16 at every opset that the model "
                     "can be raised to stay in float32\n";
  for (const DelicatePart &part : delicate)
    line("delicate") << part.what
                     << " (leave in float32 first): " << listNames(part.nodes)
                     << "\n";
  Recommendation recommendation = recommend();
  line("advice") << (recommendation.command.empty() ? "no conversion"
                                                    : recommendation.command)
                 << "\n";
  line("because") << recommendation.why << "\n";
  return text;
}

static json::Array toArray(ArrayRef<std::string> words) {
  json::Array array;
  for (const std::string &word : words)
    array.push_back(json::fixUTF8(word));
  return array;
}

std::string Advice::toJSON() const {
  json::Array choices, parts;
  for (const FormatEvidence &each : formats)
    choices.push_back(json::Object{
        {"format", each.name},
        {"options", toArray(each.options)},
        {"error", each.error.toJSON()},
        {"accepted", accepts(each)},
        {"overflows", toArray(each.overflows)},
        {"underflows", toArray(each.underflows)},
        {"lowered_nodes", each.loweredNodes},
        {"weight_bytes", each.weightBytes},
        {"moved_bytes", each.movedBytes},
        {"speedup_bound",
         isMostlyInside() ? json::Value(nullptr) : json::Value(each.speedup)},
        {"memory_bound_share", each.memoryBound},
    });
  for (const DelicatePart &part : delicate)
    parts.push_back(
        json::Object{{"what", part.what}, {"nodes", toArray(part.nodes)}});
  Recommendation recommendation = recommend();
  json::Object object{
      {"model", json::fixUTF8(model)},
      {"data", json::fixUTF8(data)},
      {"samples", files.size()},
      {"tolerance", tolerance},
      {"formats", std::move(choices)},
      {"weight_bytes", weightBytes},
      {"moved_bytes", movedBytes},
      {"nodes", nodes},
      {"nodes_inside", insideNodes},
      {"operations", flops},
      {"tensor_core_share", flops > 0 ? productFlops / flops : 0},
      {"history", json::Object{{"weights", history.weights},
                               {"bfloat16", history.bfloat16},
                               {"float16", history.float16}}},
      {"delicate", std::move(parts)},
      {"command", recommendation.command},
      {"why", recommendation.why},
  };
  return llvm::formatv("{0:2}\n", json::Value(std::move(object)));
}
