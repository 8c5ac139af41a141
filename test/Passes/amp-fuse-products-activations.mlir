// RUN: amp-opt --amp-fuse-products %s | FileCheck %s

module attributes {onnx.model = {opset_import = [{domain = "", version = 24 : i64}]}} {
  // CHECK-LABEL: func @nodes
  func.func @nodes(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
    %six = "onnx.Constant"() <{value_float = 6.0 : f32}> : () -> tensor<f32>
    // CHECK: activation = "leaky_relu", activation_alpha = 0.00999999977 : f32
    %h0 = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %y0 = "onnx.LeakyRelu"(%h0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    // CHECK: activation = "sigmoid"
    %h1 = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %y1 = "onnx.Sigmoid"(%h1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    // CHECK: activation = "gelu_tanh"
    %h2 = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %y2 = "onnx.Gelu"(%h2) {approximate = "tanh"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    // CHECK: activation = "clip", activation_alpha = 0xFF800000 : f32, activation_beta = 6.000000e+00 : f32
    %h3 = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %y3 = "onnx.Clip"(%h3, %six) {operandSegmentSizes = array<i32: 1, 0, 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    // CHECK: activation = "hard_sigmoid", activation_alpha = 2.000000e-01 : f32, activation_beta = 5.000000e-01 : f32
    %h4 = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %y4 = "onnx.HardSigmoid"(%h4) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    // CHECK: activation = "hard_swish", activation_alpha = 0.166666672 : f32, activation_beta = 5.000000e-01 : f32
    %h5 = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %y5 = "onnx.HardSwish"(%h5) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    // CHECK: activation = "swish", activation_alpha = 1.500000e+00 : f32
    %h6 = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %y6 = "onnx.Swish"(%h6) {alpha = 1.5 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %y0, %y1, %y2, %y3, %y4, %y5, %y6 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
  }

  // x / sqrt(2), x * (1 + erf), times 0.5: as exporters write it; then times 0.5
  // first.
  // CHECK-LABEL: func @gelu
  func.func @gelu(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
    %sqrt = "onnx.Constant"() <{value_float = 1.41421354 : f32}> : () -> tensor<f32>
    %one = "onnx.Constant"() <{value_float = 1.0 : f32}> : () -> tensor<f32>
    %half = "onnx.Constant"() <{value_float = 0.5 : f32}> : () -> tensor<f32>
    // CHECK: amprt.call "matmul"(%arg0, %arg1) {activation = "gelu"}
    %h = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %a = "onnx.Div"(%h, %sqrt) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    %b = "onnx.Erf"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %c = "onnx.Add"(%b, %one) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    %d = "onnx.Mul"(%h, %c) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %y = "onnx.Mul"(%d, %half) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    // CHECK-NEXT: amprt.call "matmul"(%arg0, %arg1) {activation = "gelu"}
    // CHECK-NEXT: return
    %i = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %e = "onnx.Div"(%i, %sqrt) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    %f = "onnx.Erf"(%e) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %g = "onnx.Add"(%one, %f) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %j = "onnx.Mul"(%half, %i) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %z = "onnx.Mul"(%g, %j) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    return %y, %z : tensor<2x3xf32>, tensor<2x3xf32>
  }

  // CHECK-LABEL: func @geluTanh
  func.func @geluTanh(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> tensor<2x3xf32> {
    %cubic = "onnx.Constant"() <{value_float = 0.044715 : f32}> : () -> tensor<f32>
    %slope = "onnx.Constant"() <{value_float = 0.797884583 : f32}> : () -> tensor<f32>
    %three = "onnx.Constant"() <{value_float = 3.0 : f32}> : () -> tensor<f32>
    %one = "onnx.Constant"() <{value_float = 1.0 : f32}> : () -> tensor<f32>
    %half = "onnx.Constant"() <{value_float = 0.5 : f32}> : () -> tensor<f32>
    // CHECK: amprt.call "matmul"(%arg0, %arg1) {activation = "gelu_tanh"}
    // CHECK-NEXT: return
    %h = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %a = "onnx.Pow"(%h, %three) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    %b = "onnx.Mul"(%a, %cubic) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    %c = "onnx.Add"(%h, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %d = "onnx.Mul"(%c, %slope) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    %e = "onnx.Tanh"(%d) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %f = "onnx.Add"(%e, %one) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    %g = "onnx.Mul"(%h, %half) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    %y = "onnx.Mul"(%g, %f) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    return %y : tensor<2x3xf32>
  }

  // CHECK-LABEL: func @swish
  func.func @swish(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
    %slope = "onnx.Constant"() <{value_float = 1.702 : f32}> : () -> tensor<f32>
    // CHECK: amprt.call "matmul"(%arg0, %arg1) {activation = "swish"}
    %h = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %s = "onnx.Sigmoid"(%h) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %y = "onnx.Mul"(%h, %s) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    // CHECK: amprt.call "matmul"(%arg0, %arg1) {activation = "swish", activation_alpha = 1.702
    %i = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %a = "onnx.Mul"(%i, %slope) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    %t = "onnx.Sigmoid"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %z = "onnx.Mul"(%t, %i) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    return %y, %z : tensor<2x3xf32>, tensor<2x3xf32>
  }

  // CHECK-LABEL: func @hardSwish
  func.func @hardSwish(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
    %zero = "onnx.Constant"() <{value_float = 0.0 : f32}> : () -> tensor<f32>
    %three = "onnx.Constant"() <{value_float = 3.0 : f32}> : () -> tensor<f32>
    %six = "onnx.Constant"() <{value_float = 6.0 : f32}> : () -> tensor<f32>
    // CHECK: amprt.call "matmul"(%arg0, %arg1) {activation = "hard_swish", activation_alpha = 0.166666672 : f32, activation_beta = 5.000000e-01 : f32}
    %h = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %a = "onnx.Add"(%h, %three) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    %b = "onnx.Clip"(%a, %zero, %six) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
    %c = "onnx.Mul"(%h, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %y = "onnx.Div"(%c, %six) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    // CHECK: amprt.call "matmul"(%arg0, %arg1) {activation = "hard_swish", activation_alpha = 2.000000e-01 : f32, activation_beta = 5.000000e-01 : f32}
    %i = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %s = "onnx.HardSigmoid"(%i) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %z = "onnx.Mul"(%i, %s) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    return %y, %z : tensor<2x3xf32>, tensor<2x3xf32>
  }

  // Formulas that are nearly one of those, and one whose inside is read.
  // CHECK-LABEL: func @refused
  func.func @refused(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>, %z: tensor<2x3xf32>, %most: tensor<f32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
    // CHECK-COUNT-4: onnx.MatMul
    %h = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %i = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %j = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %k = "onnx.MatMul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    // CHECK-NOT: amprt
    %s = "onnx.Sigmoid"(%h) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %y0 = "onnx.Mul"(%h, %s) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %t = "onnx.Sigmoid"(%i) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %u = "onnx.Mul"(%i, %i) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %y1 = "onnx.Mul"(%u, %t) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %v = "onnx.Tanh"(%j) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %y2 = "onnx.Mul"(%j, %v) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %y3 = "onnx.Clip"(%k, %most) {operandSegmentSizes = array<i32: 1, 0, 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    return %y0, %s, %y1, %y2, %y3 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
  }
}
