// RUN: split-file %s %t
// RUN: not amp-opt %t/empty.mlir --amp-training-form 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not amp-opt %t/old.mlir --amp-training-form 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not amp-opt %t/ratio.mlir --amp-training-form 2>&1 | FileCheck %s --check-prefix=RATIO
// RUN: not amp-opt %t/range.mlir --amp-training-form 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not amp-opt %t/loop.mlir --amp-training-form 2>&1 | FileCheck %s --check-prefix=LOOP
// RUN: not amp-opt %t/seed.mlir --amp-training-form 2>&1 | FileCheck %s --check-prefix=SEED
// RUN: not amp-opt %t/computed.mlir --amp-training-form 2>&1 | FileCheck %s --check-prefix=COMPUTED
// RUN: not amp-opt %t/branch.mlir --amp-training-form 2>&1 | FileCheck %s --check-prefix=BRANCH

// EMPTY: error: has no main graph to train
// OLD: error: expects opset 18 or later of ai.onnx, but the model imports 17
// RATIO: error: node 'drop' (Dropout, opset 18) expects a ratio that is a constant from 0 to 1{{$}}
// RANGE: error: node 'drop' (Dropout, opset 18) expects a ratio that is a constant from 0 to 1, but got 1.5{{0*$}}
// LOOP: error: node 'drop' (Dropout, opset 18) stands in node 'loop' (Loop, opset 18), all of whose iterations would drop the same
// SEED: error: expects an input 'amp.seed' that is a scalar of uint64, or no value of this name
// COMPUTED: error: node 'bn' (BatchNormalization, opset 18) expects running statistics that are initializers, or float32 inputs with defaults, to make state of them
// BRANCH: error: node 'bn' (BatchNormalization, opset 18) stands in a subgraph, where its running statistics cannot be state

//--- empty.mlir
module {
}

//--- old.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}]}} {
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "y"}]}} {
  %y = "onnx.Dropout"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0>, resultSegmentSizes = array<i32: 1, 0>}> : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
}

//--- ratio.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<3xf32>, %r: tensor<f32>) -> tensor<3xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "r"}], output = [{name = "y"}]}} {
  %y = "onnx.Dropout"(%x, %r) <{operandSegmentSizes = array<i32: 1, 1, 0>, resultSegmentSizes = array<i32: 1, 0>}> {onnx.name = "drop"} : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
}

//--- range.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "y"}]}} {
  %r = onnx.Initializer <dense<1.5> : tensor<f32>> : tensor<f32> {onnx.outputs = ["r"]}
  %y = "onnx.Dropout"(%x, %r) <{operandSegmentSizes = array<i32: 1, 1, 0>, resultSegmentSizes = array<i32: 1, 0>}> {onnx.name = "drop"} : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
}

//--- loop.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<3xf32>, %n: tensor<i64>, %c: tensor<i1>) -> tensor<3xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "n"}, {name = "c"}], output = [{name = "y"}]}} {
  %y = "onnx.Loop"(%n, %c, %x) <{operandSegmentSizes = array<i32: 1, 1, 1>}> ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %s: tensor<3xf32>):
    %d = "onnx.Dropout"(%s) <{operandSegmentSizes = array<i32: 1, 0, 0>, resultSegmentSizes = array<i32: 1, 0>}> {onnx.name = "drop"} : (tensor<3xf32>) -> tensor<3xf32>
    onnx.Yield %go, %d : tensor<i1>, tensor<3xf32>
  }) {onnx.name = "loop"} : (tensor<i64>, tensor<i1>, tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
}

//--- seed.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<3xf32>, %s: tensor<i64>) -> tensor<3xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "amp.seed"}], output = [{name = "y"}]}} {
  %y = "onnx.Dropout"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0>, resultSegmentSizes = array<i32: 1, 0>}> : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
}

//--- computed.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<8x3xf32>, %s: tensor<3xf32>) -> tensor<8x3xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "s"}], output = [{name = "y"}]}} {
  %m = "onnx.Neg"(%s) : (tensor<3xf32>) -> tensor<3xf32>
  %y = "onnx.BatchNormalization"(%x, %s, %s, %m, %s) <{resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> {onnx.name = "bn"} : (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  return %y : tensor<8x3xf32>
}
}

//--- branch.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<8x3xf32>, %c: tensor<i1>) -> tensor<8x3xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "c"}], output = [{name = "y"}]}} {
  %s = onnx.Initializer <dense<1.0> : tensor<3xf32>> : tensor<3xf32> {onnx.outputs = ["s"]}
  %y = "onnx.If"(%c) ({
    %n = "onnx.BatchNormalization"(%x, %s, %s, %s, %s) <{resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> {onnx.name = "bn"} : (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
    onnx.Yield %n : tensor<8x3xf32>
  }, {
    onnx.Yield %x : tensor<8x3xf32>
  }) : (tensor<i1>) -> tensor<8x3xf32>
  return %y : tensor<8x3xf32>
}
}
