// RUN: amp-opt %s --amp-differentiate="loss=loss wrt=w" | FileCheck %s
// RUN: amp-opt %s --amp-differentiate="loss=loss,extra wrt=x,w" | FileCheck %s --check-prefix=BOTH

// Only what the gradient needs is built, and the outputs stay in front.

module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>, %{{.*}}: tensor<3xf32>) -> (tensor<f32>, tensor<f32>, tensor<3xf32>)
// CHECK-SAME: output = [{name = "loss"}, {name = "extra"}, {name = "w_grad"}]
// CHECK: %[[LOSS:.*]] = "onnx.ReduceSum"
// CHECK: %[[EXTRA:.*]] = "onnx.ReduceSum"(%[[X]])
// CHECK: %[[PRODUCT:.*]] = "onnx.Mul"(%{{.*}}, %[[X]])
// CHECK-NOT: "onnx.Mul"
// CHECK: %[[DW:.*]] = "onnx.ReduceSum"(%[[PRODUCT]]
// CHECK: return %[[LOSS]], %[[EXTRA]], %[[DW]]

// BOTH-LABEL: func.func @main
// BOTH-SAME: -> (tensor<f32>, tensor<f32>, tensor<2x3xf32>, tensor<3xf32>)
// BOTH-SAME: output = [{name = "loss"}, {name = "extra"}, {name = "x_grad"}, {name = "w_grad"}]
// BOTH-COUNT-3: "onnx.Mul"
// BOTH: "onnx.Add"
func.func @main(%x: tensor<2x3xf32>, %w: tensor<3xf32>) -> (tensor<f32>, tensor<f32>)
    attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "w"}], output = [{name = "loss"}, {name = "extra"}]}} {
  %y = "onnx.Mul"(%x, %w) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %loss = "onnx.ReduceSum"(%y) <{keepdims = 0 : i64}> : (tensor<2x3xf32>) -> tensor<f32>
  %extra = "onnx.ReduceSum"(%x) <{keepdims = 0 : i64}> : (tensor<2x3xf32>) -> tensor<f32>
  return %loss, %extra : tensor<f32>, tensor<f32>
}
}
