// RUN: split-file %s %t
// RUN: not amp-opt %t/model.mlir --amp-recompute 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not amp-opt %t/model.mlir --amp-recompute="auto nodes=a" 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not amp-opt %t/model.mlir --amp-recompute="nodes=(" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not amp-opt %t/model.mlir --amp-recompute="nodes=relu" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not amp-opt %t/model.mlir --amp-recompute="nodes=noise" 2>&1 | FileCheck %s --check-prefix=RANDOM
// RUN: not amp-opt %t/model.mlir --amp-recompute="nodes=size" 2>&1 | FileCheck %s --check-prefix=SHAPES
// RUN: not amp-opt %t/model.mlir --amp-recompute="nodes=list" 2>&1 | FileCheck %s --check-prefix=SEQUENCE
// RUN: not amp-opt %t/model.mlir --amp-recompute="budget=much" 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: not amp-opt %t/model.mlir --amp-recompute="budget=8" 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not amp-opt %t/model.mlir --amp-recompute="auto dim=N" 2>&1 | FileCheck %s --check-prefix=DIM
// RUN: not amp-opt %t/model.mlir --amp-recompute="auto loss=los" 2>&1 | FileCheck %s --check-prefix=LOSS
// RUN: not amp-opt %t/plain.mlir --amp-recompute=auto 2>&1 | FileCheck %s --check-prefix=PLAIN
// RUN: not amp-opt %t/empty.mlir --amp-recompute=auto 2>&1 | FileCheck %s --check-prefix=EMPTY

// ONE: error: expects one of 'auto', 'budget' and 'nodes'
// REGEX: error: nodes: expects a regular expression, but got '(': parentheses not balanced
// UNKNOWN: error: nodes: no node of the forward part has a name that matches 'relu'
// RANDOM: error: nodes: node 'noise' (RandomNormalLike, opset 18) can't be computed again: it may give something else then
// SHAPES: error: nodes: node 'size' (Shape, opset 18) can't be computed again: shapes are kept
// SEQUENCE: error: nodes: node 'list' (SequenceConstruct, opset 18) can't be computed again: its values are not all tensors
// BYTES: error: budget: expects a number of bytes, as in 1048576, 100MB or 1.5GiB, but got 'much'
// BUDGET: error: budget: at least {{[0-9]+}} B of activations are needed at a time, more than 8 B
// DIM: error: dim: expects a dimension as NAME=SIZE with a size of 1 or more, but got 'N'
// LOSS: error: loss: no value is named 'los'; did you mean 'loss'?
// PLAIN: error: has no gradients among its outputs: amp-differentiate goes before
// EMPTY: error: has no main graph to recompute in

//--- model.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<3xf32>) -> (tensor<f32>, tensor<1xi64>, !onnx.sequence<tensor<3xf32>>, tensor<3xf32>)
    attributes {onnx.graph = {name = "g", input = [{name = "x"}],
      output = [{name = "loss"}, {name = "sizes"}, {name = "all"}, {name = "x_grad"}]}} {
  %n = "onnx.RandomNormalLike"(%x) {onnx.name = "noise"} : (tensor<3xf32>) -> tensor<3xf32>
  %y = "onnx.Add"(%x, %n) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %s = "onnx.Shape"(%y) {onnx.name = "size"} : (tensor<3xf32>) -> tensor<1xi64>
  %l = "onnx.SequenceConstruct"(%y) {onnx.name = "list"} : (tensor<3xf32>) -> !onnx.sequence<tensor<3xf32>>
  %e = "onnx.Exp"(%y) : (tensor<3xf32>) -> tensor<3xf32>
  %loss = "onnx.ReduceSum"(%e) <{keepdims = 0 : i64}> : (tensor<3xf32>) -> tensor<f32>
  %dx = "onnx.Mul"(%e, %e) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %loss, %s, %l, %dx : tensor<f32>, tensor<1xi64>, !onnx.sequence<tensor<3xf32>>, tensor<3xf32>
}
}

//--- plain.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<f32>) -> tensor<f32>
    attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "z_grad"}]}} {
  %y = "onnx.Exp"(%x) {onnx.outputs = ["y"]} : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
}

//--- empty.mlir
module {
}
