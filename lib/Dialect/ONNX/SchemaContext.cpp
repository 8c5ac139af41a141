//===- SchemaContext.cpp - an operation for inference ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SchemaContext.h"

#include "SchemaTypes.h"

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/ONNXOps.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

using namespace mlir;

namespace amp::onnx {

using ::onnx::AttributeProto;
using ::onnx::TensorProto;
using ::onnx::TensorShapeProto;
using ::onnx::TypeProto;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Shapes, axes, scales and the like have so many elements at most; what is
/// longer is data.
static constexpr int64_t kMaxElements = 256;

/// The tensor attribute of a constant; null if the operation is none.
static TypedAttr getConstantValue(Operation *op) {
  if (auto initializer = dyn_cast_or_null<InitializerOp>(op))
    return initializer.getValue().getValue();
  if (isa_and_nonnull<ConstantOp>(op))
    if (auto tensor = op->getAttrOfType<TensorAttr>("value"))
      return tensor.getValue();
  return {};
}

/// The bytes of a constant, one element's if all are like it.
static ArrayRef<char> getBytes(TypedAttr value) {
  if (auto dense = dyn_cast<DenseElementsAttr>(Attribute(value)))
    return dense.getRawData();
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(Attribute(value)))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      return blob->getData();
  return {};
}

/// A constant of int32, int64, float or double with few elements, or null.
static std::unique_ptr<TensorProto> readConstant(Operation *op) {
  auto proto = std::make_unique<TensorProto>();
  if (auto constant = dyn_cast_or_null<ConstantOp>(op)) {
    if (auto number = op->getAttrOfType<IntegerAttr>("value_int")) {
      proto->set_data_type(TensorProto::INT64);
      proto->add_int64_data(number.getInt());
      return proto;
    }
    if (auto numbers = op->getAttrOfType<DenseI64ArrayAttr>("value_ints")) {
      if (numbers.size() > kMaxElements)
        return nullptr;
      proto->set_data_type(TensorProto::INT64);
      proto->add_dims(numbers.size());
      for (int64_t number : numbers.asArrayRef())
        proto->add_int64_data(number);
      return proto;
    }
  }
  TypedAttr value = getConstantValue(op);
  auto type =
      value ? dyn_cast<RankedTensorType>(value.getType()) : RankedTensorType();
  if (!type || !type.hasStaticShape() || type.getRank() > 1 ||
      type.getNumElements() > kMaxElements)
    return nullptr;
  Type element = type.getElementType();
  if (!element.isSignlessInteger(32) && !element.isSignlessInteger(64) &&
      !element.isF32() && !element.isF64())
    return nullptr;
  size_t width = element.getIntOrFloatBitWidth() / 8;
  size_t count = type.getNumElements();
  ArrayRef<char> bytes = getBytes(value);
  auto dense = dyn_cast<DenseElementsAttr>(Attribute(value));
  bool splat = dense && dense.isSplat();
  if (bytes.size() != width * (splat ? 1 : count))
    return nullptr;
  proto->set_data_type(int32_t(*fromType(element)));
  for (int64_t size : type.getShape())
    proto->add_dims(size);
  std::string *raw = proto->mutable_raw_data();
  for (size_t i = 0, e = splat ? count : 1; i < e; ++i)
    raw->append(bytes.data(), bytes.size());
  return proto;
}

const TensorProto *ShapeValues::getConstant(Value value) {
  auto [it, isNew] = constants.try_emplace(value.getAsOpaquePointer());
  if (isNew)
    it->second = readConstant(value.getDefiningOp());
  if (isNew && !it->second)
    it->second = computeConstant(value);
  return it->second.get();
}

/// A list that is a constant in other dimensions, as exporters write axes.
std::unique_ptr<TensorProto> ShapeValues::computeConstant(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || type.getRank() > 1)
    return nullptr;
  if (!isa_and_present<FlattenOp, IdentityOp, ReshapeOp, SqueezeOp,
                       UnsqueezeOp>(value.getDefiningOp()))
    return nullptr;
  const TensorProto *source = getConstant(value.getDefiningOp()->getOperand(0));
  if (!source)
    return nullptr;
  // Models may declare anything.
  int64_t count = 1;
  for (int64_t size : source->dims())
    count *= size;
  if (count != type.getNumElements())
    return nullptr;
  auto proto = std::make_unique<TensorProto>(*source);
  proto->clear_dims();
  for (int64_t size : type.getShape())
    proto->add_dims(size);
  return proto;
}

