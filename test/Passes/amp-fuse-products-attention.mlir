// RUN: amp-opt --amp-fuse-products %s | FileCheck %s

module attributes {onnx.model = {opset_import = [{domain = "", version = 24 : i64}]}} {
  // As exporters write heads: keys are transposed with them.
  // CHECK-LABEL: func @heads
  func.func @heads(%q: tensor<?x3x5x4xf32>, %x: tensor<?x6x3x4xf32>, %v: tensor<?x3x6x4xf32>, %mask: tensor<5x6xf32>) -> tensor<?x3x5x4xf32>
      attributes {amprt.signature = {inputs = [{name = "q", symbols = ["N", "", "", ""]}, {name = "x", symbols = ["N", "", "", ""]}, {name = "v", symbols = ["N", "", "", ""]}, {name = "mask", symbols = ["", ""]}], outputs = [], states = []}} {
    %eight = "onnx.Constant"() <{value_float = 8.0 : f32}> : () -> tensor<f32>
    // CHECK: %[[K:.*]] = "onnx.Transpose"(%arg1) <{perm = array<i64: 0, 2, 1, 3>}>
    // CHECK-NEXT: amprt.call "attention"(%arg0, %[[K]], %arg2, %arg3) {scale = 1.250000e-01 : f32} {amprt.names = ["y"], amprt.node = "scores"}
    // CHECK-NEXT: return
    %k = "onnx.Transpose"(%x) {perm = array<i64: 0, 2, 3, 1>} : (tensor<?x6x3x4xf32>) -> tensor<?x3x4x6xf32>
    %s = "onnx.MatMul"(%q, %k) {onnx.name = "scores"} : (tensor<?x3x5x4xf32>, tensor<?x3x4x6xf32>) -> tensor<?x3x5x6xf32>
    %t = "onnx.Div"(%s, %eight) : (tensor<?x3x5x6xf32>, tensor<f32>) -> tensor<?x3x5x6xf32>
    %m = "onnx.Add"(%t, %mask) : (tensor<?x3x5x6xf32>, tensor<5x6xf32>) -> tensor<?x3x5x6xf32>
    %p = "onnx.Softmax"(%m) {axis = -1 : i64} : (tensor<?x3x5x6xf32>) -> tensor<?x3x5x6xf32>
    %y = "onnx.MatMul"(%p, %v) {onnx.outputs = ["y"]} : (tensor<?x3x5x6xf32>, tensor<?x3x6x4xf32>) -> tensor<?x3x5x4xf32>
    return %y : tensor<?x3x5x4xf32>
  }

