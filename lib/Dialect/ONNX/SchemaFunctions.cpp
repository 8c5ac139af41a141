//===- SchemaFunctions.cpp - operators that are functions -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/ONNX/SchemaFunctions.h"

#include "SchemaContext.h"
#include "SchemaRegistry.h"
#include "SchemaTypes.h"

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace amp::onnx {

namespace {

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

/// Shows an operation to the builders of functions that depend on it.
class BuildContext final : public ::onnx::FunctionBodyBuildContext {
public:
  BuildContext(Operation *op, const OperatorInfo &info, ShapeValues &values)
      : context(op, info, &values) {}

  const AttributeProto *getAttribute(const std::string &name) const override {
    return context.getAttribute(name);
  }
  bool hasInput(int index) const override { return context.hasOperand(index); }
  bool hasOutput(int index) const override { return context.hasResult(index); }
  const ::onnx::TypeProto *getInputType(int index) const override {
    return hasInput(index) ? context.getInputType(index) : nullptr;
  }

private:
  SchemaContext context;
};

/// The elements of a tensor as they are in memory; null for strings.
DenseElementsAttr readTensor(MLIRContext *context, const TensorProto &tensor) {
  std::optional<ElementType> element = parseElementType(tensor.data_type());
  if (!element || *element == ElementType::String ||
      *element == ElementType::Undefined)
    return {};
  auto type = RankedTensorType::get(
      SmallVector<int64_t>(tensor.dims().begin(), tensor.dims().end()),
      toType(context, *element));
  if (tensor.has_raw_data()) {
    StringRef raw = tensor.raw_data();
    ArrayRef<char> bytes(raw.data(), raw.size());
    if (type.getElementType().isInteger(1)) // a byte each in ONNX
      return int64_t(raw.size()) == type.getNumElements()
                 ? DenseElementsAttr::get(
                       type, ArrayRef<bool>(
                                 SmallVector<bool>(raw.begin(), raw.end())))
                 : DenseElementsAttr();
    bool isSplat = false;
    return DenseElementsAttr::isValidRawBuffer(type, bytes, isSplat)
               ? DenseElementsAttr::getFromRawBuffer(type, bytes)
               : DenseElementsAttr();
  }
  auto is = [&](auto numbers) {
    return numbers.size() == type.getNumElements();
  };
  Type elementType = type.getElementType();
  if (elementType.isF32() && is(tensor.float_data()))
    return DenseElementsAttr::get(
        type,
        ArrayRef<float>(tensor.float_data().data(), tensor.float_data_size()));
  if (elementType.isF64() && is(tensor.double_data()))
    return DenseElementsAttr::get(type,
                                  ArrayRef<double>(tensor.double_data().data(),
                                                   tensor.double_data_size()));
  if (elementType.isSignlessInteger(64) && is(tensor.int64_data())) {
    SmallVector<int64_t> numbers(tensor.int64_data().begin(),
                                 tensor.int64_data().end());
    return DenseElementsAttr::get(type, ArrayRef(numbers));
  }
  if (!is(tensor.int32_data()))
    return {};
  // What is narrower is in the same field: integers by value, 16-bit floats by
  // their bits.
  SmallVector<Attribute> numbers;
  for (int32_t number : tensor.int32_data())
    if (auto floatType = dyn_cast<FloatType>(elementType))
      numbers.push_back(FloatAttr::get(
          floatType,
          APFloat(floatType.getFloatSemantics(),
                  APInt(floatType.getWidth(), uint32_t(number), false, true))));
    else
      numbers.push_back(IntegerAttr::get(
          elementType, APInt(elementType.getIntOrFloatBitWidth(),
                             uint32_t(number), false, true)));
  return DenseElementsAttr::get(type, numbers);
}

/// An attribute as the dialect holds it; null for graphs and what is rare.
Attribute readAttribute(Builder &builder, const AttributeProto &proto) {
  switch (proto.type()) {
  case AttributeProto::INT:
    return builder.getI64IntegerAttr(proto.i());
  case AttributeProto::FLOAT:
    return builder.getF32FloatAttr(proto.f());
  case AttributeProto::STRING:
    return builder.getStringAttr(proto.s());
  case AttributeProto::INTS:
    return builder.getDenseI64ArrayAttr(
        SmallVector<int64_t>(proto.ints().begin(), proto.ints().end()));
  case AttributeProto::FLOATS:
    return builder.getDenseF32ArrayAttr(
        SmallVector<float>(proto.floats().begin(), proto.floats().end()));
  case AttributeProto::TENSOR:
    if (DenseElementsAttr elements =
            readTensor(builder.getContext(), proto.t()))
      return TensorAttr::get(builder.getContext(), elements, DictionaryAttr());
    return {};
  default:
    return {};
  }
}

/// Builds the nodes of a function.
class BodyBuilder {
public:
  BodyBuilder(Operation *op, const ::onnx::OpSchema &schema,
              const FunctionProto &function, NodeBuilder &nodes)
      : op(op), schema(schema), function(function), nodes(nodes) {}

  FailureOr<SmallVector<Value>> build();

private:
  /// Whether all can be built, before anything is.
  bool isBuildable() const;
  /// The attribute of a node; null for one that refers to an attribute that the
  /// operation leaves out and that has no default.
  FailureOr<Attribute> getAttribute(const AttributeProto &proto) const;
  LogicalResult buildNode(const NodeProto &node);

  Operation *op;
  const ::onnx::OpSchema &schema;
  const FunctionProto &function;
  NodeBuilder &nodes;
  llvm::StringMap<Value> values;
};

FailureOr<Attribute>
BodyBuilder::getAttribute(const AttributeProto &proto) const {
  Builder builder(op->getContext());
  if (proto.ref_attr_name().empty()) {
    Attribute attribute = readAttribute(builder, proto);
    if (!attribute)
      return failure();
    return attribute;
  }
  if (Attribute attribute = op->getAttr(proto.ref_attr_name()))
    return attribute;
  auto found = schema.attributes().find(proto.ref_attr_name());
  if (found == schema.attributes().end() ||
      found->second.default_value.type() == AttributeProto::UNDEFINED)
    return Attribute();
  return readAttribute(builder, found->second.default_value);
}

bool BodyBuilder::isBuildable() const {
  return llvm::all_of(function.node(), [&](const NodeProto &node) {
    return (node.domain().empty() || node.domain() == "ai.onnx") &&
           lookupOperator("", node.op_type()) &&
           llvm::all_of(node.attribute(), [&](const AttributeProto &proto) {
             return succeeded(getAttribute(proto));
           });
  });
}

LogicalResult BodyBuilder::buildNode(const NodeProto &node) {
  SmallVector<Value> inputs;
  for (const std::string &name : node.input()) {
    auto found = values.find(name);
    inputs.push_back(found == values.end() ? Value() : found->second);
  }
  while (!inputs.empty() && !inputs.back())
    inputs.pop_back();
  SmallVector<NamedAttribute> attributes;
  for (const AttributeProto &proto : node.attribute()) {
    FailureOr<Attribute> attribute = getAttribute(proto);
    if (failed(attribute))
      return failure();
    if (*attribute)
      attributes.push_back(
          {StringAttr::get(op->getContext(), proto.name()), *attribute});
  }
  Operation *built =
      nodes.node(node.op_type(), inputs, attributes, node.output_size());
  for (auto [name, result] :
       llvm::zip_equal(node.output(), built->getResults()))
    if (!name.empty())
      values[name] = result;
  return success();
}

FailureOr<SmallVector<Value>> BodyBuilder::build() {
  if (!isBuildable())
    return failure();
  for (auto [position, operand] :
       llvm::zip_equal(inputPositions(op), op->getOperands()))
    if (position < unsigned(function.input_size()))
      values[function.input(position)] = operand;
  for (const NodeProto &node : function.node())
    if (failed(buildNode(node)))
      return failure();
  SmallVector<Value> results;
  for (auto [position, result] :
       llvm::zip_equal(outputPositions(op), op->getResults())) {
    Value value = position < unsigned(function.output_size())
                      ? values.lookup(function.output(position))
                      : Value();
    if (!value)
      return failure();
    results.push_back(value);
  }
  return results;
}

} // namespace

FailureOr<SmallVector<Value>> buildFunctionBody(Operation *op,
                                                NodeBuilder &nodes) {
  const OperatorInfo *info = lookupOperator(op->getName());
  std::optional<int64_t> opset =
      info ? getOpsetVersion(op, info->domain) : std::nullopt;
  const ::onnx::OpSchema *schema =
      opset ? lookupOpSchema(info->domain, info->name, *opset) : nullptr;
  if (!schema)
    return failure();
  FunctionProto built;
  const FunctionProto *function = nullptr;
  try {
    if (schema->HasFunction())
      function = schema->GetFunction(int(*opset), /*validate=*/false);
    if (!function && schema->HasContextDependentFunction()) {
      ShapeValues values;
      BuildContext context(op, *info, values);
      if (schema->BuildContextDependentFunction(context, built, int(*opset)))
        function = &built;
    }
  } catch (const std::exception &) {
    return failure();
  }
  if (!function)
    return failure();
  return BodyBuilder(op, *schema, *function, nodes).build();
}

} // namespace amp::onnx
