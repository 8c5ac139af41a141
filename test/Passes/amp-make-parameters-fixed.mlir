// What is no weight by its readers' schemas stays an initializer, and is named.

// RUN: amp-opt %s --amp-make-parameters 2>&1 | FileCheck %s
// RUN: not amp-opt %s --amp-make-parameters="trainable=p" 2>&1 | FileCheck %s --check-prefix=ONLY

// CHECK: remark: not trained: 'p' (the exponent of a Pow); trained, though perhaps constant: 'half' (one element); --trainable leaves out what is
// CHECK: func.func @main(%[[X:[^:]*]]: tensor<2xf32>, %[[W:[^:]*]]: tensor<2xf32>, %[[HALF:[^:]*]]: tensor<f32>)
// CHECK-SAME: amp.parameters = ["w", "half"]
// CHECK: onnx.Initializer {{.*}}["p"]

// ONLY: error: trainable: 'p' is the exponent of a Pow: no weight

module attributes {onnx.model = {ir_version = 10 : i64, opset_import = [{domain = "", version = 20 : i64}]}} {
  func.func @main(%x: tensor<2xf32>) -> tensor<f32> attributes {onnx.graph = {input = [{name = "x"}], name = "g", output = [{name = "loss"}]}} {
    %w = onnx.Initializer <dense<1.0> : tensor<2xf32>> : tensor<2xf32> {onnx.outputs = ["w"]}
    %p = onnx.Initializer <dense<2.0> : tensor<f32>> : tensor<f32> {onnx.outputs = ["p"]}
    %half = onnx.Initializer <dense<0.5> : tensor<f32>> : tensor<f32> {onnx.outputs = ["half"]}
    %0 = "onnx.Mul"(%x, %w) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %1 = "onnx.Pow"(%0, %p) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    %2 = "onnx.Mul"(%1, %half) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    %loss = "onnx.ReduceSum"(%2) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<2xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