  // Both sides are scaled, and rows without any key give 0.
  // CHECK-LABEL: func @maskedRows
  func.func @maskedRows(%q: tensor<2x3x5x4xf32>, %k: tensor<2x3x6x4xf32>, %v: tensor<2x3x6x4xf32>) -> tensor<2x3x5x4xf32> {
    %c = "onnx.Constant"() <{value_float = 0.75 : f32}> : () -> tensor<f32>
    %zero = "onnx.Constant"() <{value_float = 0.0 : f32}> : () -> tensor<f32>
    // CHECK: amprt.call "attention"(%arg0, %arg1, %arg2) {scale = 5.625000e-01 : f32}
    // CHECK-NEXT: return
    %a = "onnx.Mul"(%q, %c) : (tensor<2x3x5x4xf32>, tensor<f32>) -> tensor<2x3x5x4xf32>
    %t = "onnx.Transpose"(%k) {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x3x6x4xf32>) -> tensor<2x3x4x6xf32>
    %b = "onnx.Mul"(%t, %c) : (tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
    %s = "onnx.MatMul"(%a, %b) : (tensor<2x3x5x4xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x5x6xf32>
    %p = "onnx.Softmax"(%s) {axis = 3 : i64} : (tensor<2x3x5x6xf32>) -> tensor<2x3x5x6xf32>
    %n = "onnx.IsNaN"(%p) : (tensor<2x3x5x6xf32>) -> tensor<2x3x5x6xi1>
    %w = "onnx.Where"(%n, %zero, %p) : (tensor<2x3x5x6xi1>, tensor<f32>, tensor<2x3x5x6xf32>) -> tensor<2x3x5x6xf32>
    %y = "onnx.MatMul"(%w, %v) : (tensor<2x3x5x6xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x5x4xf32>
    return %y : tensor<2x3x5x4xf32>
  }

  // As autocast leaves it: Softmax in float32 between products in float16. Two
  // masks are one.
  // CHECK-LABEL: func @half
  func.func @half(%q: tensor<2x3x5x4xf16>, %k: tensor<2x3x6x4xf16>, %v: tensor<2x3x6x4xf16>, %bias: tensor<1x3x5x6xf32>, %mask: tensor<2x1x1x6xf32>) -> tensor<2x3x5x4xf16> {
    // CHECK: %[[M:.*]] = "onnx.Add"(%arg3, %arg4)
    // CHECK: amprt.call "attention"(%arg0, %arg1, %arg2, %[[M]]) {scale = 1.000000e+00 : f32}
    %t = "onnx.Transpose"(%k) {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x3x6x4xf16>) -> tensor<2x3x4x6xf16>
    %s = "onnx.MatMul"(%q, %t) : (tensor<2x3x5x4xf16>, tensor<2x3x4x6xf16>) -> tensor<2x3x5x6xf16>
    %c = "onnx.Cast"(%s) {to = 1 : i64} : (tensor<2x3x5x6xf16>) -> tensor<2x3x5x6xf32>
    %a = "onnx.Add"(%c, %bias) : (tensor<2x3x5x6xf32>, tensor<1x3x5x6xf32>) -> tensor<2x3x5x6xf32>
    %m = "onnx.Add"(%a, %mask) : (tensor<2x3x5x6xf32>, tensor<2x1x1x6xf32>) -> tensor<2x3x5x6xf32>
    %p = "onnx.Softmax"(%m) {axis = -1 : i64} : (tensor<2x3x5x6xf32>) -> tensor<2x3x5x6xf32>
    %h = "onnx.Cast"(%p) {to = 10 : i64} : (tensor<2x3x5x6xf32>) -> tensor<2x3x5x6xf16>
    %y = "onnx.MatMul"(%h, %v) : (tensor<2x3x5x6xf16>, tensor<2x3x6x4xf16>) -> tensor<2x3x5x4xf16>
    return %y : tensor<2x3x5x4xf16>
  }

  // A batch without heads gets one.
  // CHECK-LABEL: func @batch
  func.func @batch(%q: tensor<2x5x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x7xf32>) -> tensor<2x5x7xf32> {
    // CHECK: %[[A:.*]] = amprt.call "attention"({{.*}}) -> tensor<2x1x5x7xf32>
    // CHECK: "onnx.Squeeze"(%[[A]]
    %t = "onnx.Transpose"(%k) {perm = array<i64: 0, 2, 1>} : (tensor<2x6x4xf32>) -> tensor<2x4x6xf32>
    %s = "onnx.MatMul"(%q, %t) : (tensor<2x5x4xf32>, tensor<2x4x6xf32>) -> tensor<2x5x6xf32>
    %p = "onnx.Softmax"(%s) {axis = -1 : i64} : (tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
    %y = "onnx.MatMul"(%p, %v) : (tensor<2x5x6xf32>, tensor<2x6x7xf32>) -> tensor<2x5x7xf32>
    return %y : tensor<2x5x7xf32>
  }

  // Heads that come from rows and go to rows are where they are.
  // CHECK-LABEL: func @rows
  func.func @rows(%q: tensor<2x5x3x4xf32>, %k: tensor<2x6x3x4xf32>, %v: tensor<2x6x3x7xf32>) -> tensor<2x5x3x7xf32> {
    // CHECK-NOT: onnx.Transpose
    // CHECK-DAG: %[[Q:.*]] = "onnx.Reshape"(%arg0, {{.*}}) {{.*}} -> tensor<2x5x12xf32>
    // CHECK-DAG: %[[K:.*]] = "onnx.Reshape"(%arg1, {{.*}}) {{.*}} -> tensor<2x6x12xf32>
    // CHECK-DAG: %[[V:.*]] = "onnx.Reshape"(%arg2, {{.*}}) {{.*}} -> tensor<2x6x21xf32>
    // CHECK: %[[A:.*]] = amprt.call "attention"(%[[Q]], %[[K]], %[[V]]) {kv_num_heads = 3 : i64, q_num_heads = 3 : i64, scale = 1.000000e+00 : f32} : {{.*}} -> tensor<2x5x21xf32>
    // CHECK: "onnx.Reshape"(%[[A]], {{.*}}) {{.*}} -> tensor<2x5x3x7xf32>
    %a = "onnx.Transpose"(%q) {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x4xf32>) -> tensor<2x3x5x4xf32>
    %b = "onnx.Transpose"(%k) {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x4x6xf32>
    %c = "onnx.Transpose"(%v) {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x7xf32>) -> tensor<2x3x6x7xf32>
    %s = "onnx.MatMul"(%a, %b) : (tensor<2x3x5x4xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x5x6xf32>
    %p = "onnx.Softmax"(%s) {axis = -1 : i64} : (tensor<2x3x5x6xf32>) -> tensor<2x3x5x6xf32>
    %o = "onnx.MatMul"(%p, %c) : (tensor<2x3x5x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x5x7xf32>
    %y = "onnx.Transpose"(%o) {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x7xf32>) -> tensor<2x5x3x7xf32>
    return %y : tensor<2x5x3x7xf32>
  }

  // Keys and values that several heads of queries share need not be repeated.
  // CHECK-LABEL: func @repeats
  func.func @repeats(%q: tensor<2x6x5x4xf32>, %k: tensor<2x3x7x4xf32>, %v: tensor<2x3x7x4xf32>) -> tensor<2x6x5x4xf32> {
    // CHECK: amprt.call "attention"(%arg0, %arg1, %arg2)
    // CHECK-NEXT: return
    %two = "onnx.Constant"() <{value_ints = array<i64: 2>}> : () -> tensor<1xi64>
    %wide = "onnx.Constant"() <{value_ints = array<i64: 2, 3, 2, 7, 4>}> : () -> tensor<5xi64>
    %all = "onnx.Constant"() <{value_ints = array<i64: 2, 6, 7, 4>}> : () -> tensor<4xi64>
    %a = "onnx.Unsqueeze"(%k, %two) : (tensor<2x3x7x4xf32>, tensor<1xi64>) -> tensor<2x3x1x7x4xf32>
    %b = "onnx.Expand"(%a, %wide) : (tensor<2x3x1x7x4xf32>, tensor<5xi64>) -> tensor<2x3x2x7x4xf32>
    %c = "onnx.Reshape"(%b, %all) : (tensor<2x3x2x7x4xf32>, tensor<4xi64>) -> tensor<2x6x7x4xf32>
    %d = "onnx.Unsqueeze"(%v, %two) : (tensor<2x3x7x4xf32>, tensor<1xi64>) -> tensor<2x3x1x7x4xf32>
    %e = "onnx.Expand"(%d, %wide) : (tensor<2x3x1x7x4xf32>, tensor<5xi64>) -> tensor<2x3x2x7x4xf32>
    %f = "onnx.Reshape"(%e, %all) : (tensor<2x3x2x7x4xf32>, tensor<4xi64>) -> tensor<2x6x7x4xf32>
    %t = "onnx.Transpose"(%c) {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x6x7x4xf32>) -> tensor<2x6x4x7xf32>
    %s = "onnx.MatMul"(%q, %t) : (tensor<2x6x5x4xf32>, tensor<2x6x4x7xf32>) -> tensor<2x6x5x7xf32>
    %p = "onnx.Softmax"(%s) {axis = -1 : i64} : (tensor<2x6x5x7xf32>) -> tensor<2x6x5x7xf32>
    %y = "onnx.MatMul"(%p, %f) : (tensor<2x6x5x7xf32>, tensor<2x6x7x4xf32>) -> tensor<2x6x5x4xf32>
    return %y : tensor<2x6x5x4xf32>
  }

  // Weights that are read, batches that are broadcast, a mask that may be larger
  // than the scores, another axis.
  // CHECK-LABEL: func @refused
  func.func @refused(%q: tensor<2x3x5x4xf32>, %k: tensor<2x3x4x6xf32>, %one: tensor<1x3x4x6xf32>, %v: tensor<2x3x6x4xf32>, %mask: tensor<?x1x1x6xf32>) -> (tensor<2x3x5x4xf32>, tensor<2x3x5x6xf32>, tensor<2x3x5x4xf32>, tensor<?x3x5x4xf32>, tensor<2x3x5x4xf32>) {
    // CHECK-NOT: attention
    %s0 = "onnx.MatMul"(%q, %k) : (tensor<2x3x5x4xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x5x6xf32>
    %p0 = "onnx.Softmax"(%s0) {axis = -1 : i64} : (tensor<2x3x5x6xf32>) -> tensor<2x3x5x6xf32>
    %y0 = "onnx.MatMul"(%p0, %v) : (tensor<2x3x5x6xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x5x4xf32>
    %s1 = "onnx.MatMul"(%q, %one) : (tensor<2x3x5x4xf32>, tensor<1x3x4x6xf32>) -> tensor<2x3x5x6xf32>
    %p1 = "onnx.Softmax"(%s1) {axis = -1 : i64} : (tensor<2x3x5x6xf32>) -> tensor<2x3x5x6xf32>
    %y1 = "onnx.MatMul"(%p1, %v) : (tensor<2x3x5x6xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x5x4xf32>
    %s2 = "onnx.MatMul"(%q, %k) : (tensor<2x3x5x4xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x5x6xf32>
    %m2 = "onnx.Add"(%s2, %mask) : (tensor<2x3x5x6xf32>, tensor<?x1x1x6xf32>) -> tensor<?x3x5x6xf32>
    %p2 = "onnx.Softmax"(%m2) {axis = -1 : i64} : (tensor<?x3x5x6xf32>) -> tensor<?x3x5x6xf32>
    %y2 = "onnx.MatMul"(%p2, %v) : (tensor<?x3x5x6xf32>, tensor<2x3x6x4xf32>) -> tensor<?x3x5x4xf32>
    %s3 = "onnx.MatMul"(%q, %k) : (tensor<2x3x5x4xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x5x6xf32>
    %p3 = "onnx.Softmax"(%s3) {axis = 2 : i64} : (tensor<2x3x5x6xf32>) -> tensor<2x3x5x6xf32>
    %y3 = "onnx.MatMul"(%p3, %v) : (tensor<2x3x5x6xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x5x4xf32>
    return %y0, %p0, %y1, %y2, %y3 : tensor<2x3x5x4xf32>, tensor<2x3x5x6xf32>, tensor<2x3x5x4xf32>, tensor<?x3x5x4xf32>, tensor<2x3x5x4xf32>
  }
}
