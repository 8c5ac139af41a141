// RUN: amp-opt %s --onnx-expand-gradients | FileCheck %s

module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}, {domain = "ai.onnx.preview.training", version = 1 : i64}]}} {
  // CHECK-LABEL: func.func @main(
  // CHECK-SAME: %[[X:[^:]+]]: tensor<f32>, %[[OTHER:[^:]+]]: tensor<f32>
  func.func @main(%x: tensor<f32>, %other: tensor<f32>) -> (tensor<f32>, tensor<f32>) attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "other"}], output = [{name = "dx"}, {name = "at"}]}} {
    // CHECK-NOT: Gradient
    // CHECK-DAG: %[[T:.+]] = "onnx.Tanh"(%[[X]]) {onnx.outputs = ["y"]}
    // CHECK-DAG: "onnx.Mul"(%[[T]], %[[T]])
    %y = "onnx.Tanh"(%x) {onnx.outputs = ["y"]} : (tensor<f32>) -> tensor<f32>
    %dx = "onnx.preview.training.Gradient"(%x) <{xs = ["x"], y = "y"}> {onnx.outputs = ["dx"]} : (tensor<f32>) -> tensor<f32>
    // Of another value than that of x.
    // CHECK-DAG: %[[V:.+]] = "onnx.Identity"(%[[OTHER]])
    // CHECK-DAG: %[[U:.+]] = "onnx.Tanh"(%[[V]]) : (tensor<f32>) -> tensor<f32>
    // CHECK-DAG: "onnx.Mul"(%[[U]], %[[U]])
    %at = "onnx.preview.training.Gradient"(%other) <{xs = ["x"], y = "y"}> {onnx.outputs = ["at"]} : (tensor<f32>) -> tensor<f32>
    return %dx, %at : tensor<f32>, tensor<f32>
  }
}
