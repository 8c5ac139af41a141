// RUN: amp-opt %s --onnx-expand-optimizers --split-input-file --verify-diagnostics

module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}, {domain = "ai.onnx.preview.training", version = 1 : i64}]}} {
  func.func @main(%r: tensor<f32>, %t: tensor<i64>, %x: tensor<2xf32>) -> tensor<2xf32> attributes {onnx.graph = {name = "g"}} {
    // expected-error@+1 {{node that makes 'x1' (ai.onnx.preview.training.Adagrad, opset 1) expects opset 18 or later of ai.onnx, but the model imports 17}}
    %x1, %h1 = "onnx.preview.training.Adagrad"(%r, %t, %x, %x, %x) {onnx.outputs = ["x1", "h1"]} : (tensor<f32>, tensor<i64>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    return %x1 : tensor<2xf32>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}, {domain = "ai.onnx.preview.training", version = 1 : i64}]}} {
  func.func @main(%r: tensor<f32>, %t: tensor<i64>, %x: tensor<2xf32>) -> tensor<2xf32> attributes {onnx.graph = {name = "g"}} {
    // expected-error@+1 {{node that makes 'x1' (ai.onnx.preview.training.Adam, opset 1) expects inputs by 4 behind R and T, but got 3}}
    %x1, %h1 = "onnx.preview.training.Adam"(%r, %t, %x, %x, %x) {onnx.outputs = ["x1", "h1"]} : (tensor<f32>, tensor<i64>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    return %x1 : tensor<2xf32>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}, {domain = "ai.onnx.preview.training", version = 1 : i64}]}} {
  func.func @main(%r: tensor<f32>, %t: tensor<i64>, %x: tensor<2xf32>) -> tensor<2xf32> attributes {onnx.graph = {name = "g"}} {
    // expected-error@+1 {{node that makes 'x1' (ai.onnx.preview.training.Adagrad, opset 1) expects at most 2 outputs}}
    %x1, %h1, %i1 = "onnx.preview.training.Adagrad"(%r, %t, %x, %x, %x) {onnx.outputs = ["x1", "h1", "i1"]} : (tensor<f32>, tensor<i64>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
    return %x1 : tensor<2xf32>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}, {domain = "ai.onnx.preview.training", version = 1 : i64}]}} {
  func.func @main(%r: tensor<f32>, %t: tensor<i64>, %x: !onnx.unknown) -> !onnx.unknown attributes {onnx.graph = {name = "g"}} {
    // expected-error@+1 {{node that makes 'x1' (ai.onnx.preview.training.Adagrad, opset 1) expects tensors, but got '!onnx.unknown'}}
    %x1, %h1 = "onnx.preview.training.Adagrad"(%r, %t, %x, %x, %x) {onnx.outputs = ["x1", "h1"]} : (tensor<f32>, tensor<i64>, !onnx.unknown, !onnx.unknown, !onnx.unknown) -> (!onnx.unknown, !onnx.unknown)
    return %x1 : !onnx.unknown
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}, {domain = "ai.onnx.preview.training", version = 1 : i64}]}} {
  func.func @main(%r: tensor<f32>, %t: tensor<i64>, %x: tensor<2xf32>, %g: tensor<3xf32>) -> tensor<2xf32> attributes {onnx.graph = {name = "g"}} {
    // expected-error@+1 {{node that makes 'x1' (ai.onnx.preview.training.Adagrad, opset 1) expects tensors of one type for each that it optimizes, but got 'tensor<2xf32>' and 'tensor<3xf32>'}}
    %x1, %h1 = "onnx.preview.training.Adagrad"(%r, %t, %x, %g, %x) {onnx.outputs = ["x1", "h1"]} : (tensor<f32>, tensor<i64>, tensor<2xf32>, tensor<3xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    return %x1 : tensor<2xf32>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}, {domain = "ai.onnx.preview.training", version = 1 : i64}]}} {
  func.func @main(%r: tensor<f32>, %t: tensor<2xi64>, %x: tensor<2xf32>) -> tensor<2xf32> attributes {onnx.graph = {name = "g"}} {
    // expected-error@+1 {{node that makes 'x1' (ai.onnx.preview.training.Adagrad, opset 1) expects a float and an int64 for R and T, but got 'tensor<f32>' and 'tensor<2xi64>'}}
    %x1, %h1 = "onnx.preview.training.Adagrad"(%r, %t, %x, %x, %x) {onnx.outputs = ["x1", "h1"]} : (tensor<f32>, tensor<2xi64>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    return %x1 : tensor<2xf32>
  }
}
