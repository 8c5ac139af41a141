// RUN: amp-opt %s --split-input-file --onnx-scale-ort-loss | FileCheck %s
// RUN: amp-opt %s --split-input-file --onnx-scale-ort-loss=static=1024 | FileCheck %s --check-prefix=STATIC

module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 17 : i64}]}} {
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[SCALE:[^ ]*]]: tensor<f32>, %[[TRACKER:[^ ]*]]: tensor<i32>) -> (tensor<1xi1>, tensor<f32>, tensor<i1>, tensor<f32>, tensor<i32>)
// STATIC-LABEL: func.func @main
func.func @main(%x: tensor<4xf32>, %buffer: tensor<4xf32>) -> (tensor<1xi1>, tensor<f32>)
    attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "buffer"}], output = [{name = "out"}, {name = "loss"}]}} {
  // CHECK: %[[ONE:.*]] = onnx.Initializer
  // CHECK: %[[SEED:.*]] = amp.scale %[[ONE]] by %[[SCALE]]
  // STATIC: %[[CONSTANT:.*]] = "onnx.Constant"
  // STATIC: amp.scale %{{.*}} by %[[CONSTANT]]
  %one = onnx.Initializer <dense<1.0> : tensor<f32>> : tensor<f32> {onnx.outputs = ["loss_grad"]}
  %loss = "onnx.ReduceSum"(%x) <{keepdims = 0}> : (tensor<4xf32>) -> tensor<f32>
  // CHECK: %[[G:.*]] = "onnx.Expand"(%[[SEED]]
  %shape = "onnx.Constant"() <{value_ints = array<i64: 4>}> : () -> tensor<1xi64>
  %g = "onnx.Expand"(%one, %shape) : (tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  // CHECK: %[[U:.*]], %[[FOUND:.*]] = amp.unscale safe %[[G]] by %[[SCALE]]
  // CHECK: amp.update_scale safe %[[SCALE]], %[[TRACKER]] after %[[FOUND]]
  // CHECK: "InPlaceAccumulatorV2"(%arg1, %[[U]])
  // STATIC: %[[U:.*]], %{{.*}} = amp.unscale safe %{{.*}} by %[[CONSTANT]]
  // STATIC: "InPlaceAccumulatorV2"(%arg1, %[[U]])
  %ok = onnx.Custom "com.microsoft" "InPlaceAccumulatorV2"(%buffer, %g) : (tensor<4xf32>, tensor<4xf32>) -> tensor<1xi1>
  return %ok, %loss : tensor<1xi1>, tensor<f32>
}
}

// -----

// An optimizer updates nothing if a gradient is not finite.

module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 17 : i64}]}} {
// CHECK-LABEL: func.func @main
func.func @main(%lr: tensor<1xf32>, %w: !onnx.sequence<tensor<*xf32>>, %g: !onnx.sequence<tensor<*xf32>>) -> tensor<1xi1>
    attributes {onnx.graph = {name = "g", input = [{name = "lr"}, {name = "w"}, {name = "g"}], output = [{name = "done"}]}} {
  // CHECK: "onnx.SequenceLength"(%arg2)
  // CHECK: "onnx.Loop"
  // CHECK: "onnx.ReduceL1"
  // CHECK: "onnx.Less"
  // CHECK: %[[SIGNAL:.*]] = "onnx.Reshape"
  // CHECK: "SGDOptimizerV2"(%arg0, %arg1, %arg2, %[[SIGNAL]])
  %done = onnx.Custom "com.microsoft" "SGDOptimizerV2"(%lr, %w, %g) : (tensor<1xf32>, !onnx.sequence<tensor<*xf32>>, !onnx.sequence<tensor<*xf32>>) -> tensor<1xi1>
  return %done : tensor<1xi1>
}
}
