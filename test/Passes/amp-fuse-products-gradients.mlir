// RUN: amp-opt --amp-fuse-products %s | FileCheck %s

// Gradients of weights, as amp-differentiate writes them.

module attributes {onnx.model = {opset_import = [{domain = "", version = 24 : i64}]}} {
  // Of a Conv with strides of 2: these are dilations here.
  // CHECK-LABEL: func @conv
  func.func @conv(%x: tensor<?x3x9x9xf32>, %dy: tensor<?x5x5x5xf32>) -> tensor<5x3x3x3xf32>
      attributes {amprt.signature = {inputs = [{name = "x", symbols = ["N", "", "", ""]}, {name = "dy", symbols = ["N", "", "", ""]}], outputs = [], states = []}} {
    // CHECK-NEXT: amprt.call "conv_weight_gradient"(%arg0, %arg1) {dilations = array<i64: 1, 1>, group = 1 : i64, kernel_shape = array<i64: 3, 3>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>}
    // CHECK-NEXT: return
    %c = "onnx.Transpose"(%x) {perm = array<i64: 1, 0, 2, 3>} : (tensor<?x3x9x9xf32>) -> tensor<3x?x9x9xf32>
    %d = "onnx.Transpose"(%dy) {perm = array<i64: 1, 0, 2, 3>} : (tensor<?x5x5x5xf32>) -> tensor<5x?x5x5xf32>
    %g = "onnx.Conv"(%c, %d) {strides = array<i64: 1, 1>, dilations = array<i64: 2, 2>, group = 1 : i64, pads = array<i64: 1, 1, 1, 1>} : (tensor<3x?x9x9xf32>, tensor<5x?x5x5xf32>) -> tensor<3x5x3x3xf32>
    %w = "onnx.Transpose"(%g) {perm = array<i64: 1, 0, 2, 3>} : (tensor<3x5x3x3xf32>) -> tensor<5x3x3x3xf32>
    return %w : tensor<5x3x3x3xf32>
  }

  // Channels of their own, and groups of two.
  // CHECK-LABEL: func @groups
  func.func @groups(%x: tensor<2x4x6xf32>, %dy: tensor<2x4x6xf32>) -> (tensor<4x1x3xf32>, tensor<4x2x3xf32>) {
    %one = "onnx.Constant"() <{value_ints = array<i64: 1, -1, 6>}> : () -> tensor<3xi64>
    %split = "onnx.Constant"() <{value_ints = array<i64: 2, 2, 2, 6>}> : () -> tensor<4xi64>
    %join = "onnx.Constant"() <{value_ints = array<i64: 2, -1, 6>}> : () -> tensor<3xi64>
    %d = "onnx.Transpose"(%dy) {perm = array<i64: 1, 0, 2>} : (tensor<2x4x6xf32>) -> tensor<4x2x6xf32>
    // CHECK-DAG: amprt.call "conv_weight_gradient"(%arg0, %arg1) {dilations = array<i64: 1>, group = 4 : i64, kernel_shape = array<i64: 3>, pads = array<i64: 1, 1>, strides = array<i64: 1>}
    %c = "onnx.Transpose"(%x) {perm = array<i64: 1, 0, 2>} : (tensor<2x4x6xf32>) -> tensor<4x2x6xf32>
    %r = "onnx.Reshape"(%c, %one) : (tensor<4x2x6xf32>, tensor<3xi64>) -> tensor<1x8x6xf32>
    %g = "onnx.Conv"(%r, %d) {group = 4 : i64, pads = array<i64: 1, 1>} : (tensor<1x8x6xf32>, tensor<4x2x6xf32>) -> tensor<1x4x3xf32>
    %w = "onnx.Transpose"(%g) {perm = array<i64: 1, 0, 2>} : (tensor<1x4x3xf32>) -> tensor<4x1x3xf32>
    // CHECK-DAG: amprt.call "conv_weight_gradient"(%arg0, %arg1) {dilations = array<i64: 1>, group = 2 : i64, kernel_shape = array<i64: 3>, pads = array<i64: 1, 1>, strides = array<i64: 1>}
    %a = "onnx.Reshape"(%c, %split) : (tensor<4x2x6xf32>, tensor<4xi64>) -> tensor<2x2x2x6xf32>
    %b = "onnx.Transpose"(%a) {perm = array<i64: 1, 0, 2, 3>} : (tensor<2x2x2x6xf32>) -> tensor<2x2x2x6xf32>
    %e = "onnx.Reshape"(%b, %join) : (tensor<2x2x2x6xf32>, tensor<3xi64>) -> tensor<2x4x6xf32>
    %h = "onnx.Conv"(%e, %d) {group = 2 : i64, pads = array<i64: 1, 1>} : (tensor<2x4x6xf32>, tensor<4x2x6xf32>) -> tensor<2x4x3xf32>
    %v = "onnx.Transpose"(%h) {perm = array<i64: 1, 0, 2>} : (tensor<2x4x3xf32>) -> tensor<4x2x3xf32>
    return %w, %v : tensor<4x1x3xf32>, tensor<4x2x3xf32>
  }

