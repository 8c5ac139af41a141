//===- SchemaTypes.h - types as TypeProto and back ------------ -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_SCHEMATYPES_H
#define AMP_LIB_DIALECT_ONNX_SCHEMATYPES_H

#include "mlir/IR/Types.h"

#include "onnx/onnx_pb.h"

namespace amp::onnx {

/// Describes a type, with its dimensions if `shapes`. False for a type of which
/// nothing is known.
bool toProto(mlir::Type type, bool shapes, ::onnx::TypeProto &proto);

/// The type that a message describes; null if it describes none. Tensors of
/// more dimensions than any operator is used with have no shape.
mlir::Type fromProto(mlir::MLIRContext *context,
                     const ::onnx::TypeProto &proto);

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_SCHEMATYPES_H
