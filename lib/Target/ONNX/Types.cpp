//===- Types.cpp - TypeProto and types ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Types.h"

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace amp {

namespace {

/// How deep sequences and optionals may nest in each other.
constexpr unsigned maxTypeDepth = 32;

/// Field numbers of TypeProto and of the messages in it.
enum : uint32_t {
  TypeTensor = 1,
  TypeSequence = 4,
  TypeMap = 5,
  TypeOpaque = 7,
  TypeSparseTensor = 8,
  TypeOptional = 9,
  TensorElemType = 1,
  TensorShape = 2,
  ShapeDim = 1,
  DimValue = 1,
  DimParam = 2,
  ElementElemType = 1, // of Sequence and Optional
  MapKeyType = 1,
  MapValueType = 2,
  OpaqueDomain = 1,
  OpaqueName = 2,
};

} // namespace

DecodedType TypeDecoder::decode(StringRef message, std::string &error) {
  auto it = known.find(message);
  if (it != known.end())
    return it->second;
  DecodedType decoded;
  decoded.type = decodeMessage(message, 0, error);
  if (!decoded.type || input.failed())
    return {};
  WireWriter writer;
  encodeType(decoded.type, writer);
  decoded.canonical = writer.bufferBytes() == message;
  known[message] = decoded;
  return decoded;
}

Type TypeDecoder::decodeMessage(StringRef message, unsigned depth,
                                std::string &error) {
  if (depth > maxTypeDepth) {
    error = "has a type nested deeper than " + std::to_string(maxTypeDepth);
    return {};
  }
  // Protobuf would merge pieces, and forget all but the last of different
  // kinds.
  WireField value;
  WireReader reader(input, message);
  for (WireField field; reader.next(field);)
    switch (field.number) {
    case TypeTensor:
    case TypeSequence:
    case TypeMap:
    case TypeOpaque:
    case TypeSparseTensor:
    case TypeOptional:
      if (!field.isBytes())
        continue;
      if (value.number != 0) {
        error = "has its type in two pieces";
        return {};
      }
      value = field;
      break;
    default:
      break;
    }
  if (input.failed())
    return {};
  if (value.number == 0)
    return onnx::UnknownType::get(context);
  if (value.number == TypeTensor)
    return decodeTensor(value.bytes, error);
  if (value.number == TypeSparseTensor) {
    Type dense = decodeTensor(value.bytes, error);
    return dense ? onnx::SparseTensorType::get(context, cast<TensorType>(dense))
                 : Type();
  }
  StringRef element, opaqueDomain, opaqueName;
  bool hasElement = false, isSplit = false;
  auto take = [&](StringRef message) {
    isSplit |= hasElement;
    element = message;
    hasElement = true;
  };
  int64_t keyType = 0;
  WireReader inner(input, value.bytes);
  for (WireField field; inner.next(field);) {
    if (value.number == TypeMap) {
      if (field.number == MapKeyType && field.isVarint())
        keyType = field.asInt32();
      else if (field.number == MapValueType && field.isBytes())
        take(field.bytes);
    } else if (value.number == TypeOpaque) {
      if (field.number == OpaqueDomain && field.isBytes())
        opaqueDomain = field.bytes;
      else if (field.number == OpaqueName && field.isBytes())
        opaqueName = field.bytes;
    } else if (field.number == ElementElemType && field.isBytes()) {
      take(field.bytes);
    }
  }
  if (isSplit) {
    error = "has its type in two pieces";
    return {};
  }
  if (input.failed())
    return {};
  if (value.number == TypeOpaque)
    return onnx::OpaqueType::get(context,
                                 StringAttr::get(context, opaqueDomain),
                                 StringAttr::get(context, opaqueName));
  Type elementType = hasElement ? decodeMessage(element, depth + 1, error)
                                : Type(onnx::UnknownType::get(context));
  if (!elementType)
    return {};
  if (value.number == TypeSequence)
    return onnx::SequenceType::get(context, elementType);
  if (value.number == TypeOptional)
    return onnx::OptionalType::get(context, elementType);
  std::optional<onnx::ElementType> key = onnx::parseElementType(keyType);
  if (!key) {
    error = "has unknown element type " + std::to_string(keyType);
    return {};
  }
  return onnx::MapType::get(context, onnx::toType(context, *key), elementType);
}

Type TypeDecoder::decodeTensor(StringRef message, std::string &error) {
  int64_t elementNumber = 0;
  bool hasShape = false;
  SmallVector<int64_t, 6> shape;
  SmallVector<StringRef, 6> names;
  WireReader reader(input, message);
  for (WireField field; reader.next(field);) {
    if (field.number == TensorElemType && field.isVarint()) {
      elementNumber = field.asInt32();
    } else if (field.number == TensorShape && field.isBytes()) {
      hasShape = true;
      WireReader dims(input, field.bytes);
      for (WireField dim; dims.next(dim);) {
        if (dim.number != ShapeDim || !dim.isBytes())
          continue;
        int64_t size = ShapedType::kDynamic;
        StringRef name;
        WireReader parts(input, dim.bytes);
        for (WireField part; parts.next(part);) {
          if (part.number == DimValue && part.isVarint()) {
            // A negative size is a lie that no type can hold.
            size = part.asInt64() >= 0 ? part.asInt64() : ShapedType::kDynamic;
            name = "";
          } else if (part.number == DimParam && part.isBytes()) {
            size = ShapedType::kDynamic;
            name = part.bytes;
          }
        }
        shape.push_back(size);
        names.push_back(name);
      }
    }
  }
  if (input.failed())
    return {};
  std::optional<onnx::ElementType> number =
      onnx::parseElementType(elementNumber);
  if (!number) {
    error = "has unknown element type " + std::to_string(elementNumber);
    return {};
  }
  Type element = onnx::toType(context, *number);
  if (!hasShape)
    return UnrankedTensorType::get(element);
  Attribute encoding;
  if (llvm::any_of(names, [](StringRef name) { return !name.empty(); })) {
    SmallVector<StringAttr, 6> attributes;
    for (StringRef name : names)
      attributes.push_back(StringAttr::get(context, name));
    encoding = onnx::DimsAttr::get(context, attributes);
  }
  return RankedTensorType::get(shape, element, encoding);
}

namespace {

/// The contents of TypeProto.Tensor; TypeProto.SparseTensor has the same.
void encodeTensor(TensorType type, WireWriter &writer) {
  if (std::optional<onnx::ElementType> element =
          onnx::fromType(type.getElementType());
      element && *element != onnx::ElementType::Undefined)
    writer.int64(TensorElemType, int64_t(*element));
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked)
    return;
  auto names = dyn_cast_or_null<onnx::DimsAttr>(ranked.getEncoding());
  writer.message(TensorShape, [&] {
    for (auto [i, size] : llvm::enumerate(ranked.getShape())) {
      writer.message(ShapeDim, [&, i = i, size = size] {
        if (!ShapedType::isDynamic(size))
          writer.int64(DimValue, size);
        else if (names && i < names.getNames().size() &&
                 !names.getNames()[i].getValue().empty())
          writer.bytes(DimParam, names.getNames()[i].getValue());
      });
    }
  });
}

void encodeElement(Type type, uint32_t field, WireWriter &writer) {
  if (isa<onnx::UnknownType>(type))
    return;
  writer.message(field, [&] { encodeType(type, writer); });
}

/// Copies a message, whose field `number` becomes what `rewrite` writes.
template <typename Rewrite>
void rewriteField(StringRef message, uint32_t number, WireWriter &writer,
                  Rewrite rewrite) {
  WireInput input(message);
  WireReader reader(input);
  for (WireField field; reader.next(field);) {
    if (field.number == number)
      rewrite(field);
    else
      writer.raw(field.raw);
  }
}

} // namespace

