// RUN: split-file %s %t
// RUN: amp-opt %t/scores.mlir --amp-build-loss="output=y" | FileCheck %s --check-prefix=CE
// RUN: amp-opt %t/scores.mlir --amp-build-loss="loss=mse output=y" | FileCheck %s --check-prefix=MSE
// RUN: amp-opt %t/scores.mlir --amp-build-loss="loss=mse output=h" | FileCheck %s --check-prefix=HALF
// RUN: amp-opt %t/scores.mlir --amp-build-loss="loss=mse output=d" | FileCheck %s --check-prefix=DOUBLE
// RUN: amp-opt %t/scores.mlir --amp-build-loss="output=v" | FileCheck %s --check-prefix=VECTOR
// RUN: amp-opt %t/scores.mlir --amp-build-loss="loss=inner" | FileCheck %s --check-prefix=INNER
// RUN: amp-opt %t/scores.mlir --amp-build-loss="loss=one" | FileCheck %s --check-prefix=ONE
// RUN: not amp-opt %t/scores.mlir --amp-build-loss 2>&1 | FileCheck %s --check-prefix=SEVERAL
// RUN: not amp-opt %t/scores.mlir --amp-build-loss="output=yy" 2>&1 | FileCheck %s --check-prefix=NEAREST
// RUN: not amp-opt %t/scores.mlir --amp-build-loss="output=k" 2>&1 | FileCheck %s --check-prefix=INTEGERS
// RUN: not amp-opt %t/scores.mlir --amp-build-loss="output=zebra" 2>&1 | FileCheck %s --check-prefix=NO-OUTPUT
// RUN: not amp-opt %t/scalar.mlir --amp-build-loss 2>&1 | FileCheck %s --check-prefix=CLASSES
// RUN: not amp-opt %t/scores.mlir --amp-build-loss="output=u" 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not amp-opt %t/scores.mlir --amp-build-loss="loss=inter" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not amp-opt %t/scores.mlir --amp-build-loss="loss=v" 2>&1 | FileCheck %s --check-prefix=SCALAR
// RUN: not amp-opt %t/scores.mlir --amp-build-loss="loss=k" 2>&1 | FileCheck %s --check-prefix=INTEGER-LOSS
// RUN: not amp-opt %t/scores.mlir --amp-build-loss="loss=inner output=y" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not amp-opt %t/taken.mlir --amp-build-loss 2>&1 | FileCheck %s --check-prefix=INPUT-TAKEN
// RUN: not amp-opt %t/taken.mlir --amp-build-loss="loss=mse" 2>&1 | FileCheck %s --check-prefix=OUTPUT-TAKEN
// RUN: not amp-opt %t/none.mlir --amp-build-loss 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not amp-opt %t/old.mlir --amp-build-loss 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not amp-opt %t/empty.mlir --amp-build-loss 2>&1 | FileCheck %s --check-prefix=EMPTY

// Classes are dimension 1. Labels have the other dimensions, and their names.
// CE: func.func @main(%[[Y:[^:]*]]: tensor<?x10x4xf32, #onnx.dims<"N", "", "">>, {{.*}}, %[[LABELS:[^:]*]]: tensor<?x4xi64, #onnx.dims<"N", "">>)
// CE-SAME: {name = "labels"}
// CE-SAME: {name = "loss"}]
// CE: %[[LOSS:.*]] = "onnx.SoftmaxCrossEntropyLoss"(%[[Y]], %[[LABELS]]) <{ignore_index = -100 : i64, reduction = "mean"}> {onnx.name = "amp.loss/SoftmaxCrossEntropyLoss"} : {{.*}} -> tensor<f32>
// CE: return {{.*}}, %[[LOSS]]

// MSE: func.func @main(%[[Y:[^:]*]]: tensor<?x10x4xf32, #onnx.dims<"N", "", "">>, {{.*}}, %[[TARGETS:[^:]*]]: tensor<?x10x4xf32, #onnx.dims<"N", "", "">>)
// MSE-SAME: {name = "targets"}
// MSE: %[[D:.*]] = "onnx.Sub"(%[[Y]], %[[TARGETS]]) {onnx.name = "amp.loss/Sub"}
// MSE: %[[S:.*]] = "onnx.Mul"(%[[D]], %[[D]]) {onnx.name = "amp.loss/Mul"}
// MSE: "onnx.ReduceMean"(%[[S]]) <{keepdims = 0 : i64}> {onnx.name = "amp.loss/ReduceMean"} : {{.*}} -> tensor<f32>

// In float32 at least.
// HALF: "onnx.Cast"(%{{.*}}) <{to = 1 : i64}> {{.*}} : (tensor<4x4xf16>) -> tensor<4x4xf32>
// HALF: "onnx.Cast"(%{{.*}}) <{to = 1 : i64}> {{.*}} : (tensor<4x4xf16>) -> tensor<4x4xf32>
// HALF: "onnx.ReduceMean"{{.*}} -> tensor<f32>
// DOUBLE-NOT: onnx.Cast
// DOUBLE: "onnx.ReduceMean"{{.*}} -> tensor<f64>

