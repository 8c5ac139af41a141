//===- ONNXOps.h - the operations of the onnx dialect -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Large (one class an operator): include it where operations are named, and
// nowhere else.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_ONNXOPS_H
#define AMP_DIALECT_ONNX_ONNXOPS_H

#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/SchemaVerifier.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "amp/Dialect/ONNX/ONNXOps.h.inc"

#endif // AMP_DIALECT_ONNX_ONNXOPS_H
