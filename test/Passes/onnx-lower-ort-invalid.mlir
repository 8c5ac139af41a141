// RUN: amp-opt %s --split-input-file --verify-diagnostics --onnx-lower-ort

module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 17 : i64}]}} {
// expected-error @+1 {{expects opset 18 or later of ai.onnx, but got 17}}
func.func @main(%dy: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %dx = onnx.Custom "com.microsoft" "ReluGrad"(%dy, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %dx : tensor<4xf32>
}
}

// -----

module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{can't be written with ONNX's operators: the rank of an operand that it transposes is not known}}
  %y = onnx.Custom "com.microsoft" "FusedMatMul"(%x, %x) {transA = 1 : i64} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}
}

// -----

module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{can't be written with ONNX's operators: the rank of its input is not known}}
  %y = onnx.Custom "com.microsoft" "SoftmaxGrad"(%x, %x) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}
}

// -----

module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<4xf32>) -> tensor<1xi1> {
  %b = "onnx.Abs"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{can't be written with ONNX's operators: what it changes in place is no input of the graph}}
  %ok = onnx.Custom "com.microsoft" "InPlaceAccumulatorV2"(%b, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<1xi1>
  return %ok : tensor<1xi1>
}
}

// -----

module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<4x5xf32>, %l: tensor<4xi64>, %i: tensor<i64>) -> tensor<f32> {
  // expected-error @+1 {{can't be written with ONNX's operators: the label that it ignores is no constant}}
  %loss = onnx.Custom "com.microsoft" "SoftmaxCrossEntropyLossInternal"(%x, %l, %i) : (tensor<4x5xf32>, tensor<4xi64>, tensor<i64>) -> tensor<f32> {onnx.absent_inputs = array<i64: 2>}
  return %loss : tensor<f32>
}
}

// -----

module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "onnx.If"(%c) ({
    onnx.Yield %x : tensor<4xf32>
  }, {
    // expected-error @+1 {{is in a subgraph or function; operators of ONNX Runtime are rewritten in the main graph only}}
    %dx = onnx.Custom "com.microsoft" "ReluGrad"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %dx : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
}

// -----

module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%dy: tensor<f32>, %logp: tensor<4x5xf32>, %l: tensor<4xi64>, %bias: tensor<4x5xf32>) -> tensor<4x5xf32> {
  // expected-error @+1 {{can't be written with ONNX's operators: it adds another gradient to its own}}
  %dx = onnx.Custom "com.microsoft" "SoftmaxCrossEntropyLossGrad"(%dy, %logp, %l, %bias) : (tensor<f32>, tensor<4x5xf32>, tensor<4xi64>, tensor<4x5xf32>) -> tensor<4x5xf32> {onnx.absent_inputs = array<i64: 3>}
  return %dx : tensor<4x5xf32>
}
}

// -----

module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<4x5xf32>, %s: tensor<5xf32>) -> (tensor<4x5xf32>, tensor<i64>) {
  // expected-error @+1 {{has an output that ONNX's operators do not give}}
  %y, %z = onnx.Custom "com.microsoft" "Gelu"(%x) : (tensor<4x5xf32>) -> (tensor<4x5xf32>, tensor<i64>)
  return %y, %z : tensor<4x5xf32>, tensor<i64>
}
}
