// RUN: amp-opt %s --split-input-file --verify-diagnostics --onnx-expand-gradients

module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}, {domain = "ai.onnx.preview.training", version = 1 : i64}]}} {
  func.func @main(%x: tensor<f32>, %c: tensor<i1>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "c"}], output = [{name = "z"}]}} {
    %y = "onnx.Tanh"(%x) {onnx.outputs = ["y"]} : (tensor<f32>) -> tensor<f32>
    %z = "onnx.If"(%c) ({
      // expected-error @below {{is in a subgraph; it is expanded in the main graph only}}
      %dx = "onnx.preview.training.Gradient"(%x) <{xs = ["x"], y = "y"}> : (tensor<f32>) -> tensor<f32>
      onnx.Yield %dx : tensor<f32>
    }, {
      onnx.Yield %x : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    return %z : tensor<f32>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}, {domain = "ai.onnx.preview.training", version = 1 : i64}]}} {
  func.func @main(%x: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "dx"}]}} {
    %y = "onnx.Tanh"(%x) {onnx.outputs = ["y"]} : (tensor<f32>) -> tensor<f32>
    // expected-error @below {{expects opset 18 or later of ai.onnx, but the model imports 17}}
    %dx = "onnx.preview.training.Gradient"(%x) <{xs = ["x"], y = "y"}> : (tensor<f32>) -> tensor<f32>
    return %dx : tensor<f32>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}, {domain = "ai.onnx.preview.training", version = 1 : i64}]}} {
  func.func @main(%x: tensor<i64>) -> tensor<i64> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "dx"}]}} {
    // expected-error @below {{expects xs to name a tensor of floats, but 'x' is 'tensor<i64>'}}
    %dx = "onnx.preview.training.Gradient"(%x) <{xs = ["x"], y = "x"}> : (tensor<i64>) -> tensor<i64>
    return %dx : tensor<i64>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}, {domain = "ai.onnx.preview.training", version = 1 : i64}]}} {
  func.func @main(%x: tensor<2xf32>, %z: tensor<3xf32>) -> tensor<2xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "z"}], output = [{name = "dx"}]}} {
    %y = "onnx.Tanh"(%x) {onnx.outputs = ["y"]} : (tensor<2xf32>) -> tensor<2xf32>
    // expected-error @below {{expects a value of 'tensor<2xf32>', but got one of 'tensor<3xf32>'}}
    %dx = "onnx.preview.training.Gradient"(%z) <{xs = ["x"], y = "y"}> : (tensor<3xf32>) -> tensor<2xf32>
    return %dx : tensor<2xf32>
  }
}
