//===- Types.h - TypeProto and types ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_TYPES_H
#define AMP_LIB_TARGET_ONNX_TYPES_H

#include "amp/Target/ONNX/WireReader.h"
#include "amp/Target/ONNX/WireWriter.h"

#include "mlir/IR/Types.h"
#include "llvm/ADT/DenseMap.h"

namespace amp {

/// A TypeProto as it was read.
struct DecodedType {
  mlir::Type type;
  /// True if encodeType(type) gives the very message; else it says more than
  /// the type can hold (denotations, a rank without dimensions, …).
  bool canonical = false;
};

/// Reads TypeProtos. Models repeat few of them, so results are kept; messages
/// must outlive the decoder.
class TypeDecoder {
public:
  TypeDecoder(mlir::MLIRContext *context, WireInput &input)
      : context(context), input(input) {}

  /// Fails the input for a malformed message; the type is null, and `error` a
  /// clause, for one that ONNX does not have (element type 99).
  DecodedType decode(llvm::StringRef message, std::string &error);

private:
  mlir::Type decodeMessage(llvm::StringRef message, unsigned depth,
                           std::string &error);
  mlir::Type decodeTensor(llvm::StringRef message, std::string &error);

  mlir::MLIRContext *context;
  WireInput &input;
  llvm::DenseMap<llvm::StringRef, DecodedType> known;
};

/// Writes the contents of a TypeProto.
void encodeType(mlir::Type type, WireWriter &writer);

/// Writes the contents of a TypeProto that was read as `message`, with the
/// element types of `type`, which has the same structure.
void encodeRetyped(llvm::StringRef message, mlir::Type type,
                   WireWriter &writer);

/// The element type in which a type ends: of a tensor, or of what a sequence
/// or an optional holds; null for others.
mlir::Type innermostElementType(mlir::Type type);

} // namespace amp

#endif // AMP_LIB_TARGET_ONNX_TYPES_H