/// Integers as a shape's dimensions.
static TensorShapeProto toElements(const TensorProto &constant) {
  TensorShapeProto elements;
  bool isLong = constant.data_type() == TensorProto::INT64;
  for (int64_t number : constant.int64_data())
    elements.add_dim()->set_dim_value(number);
  StringRef raw = constant.raw_data();
  size_t width = isLong ? sizeof(int64_t) : sizeof(int32_t);
  for (; raw.size() >= width; raw = raw.drop_front(width)) {
    int64_t number = 0;
    int32_t narrow = 0;
    if (isLong) {
      std::memcpy(&number, raw.data(), width);
    } else {
      std::memcpy(&narrow, raw.data(), width);
      number = narrow;
    }
    elements.add_dim()->set_dim_value(number);
  }
  return elements;
}

const TensorShapeProto *ShapeValues::lookup(Value value) {
  auto it = known.find(value.getAsOpaquePointer());
  if (it != known.end())
    return &it->second;
  const TensorProto *constant = getConstant(value);
  if (!constant || (constant->data_type() != TensorProto::INT64 &&
                    constant->data_type() != TensorProto::INT32))
    return nullptr;
  return &known.emplace(value.getAsOpaquePointer(), toElements(*constant))
              .first->second;
}

void ShapeValues::set(Value value, TensorShapeProto &&elements) {
  if (elements.dim_size() <= kMaxElements)
    known[value.getAsOpaquePointer()] = std::move(elements);
}

void ShapeValues::forget(Value value) {
  known.erase(value.getAsOpaquePointer());
  constants.erase(value.getAsOpaquePointer());
}

//===----------------------------------------------------------------------===//
// Subgraphs
//===----------------------------------------------------------------------===//

/// Runs inference over a region when the inference function of its operator
/// asks.
class SchemaContext::Subgraph final : public ::onnx::GraphInferencer {
public:
  Subgraph(SchemaContext &context, Region &region)
      : context(context), region(region) {}

  std::vector<const TypeProto *>
  doInferencing(const std::vector<const TypeProto *> &inputTypes,
                const std::vector<const TensorProto *> &) override {
    if (!context.inferRegion)
      return {};
    return context.inferRegion(region, inputTypes, results);
  }

private:
  SchemaContext &context;
  Region &region;
  std::deque<TypeProto> results;
};

//===----------------------------------------------------------------------===//
// SchemaContext
//===----------------------------------------------------------------------===//

SchemaContext::SchemaContext(Operation *op, const OperatorInfo &info,
                             ShapeValues *values, InferRegion inferRegion)
    : op(op), info(info), values(values), inferRegion(inferRegion) {
  for (auto [position, operand] :
       llvm::zip_equal(inputPositions(op), op->getOperands())) {
    if (inputs.size() <= position) {
      inputs.resize(position + 1);
      operands.resize(position + 1);
    }
    operands[position] = operand;
    TypeProto proto;
    if (toProto(operand.getType(), /*shapes=*/values, proto))
      inputs[position] = std::move(proto);
  }
  for (auto [position, result] :
       llvm::zip_equal(outputPositions(op), op->getResults())) {
    if (outputs.size() <= position) {
      outputs.resize(position + 1);
      results.resize(position + 1);
    }
    results[position] = result;
    resultPositions.push_back(position);
  }
}

SchemaContext::~SchemaContext() = default;

Type SchemaContext::getInferredType(OpResult result) {
  return fromProto(op->getContext(),
                   outputs[resultPositions[result.getResultNumber()]]);
}

// ONNX's own context throws where there is no such input or output, and its
// functions do not look for a null pointer there.

const TypeProto *SchemaContext::getInputType(size_t index) const {
  const std::optional<TypeProto> &input = inputs.at(index);
  return input ? &*input : nullptr;
}

TypeProto *SchemaContext::getOutputType(size_t index) {
  return &outputs.at(index);
}

const TypeProto *SchemaContext::getOutputType(size_t index) const {
  return &outputs.at(index);
}

const TensorProto *SchemaContext::getInputData(size_t index) const {
  return values && index < operands.size() && operands[index]
             ? values->getConstant(operands[index])
             : nullptr;
}

const TensorShapeProto *SchemaContext::getSymbolicInput(size_t index) const {
  return values && index < operands.size() && operands[index]
             ? values->lookup(operands[index])
             : nullptr;
}

