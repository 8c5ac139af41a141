//===- ProtoFields.cpp - messages as dictionaries -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProtoFields.h"

#include "mlir/IR/Builders.h"

#include <google/protobuf/descriptor.h>

using namespace mlir;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

namespace amp {

namespace {

/// Messages that are read here nest a few levels; a longer chain is an attack.
constexpr unsigned maxDepth = 32;

WireType wireTypeOf(const FieldDescriptor &field) {
  switch (field.type()) {
  case FieldDescriptor::TYPE_DOUBLE:
  case FieldDescriptor::TYPE_FIXED64:
  case FieldDescriptor::TYPE_SFIXED64:
    return WireType::Fixed64;
  case FieldDescriptor::TYPE_FLOAT:
  case FieldDescriptor::TYPE_FIXED32:
  case FieldDescriptor::TYPE_SFIXED32:
    return WireType::Fixed32;
  case FieldDescriptor::TYPE_STRING:
  case FieldDescriptor::TYPE_BYTES:
  case FieldDescriptor::TYPE_MESSAGE:
    return WireType::Bytes;
  case FieldDescriptor::TYPE_GROUP:
    return WireType::Group;
  default:
    return WireType::Varint;
  }
}

Attribute scalarAttribute(MLIRContext *context, const FieldDescriptor &field,
                          uint64_t bits) {
  Builder builder(context);
  auto apfloat = [&](const llvm::fltSemantics &semantics, unsigned width) {
    return llvm::APFloat(semantics, llvm::APInt(width, bits));
  };
  switch (field.cpp_type()) {
  case FieldDescriptor::CPPTYPE_FLOAT:
    return FloatAttr::get(builder.getF32Type(),
                          apfloat(llvm::APFloat::IEEEsingle(), 32));
  case FieldDescriptor::CPPTYPE_DOUBLE:
    return FloatAttr::get(builder.getF64Type(),
                          apfloat(llvm::APFloat::IEEEdouble(), 64));
  case FieldDescriptor::CPPTYPE_INT32:
  case FieldDescriptor::CPPTYPE_ENUM:
    return builder.getI64IntegerAttr(
        static_cast<int32_t>(static_cast<uint32_t>(bits)));
  case FieldDescriptor::CPPTYPE_BOOL:
    return builder.getI64IntegerAttr(bits != 0);
  default:
    return builder.getI64IntegerAttr(static_cast<int64_t>(bits));
  }
}

} // namespace

FieldCollector::Value &FieldCollector::valueOf(uint32_t number) {
  for (auto &[known, value] : values)
    if (known == number)
      return value;
  values.emplace_back(number, Value());
  return values.back().second;
}

void FieldCollector::add(const WireField &wire) {
  const FieldDescriptor *field =
      descriptor->FindFieldByNumber(static_cast<int>(wire.number));
  if (!field)
    return addUnknown(wire);
  WireType expected = wireTypeOf(*field);
  bool packed = field->is_repeated() && wire.isBytes() &&
                expected != WireType::Bytes && expected != WireType::Group;
  if (wire.type != expected && !packed)
    return addUnknown(wire);
  if (field->type() == FieldDescriptor::TYPE_ENUM && !packed &&
      !field->enum_type()->FindValueByNumber(wire.asInt32()))
    return addUnknown(wire);

  // Of a oneof only the member that came last is set.
  if (const auto *oneof = field->real_containing_oneof())
    llvm::erase_if(values, [&](auto &entry) {
      const FieldDescriptor *other =
          descriptor->FindFieldByNumber(static_cast<int>(entry.first));
      return other != field && other->containing_oneof() == oneof;
    });

  Value &value = valueOf(wire.number);
  value.name = field->name();
  value.repeated = field->is_repeated();
  auto element = [&](Attribute attribute) {
    if (!value.repeated)
      value.elements.clear();
    value.elements.push_back(attribute);
  };
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    if (value.repeated) {
      element(decodeFields(context, input, field->message_type(), wire.bytes,
                           depth + 1));
    } else {
      value.type = field->message_type();
      value.message.append(wire.bytes.begin(), wire.bytes.end());
    }
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    element(StringAttr::get(context, wire.bytes));
  } else if (packed) {
    WireReader reader(input, wire.bytes);
    uint64_t bits;
    uint32_t word;
    if (expected == WireType::Varint)
      while (reader.nextVarint(bits))
        element(scalarAttribute(context, *field, bits));
    else if (expected == WireType::Fixed64)
      while (reader.nextFixed64(bits))
        element(scalarAttribute(context, *field, bits));
    else
      while (reader.nextFixed32(word))
        element(scalarAttribute(context, *field, word));
  } else {
    element(scalarAttribute(context, *field, wire.value));
  }
}

