// What the schemas of the module's opset do not admit.
// RUN: amp-opt %s -split-input-file -verify-diagnostics

module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}]}} {
  func.func @count(%x: tensor<2xf32>) {
    // expected-error@+1 {{node 'm' (Sum, opset 17) expects at least 1 inputs, but got 0}}
    %0 = "onnx.Sum"() {onnx.name = "m"} : () -> tensor<2xf32>
    return
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 12 : i64}]}} {
  func.func @opset(%x: tensor<2xf32>) {
    // expected-error@+1 {{node that makes 'y' (Gelu, opset 12) has an operator that does not exist at opset 12}}
    %0 = "onnx.Gelu"(%x) {onnx.outputs = ["y"]} : (tensor<2xf32>) -> tensor<2xf32>
    return
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}]}} {
  func.func @domain(%x: tensor<2xf32>) {
    // expected-error@+1 {{node (ai.onnx.ml.Normalizer) needs an opset import of domain 'ai.onnx.ml'}}
    %0 = "onnx.ml.Normalizer"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    return
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 10 : i64}]}} {
  func.func @deprecated(%x: tensor<1x1x2x2xf32>, %s: tensor<4xf32>) {
    // expected-error@+1 {{node (Upsample, opset 10) has an operator that is deprecated since opset 10}}
    %0 = "onnx.Upsample"(%x, %s) : (tensor<1x1x2x2xf32>, tensor<4xf32>) -> tensor<*xf32>
    return
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}]}} {
  func.func @attribute(%x: tensor<2xf32>) {
    // expected-error@+1 {{node (Relu, opset 17) has no attribute 'alpha'}}
    %0 = "onnx.Relu"(%x) {alpha = 1.0 : f32} : (tensor<2xf32>) -> tensor<2xf32>
    return
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}]}} {
  func.func @required(%x: tensor<2xf32>) {
    // expected-error@+1 {{node (Cast, opset 17) lacks the required attribute 'to'}}
    %0 = "onnx.Cast"(%x) : (tensor<2xf32>) -> tensor<2xf16>
    return
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 13 : i64}]}} {
  func.func @kind(%x: tensor<2xf32>) {
    // An attribute that became an input is discardable, and has its type still.
    // expected-error@+1 {{node (Unsqueeze, opset 13) has no attribute 'axes'}}
    %0 = "onnx.Unsqueeze"(%x, %x) {axes = array<i64: 0>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
    return
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}]}} {
  func.func @element(%x: tensor<2xi64>) {
    // expected-error@+1 {{node (Sigmoid, opset 17) does not admit type 'tensor<2xi64>' for 'X'}}
    %0 = "onnx.Sigmoid"(%x) : (tensor<2xi64>) -> tensor<2xi64>
    return
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}]}} {
  func.func @bfloat16_before_it_was_there(%x: tensor<1x1x2x2xbf16>) {
    // expected-error@+1 {{node (Conv, opset 17) does not admit type 'tensor<1x1x2x2xbf16>' for 'X'}}
    %0 = "onnx.Conv"(%x, %x) : (tensor<1x1x2x2xbf16>, tensor<1x1x2x2xbf16>) -> tensor<*xbf16>
    return
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}]}} {
  func.func @variable(%x: tensor<2xf32>, %y: tensor<2xf16>) {
    // expected-error@+1 {{node (Add, opset 17) expects 'B' to have element type 'f32', but got 'f16': some tool converted one of the two and not the other; convert the original model instead}}
    %0 = "onnx.Add"(%x, %y) : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
    return
  }
}

// -----

// expected-error@+1 {{expects a tensor of static shape, but got 'f32'}}
func.func private @tensor() attributes {x = #onnx.tensor<1.0 : f32>}

// -----

// expected-error@+1 {{expects a name for each of 2 dimensions, but got 1}}
func.func private @dims(tensor<?x?xf32, #onnx.dims<"N">>)

// -----

func.func @initializer() {
  // expected-error@+1 {{'onnx.Initializer' op expects a result of type 'tensor<2xf32>', but got 'tensor<2xf16>'}}
  %w = onnx.Initializer <dense<1.0> : tensor<2xf32>> : tensor<2xf16>
  return
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}]}} {
  func.func @constant() {
    // expected-error@+1 {{node (Constant, opset 17) expects its value in one attribute, but got 0 of them}}
    %0 = "onnx.Constant"() : () -> tensor<f32>
    return
  }
}
