//===- NodeFields.h - the fields of AttributeProto --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_NODEFIELDS_H
#define AMP_LIB_TARGET_ONNX_NODEFIELDS_H

#include "amp/Dialect/ONNX/Schema.h"
#include "amp/Target/ONNX/WireReader.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace amp::nodefields {

/// The kind of attribute whose value is in this field of AttributeProto;
/// Undefined if it is no field for a value.
onnx::AttributeKind kindOfField(uint32_t field);

/// The field of AttributeProto that holds the value of an attribute.
uint32_t fieldOfKind(onnx::AttributeKind kind);

/// Builds the value of an attribute that is no graph.
class ValueBuilder {
public:
  ValueBuilder(mlir::MLIRContext *context, WireInput &input,
               onnx::AttributeKind kind)
      : context(context), input(input), kind(kind) {}

  /// Adds a field of the kind's number; false if its wire type is wrong.
  bool add(const WireField &field);
  /// Adds a tensor or a type.
  void add(mlir::Attribute value) { values.push_back(value); }

  size_t size() const { return values.size(); }
  /// True for a number or a string of which there was no field.
  bool unset() const;
  mlir::Attribute finish();

private:
  mlir::MLIRContext *context;
  WireInput &input;
  onnx::AttributeKind kind;
  llvm::SmallVector<mlir::Attribute, 2> values;
  llvm::SmallVector<int64_t, 4> integers;
  llvm::SmallVector<float, 4> floats;
};

} // namespace amp::nodefields

#endif // AMP_LIB_TARGET_ONNX_NODEFIELDS_H