  // A matrix of points.
  // CHECK-LABEL: func @point
  func.func @point(%x: tensor<2x3x5x5xf32>, %dy: tensor<2x4x5x5xf32>) -> tensor<4x3x1x1xf32> {
    %rows = "onnx.Constant"() <{value_ints = array<i64: 4, -1>}> : () -> tensor<2xi64>
    %columns = "onnx.Constant"() <{value_ints = array<i64: 3, -1>}> : () -> tensor<2xi64>
    %shape = "onnx.Constant"() <{value_ints = array<i64: 4, 3, 1, 1>}> : () -> tensor<4xi64>
    // CHECK: amprt.call "conv_weight_gradient"(%arg0, %arg1) {kernel_shape = array<i64: 1, 1>}
    // CHECK-NEXT: return
    %a = "onnx.Transpose"(%dy) {perm = array<i64: 1, 0, 2, 3>} : (tensor<2x4x5x5xf32>) -> tensor<4x2x5x5xf32>
    %b = "onnx.Reshape"(%a, %rows) : (tensor<4x2x5x5xf32>, tensor<2xi64>) -> tensor<4x50xf32>
    %c = "onnx.Transpose"(%x) {perm = array<i64: 1, 0, 2, 3>} : (tensor<2x3x5x5xf32>) -> tensor<3x2x5x5xf32>
    %d = "onnx.Reshape"(%c, %columns) : (tensor<3x2x5x5xf32>, tensor<2xi64>) -> tensor<3x50xf32>
    %g = "onnx.Gemm"(%b, %d) {transB = 1 : i64} : (tensor<4x50xf32>, tensor<3x50xf32>) -> tensor<4x3xf32>
    %w = "onnx.Reshape"(%g, %shape) : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4x3x1x1xf32>
    return %w : tensor<4x3x1x1xf32>
  }

  // Of a matrix: the input's transposed.
  // CHECK-LABEL: func @matmul
  func.func @matmul(%x: tensor<2x3x5x4xf32>, %dy: tensor<2x3x5x6xf32>) -> tensor<2x3x4x6xf32> {
    // CHECK-NEXT: amprt.call "matmul"(%arg0, %arg1) {transA = 1 : i64}
    %t = "onnx.Transpose"(%x) {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x3x5x4xf32>) -> tensor<2x3x4x5xf32>
    %w = "onnx.MatMul"(%t, %dy) : (tensor<2x3x4x5xf32>, tensor<2x3x5x6xf32>) -> tensor<2x3x4x6xf32>
    return %w : tensor<2x3x4x6xf32>
  }

  // The output has fewer places than the kernel could have had: batches that
  // may differ; a Conv that is read as it is.
  // CHECK-LABEL: func @refused
  func.func @refused(%x: tensor<?x3x9xf32>, %dy: tensor<?x5x9xf32>, %y: tensor<2x3x10xf32>, %dz: tensor<2x5x4xf32>) -> (tensor<5x3x1xf32>, tensor<5x3x2xf32>) {
    // CHECK-NOT: amprt
    %a = "onnx.Transpose"(%x) {perm = array<i64: 1, 0, 2>} : (tensor<?x3x9xf32>) -> tensor<3x?x9xf32>
    %b = "onnx.Transpose"(%dy) {perm = array<i64: 1, 0, 2>} : (tensor<?x5x9xf32>) -> tensor<5x?x9xf32>
    %g = "onnx.Conv"(%a, %b) : (tensor<3x?x9xf32>, tensor<5x?x9xf32>) -> tensor<3x5x1xf32>
    %v = "onnx.Transpose"(%g) {perm = array<i64: 1, 0, 2>} : (tensor<3x5x1xf32>) -> tensor<5x3x1xf32>
    %c = "onnx.Transpose"(%y) {perm = array<i64: 1, 0, 2>} : (tensor<2x3x10xf32>) -> tensor<3x2x10xf32>
    %d = "onnx.Transpose"(%dz) {perm = array<i64: 1, 0, 2>} : (tensor<2x5x4xf32>) -> tensor<5x2x4xf32>
    %h = "onnx.Conv"(%c, %d) {strides = array<i64: 4>, dilations = array<i64: 1>} : (tensor<3x2x10xf32>, tensor<5x2x4xf32>) -> tensor<3x5x2xf32>
    %w = "onnx.Transpose"(%h) {perm = array<i64: 1, 0, 2>} : (tensor<3x5x2xf32>) -> tensor<5x3x2xf32>
    return %v, %w : tensor<5x3x1xf32>, tensor<5x3x2xf32>
  }
}
