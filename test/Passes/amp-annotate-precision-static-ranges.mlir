// RUN: amp-opt %s --split-input-file --amp-annotate-precision="placement=eager" | FileCheck %s
// RUN: amp-opt %s --split-input-file --amp-annotate-precision="placement=optimal" | FileCheck %s
// RUN: amp-opt %s --split-input-file --amp-annotate-precision="low=bf16" | FileCheck %s --check-prefix=WIDE

// RUN: amp-opt %s --split-input-file --amp-annotate-precision="estimates=false" | FileCheck %s --check-prefix=PROVED
// PROVED: has the static range
// PROVED-NOT: {{by the statistics|takes off|decides}}

// RUN: amp-opt %s --split-input-file --amp-annotate-precision="policy=%S/Inputs/static-ranges.yaml" | FileCheck %s --check-prefix=RULES

// What is known of ranges from the program alone: bounds that are reached, not
// any bound, are a reason.

// CHECK-LABEL: func.func @scaled
// WIDE-LABEL: func.func @scaled
module attributes {onnx.model = {opset_import = [{domain = "", version = 22 : i64}]}} {
  func.func @scaled(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) attributes {onnx.graph = {}} {
    %0 = "onnx.Constant"() <{value = #onnx.tensor<dense<1.0e3> : tensor<f32>>}> : () -> tensor<f32>
    %1 = "onnx.Softmax"(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    // CHECK: "onnx.Mul"
    %2 = "onnx.Mul"(%1, %0) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    // CHECK: "onnx.Mul"
    // CHECK-SAME: amp.reason = "value 's' has the static range [0, 1e+06], beyond float16's 65504"
    %3 = "onnx.Mul"(%2, %0) {onnx.outputs = ["s"]} : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    // CHECK: "onnx.MatMul"
    // CHECK-SAME: amp.reason = "value 's' has the static range [0, 1e+06], beyond float16's 65504"
    // WIDE: "onnx.MatMul"
    // WIDE-SAME: amp.precision = [bf16]
    %4 = "onnx.MatMul"(%3, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    // The product of two such is bounded by 1e9, which nothing says is reached.
    %5 = "onnx.Mul"(%2, %1) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %6 = "onnx.Mul"(%5, %2) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    // CHECK: "onnx.MatMul"
    // CHECK-SAME: amp.precision = [f16]
    %7 = "onnx.MatMul"(%6, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    return %4, %7 : tensor<2x2xf32>, tensor<2x2xf32>
  }
}

// -----

// A sample that comes near the largest number is no reason where bounds prove
// that there is no more to come; an epsilon is no reason below what is large.

// CHECK-LABEL: func.func @proved
module attributes {onnx.model = {opset_import = [{domain = "", version = 22 : i64}]}} {
  func.func @proved(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) attributes {onnx.graph = {}} {
    %0 = "onnx.Constant"() <{value = #onnx.tensor<dense<0.0> : tensor<f32>>}> : () -> tensor<f32>
    %1 = "onnx.Constant"() <{value = #onnx.tensor<dense<6.0e4> : tensor<f32>>}> : () -> tensor<f32>
    %2 = "onnx.Clip"(%x, %0, %1) <{operandSegmentSizes = array<i32: 1, 1, 1>}> {amp.ranges = [6.0e4]} : (tensor<2x2xf32>, tensor<f32>, tensor<f32>) -> tensor<2x2xf32>
    // CHECK: "onnx.MatMul"
    // CHECK-SAME: amp.precision = [f16]
    %3 = "onnx.MatMul"(%2, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %4 = "onnx.Constant"() <{value = #onnx.tensor<dense<1.0e-12> : tensor<f32>>}> : () -> tensor<f32>
    %5 = "onnx.Constant"() <{value = #onnx.tensor<dense<1.0> : tensor<f32>>}> : () -> tensor<f32>
    %6 = "onnx.Sigmoid"(%3) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    // CHECK: "onnx.Add"
    %7 = "onnx.Add"(%6, %5) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    // CHECK: "onnx.Add"
    // CHECK-SAME: underflows in float16
    %8 = "onnx.Add"(%7, %4) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    // CHECK: "onnx.Neg"
    // CHECK-NOT: its input may be as small as a constant
    %9 = "onnx.Neg"(%8) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %10 = "onnx.MatMul"(%9, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    return %3, %10 : tensor<2x2xf32>, tensor<2x2xf32>
  }
}

// -----

// Statistics of a batch normalization: how large its data is, and how much of
// an error is left by a mean that it takes off.

// CHECK-LABEL: func.func @statistics
// WIDE-LABEL: func.func @statistics
module attributes {onnx.model = {opset_import = [{domain = "", version = 15 : i64}]}} {
  func.func @statistics(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> attributes {onnx.graph = {}} {
    %one = "onnx.Constant"() <{value = #onnx.tensor<dense<1.0> : tensor<2xf32>>}> : () -> tensor<2xf32>
    %zero = "onnx.Constant"() <{value = #onnx.tensor<dense<0.0> : tensor<2xf32>>}> : () -> tensor<2xf32>
    %large = "onnx.Constant"() <{value = #onnx.tensor<dense<[4.0e8, 1.0]> : tensor<2xf32>>}> : () -> tensor<2xf32>
    %mean = "onnx.Constant"() <{value = #onnx.tensor<dense<[50.0, 0.0]> : tensor<2xf32>>}> : () -> tensor<2xf32>
    // CHECK: "onnx.Conv"
    // CHECK-SAME: amp.reason = "value 'c' may reach 120000 by the statistics of BatchNormalization 'large', beyond float16's 65504"
    %c = "onnx.Conv"(%x, %w) {onnx.outputs = ["c"]} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
    // CHECK: "onnx.BatchNormalization"
    // CHECK-SAME: amp.reason = "value 'c' may reach 120000
    %n = "onnx.BatchNormalization"(%c, %one, %zero, %zero, %large) <{resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> {onnx.name = "large", onnx.outputs = ["n"]} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
    // CHECK: "onnx.Conv"
    // CHECK-SAME: amp.precision = [f16]
    %d = "onnx.Conv"(%n, %w) : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
    // CHECK: "onnx.Conv"
    // CHECK-SAME: amp.reason = "BatchNormalization 'mean' takes off a mean much larger than the deviation: an error before it counts 50 times after it"
    %e = "onnx.Conv"(%d, %w) : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
    // CHECK: "onnx.Relu"
    // CHECK-SAME: amp.reason = "BatchNormalization 'mean' takes off
    %f = "onnx.Relu"(%e) : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
    // CHECK: "onnx.BatchNormalization"
    // CHECK-SAME: amp.reason = "BatchNormalization 'mean' takes off
    %o = "onnx.BatchNormalization"(%f, %one, %zero, %mean, %one) <{resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> {onnx.name = "mean", onnx.outputs = ["o"]} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
    return %o : tensor<1x2x4x4xf32>
  }
}

// -----

// A steep decision: its argument adds up terms of 80 * sqrt(2) = 113, of which
// the last 2 operations may lose what is lost of a probability.

// CHECK-LABEL: func.func @decision
// WIDE-LABEL: func.func @decision
module attributes {onnx.model = {opset_import = [{domain = "", version = 22 : i64}]}} {
  func.func @decision(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x2x4x4xf32>) attributes {onnx.graph = {}} {
    %one = "onnx.Constant"() <{value = #onnx.tensor<dense<1.0> : tensor<2xf32>>}> : () -> tensor<2xf32>
    %zero = "onnx.Constant"() <{value = #onnx.tensor<dense<0.0> : tensor<2xf32>>}> : () -> tensor<2xf32>
    %weights = "onnx.Constant"() <{value = #onnx.tensor<dense<[[[[80.0]], [[-80.0]]]]> : tensor<1x2x1x1xf32>>}> : () -> tensor<1x2x1x1xf32>
    // CHECK: "onnx.Conv"
    // CHECK-SAME: amp.reason = "Sigmoid 's' decides by a sum of terms of 113.1: no more than the last 2 operations may round"
    // WIDE: "onnx.Conv"
    // WIDE-SAME: amp.reason = "Sigmoid 's' decides by a sum of terms of 113.1: no more than the last 2 operations may round"
    %c = "onnx.Conv"(%x, %w) : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
    // CHECK: "onnx.BatchNormalization"
    // CHECK-SAME: amp.reason = "Sigmoid 's' decides
    %n = "onnx.BatchNormalization"(%c, %one, %zero, %zero, %one) <{resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> {onnx.outputs = ["n"]} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
    // CHECK: "onnx.Conv"
    // CHECK-SAME: amp.precision = [f16]
    %l = "onnx.Conv"(%n, %weights) : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x1x4x4xf32>
    // CHECK: "onnx.Sigmoid"
    // CHECK-NOT: decides
    %s = "onnx.Sigmoid"(%l) {onnx.name = "s"} : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
    // What leads elsewhere is not concerned, nor is a gate inside.
    // CHECK: "onnx.Conv"
    // CHECK-SAME: amp.precision = [f16]
    %o = "onnx.Conv"(%x, %w) : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
    %g = "onnx.Sigmoid"(%o) : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
    %p = "onnx.Mul"(%o, %g) : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
    return %s, %p : tensor<1x1x4x4xf32>, tensor<1x2x4x4xf32>
  }
}

// -----

// Rules of policies see bounds that are reached.

// RULES-LABEL: func.func @rules
module attributes {onnx.model = {opset_import = [{domain = "", version = 22 : i64}]}} {
  func.func @rules(%x: tensor<2x2xf32>) -> tensor<2x2xf32> attributes {onnx.graph = {}} {
    %0 = "onnx.Constant"() <{value = #onnx.tensor<dense<1.0e3> : tensor<f32>>}> : () -> tensor<f32>
    %1 = "onnx.Softmax"(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = "onnx.Mul"(%1, %0) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    // RULES: "onnx.MatMul"
    // RULES-SAME: deny: its input is large
    %3 = "onnx.MatMul"(%2, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    // RULES: "onnx.MatMul"
    // RULES-SAME: amp.precision = [f16]
    %4 = "onnx.MatMul"(%3, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    return %4 : tensor<2x2xf32>
  }
}
