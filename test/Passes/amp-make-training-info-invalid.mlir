// RUN: split-file %s %t
// RUN: not amp-opt %t/model.mlir --amp-make-training-info=pipeline=no-such-pass 2>&1 | FileCheck %s --check-prefix=PASS
// RUN: not amp-opt %t/model.mlir --amp-make-training-info 2>&1 | FileCheck %s --check-prefix=STATE
// RUN: not amp-opt %t/model.mlir --amp-make-training-info="pipeline=amp-make-parameters{loss=y},onnx-raise-opset{low=tf32 policy=tf32 min-opset=19}" 2>&1 | FileCheck %s --check-prefix=STATE
// RUN: not amp-opt %t/step.mlir --amp-make-training-info="pipeline=onnx-raise-opset{low=tf32 policy=tf32 min-opset=19}" 2>&1 | FileCheck %s --check-prefix=OPSET
// RUN: not amp-opt %t/twice.mlir --amp-make-training-info 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not amp-opt %t/first.mlir --amp-make-training-info 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: not amp-opt %t/missing.mlir --amp-make-training-info 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not amp-opt %t/type.mlir --amp-make-training-info="pipeline=amp-make-parameters{loss=y},amp-differentiate{loss=y},amp-attach-optimizer{optimizer=sgd settings=momentum=0.5}" 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not amp-opt %t/empty.mlir --amp-make-training-info 2>&1 | FileCheck %s --check-prefix=EMPTY

// PASS: error: pipeline: {{.*}}'no-such-pass' does not refer to a registered pass
// STATE: error: is no training step: its metadata has no amp.state
// OPSET: error: is a step of opset 19 for a model of opset 18, but both are one model
// TWICE: error: has a training_info already
// FIRST: error: the state 'x' has no first value
// MISSING: error: amp.state names 'z', which is no input
// TYPE: error: the state 'w.momentum_buffer' has the name of a value of the model that is no initializer of its type
// EMPTY: error: has no main graph to train

//--- model.mlir
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
  func.func @main(%x: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "y"}]}} {
    %w = onnx.Initializer <dense<1.0> : tensor<f32>> : tensor<f32> {onnx.outputs = ["w"]}
    %y = "onnx.Mul"(%x, %w) {onnx.outputs = ["y"]} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %y : tensor<f32>
  }
}

//--- step.mlir
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}], metadata_props = [{key = "amp.state", value = "[{\22input\22:\22x\22,\22output\22:\22y\22}]"}]}} {
  func.func @main(%x: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "y"}]}} {
    onnx.DefaultInput %x, <dense<1.0> : tensor<f32>> : tensor<f32>
    %y = "onnx.Neg"(%x) {onnx.outputs = ["y"]} : (tensor<f32>) -> tensor<f32>
    return %y : tensor<f32>
  }
}

//--- twice.mlir
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}], training = [{}]}} {
  func.func @main(%x: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "x"}]}} {
    return %x : tensor<f32>
  }
}

//--- first.mlir
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}], metadata_props = [{key = "amp.state", value = "[{\22input\22:\22x\22,\22output\22:\22y\22}]"}]}} {
  func.func @main(%x: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "y"}]}} {
    %y = "onnx.Neg"(%x) {onnx.outputs = ["y"]} : (tensor<f32>) -> tensor<f32>
    return %y : tensor<f32>
  }
}

//--- missing.mlir
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}], metadata_props = [{key = "amp.state", value = "[{\22input\22:\22z\22,\22output\22:\22y\22}]"}]}} {
  func.func @main(%x: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "y"}]}} {
    %y = "onnx.Neg"(%x) {onnx.outputs = ["y"]} : (tensor<f32>) -> tensor<f32>
    return %y : tensor<f32>
  }
}

//--- type.mlir
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
  func.func @main(%x: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "y"}]}} {
    %w = onnx.Initializer <dense<1.0> : tensor<f32>> : tensor<f32> {onnx.outputs = ["w"]}
    %buffer = "onnx.Neg"(%x) {onnx.outputs = ["w.momentum_buffer"]} : (tensor<f32>) -> tensor<f32>
    %y = "onnx.Mul"(%buffer, %w) {onnx.outputs = ["y"]} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %y : tensor<f32>
  }
}

//--- empty.mlir
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
}
