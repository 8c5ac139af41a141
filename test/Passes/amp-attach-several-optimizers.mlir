// RUN: amp-opt %s --amp-make-parameters --amp-differentiate="loss=loss seed=scale" --amp-attach-optimizer="optimizer=sgd parameters=w seed=scale counters=true" --amp-attach-optimizer="optimizer=adam parameters=b seed=scale counters=true" --amp-attach-scaler="seed=scale" | FileCheck %s
// RUN: amp-opt %s --amp-make-parameters --amp-differentiate="loss=loss seed=scale" --amp-attach-optimizer="optimizer=sgd parameters=w seed=scale" | FileCheck %s --check-prefix=REST

// CHECK-DAG: {key = "amp.parameters", value = "[\22w\22]"}
// CHECK-DAG: {key = "amp.parameters.2", value = "[\22b\22]"}
module attributes {onnx.model = {ir_version = 10 : i64, opset_import = [{domain = "", version = 20 : i64}]}} {
  // CHECK: func.func @main
  // CHECK-SAME: input = [{name = "x"}, {name = "scale"}, {name = "w"}, {name = "b"}, {name = "amp.step"}, {name = "amp.skipped_steps"}, {name = "amp.first_overflow"}, {name = "b.exp_avg"}, {name = "b.exp_avg_sq"}, {name = "amp.step.2"}, {name = "amp.skipped_steps.2"}, {name = "amp.first_overflow.2"}, {name = "amp.growth_tracker"}]
  // CHECK-SAME: output = [{name = "loss"}, {name = "w_next"}, {name = "amp.step_next"}, {name = "amp.found_inf"}, {name = "amp.zero_gradients"}, {name = "amp.skipped_steps_next"}, {name = "amp.first_overflow_next"}, {name = "b_next"}
  // CHECK-SAME: {name = "amp.step.2_next"}, {name = "amp.found_inf.2"}, {name = "amp.zero_gradients.2"}, {name = "amp.skipped_steps.2_next"}, {name = "amp.first_overflow.2_next"}, {name = "scale_next"}
  // CHECK: %{{.*}}, %[[FOUND:.*]] = amp.unscale
  // CHECK: %[[FINITE:.*]] = "onnx.Not"(%[[FOUND]])
  // CHECK: amp.guard %[[FINITE]] keeps
  // CHECK: %{{.*}}, %[[FOUND2:.*]] = amp.unscale
  // CHECK: amp.update_scale safe %{{.*}}, %{{.*}} after %[[FOUND]], %[[FOUND2]]

  // What no optimizer has taken stays.
  // REST: output = [{name = "loss"}, {name = "b_grad"}, {name = "w_next"}
  func.func @main(%x: tensor<2x3xf32>, %scale: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {input = [{name = "x"}, {name = "scale"}], name = "g", output = [{name = "loss"}]}} {
    %w = onnx.Initializer <dense<1.0> : tensor<3x1xf32>> : tensor<3x1xf32> {onnx.outputs = ["w"]}
    %b = onnx.Initializer <dense<1.0> : tensor<1xf32>> : tensor<1xf32> {onnx.outputs = ["b"]}
    %0 = "onnx.MatMul"(%x, %w) : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32>
    %1 = "onnx.Add"(%0, %b) : (tensor<2x1xf32>, tensor<1xf32>) -> tensor<2x1xf32>
    %loss = "onnx.ReduceSum"(%1) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<2x1xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
