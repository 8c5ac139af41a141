//===- Calibration.cpp - what values are like on data ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calibration.h"

#include "ModelStatistics.h"
#include "Quantities.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/AMP/Annotations.h"
#include "amp/Support/Quoted.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

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
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    if (!function || function.getSymName() != "main")
      return nullptr;
    auto found = inputOf.find(getInputName(argument));
    return found == inputOf.end() ? nullptr : &inputs[found->second];
  }
  auto function = dyn_cast<func::FuncOp>(value.getDefiningOp()->getParentOp());
  if (!function || function.getSymName() != "main")
    return nullptr;
  auto found = valueOf.find(getOutputName(
      value.getDefiningOp(), cast<OpResult>(value).getResultNumber()));
  return found == valueOf.end() ? nullptr : &values[found->second];
}

std::optional<Shape> Calibration::getShape(Value value) const {
  if (const MeasuredValue *measured = lookup(value))
    return measured->shape;
  return getStaticShape(value.getType());
}

void Calibration::annotate(ModuleOp module) const {
  auto main = module.lookupSymbol<func::FuncOp>("main");
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
  if (ArrayAttr ranges = getRanges(main.getArguments()))
    main->setAttr(AMPDialect::kArgumentRanges, ranges);
  for (Operation &op : main.getBody().front())
    if (isNode(&op))
      if (ArrayAttr ranges = getRanges(op.getResults()))
        op.setAttr(AMPDialect::kRanges, ranges);
}

//===----------------------------------------------------------------------===//
// Telling
//===----------------------------------------------------------------------===//

static json::Array toValue(ArrayRef<MeasuredValue> values) {
  json::Array array;
  for (const MeasuredValue &value : values)
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
  return array;
}

json::Object Calibration::toJSON(ModuleOp module) const {
  json::Array reductions;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (Operation &op : main.getBody().front()) {
    if (!isNode(&op))
      continue;
    std::optional<OperatorWork> work =
        getWork(&op, [&](Value value) { return getShape(value); });
    if (work && work->depth >= kLongReduction)
      reductions.push_back(
          json::Object{{"node", json::fixUTF8(getNodeName(&op))},
                       {"operator", json::fixUTF8(getOperatorName(&op))},
                       {"depth", work->depth}});
  }
  return json::Object{
      {"data", json::fixUTF8(data)},         {"samples", samples},
      {"values", toValue(values)},           {"inputs", toValue(inputs)},
      {"reductions", std::move(reductions)},
  };
}

std::string Calibration::toText() const {
  return quoted(data) + ": " + formatPlural(samples, "sample") + ", " +
         formatPlural(values.size(), "value") + " measured";
}
