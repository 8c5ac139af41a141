// RUN: not amp-opt %s --onnx-raise-opset=policy=nothing 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not amp-opt %s --onnx-raise-opset=low=float15 2>&1 | FileCheck %s --check-prefix=LOW
// RUN: not amp-opt %s --onnx-raise-opset=keep-op=Mat+Mul 2>&1 | FileCheck %s --check-prefix=OP
// RUN: not amp-opt %s --onnx-raise-opset="keep-node=a(" 2>&1 | FileCheck %s --check-prefix=NODE

// POLICY: error: unknown policy 'nothing', expected accuracy
// LOW: error: expects a float format, but got 'float15'
// OP: error: expected an operator as 'Op' or 'domain:Op', got 'Mat+Mul'
// NODE: error: malformed regular expression 'a(': parentheses not balanced
module attributes {onnx.model = {opset_import = [{domain = "", version = 12 : i64}]}} {
}
