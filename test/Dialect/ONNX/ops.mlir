// Every kind of operation prints and parses, and so do types and attributes.
// RUN: amp-opt %s | amp-opt | FileCheck %s

module attributes {onnx.model = {ir_version = 10 : i64,
    opset_import = [{domain = "", version = 21 : i64}, {domain = "ai.onnx.ml", version = 3 : i64}]}} {

// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<?x2xf32, #onnx.dims<"N", "">>
func.func @main(%x: tensor<?x2xf32, #onnx.dims<"N", "">>, %c: tensor<i1>) -> tensor<*xf32> {
  // CHECK: %[[W:.*]] = onnx.Initializer <dense<{{.*}}> : tensor<2x2xf32>, {storage = "float_data"}> : tensor<2x2xf32> {onnx.outputs = ["w"]}
  %w = onnx.Initializer <dense<1.0> : tensor<2x2xf32>, {storage = "float_data"}> : tensor<2x2xf32> {onnx.outputs = ["w"]}
  // CHECK: onnx.SparseInitializer <<dense<{{.*}}> : tensor<1xf32>>, <dense<3> : tensor<1xi64>>, [4]> : tensor<4xf32>
  %s = onnx.SparseInitializer <<dense<1.0> : tensor<1xf32>>, <dense<3> : tensor<1xi64>>, [4]> : tensor<4xf32>
  // CHECK: onnx.DefaultInput %{{.*}}, <dense<true> : tensor<i1>> : tensor<i1>
  onnx.DefaultInput %c, <dense<true> : tensor<i1>> : tensor<i1>
  // CHECK: %[[H:.*]] = "onnx.MatMul"(%{{.*}}, %[[W]])
  %h = "onnx.MatMul"(%x, %w) {onnx.outputs = ["h"]} : (tensor<?x2xf32, #onnx.dims<"N", "">>, tensor<2x2xf32>) -> tensor<*xf32>
  // An omitted optional input is an empty segment.
  // CHECK: "onnx.Clip"(%[[H]], %{{.*}}) <{operandSegmentSizes = array<i32: 1, 0, 1>}>
  %m = onnx.Initializer <dense<6.0> : tensor<f32>> : tensor<f32>
  %k = "onnx.Clip"(%h, %m) <{operandSegmentSizes = array<i32: 1, 0, 1>}> : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  // CHECK: "onnx.If"(%{{.*}}) ({
  // CHECK: onnx.Yield %[[H]] : tensor<*xf32>
  %i = "onnx.If"(%c) ({
    onnx.Yield %h : tensor<*xf32>
  }, {
    %r = "onnx.Relu"(%k) : (tensor<*xf32>) -> tensor<*xf32>
    onnx.Yield %r : tensor<*xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  // CHECK: onnx.Custom "com.microsoft" "QuickGelu"(%{{.*}}) {alpha = 1.500000e+00 : f32} : (tensor<*xf32>) -> tensor<*xf32>
  %q = onnx.Custom "com.microsoft" "QuickGelu"(%i) {alpha = 1.5 : f32} : (tensor<*xf32>) -> tensor<*xf32>
  // CHECK: onnx.Custom "x" "Body"() {b = #onnx.region<0>} {
  onnx.Custom "x" "Body"() {b = #onnx.region<0>} {
    onnx.Yield
  } : () -> ()
  // CHECK: onnx.Call @"my::f"(%{{.*}}) {p = 2 : i64} : (tensor<*xf32>) -> tensor<*xf32>
  %f = onnx.Call @"my::f"(%q) {p = 2 : i64} : (tensor<*xf32>) -> tensor<*xf32>
  // CHECK: "onnx.ml.Normalizer"(%{{.*}}) <{norm = "L2"}>
  %n = "onnx.ml.Normalizer"(%f) <{norm = "L2"}> : (tensor<*xf32>) -> tensor<*xf32>
  return %n : tensor<*xf32>
}

func.func private @"my::f"(%x: tensor<*xf32>) -> tensor<*xf32> {
  return %x : tensor<*xf32>
}

// CHECK-LABEL: func.func private @reference
func.func private @reference() {
  // CHECK: onnx.Reference "w" : tensor<2xf32>
  %0 = onnx.Reference "w" : tensor<2xf32>
  return
}

// CHECK-LABEL: func.func private @types
// CHECK-SAME: !onnx.unknown
// CHECK-SAME: !onnx.sequence<tensor<2xf16>>
// CHECK-SAME: !onnx.optional<tensor<*xbf16>>
// CHECK-SAME: !onnx.map<i64, tensor<f32>>
// CHECK-SAME: !onnx.sparse_tensor<tensor<3x3xf64>>
// CHECK-SAME: !onnx.opaque<"d", "n">
// CHECK-SAME: tensor<2x!onnx.string>
// CHECK-SAME: tensor<*x!onnx.undefined>
// CHECK-SAME: tensor<1xf8E4M3FN>
// CHECK-SAME: tensor<1xf4E2M1FN>
// CHECK-SAME: tensor<1xui4>
// CHECK-SAME: tensor<1xi2>
// CHECK-SAME: tensor<1xcomplex<f64>>
func.func private @types(!onnx.unknown, !onnx.sequence<tensor<2xf16>>, !onnx.optional<tensor<*xbf16>>,
  !onnx.map<i64, tensor<f32>>, !onnx.sparse_tensor<tensor<3x3xf64>>, !onnx.opaque<"d", "n">,
  tensor<2x!onnx.string>, tensor<*x!onnx.undefined>, tensor<1xf8E4M3FN>, tensor<1xf4E2M1FN>, tensor<1xui4>,
  tensor<1xi2>, tensor<1xcomplex<f64>>)
}
