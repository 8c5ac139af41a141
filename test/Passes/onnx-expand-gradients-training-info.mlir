// RUN: amp-opt %s --onnx-expand-gradients | FileCheck %s

// An algorithm's Gradient names values of the main graph, and its own.

module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}, {domain = "ai.onnx.preview.training", version = 1 : i64}], training = [{update_binding = [{key = "w", value = "w1"}]}]}} {
  // CHECK-LABEL: func.func @main(%{{.+}}: tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: onnx.Initializer {{.+}} {onnx.outputs = ["w"]}
  // CHECK-NEXT: "onnx.Mul"({{.+}}) {onnx.outputs = ["z"]}
  // CHECK-NEXT: "onnx.Tanh"({{.+}}) {onnx.outputs = ["y"]}
  // CHECK-NEXT: return
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "y"}]}} {
    %w = onnx.Initializer <dense<1.0> : tensor<2xf32>> : tensor<2xf32> {onnx.outputs = ["w"]}
    %z = "onnx.Mul"(%x, %w) {onnx.outputs = ["z"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %y = "onnx.Tanh"(%z) {onnx.outputs = ["y"]} : (tensor<2xf32>) -> tensor<2xf32>
    return %y : tensor<2xf32>
  }
  // CHECK-LABEL: func.func private @training.0.algorithm() -> (tensor<f32>, tensor<2xf32>)
  // CHECK-NOT: Gradient
  // CHECK-DAG: %[[X:.+]] = onnx.Reference "x" : tensor<2xf32> {onnx.outputs = ["x"]}
  // CHECK-DAG: %[[Y:.+]] = onnx.Reference "y" : tensor<2xf32> {onnx.outputs = ["y"]}
  // CHECK-DAG: %[[W:.+]] = onnx.Reference "w" : tensor<2xf32> {onnx.outputs = ["w"]}
  // CHECK: "onnx.ReduceSum"(%[[Y]])
  // CHECK: "onnx.Mul"(%[[Y]], %[[Y]])
  // CHECK: %[[DW:.+]] = "onnx.Mul"({{.*}}%[[X]]{{.*}})
  // CHECK: "onnx.Sub"(%[[W]], %[[DW]]) {onnx.outputs = ["w1"]}
  func.func private @training.0.algorithm() -> (tensor<f32>, tensor<2xf32>) attributes {onnx.graph = {name = "a", output = [{name = "loss"}, {name = "w1"}]}, onnx.training = {index = 0 : i64, role = "algorithm"}} {
    %w = onnx.Reference "w" : tensor<2xf32> {onnx.outputs = ["w"]}
    %y = onnx.Reference "y" : tensor<2xf32> {onnx.outputs = ["y"]}
    %loss = "onnx.ReduceSum"(%y) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<2xf32>) -> tensor<f32>
    %dw = "onnx.preview.training.Gradient"(%w) <{xs = ["w"], y = "loss"}> {onnx.outputs = ["dw"]} : (tensor<2xf32>) -> tensor<2xf32>
    %w1 = "onnx.Sub"(%w, %dw) {onnx.outputs = ["w1"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %loss, %w1 : tensor<f32>, tensor<2xf32>
  }
}
