// RUN: amp-opt %s --onnx-flatten-training --split-input-file --verify-diagnostics | FileCheck %s

// The example of the pass's description, with state of both graphs.

// CHECK-LABEL: module
// CHECK-SAME: metadata_props = [{key = "amp.state", value = "[{\22input\22:\22w\22,\22output\22:\22w1\22},{\22input\22:\22count\22,\22output\22:\22count1\22}]"}]
// CHECK-NOT: training =
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}], training = [{update_binding = [{key = "w", value = "w1"}, {key = "count", value = "count1"}]}]}} {
  // CHECK: func.func @main(%[[X:[^:]+]]: tensor<2xf32>, %[[W:[^:]+]]: tensor<2xf32>, %[[R:[^:]+]]: tensor<f32>, %[[COUNT:[^:]+]]: tensor<i64>)
  // CHECK-SAME: input = [{name = "x"}, {name = "w"}, {name = "rate"}, {name = "count"}]
  // CHECK-SAME: output = [{name = "y"}, {name = "w1"}, {name = "count1"}]
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "y"}]}} {
    // CHECK-DAG: onnx.DefaultInput %[[W]], <dense<1.000000e+00> : tensor<2xf32>>
    // CHECK-DAG: onnx.DefaultInput %[[COUNT]], <dense<0> : tensor<i64>>
    %w = onnx.Initializer <dense<1.0> : tensor<2xf32>> : tensor<2xf32> {onnx.outputs = ["w"]}
    // CHECK: %[[Y:.+]] = "onnx.Mul"(%[[X]], %[[W]])
    %y = "onnx.Mul"(%x, %w) {onnx.outputs = ["y"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %y : tensor<2xf32>
  }
  // CHECK: %[[MOVE:.+]] = "onnx.Mul"(%[[R]], %[[Y]])
  // CHECK: %[[W1:.+]] = "onnx.Sub"(%[[W]], %[[MOVE]])
  // CHECK: %[[COUNT1:.+]] = "onnx.Add"(%[[COUNT]],
  // CHECK: return %[[Y]], %[[W1]], %[[COUNT1]]
  // CHECK-NOT: func
  func.func private @training.0.algorithm(%rate: tensor<f32>) -> (tensor<2xf32>, tensor<i64>) attributes {onnx.graph = {name = "a", input = [{name = "rate"}], output = [{name = "w1"}, {name = "count1"}]}, onnx.training = {index = 0 : i64, role = "algorithm"}} {
    %w = onnx.Reference "w" : tensor<2xf32> {onnx.outputs = ["w"]}
    %y = onnx.Reference "y" : tensor<2xf32> {onnx.outputs = ["y"]}
    %count = onnx.Initializer <dense<0> : tensor<i64>> : tensor<i64> {onnx.outputs = ["count"]}
    %one = onnx.Initializer <dense<1> : tensor<i64>> : tensor<i64> {onnx.outputs = ["one"]}
    %move = "onnx.Mul"(%rate, %y) {onnx.outputs = ["move"]} : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
    %w1 = "onnx.Sub"(%w, %move) {onnx.outputs = ["w1"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %count1 = "onnx.Add"(%count, %one) {onnx.outputs = ["count1"]} : (tensor<i64>, tensor<i64>) -> tensor<i64>
    return %w1, %count1 : tensor<2xf32>, tensor<i64>
  }
}

// -----

// The second algorithm reads what the first one updated, and what the model
// makes of that.

// CHECK-LABEL: module
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}], training = [{update_binding = [{key = "w", value = "new"}]}, {update_binding = [{key = "v", value = "y"}]}]}} {
  // CHECK: func.func @main(%[[X:[^:]+]]: tensor<2xf32>, %[[W:[^:]+]]: tensor<2xf32>, %[[V:[^:]+]]: tensor<2xf32>)
  // CHECK-SAME: output = [{name = "y"}, {name = "new"}, {name = "seen"}, {name = "v_next"}]
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "y"}]}} {
    %w = onnx.Initializer <dense<1.0> : tensor<2xf32>> : tensor<2xf32> {onnx.outputs = ["w"]}
    %v = onnx.Initializer <dense<2.0> : tensor<2xf32>> : tensor<2xf32> {onnx.outputs = ["v"]}
    %y = "onnx.Mul"(%x, %w) {onnx.outputs = ["y"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %y : tensor<2xf32>
  }
  func.func private @training.0.algorithm() -> tensor<2xf32> attributes {onnx.graph = {name = "a", output = [{name = "new"}]}, onnx.training = {index = 0 : i64, role = "algorithm"}} {
    %w = onnx.Reference "w" : tensor<2xf32> {onnx.outputs = ["w"]}
    %y = onnx.Reference "y" : tensor<2xf32> {onnx.outputs = ["y"]}
    %new = "onnx.Sub"(%w, %y) {onnx.outputs = ["new"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %new : tensor<2xf32>
  }
  // CHECK: %[[Y:.+]] = "onnx.Mul"(%[[X]], %[[W]])
  // CHECK: %[[NEW:.+]] = "onnx.Sub"(%[[W]], %[[Y]])
  // CHECK-NOT: "onnx.Sub"(%[[W]], %[[V]])
  // CHECK: %[[Y1:.+]] = "onnx.Mul"(%[[X]], %[[NEW]])
  // CHECK: %[[SEEN:.+]] = "onnx.Sub"(%[[NEW]], %[[V]]) {onnx.outputs = ["seen"]}
  // CHECK: return %[[Y]], %[[NEW]], %[[SEEN]], %[[Y1]]
  func.func private @training.1.algorithm() -> tensor<2xf32> attributes {onnx.graph = {name = "b", output = [{name = "seen"}]}, onnx.training = {index = 1 : i64, role = "algorithm"}} {
    %w = onnx.Reference "w" : tensor<2xf32> {onnx.outputs = ["w"]}
    %v = onnx.Reference "v" : tensor<2xf32> {onnx.outputs = ["v"]}
    %seen = "onnx.Sub"(%w, %v) {onnx.outputs = ["seen"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %seen : tensor<2xf32>
  }
}

// -----

// expected-error@+1 {{has no training_info to make a step of}}
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "x"}]}} {
    return %x : tensor<2xf32>
  }
}

