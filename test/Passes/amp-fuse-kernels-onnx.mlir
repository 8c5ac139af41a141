// RUN: amp-opt --onnx-to-linalg --amp-fuse-kernels %s | FileCheck %s

// What training steps are made of, and how many kernels it takes.

module attributes {onnx.model = {opset_import = [{domain = "", version = 24 : i64}]}} {
  // CHECK-LABEL: func @softmax
  // CHECK-NEXT: %[[Y:.*]] = amprt.launch @{{.*}}(%arg0) {amprt.node = "softmax"}
  // CHECK-NEXT: return %[[Y]]
  func.func @softmax(%x: tensor<1024x512xf16>) -> tensor<1024x512xf16> {
    %y = "onnx.Softmax"(%x) {onnx.name = "softmax"} : (tensor<1024x512xf16>) -> tensor<1024x512xf16>
    return %y : tensor<1024x512xf16>
  }

  // CHECK-LABEL: func @bias_gelu
  // CHECK-NEXT: amprt.launch @{{.*}}(%arg0, %arg1)
  // CHECK-NEXT: return
  func.func @bias_gelu(%x: tensor<?x3072xbf16>, %b: tensor<3072xbf16>) -> tensor<?x3072xbf16> {
    %0 = "onnx.Add"(%x, %b) : (tensor<?x3072xbf16>, tensor<3072xbf16>) -> tensor<?x3072xbf16>
    %y = "onnx.Gelu"(%0) : (tensor<?x3072xbf16>) -> tensor<?x3072xbf16>
    return %y : tensor<?x3072xbf16>
  }

  // The sum is a result, too.
  // CHECK-LABEL: func @residual_layernorm
  // CHECK-NEXT: amprt.launch @{{.*}} -> (tensor<8x128x768xf32>, tensor<8x128x1xf32>, tensor<8x128x1xf32>, tensor<8x128x768xf16>)
  // CHECK-NEXT: return
  func.func @residual_layernorm(%x: tensor<8x128x768xf32>, %r: tensor<8x128x768xf16>, %w: tensor<768xf32>, %b: tensor<768xf32>)
      -> (tensor<8x128x768xf32>, tensor<8x128x768xf16>, tensor<8x128x1xf32>, tensor<8x128x1xf32>) {
    %0 = "onnx.Cast"(%r) <{to = 1 : i64}> : (tensor<8x128x768xf16>) -> tensor<8x128x768xf32>
    %1 = "onnx.Add"(%x, %0) : (tensor<8x128x768xf32>, tensor<8x128x768xf32>) -> tensor<8x128x768xf32>
    %y, %mean, %inverse = "onnx.LayerNormalization"(%1, %w, %b) <{resultSegmentSizes = array<i32: 1, 1, 1>}>
        : (tensor<8x128x768xf32>, tensor<768xf32>, tensor<768xf32>) -> (tensor<8x128x768xf32>, tensor<8x128x1xf32>, tensor<8x128x1xf32>)
    %2 = "onnx.Cast"(%y) <{to = 10 : i64}> : (tensor<8x128x768xf32>) -> tensor<8x128x768xf16>
    return %1, %2, %mean, %inverse : tensor<8x128x768xf32>, tensor<8x128x768xf16>, tensor<8x128x1xf32>, tensor<8x128x1xf32>
  }

  // The gradient by x is one kernel of rows; those by the scale and the bias are
  // one of columns.
  // CHECK-LABEL: func @layernorm_gradient
  // CHECK-NEXT: amprt.launch
  // CHECK-NEXT: amprt.launch
  // CHECK-NEXT: return
  func.func @layernorm_gradient(%dy: tensor<1024x768xf32>, %x: tensor<1024x768xf32>, %mean: tensor<1024x1xf32>, %inverse: tensor<1024x1xf32>, %w: tensor<768xf32>)
      -> (tensor<1024x768xf32>, tensor<768xf32>, tensor<768xf32>) {
    %rows = "onnx.Constant"() <{value_ints = array<i64: 0>}> : () -> tensor<1xi64>
    %last = "onnx.Constant"() <{value_ints = array<i64: 1>}> : () -> tensor<1xi64>
    %0 = "onnx.Sub"(%x, %mean) : (tensor<1024x768xf32>, tensor<1024x1xf32>) -> tensor<1024x768xf32>
    %1 = "onnx.Mul"(%0, %inverse) : (tensor<1024x768xf32>, tensor<1024x1xf32>) -> tensor<1024x768xf32>
    %2 = "onnx.Mul"(%dy, %1) : (tensor<1024x768xf32>, tensor<1024x768xf32>) -> tensor<1024x768xf32>
    %dw = "onnx.ReduceSum"(%2, %rows) <{keepdims = 0 : i64}> : (tensor<1024x768xf32>, tensor<1xi64>) -> tensor<768xf32>
    %db = "onnx.ReduceSum"(%dy, %rows) <{keepdims = 0 : i64}> : (tensor<1024x768xf32>, tensor<1xi64>) -> tensor<768xf32>
    %3 = "onnx.Mul"(%dy, %w) : (tensor<1024x768xf32>, tensor<768xf32>) -> tensor<1024x768xf32>
    %4 = "onnx.ReduceMean"(%3, %last) : (tensor<1024x768xf32>, tensor<1xi64>) -> tensor<1024x1xf32>
    %5 = "onnx.Mul"(%3, %1) : (tensor<1024x768xf32>, tensor<1024x768xf32>) -> tensor<1024x768xf32>
    %6 = "onnx.ReduceMean"(%5, %last) : (tensor<1024x768xf32>, tensor<1xi64>) -> tensor<1024x1xf32>
    %7 = "onnx.Sub"(%3, %4) : (tensor<1024x768xf32>, tensor<1024x1xf32>) -> tensor<1024x768xf32>
    %8 = "onnx.Mul"(%1, %6) : (tensor<1024x768xf32>, tensor<1024x1xf32>) -> tensor<1024x768xf32>
    %9 = "onnx.Sub"(%7, %8) : (tensor<1024x768xf32>, tensor<1024x768xf32>) -> tensor<1024x768xf32>
    %dx = "onnx.Mul"(%9, %inverse) : (tensor<1024x768xf32>, tensor<1024x1xf32>) -> tensor<1024x768xf32>
    return %dx, %dw, %db : tensor<1024x768xf32>, tensor<768xf32>, tensor<768xf32>
  }

