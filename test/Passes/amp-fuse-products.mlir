// RUN: amp-opt --amp-fuse-products %s | FileCheck %s

module attributes {onnx.model = {opset_import = [{domain = "", version = 24 : i64}]}} {
  // CHECK-LABEL: func @dense
  func.func @dense(%x: tensor<?x4xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>) -> tensor<?x3xf32> {
    // CHECK-NEXT: %[[Y:.*]] = amprt.call "matmul"(%arg0, %arg1, %arg2) {activation = "relu", transB = 1 : i64} {amprt.names = ["y"], amprt.node = "dense"} : (tensor<?x4xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<?x3xf32>
    // CHECK-NEXT: return %[[Y]]
    %t = "onnx.Transpose"(%w) {perm = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
    %h = "onnx.MatMul"(%x, %t) {onnx.name = "dense"} : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
    %s = "onnx.Add"(%h, %b) : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
    %y = "onnx.Relu"(%s) {onnx.outputs = ["y"]} : (tensor<?x3xf32>) -> tensor<?x3xf32>
    return %y : tensor<?x3xf32>
  }

  // A node alone is left to what comes next.
  // CHECK-LABEL: func @alone
  func.func @alone(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> tensor<2x3xf32> {
    // CHECK-NEXT: onnx.MatMul
    %y = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    return %y : tensor<2x3xf32>
  }

  // A bias, then a residual, in whatever order they are written.
  // CHECK-LABEL: func @residual
  func.func @residual(%x: tensor<?x5x4xf32>, %w: tensor<4x4xf32>, %b: tensor<4xf32>) -> tensor<?x5x4xf32> {
    // CHECK-NEXT: amprt.call "matmul"(%arg0, %arg1, %arg2, %arg0) {}
    // CHECK-NEXT: return
    %h = "onnx.MatMul"(%x, %w) : (tensor<?x5x4xf32>, tensor<4x4xf32>) -> tensor<?x5x4xf32>
    %s = "onnx.Add"(%b, %h) : (tensor<4xf32>, tensor<?x5x4xf32>) -> tensor<?x5x4xf32>
    %y = "onnx.Add"(%x, %s) : (tensor<?x5x4xf32>, tensor<?x5x4xf32>) -> tensor<?x5x4xf32>
    return %y : tensor<?x5x4xf32>
  }

  // What may have more elements than the product, or another reader.
  // CHECK-LABEL: func @refused
  func.func @refused(%x: tensor<?x4xf32>, %w: tensor<4x3xf32>, %r: tensor<?x3xf32>, %s: tensor<5x?x3xf32>) -> (tensor<?x3xf32>, tensor<5x?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>) {
    // CHECK-COUNT-3: onnx.MatMul
    %a = "onnx.MatMul"(%x, %w) : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
    %b = "onnx.MatMul"(%x, %w) : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
    %c = "onnx.MatMul"(%x, %w) : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
    // CHECK-COUNT-2: onnx.Add
    %y = "onnx.Add"(%a, %r) : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
    %z = "onnx.Add"(%b, %s) : (tensor<?x3xf32>, tensor<5x?x3xf32>) -> tensor<5x?x3xf32>
    // CHECK: onnx.Relu
    %u = "onnx.Relu"(%c) : (tensor<?x3xf32>) -> tensor<?x3xf32>
    return %y, %z, %u, %c : tensor<?x3xf32>, tensor<5x?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>
  }

  // float64 has no activations.
  // CHECK-LABEL: func @double
  func.func @double(%x: tensor<2x4xf64>, %w: tensor<4x3xf64>) -> tensor<2x3xf64> {
    // CHECK-NEXT: onnx.MatMul
    %h = "onnx.MatMul"(%x, %w) : (tensor<2x4xf64>, tensor<4x3xf64>) -> tensor<2x3xf64>
    // CHECK-NEXT: onnx.Relu
    %y = "onnx.Relu"(%h) : (tensor<2x3xf64>) -> tensor<2x3xf64>
    return %y : tensor<2x3xf64>
  }

  // Gemm's C is the bias: beta stays with it.
  // CHECK-LABEL: func @gemm
  func.func @gemm(%x: tensor<4x2xf32>, %w: tensor<4x3xf32>, %c: tensor<3xf32>, %r: tensor<2x3xf32>) -> tensor<2x3xf32> {
    // CHECK-NEXT: amprt.call "gemm"(%arg0, %arg1, %arg2, %arg3) {alpha = 2.500000e-01 : f32, beta = 5.000000e-01 : f32, transA = 1 : i64}
    %t = "onnx.Transpose"(%x) : (tensor<4x2xf32>) -> tensor<2x4xf32>
    %h = "onnx.Gemm"(%t, %w, %c) {alpha = 0.25 : f32, beta = 0.5 : f32} : (tensor<2x4xf32>, tensor<4x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %y = "onnx.Add"(%h, %r) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    return %y : tensor<2x3xf32>
  }

  // A number is alpha where nothing is rounded otherwise: dividing by 3 is not
  // multiplying by 1 / 3, nor are sums of threefold products threefold sums.
  // CHECK-LABEL: func @scales
  func.func @scales(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
    %half = "onnx.Constant"() <{value_float = 0.5 : f32}> : () -> tensor<f32>
    %three = "onnx.Constant"() <{value_float = 3.0 : f32}> : () -> tensor<f32>
    // CHECK: amprt.call "matmul"(%arg0, %arg1) {alpha = 3.000000e+00 : f32}
    %a = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %y = "onnx.Mul"(%three, %a) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    // CHECK: onnx.MatMul
    // CHECK: onnx.Div
    %b = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %z = "onnx.Div"(%b, %three) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    // CHECK: amprt.call "matmul"(%arg0, %arg1) {} :
    // CHECK: onnx.Mul
    // CHECK: onnx.MatMul
    %p = "onnx.Mul"(%x, %half) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %q = "onnx.Div"(%w, %half) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
    %c = "onnx.MatMul"(%p, %q) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %r = "onnx.Mul"(%x, %three) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %d = "onnx.MatMul"(%r, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    return %y, %z, %c, %d : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
  }

  // Rows that are a matrix meanwhile: the Reshape goes behind.
  // CHECK-LABEL: func @view
  func.func @view(%x: tensor<2x5x4xf32>, %w: tensor<4x4xf32>, %b: tensor<4xf32>) -> tensor<2x5x4xf32> {
    %rows = "onnx.Constant"() <{value_ints = array<i64: -1, 4>}> : () -> tensor<2xi64>
    %back = "onnx.Constant"() <{value_ints = array<i64: 2, 5, 4>}> : () -> tensor<3xi64>
    // CHECK-DAG: %[[M:.*]] = "onnx.Reshape"(%arg0
    // CHECK-DAG: %[[R:.*]] = amprt.view %arg0 : (tensor<2x5x4xf32>) -> tensor<10x4xf32>
    // CHECK: %[[G:.*]] = amprt.call "gemm"(%[[M]], %arg1, %arg2, %[[R]]) {activation = "tanh"}
    // CHECK-NEXT: "onnx.Reshape"(%[[G]]
    %m = "onnx.Reshape"(%x, %rows) : (tensor<2x5x4xf32>, tensor<2xi64>) -> tensor<10x4xf32>
    %g = "onnx.Gemm"(%m, %w, %b) : (tensor<10x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<10x4xf32>
    %v = "onnx.Reshape"(%g, %back) : (tensor<10x4xf32>, tensor<3xi64>) -> tensor<2x5x4xf32>
    %s = "onnx.Add"(%v, %x) : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
    %y = "onnx.Tanh"(%s) : (tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
    return %y : tensor<2x5x4xf32>
  }

  // Batches that are one dimension while matrices are transposed.
  // CHECK-LABEL: func @exchanged
  func.func @exchanged(%x: tensor<?x3x5x4xf32>, %k: tensor<?x3x6x4xf32>) -> tensor<?x3x5x6xf32> {
    %flat = "onnx.Constant"() <{value_ints = array<i64: -1, 6, 4>}> : () -> tensor<3xi64>
    %full = "onnx.Constant"() <{value_ints = array<i64: -1, 3, 4, 6>}> : () -> tensor<4xi64>
    // CHECK: amprt.call "matmul"(%arg0, %arg1) {transB = 1 : i64}
    %f = "onnx.Reshape"(%k, %flat) : (tensor<?x3x6x4xf32>, tensor<3xi64>) -> tensor<?x6x4xf32>
    %t = "onnx.Transpose"(%f) {perm = array<i64: 0, 2, 1>} : (tensor<?x6x4xf32>) -> tensor<?x4x6xf32>
    %r = "onnx.Reshape"(%t, %full) : (tensor<?x4x6xf32>, tensor<4xi64>) -> tensor<?x3x4x6xf32>
    %y = "onnx.MatMul"(%x, %r) : (tensor<?x3x5x4xf32>, tensor<?x3x4x6xf32>) -> tensor<?x3x5x6xf32>
    return %y : tensor<?x3x5x6xf32>
  }

  // The channels of a convolution, and a residual of the same shape.
  // CHECK-LABEL: func @conv
  func.func @conv(%x: tensor<?x4x8x8xf32>, %w: tensor<4x4x3x3xf32>, %b: tensor<1x4x1x1xf32>) -> tensor<?x4x8x8xf32> {
    // CHECK: %[[B:.*]] = amprt.view %arg2 : (tensor<1x4x1x1xf32>) -> tensor<4xf32>
    // CHECK: amprt.call "conv"(%arg0, %arg1, %[[B]], %arg0) {activation = "relu", pads = array<i64: 1, 1, 1, 1>}
    // CHECK-NEXT: return
    %h = "onnx.Conv"(%x, %w) {pads = array<i64: 1, 1, 1, 1>} : (tensor<?x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<?x4x8x8xf32>
    %s = "onnx.Add"(%h, %b) : (tensor<?x4x8x8xf32>, tensor<1x4x1x1xf32>) -> tensor<?x4x8x8xf32>
    %r = "onnx.Add"(%s, %x) : (tensor<?x4x8x8xf32>, tensor<?x4x8x8xf32>) -> tensor<?x4x8x8xf32>
    %y = "onnx.Relu"(%r) : (tensor<?x4x8x8xf32>) -> tensor<?x4x8x8xf32>
    return %y : tensor<?x4x8x8xf32>
  }

  // A residual without a bias; one that is broadcast is none.
  // CHECK-LABEL: func @residualOfConv
  func.func @residualOfConv(%x: tensor<2x4x8xf32>, %w: tensor<4x4x1xf32>, %r: tensor<1x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
    // CHECK: amprt.call "conv"(%arg0, %arg1, %arg0) inputs [0, 1, -1, 2] {}
    %h = "onnx.Conv"(%x, %w) : (tensor<2x4x8xf32>, tensor<4x4x1xf32>) -> tensor<2x4x8xf32>
    %y = "onnx.Add"(%h, %x) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    // CHECK: onnx.Conv
    // CHECK: onnx.Add
    %g = "onnx.Conv"(%x, %w) : (tensor<2x4x8xf32>, tensor<4x4x1xf32>) -> tensor<2x4x8xf32>
    %z = "onnx.Add"(%g, %r) : (tensor<2x4x8xf32>, tensor<1x4x8xf32>) -> tensor<2x4x8xf32>
    return %y, %z : tensor<2x4x8xf32>, tensor<2x4x8xf32>
  }
}
