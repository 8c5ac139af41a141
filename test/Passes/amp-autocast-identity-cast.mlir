// RUN: amp-opt %s --amp-autocast='placement=optimal' | FileCheck %s
// RUN: amp-opt %s --amp-autocast='placement=eager' | FileCheck %s

// A Cast from float32 to float32 moves data: it goes where its data goes. Other
// casts are the user's own rounding.

module attributes {onnx.model = {opset_import = [{version = 20 : i64}]}} {
  // CHECK-LABEL: func.func @identity
  func.func @identity(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
    // CHECK: %[[M:.*]] = "onnx.MatMul"{{.*}} -> tensor<64x64xf16>
    %0 = "onnx.MatMul"(%x, %w) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    // CHECK-NEXT: %[[C:.*]] = "onnx.Cast"(%[[M]]) <{to = 10 : i64}> : (tensor<64x64xf16>) -> tensor<64x64xf16>
    %1 = "onnx.Cast"(%0) <{to = 1 : i64}> : (tensor<64x64xf32>) -> tensor<64x64xf32>
    // CHECK-NEXT: "onnx.MatMul"(%[[C]]
    %2 = "onnx.MatMul"(%1, %w) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %2 : tensor<64x64xf32>
  }

  // CHECK-LABEL: func.func @rounding
  func.func @rounding(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = "onnx.MatMul"(%x, %w) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    // CHECK: "onnx.Cast"({{.*}}) <{to = 16 : i64}> : (tensor<64x64xf{{.*}}>) -> tensor<64x64xbf16>
    %1 = "onnx.Cast"(%0) <{to = 16 : i64}> : (tensor<64x64xf32>) -> tensor<64x64xbf16>
    // CHECK: "onnx.Cast"({{.*}}) <{to = {{1|10}} : i64}> : (tensor<64x64xbf16>)
    %2 = "onnx.Cast"(%1) <{to = 1 : i64}> : (tensor<64x64xbf16>) -> tensor<64x64xf32>
    %3 = "onnx.MatMul"(%2, %w) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %3 : tensor<64x64xf32>
  }
}
