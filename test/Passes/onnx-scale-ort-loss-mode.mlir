// RUN: not amp-opt %s --onnx-scale-ort-loss="scaler-mode=sfae" 2>&1 | FileCheck %s

// CHECK: error: scaler-mode: expects torch or safe, but got 'sfae'

module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "y"}]}} {
  %y = "onnx.Relu"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
}
