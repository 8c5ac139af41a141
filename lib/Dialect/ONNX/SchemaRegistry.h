//===- SchemaRegistry.h - ONNX's operator schemas as they are ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_SCHEMAREGISTRY_H
#define AMP_LIB_DIALECT_ONNX_SCHEMAREGISTRY_H

#include "llvm/ADT/StringRef.h"

#include "onnx/defs/schema.h"

namespace amp::onnx {

/// The schema of an operator at an opset of its domain ("" is ai.onnx); nullptr
/// if it has none there. Built when it is first asked for: ONNX's own registry
/// builds all versions of all operators (20 ms) first. Lives as long as the
/// process; several threads may ask at once.
const ::onnx::OpSchema *lookupOpSchema(llvm::StringRef domain,
                                       llvm::StringRef name, int64_t opset);

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_SCHEMAREGISTRY_H
