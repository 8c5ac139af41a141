// RUN: amp-opt %s --onnx-expand-optimizers | FileCheck %s

// The formulas are held to ONNX's own tests of the operators by test_training_info.py.

module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}, {domain = "ai.onnx.preview.training", version = 1 : i64}]}} {
  // CHECK-LABEL: func.func @main(
  // CHECK-SAME: %[[R:[^:]+]]: tensor<f32>, %[[T:[^:]+]]: tensor<i64>, %[[X:[^:]+]]: tensor<2xf32>, %[[Y:[^:]+]]: tensor<3xf64>, %[[GX:[^:]+]]: tensor<2xf32>, %[[GY:[^:]+]]: tensor<3xf64>, %[[V:[^:]+]]: tensor<2xf32>, %[[U:[^:]+]]: tensor<3xf64>
  func.func @main(%r: tensor<f32>, %t: tensor<i64>, %x: tensor<2xf32>, %y: tensor<3xf64>, %gx: tensor<2xf32>, %gy: tensor<3xf64>, %v: tensor<2xf32>, %u: tensor<3xf64>) -> (tensor<2xf32>, tensor<2xf32>, tensor<3xf64>, tensor<3xf64>) attributes {onnx.graph = {name = "g"}} {
    // The example of the pass's description: nothing is multiplied by 1, nothing added for 0.
    // CHECK-DAG: %[[HALF:.+]] = "onnx.Constant"() {{.*}}dense<5.000000e-01> : tensor<f32>
    // CHECK-DAG: %[[A:.+]] = "onnx.Mul"(%[[HALF]], %[[V]])
    // CHECK-DAG: %[[V1:.+]] = "onnx.Add"(%[[A]], %[[GX]]) {onnx.outputs = ["v1"]}
    // CHECK-DAG: %[[RATE:.+]] = "onnx.Cast"(%{{.+}}) <{to = 1 : i64}> : (tensor<f64>) -> tensor<f32>
    // CHECK-DAG: %[[S:.+]] = "onnx.Mul"(%[[RATE]], %[[V1]])
    // CHECK-DAG: %[[X1:.+]] = "onnx.Sub"(%[[X]], %[[S]]) {onnx.outputs = ["x1"]}
    // CHECK-NOT: preview
    %x1, %v1 = "onnx.preview.training.Momentum"(%r, %t, %x, %gx, %v) <{alpha = 0.5 : f32, beta = 1.0 : f32, mode = "standard", norm_coefficient = 0.0 : f32}> {onnx.outputs = ["x1", "v1"]} : (tensor<f32>, tensor<i64>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    // In double where the tensor is.
    // CHECK: "onnx.Sqrt"(%{{.+}}) : (tensor<3xf64>) -> tensor<3xf64>
    %y1, %u1 = "onnx.preview.training.Adagrad"(%r, %t, %y, %gy, %u) {onnx.outputs = ["y1", "u1"]} : (tensor<f32>, tensor<i64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>)
    return %x1, %v1, %y1, %u1 : tensor<2xf32>, tensor<2xf32>, tensor<3xf64>, tensor<3xf64>
  }
}
