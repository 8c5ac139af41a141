//===- DataType.cpp - element types of tensors ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Runtime/DataType.h"

#include <array>

using namespace amp::runtime;

namespace {
struct Entry {
  std::string_view name;
  size_t byteSize;
};
} // namespace

// By the number of the type.
static constexpr std::array<Entry, 27> entries = {{
    {"undefined", 0},
    {"float32", 4},
    {"uint8", 1},
    {"int8", 1},
    {"uint16", 2},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"string", 0},
    {"bool", 1},
    {"float16", 2},
    {"float64", 8},
    {"uint32", 4},
    {"uint64", 8},
    {"complex64", 8},
    {"complex128", 16},
    {"bfloat16", 2},
    {"float8_e4m3fn", 1},
    {"float8_e4m3fnuz", 1},
    {"float8_e5m2", 1},
    {"float8_e5m2fnuz", 1},
    {"uint4", 1},
    {"int4", 1},
    {"float4_e2m1fn", 1},
    {"float8_e8m0fnu", 1},
    {"uint2", 1},
    {"int2", 1},
}};

size_t amp::runtime::getByteSize(DataType type) {
  return entries[static_cast<size_t>(type)].byteSize;
}

std::string_view amp::runtime::getName(DataType type) {
  return entries[static_cast<size_t>(type)].name;
}

std::optional<DataType> amp::runtime::getDataType(std::string_view name) {
  for (uint32_t number = 1; number < entries.size(); ++number)
    if (entries[number].name == name)
      return static_cast<DataType>(number);
  return std::nullopt;
}

std::optional<DataType> amp::runtime::getDataType(uint32_t number) {
  if (number == 0 || number >= entries.size())
    return std::nullopt;
  return static_cast<DataType>(number);
}
