//===- Storage.cpp - in which field a tensor's data is --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Storage.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/AMP/ConstantData.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using amp::onnx::ElementType;

namespace amp::storage {

StringRef fieldOf(ElementType type) {
  switch (type) {
  case ElementType::Float:
  case ElementType::Complex64:
    return "float_data";
  case ElementType::Double:
  case ElementType::Complex128:
    return "double_data";
  case ElementType::Int64:
    return "int64_data";
  case ElementType::UInt32:
  case ElementType::UInt64:
    return "uint64_data";
  case ElementType::String:
    return "string_data";
  default:
    return "int32_data";
  }
}

uint32_t numberOf(StringRef field) {
  return field == "float_data"    ? 4
         : field == "int32_data"  ? 5
         : field == "string_data" ? 6
         : field == "int64_data"  ? 7
         : field == "double_data" ? 10
         : field == "uint64_data" ? 11
                                  : 0;
}

namespace {

/// How many elements one varint holds: 4- and 2-bit ones are packed into bytes,
/// 6-bit ones are not.
unsigned elementsPerVarint(ElementType element) {
  unsigned bits = bitWidth(element);
  return bits == 4 ? 2 : bits == 2 ? 4 : 1;
}

bool isSignedInteger(ElementType element) {
  return element == ElementType::Int8 || element == ElementType::Int16 ||
         element == ElementType::Int32 || element == ElementType::Int64;
}

/// Bytes of an element whose width is a multiple of 8; packed ones are moved a
/// byte at a time, 6-bit ones not at all.
unsigned unitBytes(ElementType element) {
  return std::max(1u, bitWidth(element) / 8);
}

bool isSixBit(ElementType element) { return bitWidth(element) == 6; }

} // namespace

VarintPacker::VarintPacker(ElementType element, uint64_t numElements)
    : element(element) {
  unsigned packed = elementsPerVarint(element);
  expected = (numElements + packed - 1) / packed;
}

void VarintPacker::add(uint64_t varint) {
  // Beyond what is expected values are only counted, for the message.
  uint64_t index = count++;
  if (index >= expected)
    return;
  if (isSixBit(element)) {
    if (varint > 63)
      outOfRange = true;
    uint64_t bit = index * 6;
    bytes.resize((bit + 6 + 7) / 8, '\0');
    bytes[bit / 8] |= static_cast<char>((varint & 63) << (bit % 8));
    if (bit % 8 > 2)
      bytes[bit / 8 + 1] |= static_cast<char>((varint & 63) >> (8 - bit % 8));
    return;
  }
  unsigned width = unitBytes(element);
  if (width < 8) {
    unsigned bits = 8 * width;
    auto value = static_cast<int64_t>(varint);
    bool fits = isSignedInteger(element)
                    ? value >= -(int64_t(1) << (bits - 1)) &&
                          value < (int64_t(1) << (bits - 1))
                    : varint < (uint64_t(1) << bits);
    // Of int32_data only 32 bits are read, so that a negative int32 may come
    // in 5 bytes.
    if (!fits && element == ElementType::Int32)
      fits = varint < (uint64_t(1) << 32);
    if (!fits)
      outOfRange = true;
  }
  bytes.append(reinterpret_cast<const char *>(&varint), width);
}

void writeVarints(ElementType element, uint64_t numElements, StringRef bytes,
                  uint32_t field, WireWriter &writer) {
  unsigned packed = elementsPerVarint(element);
  uint64_t count = (numElements + packed - 1) / packed;
  SmallVector<int64_t> values;
  values.reserve(count);
  unsigned width = unitBytes(element);
  for (uint64_t i = 0; i < count; ++i) {
    if (isSixBit(element)) {
      uint64_t bit = i * 6;
      uint16_t pair = static_cast<uint8_t>(bytes[bit / 8]);
      if (bit % 8 > 2)
        pair |= static_cast<uint16_t>(static_cast<uint8_t>(bytes[bit / 8 + 1]))
                << 8;
      values.push_back((pair >> (bit % 8)) & 63);
      continue;
    }
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + i * width, width);
    if (isSignedInteger(element) && width < 8) {
      unsigned shift = 64 - 8 * width;
      value =
          static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
    }
    values.push_back(static_cast<int64_t>(value));
  }
  writer.packedVarints(field, ArrayRef<int64_t>(values));
}

std::optional<StringRef> rawView(TypedAttr value) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(Attribute(value))) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return std::nullopt;
    return StringRef(blob->getData().data(), blob->getData().size());
  }
  auto dense = dyn_cast<DenseIntOrFPElementsAttr>(Attribute(value));
  if (!dense || dense.isSplat())
    return std::nullopt;
  ArrayRef<char> raw = dense.getRawData();
  // Booleans are bits there, and sub-byte elements bytes.
  std::optional<ElementType> element = onnx::fromType(dense.getElementType());
  if (!element || *element == ElementType::Bool || bitWidth(*element) % 8 != 0)
    return std::nullopt;
  return StringRef(raw.data(), raw.size());
}

std::string rawBytes(TypedAttr value) {
  if (std::optional<StringRef> view = rawView(value))
    return view->str();
  auto type = dyn_cast<ShapedType>(value.getType());
  if (!type || !type.hasStaticShape())
    return {};
  uint64_t count = type.getNumElements();
  if (auto rounded = dyn_cast<RoundedAttr>(Attribute(value))) {
    std::string bytes(count * 2, '\0');
    if (failed(readRounded(rounded, 0, count, bytes.data())))
      return {};
    return bytes;
  }
  auto dense = dyn_cast<DenseIntOrFPElementsAttr>(Attribute(value));
  std::optional<ElementType> element =
      dense ? onnx::fromType(dense.getElementType()) : std::nullopt;
  if (!element)
    return {};
  std::string bytes;
  if (*element != ElementType::Bool && bitWidth(*element) % 8 == 0) {
    StringRef one(dense.getRawData().data(), dense.getRawData().size());
    for (uint64_t i = 0; i < count; ++i)
      bytes += one;
    return bytes;
  }
  // One element at a time, from the least significant bits up.
  unsigned width = bitWidth(*element);
  bytes.resize((count * width + 7) / 8, '\0');
  uint64_t bit = 0;
  auto append = [&](const APInt &bits) {
    uint64_t word = bits.getZExtValue();
    for (unsigned i = 0; i < width; ++i, ++bit)
      if ((word >> i) & 1)
        bytes[bit / 8] |= static_cast<char>(1 << (bit % 8));
  };
  if (isa<FloatType>(dense.getElementType()))
    for (const llvm::APFloat &number : dense.getValues<llvm::APFloat>())
      append(number.bitcastToAPInt());
  else
    for (const APInt &bits : dense.getValues<APInt>())
      append(bits);
  return bytes;
}

} // namespace amp::storage