const TensorShapeProto *SchemaContext::getInputData(size_t index) {
  if (const TensorShapeProto *elements = getSymbolicInput(index))
    return elements;
  // As many elements as it has, of which nothing is known.
  auto type = index < operands.size() && operands[index]
                  ? dyn_cast<RankedTensorType>(operands[index].getType())
                  : RankedTensorType();
  if (!values || !type || type.getRank() != 1 || !type.hasStaticShape() ||
      type.getNumElements() > kMaxElements)
    return nullptr;
  TensorShapeProto elements;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    elements.add_dim();
  values->set(operands[index], std::move(elements));
  return values->lookup(operands[index]);
}

void SchemaContext::addOutputData(size_t index, TensorShapeProto &&elements) {
  if (values && index < results.size() && results[index])
    values->set(results[index], std::move(elements));
}

::onnx::GraphInferencer *
SchemaContext::getGraphAttributeInferencer(const std::string &name) {
  for (auto [index, region] : llvm::enumerate(info.regionNames()))
    if (region == name && index < op->getNumRegions() &&
        !op->getRegion(index).empty()) {
      subgraphs.push_back(
          std::make_unique<Subgraph>(*this, op->getRegion(index)));
      return subgraphs.back().get();
    }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static void fillTensor(TensorAttr tensor, ::onnx::TensorProto *proto) {
  // Of a tensor inference needs the type; data stays where it is.
  auto type = cast<RankedTensorType>(tensor.getType());
  if (std::optional<ElementType> element = fromType(type.getElementType()))
    proto->set_data_type(static_cast<int32_t>(*element));
  for (int64_t dim : type.getShape())
    proto->add_dims(dim);
}

const AttributeProto *
SchemaContext::getAttribute(const std::string &name) const {
  auto known = attributes.find(name);
  if (known != attributes.end())
    return &known->second;
  AttributeProto proto;
  proto.set_name(name);
  Attribute attribute = op->getAttr(name);
  if (!attribute) {
    if (!llvm::is_contained(info.regionNames(), name))
      return nullptr;
    proto.set_type(AttributeProto::GRAPH);
    proto.mutable_g();
    return &attributes.emplace(name, std::move(proto)).first->second;
  }
  if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
    proto.set_type(AttributeProto::INT);
    proto.set_i(integer.getValue().getSExtValue());
  } else if (auto number = dyn_cast<FloatAttr>(attribute)) {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(static_cast<float>(number.getValueAsDouble()));
  } else if (auto string = dyn_cast<StringAttr>(attribute)) {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(string.getValue().str());
  } else if (auto integers = dyn_cast<DenseI64ArrayAttr>(attribute)) {
    proto.set_type(AttributeProto::INTS);
    for (int64_t value : integers.asArrayRef())
      proto.add_ints(value);
  } else if (auto numbers = dyn_cast<DenseF32ArrayAttr>(attribute)) {
    proto.set_type(AttributeProto::FLOATS);
    for (float value : numbers.asArrayRef())
      proto.add_floats(value);
  } else if (auto tensor = dyn_cast<TensorAttr>(attribute)) {
    proto.set_type(AttributeProto::TENSOR);
    fillTensor(tensor, proto.mutable_t());
  } else if (auto sparse = dyn_cast<SparseTensorAttr>(attribute)) {
    proto.set_type(AttributeProto::SPARSE_TENSOR);
    fillTensor(sparse.getValues(),
               proto.mutable_sparse_tensor()->mutable_values());
    for (int64_t dim : sparse.getDims())
      proto.mutable_sparse_tensor()->add_dims(dim);
  } else if (isa<TypeAttr, TypeProtoAttr>(attribute)) {
    Type type = isa<TypeAttr>(attribute)
                    ? cast<TypeAttr>(attribute).getValue()
                    : cast<TypeProtoAttr>(attribute).getType();
    proto.set_type(AttributeProto::TYPE_PROTO);
    toProto(type, /*shapes=*/true, *proto.mutable_tp());
  } else if (auto array = dyn_cast<ArrayAttr>(attribute)) {
    proto.set_type(AttributeProto::STRINGS);
    for (Attribute element : array)
      if (auto string = dyn_cast<StringAttr>(element))
        proto.add_strings(string.getValue().str());
  } else {
    return nullptr;
  }
  return &attributes.emplace(name, std::move(proto)).first->second;
}

} // namespace amp::onnx
