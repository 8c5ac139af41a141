//===- Calibration.cpp - what values are like on data ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calibration.h"

#include "ModelStatistics.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/AMP/Annotations.h"
#include "amp/Dialect/ONNX/GraphNames.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Support/Quantities.h"
#include "amp/Support/Quoted.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace amp;
using namespace mlir;
namespace json = llvm::json;

/// Sums of so many numbers are told: in float16 accumulators they lose digits.
static constexpr int64_t kLongReduction = 1024;

uint64_t MeasuredValue::countFrom(int64_t exponent) const {
  uint64_t sum = 0;
  for (auto [i, number] : llvm::enumerate(histogram))
    if (lowestExponent + int64_t(i) >= exponent)
      sum += number;
  return sum;
}

uint64_t MeasuredValue::countBelow(int64_t exponent) const {
  uint64_t sum = 0;
  for (auto [i, number] : llvm::enumerate(histogram))
    if (lowestExponent + int64_t(i) < exponent)
      sum += number;
  return sum;
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

static std::vector<MeasuredValue> readValues(const json::Object &response,
                                             StringRef key) {
  std::vector<MeasuredValue> values;
  const json::Array *entries = response.getArray(key);
  if (!entries)
    return values;
  for (const json::Value &entry : *entries) {
    const json::Object *object = entry.getAsObject();
    if (!object)
      continue;
    MeasuredValue value;
    auto number = [&](StringRef field) {
      return object->getInteger(field).value_or(0);
    };
    value.name = object->getString("name").value_or("").str();
    if (const json::Array *scope = object->getArray("scope"))
      for (const json::Value &part : *scope)
        value.scope.push_back(part.getAsString().value_or("").str());
    if (const json::Array *shape = object->getArray("shape"))
      for (const json::Value &size : *shape)
        value.shape.push_back(size.getAsInteger().value_or(0));
    value.count = number("count");
    value.zeros = number("zeros");
    value.nan = number("nan");
    value.infinite = number("infinite");
    value.absmax = object->getNumber("absmax").value_or(0);
    value.lowestExponent = number("lowest_exponent");
    if (const json::Array *histogram = object->getArray("histogram"))
      for (const json::Value &count : *histogram)
        value.histogram.push_back(count.getAsInteger().value_or(0));
    values.push_back(std::move(value));
  }
  return values;
}

/// The parts of a scope and a name, of which none has a line break.
static std::string spellPlace(ArrayRef<std::string> scope, StringRef name) {
  return llvm::join(scope, "\n") + "\n" + name.str();
}

/// The scope of what is in a region of `op`, as the engine spells it.
static std::vector<std::string> getScope(Region *region) {
  Operation *op = region->getParentOp();
  if (auto function = dyn_cast<func::FuncOp>(op)) {
    if (function.getSymName() == "main")
      return {};
    return {function.getSymName().str()};
  }
  std::vector<std::string> scope = getScope(op->getParentRegion());
  StringRef attribute;
  if (const onnx::OperatorInfo *info = onnx::lookupOperator(op->getName()))
    if (unsigned number = region->getRegionNumber();
        number < info->regionNames().size())
      attribute = info->regionNames()[number];
  scope.push_back((getOutputName(op, 0) + "." + attribute).str());
  return scope;
}

/// The places of values inside of subgraphs and functions that the module has,
/// constants apart. What the engine runs has others besides.
static llvm::StringSet<> collectPlaces(ModuleOp module) {
  llvm::StringSet<> places;
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      places.insert(spellPlace(getScope(&function.getBody()),
                               getInterfaceName(function, "input", i)));
  module.walk([&](Operation *op) {
    auto autocast = dyn_cast<AutocastOpInterface>(op);
    if (!isNode(op) || (autocast && autocast.isAutocastConstant()))
      return;
    std::vector<std::string> scope = getScope(op->getParentRegion());
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      places.insert(spellPlace(scope, getOutputName(op, i)));
  });
  return places;
}

FailureOr<Calibration> Calibration::measure(ModuleOp module, Engine &engine,
                                            const EngineModel &model,
                                            StringRef data) {
  MLIRContext *context = module.getContext();
  llvm::Expected<std::vector<std::string>> files = findData(data);
  if (!files)
    return report(context, files.takeError());
  llvm::Expected<json::Object> response = engine.run(json::Object{
      {"command", "ranges"},
      {"models", json::Array{model.path}},
      {"inputs", json::Array(model.inputs)},
      {"data", json::Array(*files)},
      {"values", json::Array(model.getFloatValues())},
      {"bfloat16", json::Array{model.getBFloat16()}},
  });
  if (!response)
    return report(context, response.takeError());

  Calibration result;
  result.data = data.str();
  result.samples = files->size();
  result.values = readValues(*response, "ranges");
  result.inputs = readValues(*response, "inputs");
  result.inside = readValues(*response, "inside");
  llvm::StringSet<> places = collectPlaces(module);
  llvm::erase_if(result.inside, [&](const MeasuredValue &value) {
    return !places.contains(spellPlace(value.scope, value.name));
  });
  for (auto [i, value] : llvm::enumerate(result.inside))
    result.insideOf[spellPlace(value.scope, value.name)] = i;
  for (auto [i, value] : llvm::enumerate(result.values))
    result.valueOf[value.name] = i;
  for (auto [i, value] : llvm::enumerate(result.inputs))
    result.inputOf[value.name] = i;
  return result;
}

//===----------------------------------------------------------------------===//
// Asking
//===----------------------------------------------------------------------===//

const MeasuredValue *Calibration::lookup(Value value) const {
  auto find = [](const llvm::StringMap<size_t> &places,
                 ArrayRef<MeasuredValue> measured, StringRef place) {
    auto found = places.find(place);
    return found == places.end() ? nullptr : &measured[found->second];
  };
  std::vector<std::string> scope = getScope(value.getParentRegion());
  if (auto result = dyn_cast<OpResult>(value)) {
    StringRef name = getOutputName(result.getOwner(), result.getResultNumber());
    return scope.empty() ? find(valueOf, values, name)
                         : find(insideOf, inside, spellPlace(scope, name));
  }
  auto argument = cast<BlockArgument>(value);
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!function)
    return nullptr;
  if (scope.empty())
    return find(inputOf, inputs, onnx::nameOfInput(argument));
  StringRef name = getInterfaceName(function, "input", argument.getArgNumber());
  return find(insideOf, inside, spellPlace(scope, name));
}

