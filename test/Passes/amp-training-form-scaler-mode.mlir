// What overflows do to running statistics is one of two things.

// RUN: not amp-opt %s --amp-training-form="scaler-mode=sfae" 2>&1 | FileCheck %s
// RUN: amp-opt %s --amp-training-form="scaler-mode=torch"
// RUN: amp-opt %s --amp-training-form="scaler-mode=safe"

// CHECK: error: scaler-mode: expects torch or safe, but got 'sfae'
// CHECK-NOT: error

module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "y"}]}} {
  %y = "onnx.Relu"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
}
