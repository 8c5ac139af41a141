// The whole pipeline, as onnx-amp train-graph runs it.

// RUN: amp-opt %s --amp-train="loss=cross-entropy optimizer=sgd lr=0.5 settings=momentum=0.9" | FileCheck %s
// RUN: amp-opt %s --amp-train="loss=cross-entropy low=none loss-scale=none" | FileCheck %s --check-prefix=FP32
// RUN: amp-opt %s --amp-train="loss=cross-entropy low=tf32 policy=tf32 loss-scale=static init-scale=8" | FileCheck %s --check-prefix=TF32
// RUN: not amp-opt %s --amp-train 2>&1 | FileCheck %s --check-prefix=LOSS

// LOSS: error: loss: no value is named 'loss'

module attributes {onnx.model = {ir_version = 10 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
  // CHECK: metadata_props = [{key = "amp.state", value = "[{\22input\22:\22w\22,\22output\22:\22w_next\22},
  // CHECK: func.func @main(%[[X:[^:]*]]: tensor<2x3xf32>, %[[LABELS:[^:]*]]: tensor<2xi64>, %[[W:[^:]*]]: tensor<3x4xf32>, %[[SCALE:[^:]*]]: tensor<f32>,
  // CHECK-NOT: amp.{{[a-z_]+}} %
  // CHECK-DAG: %[[LOWX:.*]] = "onnx.Cast"(%[[X]]) <{to = 10 : i64}>
  // CHECK-DAG: %[[LOWW:.*]] = "onnx.Cast"(%[[W]]) <{to = 10 : i64}>
  // CHECK: %[[LOGITS:.*]] = "onnx.MatMul"(%[[LOWX]], %[[LOWW]])
  // CHECK: %[[WIDE:.*]] = "onnx.Cast"(%[[LOGITS]]) <{to = 1 : i64}>
  // CHECK: %[[LOGP:.*]] = "onnx.LogSoftmax"(%[[WIDE]])
  // CHECK: %[[USED:.*]] = "onnx.Where"(%{{.*}}, %[[LABELS]],
  // CHECK: %[[PLACES:.*]] = "onnx.Unsqueeze"(%[[USED]],
  // CHECK: "onnx.GatherElements"(%[[LOGP]], %[[PLACES]])
  // CHECK: "onnx.If"
  // FP32-NOT: "onnx.Cast"{{.*}}f16
  // FP32-NOT: amp.scale
  // FP32: onnx.LogSoftmax
  // FP32-NOT: "onnx.Cast"{{.*}}f16
  // TF32: onnx.Initializer <dense<8.0{{.*}}["amp.scale"]
  // What multiplies is marked, in the backward pass, too.
  // TF32: "onnx.MatMul"{{.*}}amp.compute{{.*}}tf32
  // TF32: onnx.LogSoftmax
  // TF32: "onnx.Gemm"{{.*}}amp.compute{{.*}}tf32
  func.func @main(%x: tensor<2x3xf32>) -> tensor<2x4xf32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "y"}]}} {
    %w = onnx.Initializer <dense<1.0> : tensor<3x4xf32>> : tensor<3x4xf32> {onnx.outputs = ["w"]}
    %y = "onnx.MatMul"(%x, %w) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    return %y : tensor<2x4xf32>
  }
}