void encodeType(Type type, WireWriter &writer) {
  if (auto tensor = dyn_cast<TensorType>(type)) {
    writer.message(TypeTensor, [&] { encodeTensor(tensor, writer); });
  } else if (auto sparse = dyn_cast<onnx::SparseTensorType>(type)) {
    writer.message(TypeSparseTensor,
                   [&] { encodeTensor(sparse.getDenseType(), writer); });
  } else if (auto sequence = dyn_cast<onnx::SequenceType>(type)) {
    writer.message(TypeSequence, [&] {
      encodeElement(sequence.getElementType(), ElementElemType, writer);
    });
  } else if (auto optional = dyn_cast<onnx::OptionalType>(type)) {
    writer.message(TypeOptional, [&] {
      encodeElement(optional.getElementType(), ElementElemType, writer);
    });
  } else if (auto map = dyn_cast<onnx::MapType>(type)) {
    writer.message(TypeMap, [&] {
      if (std::optional<onnx::ElementType> key =
              onnx::fromType(map.getKeyType());
          key && *key != onnx::ElementType::Undefined)
        writer.int64(MapKeyType, int64_t(*key));
      encodeElement(map.getValueType(), MapValueType, writer);
    });
  } else if (auto opaque = dyn_cast<onnx::OpaqueType>(type)) {
    writer.message(TypeOpaque, [&] {
      if (!opaque.getDomain().getValue().empty())
        writer.bytes(OpaqueDomain, opaque.getDomain().getValue());
      if (!opaque.getName().getValue().empty())
        writer.bytes(OpaqueName, opaque.getName().getValue());
    });
  }
}

