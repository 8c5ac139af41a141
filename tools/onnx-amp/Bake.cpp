//===- Bake.cpp - onnx-amp bake -------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Messages.h"
#include "Safetensors.h"
#include "TrainingCommand.h"

#include "amp/Dialect/ONNX/GraphNames.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Policy/FloatRounding.h"
#include "amp/Support/NearestName.h"
#include "amp/Support/Quoted.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace amp;
using namespace mlir;
using onnx::ElementType;
using onnx::ONNXDialect;

namespace {

/// What was done, for the summary.
struct BakeCounts {
  size_t baked = 0, initializers = 0, rounded = 0;
};

class Baker {
public:
  Baker(const Safetensors &checkpoint, StringRef suffix)
      : checkpoint(checkpoint), suffix(suffix) {}

  LogicalResult bake(ModuleOp module);
  const BakeCounts &getCounts() const { return counts; }

private:
  LogicalResult bakeGraph(func::FuncOp graph);
  /// The new value of an initializer; null if the checkpoint has none.
  FailureOr<onnx::TensorAttr> getValue(Operation *op, StringRef name,
                                       onnx::TensorAttr value);
  LogicalResult reportNothing(func::FuncOp graph);

  const Safetensors &checkpoint;
  StringRef suffix;
  BakeCounts counts;
  SmallVector<StringRef> names;
};

} // namespace

/// "float32 [2, 3]".
static std::string describe(ElementType type, ArrayRef<int64_t> dims) {
  std::string text =
      onnx::nameOf(type) == "float" ? "float32" : onnx::nameOf(type).str();
  text += " [";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(dims, stream);
  return text + "]";
}

FailureOr<onnx::TensorAttr> Baker::getValue(Operation *op, StringRef name,
                                            onnx::TensorAttr value) {
  ++counts.initializers;
  auto found = checkpoint.getTensors().find((name + suffix).str());
  if (found == checkpoint.getTensors().end())
    return onnx::TensorAttr();
  const StoredTensor &tensor = found->second;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  std::optional<ElementType> element =
      type ? onnx::fromType(type.getElementType()) : std::nullopt;
  bool isSame = element == tensor.type;
  // Masters are float32; what is deployed may be less.
  bool isRounded =
      tensor.type == ElementType::Float &&
      (element == ElementType::Float16 || element == ElementType::BFloat16);
  if (!element || type.getShape() != ArrayRef(tensor.dims) ||
      !(isSame || isRounded))
    return op->emitError("the checkpoint has ")
           << describe(tensor.type, tensor.dims) << " for " << quoted(name)
           << ", expected "
           << (element ? describe(*element, type.getShape())
                       : std::string("no tensor of a dense type"));
  ++counts.baked;
  std::vector<char> rounded;
  ArrayRef<char> bytes(tensor.bytes.data(), tensor.bytes.size());
  if (isRounded) {
    ++counts.rounded;
    rounded.resize(bytes.size() / 2);
    auto round =
        element == ElementType::Float16 ? roundToFloat16 : roundToBFloat16;
    round(bytes.data(), rounded.data(), rounded.size() / 2, Overflow::Infinity,
          nullptr);
    bytes = rounded;
  }
  DenseElementsAttr elements;
  if (*element == ElementType::Bool) {
    SmallVector<bool> bits(bytes.begin(), bytes.end());
    elements = DenseElementsAttr::get(type, bits);
  } else {
    elements = DenseElementsAttr::getFromRawBuffer(type, bytes);
  }
  return onnx::TensorAttr::get(op->getContext(), elements, DictionaryAttr());
}

LogicalResult Baker::bakeGraph(func::FuncOp graph) {
  for (Operation &op : graph.getBody().front()) {
    StringRef name;
    onnx::TensorAttr value;
    if (auto initializer = dyn_cast<onnx::InitializerOp>(op)) {
      auto list = op.getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs);
      auto text =
          list && list.size() == 1 ? dyn_cast<StringAttr>(list[0]) : nullptr;
      name = text ? text.getValue() : "";
      value = initializer.getValue();
    } else if (auto input = dyn_cast<onnx::DefaultInputOp>(op)) {
      name = onnx::nameOfInput(cast<BlockArgument>(input.getInput()));
      value = input.getValue();
    }
    if (name.empty())
      continue;
    names.push_back(name);
    FailureOr<onnx::TensorAttr> next = getValue(&op, name, value);
    if (failed(next))
      return failure();
    if (*next)
      op.setAttr("value", *next);
  }
  return counts.baked ? success() : reportNothing(graph);
}

LogicalResult Baker::reportNothing(func::FuncOp graph) {
  InFlightDiagnostic error =
      graph.emitError("no initializer has the name of a tensor of the "
                      "checkpoint");
  for (StringRef name : checkpoint.getTensors().keys()) {
    StringRef nearest = findNearestName(name, names);
    if (!nearest.empty())
      return error << ": it has " << quoted(name) << ", the model "
                   << quoted(nearest);
  }
  if (!checkpoint.getTensors().empty() && !names.empty())
    error << ": it has " << quoted(checkpoint.getTensors().begin()->first())
          << ", the model " << quoted(names.front());
  return error;
}

LogicalResult Baker::bake(ModuleOp module) {
  for (auto graph : module.getOps<func::FuncOp>())
    if (graph->hasAttr(ONNXDialect::kGraph))
      return bakeGraph(graph);
  return module.emitError("has no graph");
}

int amp::runBake(const llvm::opt::InputArgList &arguments) {
  ModelArguments files;
  if (int code = readModelArguments(arguments, "to bake weights into",
                                    "the model with them", files))
    return code;
  if (!arguments.hasArg(OPT_checkpoint))
    return wrongUsage("expected '--checkpoint FILE', where the weights are");
  std::string path = arguments.getLastArgValue(OPT_checkpoint).str();
  llvm::Expected<Safetensors> checkpoint = Safetensors::open(path);
  if (!checkpoint) {
    printError(llvm::toString(checkpoint.takeError()));
    return ExitFailure;
  }
  Baker baker(*checkpoint, arguments.hasArg(OPT_average) ? ".ema" : "");
  return changeModel(
      files, [&](ModuleOp module, SecondModel &) { return baker.bake(module); },
      [&](const ModelChange &) {
        const BakeCounts &counts = baker.getCounts();
        std::string text = quoted(files.output) + ": " +
                           std::to_string(counts.baked) + " of " +
                           std::to_string(counts.initializers) +
                           " initializers from " + quoted(path);
        if (counts.rounded)
          text +=
              ", " + std::to_string(counts.rounded) + " rounded from float32";
        return text + '\n';
      });
}
