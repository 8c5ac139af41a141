// RUN: amp-opt %s --split-input-file --verify-diagnostics "--amp-differentiate=loss=loss wrt=w"

// Each function calls the next one twice.
module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}]}} {
  // expected-error @below {{calls functions that call others, more than 64 deep: there is no gradient then}}
  func.func @main(%w: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "w"}], output = [{name = "loss"}]}} {
    %loss = onnx.Call @"local::f"(%w) : (tensor<f32>) -> tensor<f32> {onnx.outputs = ["loss"]}
    return %loss : tensor<f32>
  }
  func.func private @"local::f"(%a: tensor<f32>) -> tensor<f32> attributes {onnx.function = {domain = "local", input = ["a"], name = "f", opset_import = [{domain = "", version = 21 : i64}], output = ["b"]}} {
    %b = onnx.Call @"local::f"(%a) : (tensor<f32>) -> tensor<f32>
    return %b : tensor<f32>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}]}} {
  func.func @main(%w: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "w"}], output = [{name = "loss"}]}} {
    %loss = onnx.Call @"local::f"(%w) : (tensor<f32>) -> tensor<f32> {onnx.outputs = ["loss"]}
    return %loss : tensor<f32>
  }
  func.func private @"local::f"(%a: tensor<f32>) -> tensor<f32> attributes {onnx.function = {domain = "local", input = ["a"], name = "f", opset_import = [{domain = "", version = 21 : i64}], output = ["b"]}} {
    // expected-error @below {{makes local functions too big: their calls expand to more than a million nodes}}
    %b = onnx.Call @"local::f"(%a) : (tensor<f32>) -> tensor<f32>
    %c = onnx.Call @"local::f"(%b) : (tensor<f32>) -> tensor<f32>
    return %c : tensor<f32>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}]}} {
  func.func @main(%w: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "w"}], output = [{name = "loss"}]}} {
    // expected-error @below {{calls a function of opset 18 from one of 21: inlining it takes one opset for both}}
    %loss = onnx.Call @"local::f"(%w) : (tensor<f32>) -> tensor<f32> {onnx.outputs = ["loss"]}
    return %loss : tensor<f32>
  }
  func.func private @"local::f"(%a: tensor<f32>) -> tensor<f32> attributes {onnx.function = {domain = "local", input = ["a"], name = "f", opset_import = [{domain = "", version = 18 : i64}], output = ["b"]}} {
    return %a : tensor<f32>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}, {domain = "other", version = 1 : i64}]}} {
  func.func @main(%w: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "w"}], output = [{name = "loss"}]}} {
    // expected-error @below {{has no gradient: its operator is not one of ONNX}}
    %loss = onnx.Custom "other" "F"(%w) : (tensor<f32>) -> tensor<f32> {onnx.outputs = ["loss"]}
    return %loss : tensor<f32>
  }
}

// -----