// -----

// expected-error@+1 {{has no main graph to train}}
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}], training = [{}]}} {
}

// -----

// expected-error@+1 {{training_info 0: the algorithm reads 'q', which the main graph does not define}}
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}], training = [{}]}} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "x"}]}} {
    return %x : tensor<2xf32>
  }
  func.func private @training.0.algorithm() -> tensor<2xf32> attributes {onnx.graph = {name = "a", output = [{name = "q"}]}, onnx.training = {index = 0 : i64, role = "algorithm"}} {
    %q = onnx.Reference "q" : tensor<2xf32> {onnx.outputs = ["q"]}
    return %q : tensor<2xf32>
  }
}

// -----

// expected-error@+1 {{training_info 0: expects a name for each input and output of "training.0.algorithm"}}
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}], training = [{}]}} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "x"}]}} {
    return %x : tensor<2xf32>
  }
  func.func private @training.0.algorithm(%t: tensor<2xf32>) -> tensor<2xf32> attributes {onnx.graph = {name = "a", output = [{name = "q"}]}, onnx.training = {index = 0 : i64, role = "algorithm"}} {
    return %t : tensor<2xf32>
  }
}

// -----

// expected-warning@+1 {{the initialization graphs of training_info are left out: the state begins as its initializers say}}
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}], training = [{initialization_binding = [{key = "w", value = "w0"}]}]}} {
  // CHECK: func.func @main(%{{.+}}: tensor<2xf32>, %{{.+}}: tensor<2xf32>)
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "y"}]}} {
    %w = onnx.Initializer <dense<1.0> : tensor<2xf32>> : tensor<2xf32> {onnx.outputs = ["w"]}
    %y = "onnx.Mul"(%x, %w) {onnx.outputs = ["y"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %y : tensor<2xf32>
  }
  func.func private @training.0.initialization() -> tensor<2xf32> attributes {onnx.graph = {name = "i", output = [{name = "w0"}]}, onnx.training = {index = 0 : i64, role = "initialization"}} {
    %w0 = "onnx.RandomNormal"() <{shape = array<i64: 2>}> {onnx.outputs = ["w0"]} : () -> tensor<2xf32>
    return %w0 : tensor<2xf32>
  }
}
