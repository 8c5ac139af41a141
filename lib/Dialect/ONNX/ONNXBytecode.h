//===- ONNXBytecode.h - the dialect's attributes in bytecode ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_ONNXBYTECODE_H
#define AMP_LIB_DIALECT_ONNX_ONNXBYTECODE_H

namespace amp::onnx {

class ONNXDialect;

void addBytecodeInterface(ONNXDialect *dialect);

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_ONNXBYTECODE_H
