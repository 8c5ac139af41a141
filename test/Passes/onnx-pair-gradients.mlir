// RUN: amp-opt %s --split-input-file --onnx-pair-gradients | FileCheck %s

// By the values that they share: the last Relu that made or read the same.

// CHECK-LABEL: func.func @main
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<4xf32>, %dy: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: "onnx.Relu"(%arg0) {amp.pair = 0 : i64}
  %y = "onnx.Relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "onnx.Tanh"
  // CHECK-NOT: amp.pair
  %z = "onnx.Tanh"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: ReluGrad
  // CHECK-SAME: amp.pair = 0 : i64
  %dx = onnx.Custom "com.microsoft" "ReluGrad"(%dy, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %dx : tensor<4xf32>
}
}

// -----

// By the names that ONNX Runtime gives; products also by what they read.

// CHECK-LABEL: func.func @main
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>, %s: tensor<f32>, %g: tensor<3x5xf32>)
    -> (tensor<3x4xf32>, tensor<4x5xf32>, tensor<5xf32>) {
  // CHECK: "onnx.MatMul"(%arg0, %arg1) {amp.pair = [[PRODUCT:[0-9]]] : i64}
  %p = "onnx.MatMul"(%a, %b) : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  // CHECK: "onnx.Mul"
  // CHECK-SAME: amp.pair = [[SCALED:[0-9]]] : i64
  %q = "onnx.Mul"(%p, %s) {onnx.name = "scaled"} : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
  // CHECK: "onnx.Softmax"
  // CHECK-SAME: amp.pair = [[SOFTMAX:[0-9]]] : i64
  %y = "onnx.Softmax"(%q) <{axis = -1}> : (tensor<3x5xf32>) -> tensor<3x5xf32>
  // CHECK: SoftmaxGrad_13
  // CHECK-SAME: amp.pair = [[SOFTMAX]] : i64
  %dq = onnx.Custom "com.microsoft" "SoftmaxGrad_13"(%g, %y) {axis = -1 : i64} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  // CHECK: "onnx.Mul"
  // CHECK-SAME: amp.pair = [[SCALED]] : i64
  %dp = "onnx.Mul"(%dq, %s) {onnx.name = "scaled_Grad/Mul_0"} : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
  // CHECK: FusedMatMul
  // CHECK-SAME: amp.pair = [[PRODUCT]] : i64
  %da = onnx.Custom "com.microsoft" "FusedMatMul"(%dp, %b) {transB = 1 : i64} : (tensor<3x5xf32>, tensor<4x5xf32>) -> tensor<3x4xf32>
  // What a product reads may have been moved.
  %t = "onnx.Transpose"(%a) : (tensor<3x4xf32>) -> tensor<4x3xf32>
  // CHECK: "onnx.MatMul"
  // CHECK-SAME: amp.pair = [[PRODUCT]] : i64
  %db = "onnx.MatMul"(%t, %dp) : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  // A sum over what was broadcast is no part of a pair.
  // CHECK: "onnx.ReduceSum"
  // CHECK-NOT: amp.pair
  %axes = "onnx.Constant"() <{value_ints = array<i64: 0>}> : () -> tensor<1xi64>
  %dc = "onnx.ReduceSum"(%dp, %axes) <{keepdims = 0}> {onnx.name = "scaled_Grad/ReduceSum_1"} : (tensor<3x5xf32>, tensor<1xi64>) -> tensor<5xf32>
  return %da, %db, %dc : tensor<3x4xf32>, tensor<4x5xf32>, tensor<5xf32>
}
}
