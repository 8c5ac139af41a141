//===- ProtoFields.h - messages as dictionaries -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What of a model is neither operator nor value (producer, metadata, sharding,
// annotations, …) is kept as dictionaries with the names of the fields, led by
// Protobuf's own descriptors: a field that a new ONNX adds needs no code.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_PROTOFIELDS_H
#define AMP_LIB_TARGET_ONNX_PROTOFIELDS_H

#include "amp/Target/ONNX/WireReader.h"
#include "amp/Target/ONNX/WireWriter.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace google::protobuf {
class Descriptor;
} // namespace google::protobuf

namespace amp {

/// The entry that holds the bytes of fields without a descriptor.
inline constexpr llvm::StringLiteral kUnknownFields = "unknown_fields";

/// Collects the fields of one message that its reader has no use for itself.
///
/// A scalar becomes an i64, f32 or f64, a string a string, a message a
/// dictionary; a repeated field becomes an array. Of a scalar that comes more
/// than once the last counts, and the pieces of a message are merged, as in
/// protobuf. What has no descriptor, or another wire type, is kept as it is.
class FieldCollector {
public:
  FieldCollector(mlir::MLIRContext *context, WireInput &input,
                 const google::protobuf::Descriptor *descriptor,
                 unsigned depth = 0)
      : context(context), input(input), descriptor(descriptor), depth(depth) {}

  void add(const WireField &field);

  /// Keeps a field as it is.
  void addUnknown(const WireField &field) {
    unknown.append(field.raw.begin(), field.raw.end());
  }

  /// Keeps a field as it is that other readers read: it must be well-formed.
  void addUnread(const WireField &field);

  /// An entry of the caller's own.
  void set(llvm::StringRef name, mlir::Attribute value);

  bool empty() const { return values.empty() && unknown.empty(); }

  /// The dictionary of all that was collected, maybe empty.
  mlir::DictionaryAttr finish();

private:
  struct Value {
    llvm::StringRef name;
    bool repeated = false;
    llvm::SmallVector<mlir::Attribute, 1> elements;
    /// The pieces of a singular message.
    std::string message;
    const google::protobuf::Descriptor *type = nullptr;
  };
  Value &valueOf(uint32_t number);

  mlir::MLIRContext *context;
  WireInput &input;
  const google::protobuf::Descriptor *descriptor;
  unsigned depth;
  llvm::SmallVector<std::pair<uint32_t, Value>, 2> values;
  llvm::SmallVector<mlir::NamedAttribute, 2> own;
  std::string unknown;
};

/// Reads a whole message.
mlir::DictionaryAttr
decodeFields(mlir::MLIRContext *context, WireInput &input,
             const google::protobuf::Descriptor *descriptor,
             llvm::StringRef message, unsigned depth = 0);

/// Writes the entries of a dictionary that are fields of the message, in the
/// order of their declaration, and the unknown ones. Entries that are no fields
/// of it, and those named in `except`, are left to the caller.
void encodeFields(const google::protobuf::Descriptor *descriptor,
                  mlir::DictionaryAttr fields, WireWriter &writer,
                  llvm::ArrayRef<llvm::StringRef> except = {});

} // namespace amp

#endif // AMP_LIB_TARGET_ONNX_PROTOFIELDS_H