// A tensor that grows can't be stacked.
module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}]}} {
  func.func @main(%w: tensor<2xf32>, %n: tensor<i64>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "w"}, {name = "n"}], output = [{name = "loss"}]}} {
    %yes = "onnx.Constant"() <{value = #onnx.tensor<dense<true> : tensor<i1>>}> : () -> tensor<i1>
    // expected-error @below {{has no gradient where a value that it needs has another shape in the next iteration: that can't be stacked}}
    %y = "onnx.Loop"(%n, %yes, %w) <{operandSegmentSizes = array<i32: 1, 1, 1>}> ({
    ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<*xf32>):
      %t = "onnx.Mul"(%v, %v) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
      %ones = "onnx.Constant"() <{value = #onnx.tensor<dense<1.0> : tensor<2x1xf32>>}> : () -> tensor<2x1xf32>
      %u = "onnx.Add"(%t, %ones) : (tensor<*xf32>, tensor<2x1xf32>) -> tensor<*xf32>
      onnx.Yield %go, %u : tensor<i1>, tensor<*xf32>
    }) : (tensor<i64>, tensor<i1>, tensor<2xf32>) -> tensor<*xf32>
    %loss = "onnx.ReduceSum"(%y) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<*xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// Nodes that give something else when they run again, in what would have to.
module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}]}} {
  func.func @main(%w: tensor<2xf32>, %n: tensor<i64>, %m: tensor<i64>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "w"}, {name = "n"}, {name = "m"}], output = [{name = "loss"}]}} {
    %yes = "onnx.Constant"() <{value = #onnx.tensor<dense<true> : tensor<i1>>}> : () -> tensor<i1>
    // expected-error @below {{has no gradient where its body has node 'r' (RandomNormal, opset 21) in a subgraph: it would have to run twice, alike}}
    %y = "onnx.Loop"(%n, %yes, %w) <{operandSegmentSizes = array<i32: 1, 1, 1>}> ({
    ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<2xf32>):
      %u = "onnx.Loop"(%m, %go, %v) <{operandSegmentSizes = array<i32: 1, 1, 1>}> ({
      ^bb1(%j: tensor<i64>, %go2: tensor<i1>, %v2: tensor<2xf32>):
        %r = "onnx.RandomNormal"() <{shape = array<i64: 2>}> {onnx.name = "r"} : () -> tensor<2xf32>
        %u2 = "onnx.Mul"(%v2, %r) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        onnx.Yield %go2, %u2 : tensor<i1>, tensor<2xf32>
      }) : (tensor<i64>, tensor<i1>, tensor<2xf32>) -> tensor<2xf32>
      onnx.Yield %go, %u : tensor<i1>, tensor<2xf32>
    }) : (tensor<i64>, tensor<i1>, tensor<2xf32>) -> tensor<2xf32>
    %loss = "onnx.ReduceSum"(%y) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<2xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}]}} {
  func.func @main(%w: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "w"}], output = [{name = "loss"}]}} {
    // expected-error @below {{leaves out input 1 of its function, which reads it}}
    %loss = onnx.Call @"local::f"(%w) : (tensor<f32>) -> tensor<f32> {onnx.outputs = ["loss"]}
    return %loss : tensor<f32>
  }
  func.func private @"local::f"(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> attributes {onnx.function = {domain = "local", input = ["a", "b"], name = "f", opset_import = [{domain = "", version = 21 : i64}], output = ["c"]}} {
    %c = "onnx.Mul"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %c : tensor<f32>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}]}} {
  func.func @main(%w: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "w"}], output = [{name = "loss"}]}} {
    // expected-error @below {{expects at most 1 outputs of its function}}
    %loss:2 = onnx.Call @"local::f"(%w) : (tensor<f32>) -> (tensor<f32>, tensor<f32>) {onnx.outputs = ["loss", "more"]}
    return %loss#0 : tensor<f32>
  }
  func.func private @"local::f"(%a: tensor<f32>) -> tensor<f32> attributes {onnx.function = {domain = "local", input = ["a"], name = "f", opset_import = [{domain = "", version = 21 : i64}], output = ["b"]}} {
    return %a : tensor<f32>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}]}} {
  func.func @main(%x: tensor<4x3x2xf32>, %w: tensor<1x2x2xf32>, %r: tensor<1x2x2xf32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "w"}, {name = "r"}], output = [{name = "loss"}]}} {
    // expected-error @below {{has no gradient with 2 activations where 1 are expected}}
    %y = "onnx.RNN"(%x, %w, %r) <{activations = ["Tanh", "Relu"], hidden_size = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0>}> : (tensor<4x3x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> tensor<4x1x3x2xf32>
    %loss = "onnx.ReduceSum"(%y) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<4x1x3x2xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}]}} {
  func.func @main(%x: tensor<4x3x2xf32>, %w: tensor<1x2x2xf32>, %r: tensor<*xf32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "w"}, {name = "r"}], output = [{name = "loss"}]}} {
    // expected-error @below {{has no gradient without attribute 'hidden_size'}}
    %y = "onnx.RNN"(%x, %w, %r) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0>}> : (tensor<4x3x2xf32>, tensor<1x2x2xf32>, tensor<*xf32>) -> tensor<4x1x3x2xf32>
    %loss = "onnx.ReduceSum"(%y) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<4x1x3x2xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}]}} {
  func.func @main(%w: tensor<*xf32>, %h: tensor<2xf32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "w"}, {name = "h"}], output = [{name = "loss"}]}} {
    // expected-error @below {{has no gradient where the rank of a scanned input is not known: declare its shape}}
    %y = "onnx.Scan"(%h, %w) <{num_scan_inputs = 1 : i64, scan_input_axes = array<i64: 1>}> ({
    ^bb0(%v: tensor<2xf32>, %e: tensor<2xf32>):
      %u = "onnx.Mul"(%v, %e) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      onnx.Yield %u : tensor<2xf32>
    }) : (tensor<2xf32>, tensor<*xf32>) -> tensor<2xf32>
    %loss = "onnx.ReduceSum"(%y) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<2xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// What a Scan stacks has a rank.
module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}]}} {
  func.func @main(%w: tensor<f32>, %x: tensor<*xf32>, %s: tensor<3xf32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "w"}, {name = "x"}, {name = "s"}], output = [{name = "loss"}]}} {
    // expected-error @below {{has no gradient where the rank of a value that its body makes is not known: declare the shapes of the model's inputs}}
    %loss, %stack = "onnx.Scan"(%w, %s) <{num_scan_inputs = 1 : i64}> ({
    ^bb0(%v: tensor<f32>, %e: tensor<f32>):
      %a = "onnx.Mul"(%v, %x) : (tensor<f32>, tensor<*xf32>) -> tensor<*xf32>
      %t = "onnx.Tanh"(%a) : (tensor<*xf32>) -> tensor<*xf32>
      %r = "onnx.ReduceSum"(%t) <{keepdims = 0 : i64}> : (tensor<*xf32>) -> tensor<f32>
      onnx.Yield %r, %e : tensor<f32>, tensor<f32>
    }) {onnx.outputs = ["loss", "stack"]} : (tensor<f32>, tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
