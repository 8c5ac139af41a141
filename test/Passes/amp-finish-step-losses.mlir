// RUN: amp-opt %s --amp-finish-step -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<?x3xf32>, %[[Y:.*]]: tensor<?xi64>)
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<?x3xf32>, %y: tensor<?xi64>) -> (tensor<f32>, tensor<?x3xf32>) attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "y"}], output = [{name = "loss"}, {name = "logp"}]}} {
  // CHECK: %[[LOGP:.*]] = "onnx.LogSoftmax"(%[[X]]) <{axis = 1 : i64}> {{.*}}"logp"
  // CHECK: %[[PLACES:.*]] = "onnx.Unsqueeze"(%[[Y]],
  // CHECK: %[[TAKEN:.*]] = "onnx.GatherElements"(%[[LOGP]], %[[PLACES]]) <{axis = 1 : i64}>
  // CHECK: %[[MEAN:.*]] = "onnx.ReduceMean"(%[[TAKEN]]) <{keepdims = 0 : i64
  // CHECK: %[[LOSS:.*]] = "onnx.Neg"(%[[MEAN]])
  // CHECK: return %[[LOSS]], %[[LOGP]]
  %loss, %logp = "onnx.SoftmaxCrossEntropyLoss"(%x, %y) <{reduction = "mean"}> {onnx.outputs = ["loss", "logp"]} : (tensor<?x3xf32>, tensor<?xi64>) -> (tensor<f32>, tensor<?x3xf32>)
  return %loss, %logp : tensor<f32>, tensor<?x3xf32>
}
}

// -----

// What does not count is zero, and not in the mean.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>, %[[Y:.*]]: tensor<2x4xi64>)
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<2x3x4xf32>, %y: tensor<2x4xi64>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "y"}], output = [{name = "loss"}]}} {
  // CHECK: %[[VALID:.*]] = "onnx.Not"
  // CHECK: %[[LABELS:.*]] = "onnx.Where"(%[[VALID]], %[[Y]],
  // CHECK: %[[TAKEN:.*]] = "onnx.GatherElements"
  // CHECK: "onnx.Where"(%{{.*}}, %[[TAKEN]],
  // CHECK: "onnx.Div"
  %loss = "onnx.SoftmaxCrossEntropyLoss"(%x, %y) <{ignore_index = -100 : i64, reduction = "mean"}> : (tensor<2x3x4xf32>, tensor<2x4xi64>) -> tensor<f32>
  return %loss : tensor<f32>
}
}

// -----

// Weights, and other reductions, are left alone.
// CHECK-LABEL: func.func @main
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2xi64>, %w: tensor<3xf32>) -> (tensor<f32>, tensor<f32>) attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "y"}, {name = "w"}], output = [{name = "a"}, {name = "b"}]}} {
  // CHECK-COUNT-2: onnx.SoftmaxCrossEntropyLoss
  %a = "onnx.SoftmaxCrossEntropyLoss"(%x, %y, %w) <{reduction = "mean"}> : (tensor<2x3xf32>, tensor<2xi64>, tensor<3xf32>) -> tensor<f32>
  %b = "onnx.SoftmaxCrossEntropyLoss"(%x, %y) <{reduction = "sum"}> : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<f32>
  return %a, %b : tensor<f32>, tensor<f32>
}
}
