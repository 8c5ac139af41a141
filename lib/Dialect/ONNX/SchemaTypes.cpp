//===- SchemaTypes.cpp - types as TypeProto and back ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SchemaTypes.h"

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace amp::onnx {

using ::onnx::TypeProto;

/// A graph can ask for any number of dimensions, node by node; what is computed
/// from a shape should stay small.
static constexpr int kMaxRank = 64;

/// And so it can nest types, with one Optional after the other.
static constexpr unsigned kMaxDepth = 32;

static unsigned depthOf(const TypeProto &proto) {
  const TypeProto *at = &proto;
  for (unsigned depth = 0;; ++depth)
    switch (at->value_case()) {
    case TypeProto::kSequenceType:
      at = &at->sequence_type().elem_type();
      break;
    case TypeProto::kOptionalType:
      at = &at->optional_type().elem_type();
      break;
    case TypeProto::kMapType:
      at = &at->map_type().value_type();
      break;
    default:
      return depth;
    }
}

bool toProto(Type type, bool shapes, TypeProto &proto) {
  if (auto tensor = dyn_cast<TensorType>(type)) {
    std::optional<ElementType> element = fromType(tensor.getElementType());
    if (!element || *element == ElementType::Undefined)
      return false;
    TypeProto::Tensor *message = proto.mutable_tensor_type();
    message->set_elem_type(static_cast<int32_t>(*element));
    auto ranked = dyn_cast<RankedTensorType>(type);
    if (!ranked || !shapes)
      return true;
    auto names = dyn_cast_or_null<DimsAttr>(ranked.getEncoding());
    message->mutable_shape();
    for (auto [i, size] : llvm::enumerate(ranked.getShape())) {
      auto *dim = message->mutable_shape()->add_dim();
      if (!ShapedType::isDynamic(size))
        dim->set_dim_value(size);
      else if (names && !names.getNames()[i].getValue().empty())
        dim->set_dim_param(names.getNames()[i].getValue().str());
    }
    return true;
  }
  if (auto sparse = dyn_cast<SparseTensorType>(type)) {
    TypeProto dense;
    if (!toProto(sparse.getDenseType(), shapes, dense))
      return false;
    proto.mutable_sparse_tensor_type()->set_elem_type(
        dense.tensor_type().elem_type());
    return true;
  }
  if (auto sequence = dyn_cast<SequenceType>(type))
    return toProto(sequence.getElementType(), shapes,
                   *proto.mutable_sequence_type()->mutable_elem_type());
  if (auto optional = dyn_cast<OptionalType>(type))
    return toProto(optional.getElementType(), shapes,
                   *proto.mutable_optional_type()->mutable_elem_type());
  if (auto map = dyn_cast<MapType>(type)) {
    std::optional<ElementType> key = fromType(map.getKeyType());
    if (!key)
      return false;
    proto.mutable_map_type()->set_key_type(static_cast<int32_t>(*key));
    return toProto(map.getValueType(), shapes,
                   *proto.mutable_map_type()->mutable_value_type());
  }
  return false;
}

static Type convert(MLIRContext *context, const TypeProto &proto) {
  switch (proto.value_case()) {
  case TypeProto::kTensorType: {
    const TypeProto::Tensor &message = proto.tensor_type();
    std::optional<ElementType> element = parseElementType(message.elem_type());
    if (!element || *element == ElementType::Undefined)
      return {};
    Type elementType = toType(context, *element);
    if (!message.has_shape() || message.shape().dim_size() > kMaxRank)
      return UnrankedTensorType::get(elementType);
    SmallVector<int64_t> shape;
    SmallVector<StringAttr> names;
    bool named = false;
    for (const auto &dim : message.shape().dim()) {
      bool known = dim.has_dim_value() && dim.dim_value() >= 0;
      shape.push_back(known ? dim.dim_value() : ShapedType::kDynamic);
      names.push_back(StringAttr::get(context, dim.dim_param()));
      named |= !dim.dim_param().empty();
    }
    return RankedTensorType::get(
        shape, elementType,
        named ? Attribute(DimsAttr::get(context, names)) : Attribute());
  }
  case TypeProto::kSequenceType: {
    Type element = convert(context, proto.sequence_type().elem_type());
    return element ? SequenceType::get(context, element) : Type();
  }
  case TypeProto::kOptionalType: {
    Type element = convert(context, proto.optional_type().elem_type());
    return element ? OptionalType::get(context, element) : Type();
  }
  case TypeProto::kMapType: {
    std::optional<ElementType> key =
        parseElementType(proto.map_type().key_type());
    Type value = convert(context, proto.map_type().value_type());
    return key && value ? MapType::get(context, toType(context, *key), value)
                        : Type();
  }
  default:
    return {};
  }
}

Type fromProto(MLIRContext *context, const TypeProto &proto) {
  return depthOf(proto) <= kMaxDepth ? convert(context, proto) : Type();
}

} // namespace amp::onnx
