//===- DataType.h - element types of tensors --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_DATATYPE_H
#define AMP_RUNTIME_DATATYPE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace amp::runtime {

/// The element types of ONNX, by its own numbers (TensorProto.DataType).
/// Elements of fewer than 8 bits take a byte each here: ONNX's packed form
/// exists in files only.
enum class DataType : uint8_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  UInt2 = 25,
  Int2 = 26,
};

/// Bytes of an element in memory; 0 for strings, which have no fixed size.
size_t getByteSize(DataType type);

/// The name that NumPy and ml_dtypes use: "float32", "bfloat16", "int4".
std::string_view getName(DataType type);

/// The type of that name.
std::optional<DataType> getDataType(std::string_view name);

/// The type of that number, if it is one of those above.
std::optional<DataType> getDataType(uint32_t number);

} // namespace amp::runtime

#endif // AMP_RUNTIME_DATATYPE_H