// Scores of one example have one label.
// VECTOR: %[[LABEL:[^:]*]]: tensor<i64>)
// VECTOR: %[[SCORES:.*]] = "onnx.Unsqueeze"(%{{.*}}) {{.*}} -> tensor<1x?xf32>
// VECTOR: %[[LABELS:.*]] = "onnx.Unsqueeze"(%[[LABEL]], {{.*}} -> tensor<1xi64>
// VECTOR: "onnx.SoftmaxCrossEntropyLoss"(%[[SCORES]], %[[LABELS]])

// A value inside becomes an output; an output stays.
// INNER: func.func @main
// INNER-SAME: {name = "inner"}]
// INNER: %[[INNER:.*]] = "onnx.ReduceSum"
// INNER: return {{.*}}, %[[INNER]] : {{.*}}, tensor<f32>
// ONE: return %arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6 :

// SEVERAL: error: output: the model has 6 outputs of floats, expected one of 'y', 'h', 'd', 'v' and 2 more
// NEAREST: error: output: the model has no output 'yy'; did you mean 'y'?
// INTEGERS: error: output: 'k' expects a tensor of floats, but it is 'tensor<1xi64>'
// NO-OUTPUT: error: output: the model has no output 'zebra'{{$}}
// CLASSES: error: output: 'x' expects a dimension of classes, but it is 'tensor<f32>'
// RANK: error: output: 'u' expects a rank, but it is 'tensor<*xf32>'
// UNKNOWN: error: loss: no value is named 'inter'; did you mean 'inner'?
// SCALAR: error: loss: 'v' expects a scalar of floats, but it is 'tensor<?xf32>'
// INTEGER-LOSS: error: loss: 'k' expects a scalar of floats, but it is 'tensor<1xi64>'
// BOTH: error: output: expects the loss cross-entropy or mse, but got 'inner'
// INPUT-TAKEN: error: loss: a new input would be named 'labels', as another value is
// OUTPUT-TAKEN: error: loss: a new output would be named 'loss', as another value is
// NONE: error: output: the model has no output of floats to build a loss on
// OLD: error: expects opset 18 or later of ai.onnx, but the model imports 17
// EMPTY: error: has no main graph to train

//--- scores.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%y: tensor<?x10x4xf32, #onnx.dims<"N", "", "">>, %h: tensor<4x4xf16>, %d: tensor<4xf64>, %v: tensor<?xf32>, %one: tensor<1x1xf32>, %u: tensor<*xf32>, %k: tensor<1xi64>)
      -> (tensor<?x10x4xf32, #onnx.dims<"N", "", "">>, tensor<4x4xf16>, tensor<4xf64>, tensor<?xf32>, tensor<1x1xf32>, tensor<*xf32>, tensor<1xi64>)
    attributes {onnx.graph = {name = "g",
      input = [{name = "y"}, {name = "h"}, {name = "d"}, {name = "v"}, {name = "one"}, {name = "u"}, {name = "k"}],
      output = [{name = "y"}, {name = "h"}, {name = "d"}, {name = "v"}, {name = "one"}, {name = "u"}, {name = "k"}]}} {
  %inner = "onnx.ReduceSum"(%v) <{keepdims = 0 : i64}> {onnx.outputs = ["inner"]} : (tensor<?xf32>) -> tensor<f32>
  return %y, %h, %d, %v, %one, %u, %k : tensor<?x10x4xf32, #onnx.dims<"N", "", "">>, tensor<4x4xf16>, tensor<4xf64>, tensor<?xf32>, tensor<1x1xf32>, tensor<*xf32>, tensor<1xi64>
}
}

//--- taken.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<3x3xf32>, %labels: tensor<3xi64>) -> tensor<3x3xf32>
    attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "labels"}], output = [{name = "y"}]}} {
  %y = "onnx.Relu"(%x) {onnx.outputs = ["loss"]} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %z = "onnx.Relu"(%y) : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return %z : tensor<3x3xf32>
}
}

//--- none.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<3xi64>) -> tensor<3xi64>
    attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "x"}]}} {
  return %x : tensor<3xi64>
}
}

//--- old.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}]}} {
func.func @main(%x: tensor<3x3xf32>) -> tensor<3x3xf32>
    attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "y"}]}} {
  %y = "onnx.Relu"(%x) : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return %y : tensor<3x3xf32>
}
}

//--- empty.mlir
module {
}

//--- scalar.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<f32>) -> tensor<f32>
    attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "x"}]}} {
  return %x : tensor<f32>
}
}
