//===- ElementType.h - ONNX's element types ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_ELEMENTTYPE_H
#define AMP_DIALECT_ONNX_ELEMENTTYPE_H

#include "mlir/IR/Types.h"

#include <optional>

namespace amp::onnx {

/// TensorProto.DataType, by its numbers.
enum class ElementType : int32_t {
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
  Float6E2M3 = 27,
  Float6E3M2 = 28,
};
inline constexpr int32_t kNumElementTypes = 29;

/// The element type of this number; std::nullopt if ONNX has none such.
std::optional<ElementType> parseElementType(int64_t number);

/// The spelling of schemas: "float16", "uint4".
llvm::StringRef nameOf(ElementType type);
std::optional<ElementType> parseElementTypeName(llvm::StringRef name);

/// The type of elements in the IR.
mlir::Type toType(mlir::MLIRContext *context, ElementType type);
/// The reverse; std::nullopt for a type that no ONNX tensor has.
std::optional<ElementType> fromType(mlir::Type type);

/// Bits an element takes in raw_data; 0 for String and Undefined.
unsigned bitWidth(ElementType type);

/// Bytes that `elements` elements take in raw_data (sub-byte types are packed);
/// std::nullopt if the number does not fit in 63 bits.
std::optional<uint64_t> byteSize(ElementType type, uint64_t elements);

/// The product of dimensions; std::nullopt if one is negative or the product
/// does not fit in 63 bits. Empty tensors never overflow.
std::optional<uint64_t> numElements(llvm::ArrayRef<int64_t> dims);

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_ELEMENTTYPE_H
