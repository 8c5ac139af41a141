//===- ConstantBytes.cpp - constants as they are in memory ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantBytes.h"

#include "../ONNX/Storage.h"

#include "amp/Dialect/ONNX/ElementType.h"

using namespace mlir;
using namespace amp;

/// Elements of 2 or 4 bits, the first in the lowest bits of a byte, as bytes;
/// signed ones with their sign.
static std::string unpack(StringRef packed, uint64_t count, unsigned bits,
                          bool isSigned) {
  std::string bytes(count, '\0');
  unsigned perByte = 8 / bits;
  for (uint64_t i = 0; i < count; ++i) {
    unsigned shift = (i % perByte) * bits;
    auto element = static_cast<uint8_t>(
        static_cast<uint8_t>(packed[i / perByte]) >> shift << (8 - bits));
    bytes[i] =
        isSigned ? static_cast<char>(static_cast<int8_t>(element) >> (8 - bits))
                 : static_cast<char>(element >> (8 - bits));
  }
  return bytes;
}

std::optional<ConstantBytes> amp::getConstantBytes(TypedAttr value) {
  auto type = cast<ShapedType>(value.getType());
  std::optional<onnx::ElementType> element =
      onnx::fromType(type.getElementType());
  if (!element)
    return std::nullopt;
  uint64_t count = type.getNumElements();
  std::optional<uint64_t> size = onnx::byteSize(*element, count);
  if (!size)
    return std::nullopt;

  ConstantBytes result;
  if (std::optional<StringRef> view = storage::rawView(value)) {
    result.bytes = *view;
  } else {
    result.made = std::make_unique<std::string>(storage::rawBytes(value));
    result.bytes = *result.made;
  }
  if (result.bytes.size() != *size)
    return std::nullopt;
  unsigned bits = onnx::bitWidth(*element);
  if (bits < 8 && *element != onnx::ElementType::Bool) {
    bool isSigned = *element == onnx::ElementType::Int4 ||
                    *element == onnx::ElementType::Int2;
    result.made = std::make_unique<std::string>(
        unpack(result.bytes, count, bits, isSigned));
    result.bytes = *result.made;
  }
  return result;
}
