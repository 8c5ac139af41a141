// RUN: split-file %s %t
// RUN: amp-opt %t/dead.mlir --amp-finish-step | FileCheck %s
// RUN: not amp-opt %t/inputs.mlir --amp-finish-step 2>&1 | FileCheck %s --check-prefix=INPUTS
// RUN: not amp-opt %t/outputs.mlir --amp-finish-step 2>&1 | FileCheck %s --check-prefix=OUTPUTS
// RUN: not amp-opt %t/both.mlir --amp-finish-step 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: echo 'module {}' | not amp-opt --amp-finish-step 2>&1 | FileCheck %s --check-prefix=EMPTY

// CHECK: ir_version = 4 : i64
// CHECK-NOT: onnx.Exp
// CHECK: onnx.Relu
// CHECK-NOT: onnx.Exp

// INPUTS: error: an input of the step would be named 'w.exp_avg', as another one is
// OUTPUTS: error: an output of the step would be named 'w_next', as another one is
// BOTH: error: an output of the step would be named 'w_next', as another one is
// EMPTY: error: has no main graph to train

//--- dead.mlir
module attributes {onnx.model = {ir_version = 3 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "x"}]}} {
  %dead = "onnx.Exp"(%x) : (tensor<f32>) -> tensor<f32>
  %named = "onnx.Relu"(%x) {onnx.outputs = ["named"]} : (tensor<f32>) -> tensor<f32>
  return %x : tensor<f32>
}
}

//--- inputs.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {name = "g",
    input = [{name = "w.exp_avg"}, {name = "w.exp_avg"}], output = [{name = "z"}]}} {
  return %x : tensor<f32>
}
}

//--- outputs.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) attributes {onnx.graph = {name = "g",
    input = [{name = "x"}, {name = "y"}], output = [{name = "w_next"}, {name = "w_next"}]}} {
  return %x, %y : tensor<f32>, tensor<f32>
}
}

//--- both.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) attributes {onnx.graph = {name = "g",
    input = [{name = "x"}, {name = "w_next"}], output = [{name = "x"}, {name = "w_next"}]}} {
  return %x, %x : tensor<f32>, tensor<f32>
}
}
