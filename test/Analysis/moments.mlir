// RUN: amp-test-ranges %s --test-moments -o /dev/null | FileCheck %s

// What batch normalizations say of what comes after them.

// CHECK: n mean 1 -2 variance 4 1 terms 5 5
// CHECK-NEXT: r mean 1.396 0.008491 variance 2.214 0.005697 terms 4.161 0.005769
// CHECK-NEXT: c mean -1 variance 17 terms 25
// CHECK-NEXT: grouped mean 2 -6 variance 16 9 terms 20 45
// CHECK-NEXT: t mean -1.5 variance 5 terms 10
// CHECK-NEXT: biased mean 0.5 -2.5 variance 4 1 terms 5 5
// CHECK-NEXT: doubled mean 2 -4 variance 16 4 terms 20 20
// CHECK-NEXT: residual mean 3 -6 variance 20 5 terms 25 25
// CHECK-NEXT: pooled mean 1 -2 variance 4 1 terms 5 5
module attributes {onnx.model = {opset_import = [{domain = "", version = 22 : i64}]}} {
  func.func @main(%x: tensor<1x2x4x4xf32>) attributes {onnx.graph = {}} {
    %scale = "onnx.Constant"() <{value = #onnx.tensor<dense<[2.0, 1.0]> : tensor<2xf32>>}> : () -> tensor<2xf32>
    %bias = "onnx.Constant"() <{value = #onnx.tensor<dense<[1.0, -2.0]> : tensor<2xf32>>}> : () -> tensor<2xf32>
    %mean = "onnx.Constant"() <{value = #onnx.tensor<dense<[7.0, 9.0]> : tensor<2xf32>>}> : () -> tensor<2xf32>
    %variance = "onnx.Constant"() <{value = #onnx.tensor<dense<4.0e6> : tensor<2xf32>>}> : () -> tensor<2xf32>
    %n = "onnx.BatchNormalization"(%x, %scale, %bias, %mean, %variance) <{resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> {onnx.outputs = ["n"]} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
    %r = "onnx.Relu"(%n) {onnx.outputs = ["r"]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
    %w = "onnx.Constant"() <{value = #onnx.tensor<dense<[[[[2.0]], [[1.0]]]]> : tensor<1x2x1x1xf32>>}> : () -> tensor<1x2x1x1xf32>
    %one = "onnx.Constant"() <{value = #onnx.tensor<dense<-1.0> : tensor<1xf32>>}> : () -> tensor<1xf32>
    %c = "onnx.Conv"(%n, %w, %one) {onnx.outputs = ["c"]} : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
    %v = "onnx.Constant"() <{value = #onnx.tensor<dense<[[[[2.0]]], [[[3.0]]]]> : tensor<2x1x1x1xf32>>}> : () -> tensor<2x1x1x1xf32>
    %grouped = "onnx.Conv"(%n, %v) <{group = 2 : i64}> {onnx.outputs = ["grouped"]} : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
    // Of 2x2 elements of its window, a position of the result sees one.
    %u = "onnx.Constant"() <{value = #onnx.tensor<dense<[[[[2.0, 0.0], [0.0, 0.0]]], [[[1.0, 1.0], [1.0, -1.0]]]]> : tensor<2x1x2x2xf32>>}> : () -> tensor<2x1x2x2xf32>
    %t = "onnx.ConvTranspose"(%n, %u, %one) <{strides = array<i64: 2, 2>}> {onnx.outputs = ["t"]} : (tensor<1x2x4x4xf32>, tensor<2x1x2x2xf32>, tensor<1xf32>) -> tensor<1x1x8x8xf32>
    %half = "onnx.Constant"() <{value = #onnx.tensor<dense<-0.5> : tensor<1x2x1x1xf32>>}> : () -> tensor<1x2x1x1xf32>
    %biased = "onnx.Add"(%half, %n) {onnx.outputs = ["biased"]} : (tensor<1x2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
    %two = "onnx.Constant"() <{value = #onnx.tensor<dense<2.0> : tensor<f32>>}> : () -> tensor<f32>
    %doubled = "onnx.Mul"(%n, %two) {onnx.outputs = ["doubled"]} : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
    %residual = "onnx.Add"(%n, %doubled) {onnx.outputs = ["residual"]} : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
    %pooled = "onnx.GlobalAveragePool"(%n) {onnx.outputs = ["pooled"]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32>
    return
  }
}
