// RUN: amp-opt %s --split-input-file --verify-diagnostics --onnx-scale-ort-loss

// expected-error @+1 {{has no main graph to train}}
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 17 : i64}]}} {
}

// -----

module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 17 : i64}]}} {
func.func @main(%x: tensor<4xf16>, %buffer: tensor<4xf16>) -> (tensor<1xi1>, tensor<f32>)
    attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "buffer"}], output = [{name = "out"}, {name = "loss"}]}} {
  %one = onnx.Initializer <dense<1.0> : tensor<f32>> : tensor<f32> {onnx.outputs = ["loss_grad"]}
  // expected-error @+1 {{expects a gradient in float32}}
  %ok = onnx.Custom "com.microsoft" "InPlaceAccumulatorV2"(%buffer, %x) : (tensor<4xf16>, tensor<4xf16>) -> tensor<1xi1>
  return %ok, %one : tensor<1xi1>, tensor<f32>
}
}
