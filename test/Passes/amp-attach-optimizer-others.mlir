// Parameters that are left to other optimizers.

// RUN: amp-opt %s --amp-make-parameters --amp-differentiate="loss=loss" --amp-attach-optimizer="optimizer=sgd others=b,c" | FileCheck %s
// RUN: amp-opt %s --amp-make-parameters --amp-differentiate="loss=loss" --amp-attach-optimizer="optimizer=sgd others=.*" | FileCheck %s --check-prefix=ALL
// RUN: not amp-opt %s --amp-make-parameters --amp-differentiate="loss=loss" --amp-attach-optimizer="optimizer=sgd others=.* group={w:lr=1}" 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: not amp-opt %s --amp-make-parameters --amp-differentiate="loss=loss" --amp-attach-optimizer="others=*" 2>&1 | FileCheck %s --check-prefix=REGEX

// CHECK: output = [{name = "loss"}, {name = "b_grad"}, {name = "w_next"}, {name = "amp.step_next"}]
// ALL: output = [{name = "loss"}, {name = "w_grad"}, {name = "b_grad"}]
// GROUP: error: parameters: none that has no optimizer yet has a name like '.*'
// REGEX: error: others: '*' is no regular expression: repetition-operator operand invalid

module attributes {onnx.model = {ir_version = 10 : i64, opset_import = [{domain = "", version = 20 : i64}]}} {
  func.func @main(%x: tensor<2x3xf32>) -> tensor<f32> attributes {onnx.graph = {input = [{name = "x"}], name = "g", output = [{name = "loss"}]}} {
    %w = onnx.Initializer <dense<1.0> : tensor<3x2xf32>> : tensor<3x2xf32> {onnx.outputs = ["w"]}
    %b = onnx.Initializer <dense<1.0> : tensor<2xf32>> : tensor<2xf32> {onnx.outputs = ["b"]}
    %0 = "onnx.MatMul"(%x, %w) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %1 = "onnx.Add"(%0, %b) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %loss = "onnx.ReduceSum"(%1) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<2x2xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
