// RUN: amp-opt --amp-fuse-products %s | FileCheck %s --check-prefixes=CHECK,ONCE
// RUN: amp-opt --amp-fuse-products=round-each-node %s | FileCheck %s --check-prefixes=CHECK,EACH

module attributes {onnx.model = {opset_import = [{domain = "", version = 24 : i64}]}} {
  // CHECK-LABEL: func @half
  func.func @half(%x: tensor<2x4xf16>, %w: tensor<3x4xf16>, %b: tensor<3xf16>) -> tensor<2x3xf16> {
    // ONCE-NEXT: amprt.call "matmul"(%arg0, %arg1, %arg2) {activation = "relu", transB = 1 : i64}
    // EACH-NEXT: amprt.call "matmul"(%arg0, %arg1) {transB = 1 : i64}
    // EACH-NEXT: onnx.Add
    // EACH-NEXT: onnx.Relu
    %t = "onnx.Transpose"(%w) : (tensor<3x4xf16>) -> tensor<4x3xf16>
    %h = "onnx.MatMul"(%x, %t) : (tensor<2x4xf16>, tensor<4x3xf16>) -> tensor<2x3xf16>
    %s = "onnx.Add"(%h, %b) : (tensor<2x3xf16>, tensor<3xf16>) -> tensor<2x3xf16>
    %y = "onnx.Relu"(%s) : (tensor<2x3xf16>) -> tensor<2x3xf16>
    return %y : tensor<2x3xf16>
  }

  // A Cast behind a product rounds: it stays.
  // CHECK-LABEL: func @cast
  func.func @cast(%x: tensor<2x4xf16>, %w: tensor<4x3xf16>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
    // CHECK-NEXT: onnx.MatMul
    // CHECK-NEXT: onnx.Cast
    %h = "onnx.MatMul"(%x, %w) : (tensor<2x4xf16>, tensor<4x3xf16>) -> tensor<2x3xf16>
    %c = "onnx.Cast"(%h) {to = 1 : i64} : (tensor<2x3xf16>) -> tensor<2x3xf32>
    %y = "onnx.Add"(%c, %b) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    return %y : tensor<2x3xf32>
  }

  // CHECK-LABEL: func @attention
  func.func @attention(%q: tensor<2x3x5x4xf16>, %k: tensor<2x3x6x4xf16>, %v: tensor<2x3x6x4xf16>) -> tensor<2x3x5x4xf16> {
    // ONCE: amprt.call "attention"
    // EACH: amprt.call "matmul"(%arg0, %arg1) {transB = 1 : i64}
    // EACH: onnx.Softmax
    %t = "onnx.Transpose"(%k) {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x3x6x4xf16>) -> tensor<2x3x4x6xf16>
    %s = "onnx.MatMul"(%q, %t) : (tensor<2x3x5x4xf16>, tensor<2x3x4x6xf16>) -> tensor<2x3x5x6xf16>
    %p = "onnx.Softmax"(%s) {axis = -1 : i64} : (tensor<2x3x5x6xf16>) -> tensor<2x3x5x6xf16>
    %y = "onnx.MatMul"(%p, %v) : (tensor<2x3x5x6xf16>, tensor<2x3x6x4xf16>) -> tensor<2x3x5x4xf16>
    return %y : tensor<2x3x5x4xf16>
  }

  // As much in float32 with either.
  // CHECK-LABEL: func @float
  func.func @float(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> tensor<2x3xf32> {
    // CHECK-NEXT: amprt.call "matmul"(%arg0, %arg1) {activation = "relu"}
    %h = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %y = "onnx.Relu"(%h) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %y : tensor<2x3xf32>
  }
}