void encodeRetyped(StringRef message, Type type, WireWriter &writer) {
  Type element = innermostElementType(type);
  std::optional<onnx::ElementType> number =
      element ? onnx::fromType(element) : std::nullopt;
  if (!number) {
    writer.raw(message);
    return;
  }
  auto tensor = [&](const WireField &field) {
    writer.message(field.number, [&] {
      rewriteField(field.bytes, TensorElemType, writer,
                   [&](const WireField &element) {
                     // What was left open stays so.
                     if (element.value == 0)
                       writer.raw(element.raw);
                     else
                       writer.int64(TensorElemType, int64_t(*number));
                   });
    });
  };
  auto nested = [&](const WireField &field, Type inner) {
    writer.message(field.number, [&] {
      rewriteField(field.bytes, ElementElemType, writer,
                   [&](const WireField &element) {
                     writer.message(ElementElemType, [&] {
                       encodeRetyped(element.bytes, inner, writer);
                     });
                   });
    });
  };
  if (isa<TensorType>(type))
    rewriteField(message, TypeTensor, writer, tensor);
  else if (isa<onnx::SparseTensorType>(type))
    rewriteField(message, TypeSparseTensor, writer, tensor);
  else if (auto sequence = dyn_cast<onnx::SequenceType>(type))
    rewriteField(message, TypeSequence, writer, [&](const WireField &field) {
      nested(field, sequence.getElementType());
    });
  else if (auto optional = dyn_cast<onnx::OptionalType>(type))
    rewriteField(message, TypeOptional, writer, [&](const WireField &field) {
      nested(field, optional.getElementType());
    });
  else
    writer.raw(message);
}

Type innermostElementType(Type type) {
  while (true) {
    if (auto sequence = dyn_cast<onnx::SequenceType>(type))
      type = sequence.getElementType();
    else if (auto optional = dyn_cast<onnx::OptionalType>(type))
      type = optional.getElementType();
    else
      break;
  }
  if (auto sparse = dyn_cast<onnx::SparseTensorType>(type))
    type = sparse.getDenseType();
  if (auto tensor = dyn_cast<TensorType>(type))
    return tensor.getElementType();
  return {};
}

} // namespace amp
