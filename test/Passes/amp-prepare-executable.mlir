// RUN: amp-opt %s --amp-prepare-executable | FileCheck %s

// Names that say nothing are none.

// CHECK: func.func @main(%{{.*}}: tensor<?x?xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<f32>) -> (tensor<?x?xf32>, tensor<4xf32>)
// CHECK-SAME: amprt.signature = {
// CHECK-SAME: inputs = [{name = "x", symbols = ["N", ""]}, {initial = dense<1.000000e+00> : tensor<4xf32>, name = "w", symbols = [""]}, {initial = dense<2.000000e+00> : tensor<f32>, name = "lr", symbols = []}]
// CHECK-SAME: outputs = [{name = "y"}, {name = "w_next"}]
// CHECK-SAME: states = [{argument = 1 : i64, initial = dense<1.000000e+00> : tensor<4xf32>, result = 1 : i64}]
module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}], metadata_props = [{key = "amp.state", value = "[{\22input\22:\22w\22,\22output\22:\22w_next\22}]"}]}} {
  func.func @main(%x: tensor<?x?xf32, #onnx.dims<"N", "?">>, %w: tensor<4xf32>, %lr: tensor<f32>) -> (tensor<?x?xf32, #onnx.dims<"N", "?">>, tensor<4xf32>)
      attributes {onnx.graph = {input = [{name = "x"}, {name = "w"}, {name = "lr"}], name = "g", output = [{name = "y"}, {name = "w_next"}]}} {
    onnx.DefaultInput %w, <dense<1.0> : tensor<4xf32>> : tensor<4xf32>
    onnx.DefaultInput %lr, <dense<2.0> : tensor<f32>> : tensor<f32>
    %next = "onnx.Mul"(%w, %lr) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    // CHECK: "onnx.Relu"(%{{.*}}) : (tensor<?x?xf32>) -> tensor<?x?xf32>
    %y = "onnx.Relu"(%x) : (tensor<?x?xf32, #onnx.dims<"N", "?">>) -> tensor<?x?xf32, #onnx.dims<"N", "?">>
    return %y, %next : tensor<?x?xf32, #onnx.dims<"N", "?">>, tensor<4xf32>
  }
}
