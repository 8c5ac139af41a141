// RUN: amp-opt %s --split-input-file --verify-diagnostics --amp-attach-optimizer="ema=0.9"

// Without a default of the input, an average has nothing to begin with.
module attributes {onnx.model = {ir_version = 10 : i64, opset_import = [{domain = "", version = 20 : i64}]}} {
  // expected-error@+1 {{ema: parameter 'w' has no initial value}}
  func.func @main(%w: tensor<3xf32>) -> tensor<3xf32> attributes {onnx.graph = {input = [{name = "w"}], name = "g", output = [{name = "w_grad"}]}} {
    return %w : tensor<3xf32>
  }
}

// -----

module attributes {onnx.model = {ir_version = 10 : i64, opset_import = [{domain = "", version = 20 : i64}]}} {
  // expected-error@+1 {{parameter 'w' expects float32 and a static shape, but is 'tensor<?xf32>'}}
  func.func @main(%w: tensor<?xf32>) -> tensor<?xf32> attributes {onnx.graph = {input = [{name = "w"}], name = "g", output = [{name = "w_grad"}]}} {
    return %w : tensor<?xf32>
  }
}

// -----

// expected-error@+1 {{has no main graph to train}}
module {
}
