// RUN: amp-opt %s --amp-make-parameters="loss=loss trainable=w.*" | FileCheck %s
// RUN: not amp-opt %s --amp-make-parameters="loss=loss trainable=zebra" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not amp-opt %s --amp-make-parameters="loss=loss trainable=unusd" 2>&1 | FileCheck %s --check-prefix=NEAREST
// RUN: not amp-opt %s --amp-make-parameters="loss=loss trainable=k" 2>&1 | FileCheck %s --check-prefix=INTEGERS
// RUN: not amp-opt %s --amp-make-parameters="loss=loss trainable=unused|k" 2>&1 | FileCheck %s --check-prefix=SEVERAL
// RUN: not amp-opt %s --amp-make-parameters="loss=loss trainable=un.*" 2>&1 | FileCheck %s --check-prefix=UNUSED
// RUN: not amp-opt %s --amp-make-parameters="loss=los" 2>&1 | FileCheck %s --check-prefix=LOSS
// RUN: not amp-opt %s --amp-make-parameters="loss=loss trainable=*" 2>&1 | FileCheck %s --check-prefix=REGEX

// NONE: error: trainable: no initializer has a name like 'zebra'{{$}}
// NEAREST: error: trainable: no initializer has a name like 'unusd'; did you mean 'unused'?
// UNUSED: error: trainable: 'unused' has no differentiable path to the loss
// SEVERAL: error: trainable: 'unused', one of 2 like 'unused|k', has no differentiable path to the loss
// INTEGERS: error: trainable: 'k' expects floats of 16 or 32 bits, but it is 'tensor<1xi64>'
// LOSS: error: loss: no value is named 'los'; did you mean 'loss'?
// REGEX: error: trainable: '*' is no regular expression: repetition-operator operand invalid

module attributes {onnx.model = {ir_version = 10 : i64, opset_import = [{domain = "", version = 20 : i64}]}} {
  // CHECK: func.func @main(%[[X:.*]]: tensor<2x3xf32>, %[[W:.*]]: tensor<3x1xf32>) -> tensor<f32>
  // CHECK-SAME: amp.parameters = ["w0"]
  // CHECK-SAME: input = [{name = "x"}, {name = "w0"}]
  func.func @main(%x: tensor<2x3xf32>) -> tensor<f32> attributes {onnx.graph = {input = [{name = "x"}], name = "g", output = [{name = "loss"}]}} {
    // CHECK-NEXT: onnx.DefaultInput %[[W]], <dense<1.000000e+00> : tensor<3x1xf32>> : tensor<3x1xf32>
    // CHECK: onnx.Initializer {{.*}}["unused"]
    // CHECK: onnx.Initializer {{.*}}["b"]
    %w0 = onnx.Initializer <dense<1.0> : tensor<3x1xf32>> : tensor<3x1xf32> {onnx.outputs = ["w0"]}
    %u = onnx.Initializer <dense<1.0> : tensor<3x1xf32>> : tensor<3x1xf32> {onnx.outputs = ["unused"]}
    %k = onnx.Initializer <dense<0> : tensor<1xi64>> : tensor<1xi64> {onnx.outputs = ["k"]}
    %b = onnx.Initializer <dense<1.0> : tensor<1xf32>> : tensor<1xf32> {onnx.outputs = ["b"]}
    // CHECK: "onnx.MatMul"(%[[X]], %[[W]])
    %0 = "onnx.MatMul"(%x, %w0) : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32>
    %1 = "onnx.Add"(%0, %b) : (tensor<2x1xf32>, tensor<1xf32>) -> tensor<2x1xf32>
    %loss = "onnx.ReduceSum"(%1) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<2x1xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