void FieldCollector::addUnread(const WireField &field) {
  FieldCollector reader(context, input, descriptor, depth);
  reader.add(field);
  reader.finish();
  addUnknown(field);
}

void FieldCollector::set(StringRef name, Attribute value) {
  own.push_back({StringAttr::get(context, name), value});
}

DictionaryAttr FieldCollector::finish() {
  SmallVector<NamedAttribute, 8> entries(own.begin(), own.end());
  for (auto &[number, value] : values) {
    Attribute attribute;
    if (value.repeated) {
      attribute = ArrayAttr::get(context, value.elements);
    } else if (value.type) {
      // The merged bytes have no place in the file: a fault in them is one of
      // the field.
      WireInput merged(value.message);
      attribute =
          decodeFields(context, merged, value.type, value.message, depth + 1);
      if (merged.failed()) {
        std::string text = llvm::toString(merged.takeError());
        input.fail(input.bytes().begin(),
                   "field " + value.name.str() + ": " + text);
      }
    } else {
      attribute = value.elements.back();
    }
    entries.push_back({StringAttr::get(context, value.name), attribute});
  }
  if (!unknown.empty())
    entries.push_back({StringAttr::get(context, kUnknownFields),
                       StringAttr::get(context, unknown)});
  return DictionaryAttr::get(context, entries);
}

DictionaryAttr decodeFields(MLIRContext *context, WireInput &input,
                            const Descriptor *descriptor, StringRef message,
                            unsigned depth) {
  if (depth > maxDepth) {
    input.fail(input.bytes().begin(), "messages nested deeper than 32");
    return DictionaryAttr::get(context);
  }
  FieldCollector collector(context, input, descriptor, depth);
  WireReader reader(input, message);
  for (WireField field; reader.next(field);)
    collector.add(field);
  return collector.finish();
}

namespace {

void encodeValue(const FieldDescriptor &field, Attribute value,
                 WireWriter &writer) {
  auto number = static_cast<uint32_t>(field.number());
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    switch (wireTypeOf(field)) {
    case WireType::Varint:
      return writer.int64(number, integer.getValue().getSExtValue());
    case WireType::Fixed64:
      return writer.fixed64(number, integer.getValue().getSExtValue());
    case WireType::Fixed32:
      return writer.fixed32(number, integer.getValue().getSExtValue());
    default:
      return;
    }
  }
  if (auto real = dyn_cast<FloatAttr>(value)) {
    uint64_t bits = real.getValue().bitcastToAPInt().getZExtValue();
    if (wireTypeOf(field) == WireType::Fixed64)
      writer.fixed64(number, bits);
    else if (wireTypeOf(field) == WireType::Fixed32)
      writer.fixed32(number, static_cast<uint32_t>(bits));
    return;
  }
  if (auto string = dyn_cast<StringAttr>(value)) {
    if (wireTypeOf(field) == WireType::Bytes)
      writer.bytes(number, string.getValue());
    return;
  }
  if (auto dictionary = dyn_cast<DictionaryAttr>(value);
      dictionary && field.type() == FieldDescriptor::TYPE_MESSAGE)
    writer.message(number, [&] {
      encodeFields(field.message_type(), dictionary, writer);
    });
}

/// A repeated field that its descriptor wants packed.
void encodePacked(const FieldDescriptor &field, ArrayAttr values,
                  WireWriter &writer) {
  auto number = static_cast<uint32_t>(field.number());
  SmallVector<int64_t> integers;
  for (Attribute value : values)
    if (auto integer = dyn_cast<IntegerAttr>(value))
      integers.push_back(integer.getValue().getSExtValue());
  writer.packedVarints(number, ArrayRef<int64_t>(integers));
}

} // namespace

void encodeFields(const Descriptor *descriptor, DictionaryAttr fields,
                  WireWriter &writer, ArrayRef<StringRef> except) {
  if (!fields)
    return;
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor &field = *descriptor->field(i);
    Attribute value = fields.get(field.name());
    if (!value || llvm::is_contained(except, field.name()))
      continue;
    auto array = dyn_cast<ArrayAttr>(value);
    if (!field.is_repeated()) {
      if (!array)
        encodeValue(field, value, writer);
    } else if (array && field.is_packed() &&
               wireTypeOf(field) == WireType::Varint) {
      encodePacked(field, array, writer);
    } else if (array) {
      for (Attribute element : array)
        encodeValue(field, element, writer);
    }
  }
  if (auto unknown = fields.getAs<StringAttr>(kUnknownFields))
    writer.raw(unknown.getValue());
}

} // namespace amp