std::optional<Shape> Calibration::getShape(Value value) const {
  if (const MeasuredValue *measured = lookup(value))
    return measured->shape;
  return getStaticShape(value.getType());
}

void Calibration::annotate(ModuleOp module) const {
  Builder builder(module.getContext());
  auto getRanges = [&](ValueRange range) {
    bool any = false;
    SmallVector<Attribute> entries;
    for (Value value : range) {
      const MeasuredValue *measured = lookup(value);
      any |= measured != nullptr;
      entries.push_back(
          measured ? Attribute(builder.getF64FloatAttr(measured->absmax))
                   : Attribute(builder.getUnitAttr()));
    }
    return any ? builder.getArrayAttr(entries) : ArrayAttr();
  };
  module.walk([&](Operation *op) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (function && !function.isExternal()) {
      if (ArrayAttr ranges = getRanges(function.getArguments()))
        op->setAttr(AMPDialect::kArgumentRanges, ranges);
    } else if (isNode(op)) {
      if (ArrayAttr ranges = getRanges(op->getResults()))
        op->setAttr(AMPDialect::kRanges, ranges);
    }
  });
}

//===----------------------------------------------------------------------===//
// Telling
//===----------------------------------------------------------------------===//

static json::Array toValue(ArrayRef<MeasuredValue> values) {
  json::Array array;
  for (const MeasuredValue &value : values) {
    array.push_back(json::Object{
        {"name", value.name},
        {"shape", json::Array(value.shape)},
        {"count", value.count},
        {"absmax", value.absmax},
        {"zeros", value.zeros},
        {"nan", value.nan},
        {"infinite", value.infinite},
        {"lowest_exponent", value.lowestExponent},
        {"histogram", json::Array(value.histogram)},
    });
    if (!value.scope.empty())
      (*array.back().getAsObject())["scope"] = json::Array(value.scope);
  }
  return array;
}

json::Object Calibration::toJSON(ModuleOp module) const {
  json::Array reductions;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (Operation &op : main.getBody().front()) {
    if (!isNode(&op))
      continue;
    std::optional<OperatorWork> work =
        getWork(&op, getOperatorName(&op),
                [&](Value value) { return getShape(value); });
    if (work && work->depth >= kLongReduction)
      reductions.push_back(
          json::Object{{"node", json::fixUTF8(getNodeName(&op))},
                       {"operator", json::fixUTF8(getOperatorName(&op))},
                       {"depth", work->depth}});
  }
  return json::Object{
      {"data", json::fixUTF8(data)}, {"samples", samples},
      {"values", toValue(values)},   {"inputs", toValue(inputs)},
      {"inside", toValue(inside)},   {"reductions", std::move(reductions)},
  };
}

std::string Calibration::toText() const {
  return quoted(data) + ": " + formatPlural(samples, "sample") + ", " +
         formatPlural(values.size() + inside.size(), "value") + " measured";
}
