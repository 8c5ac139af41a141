// RUN: amp-opt %s --amp-make-parameters --amp-differentiate="loss=loss seed=scale" --amp-attach-optimizer="optimizer=sgd lr=0.5 settings=momentum=0.9 seed=scale clip-norm=1" | FileCheck %s

module attributes {onnx.model = {ir_version = 10 : i64, opset_import = [{domain = "", version = 20 : i64}]}} {
  // CHECK: func.func @main(%[[X:.*]]: tensor<2x3xf32>, %[[SCALE:.*]]: tensor<f32>, %[[W:.*]]: tensor<3x1xf32>, %[[M:.*]]: tensor<3x1xf32>, %[[STEP:.*]]: tensor<i64>)
  // CHECK-SAME: input = [{name = "x"}, {name = "scale"}, {name = "w"}, {name = "w.momentum_buffer"}, {name = "amp.step"}]
  // CHECK-SAME: output = [{name = "loss"}, {name = "w_next"}, {name = "w.momentum_buffer_next"}, {name = "amp.step_next"}, {name = "amp.found_inf"}]
  func.func @main(%x: tensor<2x3xf32>, %scale: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {input = [{name = "x"}, {name = "scale"}], name = "g", output = [{name = "loss"}]}} {
    %w = onnx.Initializer <dense<1.0> : tensor<3x1xf32>> : tensor<3x1xf32> {onnx.outputs = ["w"]}
    // CHECK: %[[LOSS:.*]] = "onnx.ReduceSum"
    // CHECK: %[[U:.*]], %[[FOUND:.*]] = amp.unscale safe %{{.*}} by %[[SCALE]]
    // CHECK: %[[C:.*]], %{{.*}} = amp.clip_grad_norm %[[U]] to 1.000000e+00
    // CHECK: %[[NEW:.*]]:3 = amp.guard %[[FOUND]] keeps %[[W]], %[[M]], %[[STEP]]
    // CHECK: amp.yield
    // CHECK: return %[[LOSS]], %[[NEW]]#0, %[[NEW]]#1, %[[NEW]]#2, %[[FOUND]]
    %0 = "onnx.MatMul"(%x, %w) : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32>
    %loss = "onnx.ReduceSum"(%0) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<2x1xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
