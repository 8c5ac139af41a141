// RUN: amp-opt %s --split-input-file --onnx-lower-ort | FileCheck %s

// CHECK-LABEL: func.func @main
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%dy: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32>
    attributes {onnx.graph = {name = "g", input = [{name = "dy"}, {name = "x"}], output = [{name = "dx"}]}} {
  // CHECK-DAG: %[[ZERO:.*]] = "onnx.Constant"
  // CHECK: %[[POSITIVE:.*]] = "onnx.Greater"(%arg1, %[[ZERO]])
  // CHECK: %[[DX:.*]] = "onnx.Where"(%[[POSITIVE]], %arg0, %[[ZERO]])
  // CHECK: return %[[DX]]
  %dx = onnx.Custom "com.microsoft" "ReluGrad"(%dy, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %dx : tensor<4xf32>
}
}

// -----

// What an accumulator changes in place is an output, instead of its flag.

module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
// CHECK: amp.state
// CHECK-SAME: [{\22input\22:\22buffer\22,\22output\22:\22buffer_next\22}]
// CHECK: func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<1xi1>) -> tensor<4xf32>
func.func @main(%buffer: tensor<4xf32>, %g: tensor<4xf32>, %reset: tensor<1xi1>) -> tensor<1xi1>
    attributes {onnx.graph = {name = "g", input = [{name = "buffer"}, {name = "g"}, {name = "reset"}], output = [{name = "out"}]}} {
  // CHECK: %[[SUM:.*]] = "onnx.Add"(%arg0, %arg1)
  // CHECK: %[[NEXT:.*]] = "onnx.Where"(%arg2, %arg1, %[[SUM]])
  // CHECK: return %[[NEXT]] : tensor<4xf32>
  %ok = onnx.Custom "com.microsoft" "InPlaceAccumulatorV2"(%buffer, %g, %reset) : (tensor<4xf32>, tensor<4xf32>, tensor<1xi1>) -> tensor<1xi1>
  return %ok : tensor<1xi1>
}
}
