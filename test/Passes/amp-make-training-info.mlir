// RUN: amp-opt %s --amp-make-training-info="pipeline=amp-make-parameters{loss=loss},amp-differentiate{loss=loss},amp-attach-optimizer{optimizer=adam}" | FileCheck %s

// CHECK: module
// CHECK-NOT: amp.state
// CHECK-SAME: initialization_binding = [{key = "w.exp_avg", value = "w.exp_avg_init"}, {key = "w.exp_avg_sq", value = "w.exp_avg_sq_init"}, {key = "amp.step", value = "amp.step_init"}]
// CHECK-SAME: update_binding = [{key = "w", value = "w_next"}, {key = "w.exp_avg", value = "w.exp_avg_next"}, {key = "w.exp_avg_sq", value = "w.exp_avg_sq_next"}, {key = "amp.step", value = "amp.step_next"}]
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}], producer_name = "test"}} {
  // As it was.
  // CHECK: func.func @main(%[[X:[^:]+]]: tensor<2xf32>) -> tensor<f32>
  // CHECK-SAME: input = [{name = "x"}], name = "g", output = [{name = "loss"}]
  // CHECK-NEXT: %[[W:.+]] = onnx.Initializer <dense<1.000000e+00> : tensor<2xf32>> : tensor<2xf32> {onnx.outputs = ["w"]}
  // CHECK-NEXT: %[[Y:.+]] = "onnx.Mul"(%[[X]], %[[W]]) {onnx.name = "mul", onnx.outputs = ["y"]}
  // CHECK-NEXT: %[[T:.+]] = "onnx.Tanh"(%[[Y]]) {onnx.outputs = ["y_1"]}
  // CHECK-NEXT: %[[LOSS:.+]] = "onnx.ReduceSum"(%[[T]]) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]}
  // CHECK-NEXT: return %[[LOSS]]
  func.func @main(%x: tensor<2xf32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "loss"}]}} {
    %w = onnx.Initializer <dense<1.0> : tensor<2xf32>> : tensor<2xf32> {onnx.outputs = ["w"]}
    %y = "onnx.Mul"(%x, %w) {onnx.name = "mul", onnx.outputs = ["y"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    // It has no name, and gets one.
    %t = "onnx.Tanh"(%y) : (tensor<2xf32>) -> tensor<2xf32>
    %loss = "onnx.ReduceSum"(%t) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<2xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// The order of the two functions is that of the messages.
// CHECK: func.func private @training.0.initialization() -> (tensor<2xf32>, tensor<2xf32>, tensor<i64>)
// CHECK-SAME: output = [{name = "w.exp_avg_init"}, {name = "w.exp_avg_sq_init"}, {name = "amp.step_init"}]
// CHECK-SAME: onnx.training = {index = 0 : i64, role = "initialization"}
// CHECK: "onnx.ConstantOfShape"({{.+}}) <{value = #onnx.tensor<dense<0.000000e+00> : tensor<1xf32>>{{.*}}}> {onnx.outputs = ["w.exp_avg_init"]}
// CHECK: "onnx.Constant"() {{.+}} {onnx.outputs = ["amp.step_init"]} : () -> tensor<i64>

// CHECK: func.func private @training.0.algorithm() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<i64>)
// CHECK-SAME: output = [{name = "w_next"}, {name = "w.exp_avg_next"}, {name = "w.exp_avg_sq_next"}, {name = "amp.step_next"}]
// CHECK-DAG: onnx.Initializer <dense<0.000000e+00> : tensor<2xf32>> : tensor<2xf32> {onnx.outputs = ["w.exp_avg"]}
// CHECK-DAG: onnx.Initializer <dense<0> : tensor<i64>> : tensor<i64> {onnx.outputs = ["amp.step"]}
// CHECK-DAG: onnx.Reference "w"
// CHECK-DAG: %[[RX:.+]] = onnx.Reference "x"
// CHECK-DAG: %[[RT:.+]] = onnx.Reference "y_1"
// What the model computes is not computed again.
// CHECK-NOT: onnx.Tanh
// CHECK: "onnx.Mul"(%[[RT]], %[[RT]])
// CHECK: return