  // AdamW of one parameter, with what its numbers are made of.
  // CHECK-LABEL: func @adamw
  // CHECK-NEXT: amprt.launch {{.*}} -> (tensor<768x768xf32>, tensor<768x768xf32>, tensor<768x768xf32>)
  // CHECK-NEXT: return
  func.func @adamw(%p: tensor<768x768xf32>, %g: tensor<768x768xf16>, %m: tensor<768x768xf32>, %v: tensor<768x768xf32>, %scale: tensor<f32>, %rate: tensor<f32>)
      -> (tensor<768x768xf32>, tensor<768x768xf32>, tensor<768x768xf32>) {
    %b1 = "onnx.Constant"() <{value_float = 0.9 : f32}> : () -> tensor<f32>
    %c1 = "onnx.Constant"() <{value_float = 0.1 : f32}> : () -> tensor<f32>
    %b2 = "onnx.Constant"() <{value_float = 0.999 : f32}> : () -> tensor<f32>
    %c2 = "onnx.Constant"() <{value_float = 0.001 : f32}> : () -> tensor<f32>
    %0 = "onnx.Cast"(%g) <{to = 1 : i64}> : (tensor<768x768xf16>) -> tensor<768x768xf32>
    %1 = "onnx.Mul"(%0, %scale) : (tensor<768x768xf32>, tensor<f32>) -> tensor<768x768xf32>
    %2 = "onnx.Mul"(%m, %b1) : (tensor<768x768xf32>, tensor<f32>) -> tensor<768x768xf32>
    %3 = "onnx.Mul"(%1, %c1) : (tensor<768x768xf32>, tensor<f32>) -> tensor<768x768xf32>
    %m1 = "onnx.Add"(%2, %3) : (tensor<768x768xf32>, tensor<768x768xf32>) -> tensor<768x768xf32>
    %4 = "onnx.Mul"(%v, %b2) : (tensor<768x768xf32>, tensor<f32>) -> tensor<768x768xf32>
    %5 = "onnx.Mul"(%1, %1) : (tensor<768x768xf32>, tensor<768x768xf32>) -> tensor<768x768xf32>
    %6 = "onnx.Mul"(%5, %c2) : (tensor<768x768xf32>, tensor<f32>) -> tensor<768x768xf32>
    %v1 = "onnx.Add"(%4, %6) : (tensor<768x768xf32>, tensor<768x768xf32>) -> tensor<768x768xf32>
    %7 = "onnx.Sqrt"(%v1) : (tensor<768x768xf32>) -> tensor<768x768xf32>
    %8 = "onnx.Div"(%m1, %7) : (tensor<768x768xf32>, tensor<768x768xf32>) -> tensor<768x768xf32>
    %9 = "onnx.Mul"(%8, %rate) : (tensor<768x768xf32>, tensor<f32>) -> tensor<768x768xf32>
    %p1 = "onnx.Sub"(%p, %9) : (tensor<768x768xf32>, tensor<768x768xf32>) -> tensor<768x768xf32>
    return %p1, %m1, %v1 : tensor<768x768xf32>, tensor<768x768xf32>, tensor<768x768xf32>
  }

  // Rows, forward and backward, and the mean over rows.
  // CHECK-LABEL: func @cross_entropy
  // CHECK-NEXT: amprt.launch {{.*}} -> (tensor<1024xf32>, tensor<1024x512xf16>)
  // CHECK-NEXT: amprt.launch {{.*}} -> tensor<f32>
  // CHECK-NEXT: return
  func.func @cross_entropy(%x: tensor<1024x512xf32>, %labels: tensor<1024xi64>, %at: tensor<1024x1xi64>, %d: tensor<f32>) -> (tensor<f32>, tensor<1024x512xf16>) {
    %loss, %p = "onnx.SoftmaxCrossEntropyLoss"(%x, %labels) <{operandSegmentSizes = array<i32: 1, 1, 0>, resultSegmentSizes = array<i32: 1, 1>}>
        : (tensor<1024x512xf32>, tensor<1024xi64>) -> (tensor<f32>, tensor<1024x512xf32>)
    %ones = "onnx.Constant"() <{value = #onnx.tensor<dense<-1.0> : tensor<1024x1xf32>>}> : () -> tensor<1024x1xf32>
    %0 = "onnx.Exp"(%p) : (tensor<1024x512xf32>) -> tensor<1024x512xf32>
    %1 = "onnx.ScatterElements"(%0, %at, %ones) <{axis = 1 : i64, reduction = "add"}> : (tensor<1024x512xf32>, tensor<1024x1xi64>, tensor<1024x1xf32>) -> tensor<1024x512xf32>
    %2 = "onnx.Mul"(%1, %d) : (tensor<1024x512xf32>, tensor<f32>) -> tensor<1024x512xf32>
    %dx = "onnx.Cast"(%2) <{to = 10 : i64}> : (tensor<1024x512xf32>) -> tensor<1024x512xf16>
    return %loss, %dx : tensor<f32>, tensor<1024x512xf16>
  }
}
