//===- Storage.h - in which field a tensor's data is ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_STORAGE_H
#define AMP_LIB_TARGET_ONNX_STORAGE_H

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Target/ONNX/WireWriter.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace amp::storage {

/// What the entry `storage` of `#onnx.tensor` says. Data is in raw_data unless
/// there is one.
inline constexpr llvm::StringLiteral kExternal = "external";
/// An empty tensor without a data field.
inline constexpr llvm::StringLiteral kNone = "none";

/// The field that holds elements of a type when raw_data does not:
/// "float_data", "int32_data", …
llvm::StringRef fieldOf(onnx::ElementType type);
/// The number of that field in TensorProto; 0 for other names.
uint32_t numberOf(llvm::StringRef field);

/// Turns the varints of int32_data, int64_data and uint64_data into the bytes
/// that raw_data would have.
struct VarintPacker {
  VarintPacker(onnx::ElementType element, uint64_t numElements);

  void add(uint64_t varint);

  std::string bytes;
  uint64_t count = 0;
  /// How many varints the tensor has: sub-byte types pack several elements in
  /// one.
  uint64_t expected = 0;
  /// Set by a varint that no element of the type can be.
  bool outOfRange = false;

private:
  onnx::ElementType element;
};

/// Writes raw bytes of a tensor as the packed varints of `field`.
void writeVarints(onnx::ElementType element, uint64_t numElements,
                  llvm::StringRef bytes, uint32_t field, WireWriter &writer);

/// The bytes of a constant as raw_data has them: a view if they are there, or
/// nothing if they must be made first.
std::optional<llvm::StringRef> rawView(mlir::TypedAttr value);
/// The bytes of a constant, copied (splats expanded, rounded constants
/// computed).
std::string rawBytes(mlir::TypedAttr value);

} // namespace amp::storage

#endif // AMP_LIB_TARGET_ONNX_STORAGE_H
