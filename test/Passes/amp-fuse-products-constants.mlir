// RUN: amp-opt --amp-fuse-products %s | FileCheck %s

// Constants for channels go into constant weights.

module attributes {onnx.model = {opset_import = [{domain = "", version = 24 : i64}]}} {
  // scale / sqrt(var + eps) is 2 and 4: weights times these, and a bias of
  // (0 - mean) * factor + B.
  // CHECK-LABEL: func @normalization
  func.func @normalization(%x: tensor<1x1x4xf32>) -> tensor<1x2x4xf32> {
    %w = onnx.Initializer <dense<[[[3.0]], [[5.0]]]> : tensor<2x1x1xf32>> : tensor<2x1x1xf32>
    %scale = onnx.Initializer <dense<[2.0, 8.0]> : tensor<2xf32>> : tensor<2xf32>
    %b = onnx.Initializer <dense<[0.5, 0.25]> : tensor<2xf32>> : tensor<2xf32>
    %mean = onnx.Initializer <dense<[1.0, -1.0]> : tensor<2xf32>> : tensor<2xf32>
    %var = onnx.Initializer <dense<[1.0, 4.0]> : tensor<2xf32>> : tensor<2xf32>
    // CHECK-DAG: %[[W:.*]] = amprt.constant dense<{{\[\[\[}}6.000000e+00]], {{\[\[}}2.000000e+01]]]> : tensor<2x1x1xf32>
    // CHECK-DAG: %[[B:.*]] = amprt.constant dense<[-1.500000e+00, 4.250000e+00]> : tensor<2xf32>
    // CHECK: amprt.call "conv"(%arg0, %[[W]], %[[B]]) {activation = "relu"}
    %h = "onnx.Conv"(%x, %w) : (tensor<1x1x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4xf32>
    %n = "onnx.BatchNormalization"(%h, %scale, %b, %mean, %var) {epsilon = 0.0 : f32, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
    %y = "onnx.Relu"(%n) : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
    return %y : tensor<1x2x4xf32>
  }

  // Of two groups, each weight has one output: [inputs, outputs of a group].
  // CHECK-LABEL: func @groups
  func.func @groups(%x: tensor<1x4x4xf32>) -> tensor<1x2x4xf32> {
    %w = onnx.Initializer <dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>> : tensor<4x1x1xf32>
    %c = onnx.Initializer <dense<[[10.0], [100.0]]> : tensor<2x1xf32>> : tensor<2x1xf32>
    %d = onnx.Initializer <dense<0.5> : tensor<1xf32>> : tensor<1xf32>
    // CHECK-DAG: amprt.constant dense<{{\[\[\[}}1.000000e+01]], {{\[\[}}2.000000e+01]], {{\[\[}}3.000000e+02]], {{\[\[}}4.000000e+02]]]> : tensor<4x1x1xf32>
    // CHECK-DAG: amprt.constant dense<5.000000e-01> : tensor<2xf32>
    // CHECK: amprt.call "conv_transpose"
    // CHECK-NEXT: return
    %h = "onnx.ConvTranspose"(%x, %w) {group = 2 : i64} : (tensor<1x4x4xf32>, tensor<4x1x1xf32>) -> tensor<1x2x4xf32>
    %m = "onnx.Mul"(%h, %c) : (tensor<1x2x4xf32>, tensor<2x1xf32>) -> tensor<1x2x4xf32>
    %y = "onnx.Add"(%m, %d) : (tensor<1x2x4xf32>, tensor<1xf32>) -> tensor<1x2x4xf32>
    return %y : tensor<1x2x4xf32>
  }

  // Weights that are an input, or another node's too; batches' statistics.
  // CHECK-LABEL: func @refused
  func.func @refused(%x: tensor<1x1x4xf32>, %v: tensor<2x1x1xf32>, %p: tensor<2xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) {
    %w = onnx.Initializer <dense<[[[3.0]], [[5.0]]]> : tensor<2x1x1xf32>> : tensor<2x1x1xf32>
    %u = onnx.Initializer <dense<[[[3.0]], [[5.0]]]> : tensor<2x1x1xf32>> : tensor<2x1x1xf32>
    %c = onnx.Initializer <dense<2.0> : tensor<1xf32>> : tensor<1xf32>
    // CHECK-NOT: amprt
    %a = "onnx.Conv"(%x, %v) : (tensor<1x1x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4xf32>
    %y0 = "onnx.Mul"(%a, %c) : (tensor<1x2x4xf32>, tensor<1xf32>) -> tensor<1x2x4xf32>
    %b = "onnx.Conv"(%x, %w) : (tensor<1x1x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4xf32>
    %y1 = "onnx.Mul"(%b, %c) : (tensor<1x2x4xf32>, tensor<1xf32>) -> tensor<1x2x4xf32>
    %d = "onnx.Conv"(%x, %w) : (tensor<1x1x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4xf32>
    %y2 = "onnx.Mul"(%d, %c) : (tensor<1x2x4xf32>, tensor<1xf32>) -> tensor<1x2x4xf32>
    %e = "onnx.Conv"(%x, %u) : (tensor<1x1x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4xf32>
    %y3 = "onnx.BatchNormalization"(%e, %p, %p, %p, %p) {training_mode = 0 : i64, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
    return %y0, %y1, %y2, %y3 : tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>
  }
}
