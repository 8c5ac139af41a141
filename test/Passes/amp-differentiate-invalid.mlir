// RUN: split-file %s %t
// RUN: not amp-opt %t/model.mlir --amp-differentiate="loss=loss" 2>&1 | FileCheck %s --check-prefix=NO-WRT
// RUN: not amp-opt %t/model.mlir --amp-differentiate="wrt=w" 2>&1 | FileCheck %s --check-prefix=NO-LOSS
// RUN: not amp-opt %t/model.mlir --amp-differentiate="loss=losss wrt=weights" 2>&1 | FileCheck %s --check-prefix=NEAREST
// RUN: not amp-opt %t/model.mlir --amp-differentiate="loss=loss wrt=zebra" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not amp-opt %t/model.mlir --amp-differentiate="loss=y wrt=weight" 2>&1 | FileCheck %s --check-prefix=NO-SCALAR
// RUN: not amp-opt %t/model.mlir --amp-differentiate="loss=loss wrt=k" 2>&1 | FileCheck %s --check-prefix=INTEGERS
// RUN: not amp-opt %t/model.mlir --amp-differentiate="loss=loss wrt=unused" 2>&1 | FileCheck %s --check-prefix=NO-PATH
// RUN: not amp-opt %t/model.mlir --amp-differentiate="loss=loss wrt=weight,weight" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not amp-opt %t/model.mlir --amp-differentiate="loss=loss wrt=taken" 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: not amp-opt %t/model.mlir --amp-differentiate="loss=volume wrt=y" 2>&1 | FileCheck %s --check-prefix=NO-RULE
// RUN: not amp-opt %t/model.mlir --amp-differentiate="loss=contrib wrt=y" 2>&1 | FileCheck %s --check-prefix=CONTRIB
// RUN: not amp-opt %t/old.mlir --amp-differentiate="loss=loss wrt=x" 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not amp-opt %t/empty.mlir --amp-differentiate="loss=loss wrt=x" 2>&1 | FileCheck %s --check-prefix=EMPTY

// NO-WRT: error: expected 'wrt', names of values
// NO-LOSS: error: expected 'loss', names of values
// NEAREST: error: loss: no value is named 'losss'; did you mean 'loss'?
// UNKNOWN: error: wrt: no value is named 'zebra'{{$}}
// NO-SCALAR: error: loss: 'y' expects a scalar, but it is 'tensor<3x3xf32>'
// INTEGERS: error: wrt: 'k' expects a tensor of floats, but it is 'tensor<1xi64>'
// NO-PATH: error: wrt: no differentiable path leads from 'unused' to the loss
// TWICE: error: wrt: 'weight' is named twice
// TAKEN: error: wrt: the gradient of 'taken' would be named 'taken_grad', as another value is
// NO-RULE: error: node 'd' (Det, opset 18) has no gradient rule here
// CONTRIB: error: node 'c' has no gradient: its operator is not one of ONNX
// OLD: error: expects opset 18 or later of ai.onnx, but the model imports 17
// EMPTY: error: has no main graph to differentiate

//--- model.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}, {domain = "com.microsoft", version = 1 : i64}]}} {
func.func @main(%x: tensor<3x3xf32>, %w: tensor<3xf32>, %k: tensor<1xi64>, %u: tensor<f32>, %t: tensor<3xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
    attributes {onnx.graph = {name = "g",
      input = [{name = "x"}, {name = "weight"}, {name = "k"}, {name = "unused"}, {name = "taken"}],
      output = [{name = "loss"}, {name = "volume"}, {name = "contrib"}]}} {
  %s = "onnx.Mul"(%x, %w) {onnx.outputs = ["taken_grad"]} : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
  %y = "onnx.Mul"(%s, %t) {onnx.outputs = ["y"]} : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
  %loss = "onnx.ReduceSum"(%y) <{keepdims = 0 : i64}> : (tensor<3x3xf32>) -> tensor<f32>
  %d = "onnx.Det"(%y) {onnx.name = "d"} : (tensor<3x3xf32>) -> tensor<f32>
  %c = onnx.Custom "com.microsoft" "Gauge"(%y) : (tensor<3x3xf32>) -> tensor<f32> {onnx.name = "c"}
  return %loss, %d, %c : tensor<f32>, tensor<f32>, tensor<f32>
}
}

//--- old.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}]}} {
func.func @main(%x: tensor<3xf32>) -> tensor<f32>
    attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "loss"}]}} {
  %loss = "onnx.ReduceSum"(%x) <{keepdims = 0 : i64}> : (tensor<3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
}

//--- empty.mlir
module {
}
