// RUN: amp-opt %s --amp-select-kernels | FileCheck %s

module attributes {onnx.model = {opset_import = [{domain = "", version = 25 : i64}, {domain = "ai.onnx.preview", version = 1 : i64}]}} {
  // Keys of earlier positions come first; the kernel counts them.
  // CHECK-LABEL: @past
  // CHECK: %[[SPLIT:.*]] = amprt.view %[[K:.*]] : (tensor<2x3x8xf32>) -> tensor<2x3x2x4xf32>
  // CHECK: %[[HEADS:.*]] = amprt.call "transpose"(%[[SPLIT]])
  // CHECK: %[[KEYS:.*]] = amprt.call "concat"(%[[PAST:.*]], %[[HEADS]]) {axis = 2 : i64}{{.*}} -> tensor<2x2x8x4xf32>
  // CHECK: amprt.call "attention"(%{{.*}}, %[[KEYS]], %{{.*}}, %[[PAST]]) inputs [0, 1, 2, -1, -1, 3]
  func.func @past(%q: tensor<2x3x8xf32>, %k: tensor<2x3x8xf32>, %v: tensor<2x3x8xf32>, %pk: tensor<2x2x5x4xf32>, %pv: tensor<2x2x5x4xf32>)
      -> (tensor<2x3x8xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) attributes {amprt.signature = {}} {
    %y:3 = "onnx.Attention"(%q, %k, %v, %pk, %pv) <{is_causal = 1 : i64, kv_num_heads = 2 : i64, q_num_heads = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0>, resultSegmentSizes = array<i32: 1, 1, 1, 0>}>
      : (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) -> (tensor<2x3x8xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>)
    return %y#0, %y#1, %y#2 : tensor<2x3x8xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
  }

  // A tensor is there.
  // CHECK-LABEL: @optional
  // CHECK: %[[YES:.*]] = amprt.constant dense<true>
  // CHECK: return %[[YES]], %{{.*}} : tensor<i1>, tensor<2xf32>
  func.func @optional(%x: tensor<2xf32>) -> (tensor<i1>, tensor<2xf32>) attributes {amprt.signature = {}} {
    %has = "onnx.OptionalHasElement"(%x) : (tensor<2xf32>) -> tensor<i1>
    %y = "onnx.OptionalGetElement"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    return %has, %y : tensor<i1>, tensor<2xf32>
  }
}
