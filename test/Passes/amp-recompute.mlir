// RUN: amp-opt %s --amp-differentiate="loss=loss wrt=w" --amp-recompute="nodes=act1" 2>%t.log | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.log
// RUN: amp-opt %s --amp-differentiate="loss=loss wrt=w" --amp-recompute="nodes=act1|h2|flat" 2>/dev/null | FileCheck %s --check-prefix=MORE
// RUN: amp-opt %s --amp-differentiate="loss=loss wrt=w" --amp-recompute=auto 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: amp-opt %s --amp-differentiate="loss=loss wrt=w" --amp-recompute="budget=1MB dim=N=16" 2>&1 | FileCheck %s --check-prefix=ENOUGH
// RUN: amp-opt %s --amp-differentiate="loss=loss wrt=w" --amp-recompute="auto dim=N=1000" 2>&1 | FileCheck %s --check-prefix=LARGE

// h1 is computed again once its gradient is there, and the view of it with it.

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32
// CHECK: %[[A1:.*]] = "onnx.MatMul"(%[[X]], %[[W:.*]])
// CHECK: %[[H1:.*]] = "onnx.Tanh"(%[[A1]]) {onnx.name = "act1", onnx.outputs = ["h1"]}
// CHECK: "onnx.Reshape"(%[[H1]]
// CHECK: %[[LOSS:.*]] = "onnx.ReduceSum"({{.*}}) <{keepdims = 0 : i64}> {onnx.name = "sum"
// CHECK: "onnx.Sub"
// CHECK: %[[DY:.*]] = "onnx.Mul"(%{{.*}}, %{{.*}})
// CHECK: %[[SIZES:.*]] = "onnx.Shape"(%[[A1]])
// CHECK: %[[LIST:.*]] = "onnx.Reshape"(%[[LOSS]]
// CHECK: %[[NONE:.*]] = "onnx.Slice"(%[[LIST]], %[[ZERO:.*]], %[[ZERO]], %[[ZERO]]){{.*}} -> tensor<0xf32>
// CHECK: %[[LIST2:.*]] = "onnx.Reshape"(%[[DY]]
// CHECK: %[[NONE2:.*]] = "onnx.Slice"(%[[LIST2]], %[[ZERO]], %[[ZERO]], %[[ZERO]])
// CHECK: %[[NOTHING:.*]] = "onnx.Concat"(%[[NONE]], %[[NONE2]],
// CHECK: %[[EMPTY:.*]] = "onnx.Cast"(%[[NOTHING]]) <{to = 7 : i64}>
// CHECK: %[[SHAPE:.*]] = "onnx.Concat"(%[[SIZES]], %[[EMPTY]]) <{axis = 0 : i64}>
// CHECK: %[[LATE:.*]] = "onnx.Reshape"(%[[A1]], %[[SHAPE]])
// CHECK: %[[AGAIN:.*]] = "onnx.Tanh"(%[[LATE]]) {onnx.name = "act1_again", onnx.outputs = ["h1_again"]}
// CHECK: %[[FLAT:.*]] = "onnx.Reshape"(%[[AGAIN]]{{.*}} {onnx.name = "flat_again", onnx.outputs = ["f1_again"]}
// CHECK: "onnx.Gemm"(%[[FLAT]], %[[DY]])
// CHECK: "onnx.Mul"(%[[AGAIN]], %[[AGAIN]])
// CHECK: return

// REMARK: remark: peak of activations: {{.*}}B, {{.*}}B without recomputation (predicted); 2 repeated nodes, {{.*}}% more flops

// In the order of the backward part.

// MORE: "onnx.Tanh"{{.*}}h2_again
// MORE: "onnx.Tanh"{{.*}}act1_again
// MORE: onnx.outputs = ["f1_again"]

// With nothing to gain, nothing is done.

// ENOUGH: remark: peak of activations: {{(.*)}}, {{.*}} 0 repeated nodes, 0.0% more flops
// ENOUGH-NOT: _again

// AUTO: remark: peak of activations
// LARGE: remark: peak of activations: {{.*}} kB

module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<?x8xf32, #onnx.dims<"N", "">>) -> tensor<f32>
    attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "loss"}]}} {
  %w = onnx.Initializer <dense<0.1> : tensor<8x8xf32>> : tensor<8x8xf32> {onnx.outputs = ["w"]}
  %shape = onnx.Initializer <dense<[-1, 8]> : tensor<2xi64>> : tensor<2xi64> {onnx.outputs = ["shape"]}
  %a1 = "onnx.MatMul"(%x, %w) {onnx.outputs = ["a1"]} : (tensor<?x8xf32, #onnx.dims<"N", "">>, tensor<8x8xf32>) -> tensor<?x8xf32, #onnx.dims<"N", "">>
  %h1 = "onnx.Tanh"(%a1) {onnx.name = "act1", onnx.outputs = ["h1"]} : (tensor<?x8xf32, #onnx.dims<"N", "">>) -> tensor<?x8xf32, #onnx.dims<"N", "">>
  %f1 = "onnx.Reshape"(%h1, %shape) {onnx.name = "flat", onnx.outputs = ["f1"]} : (tensor<?x8xf32, #onnx.dims<"N", "">>, tensor<2xi64>) -> tensor<?x8xf32, #onnx.dims<"N", "">>
  %a2 = "onnx.MatMul"(%f1, %w) {onnx.outputs = ["a2"]} : (tensor<?x8xf32, #onnx.dims<"N", "">>, tensor<8x8xf32>) -> tensor<?x8xf32, #onnx.dims<"N", "">>
  %h2 = "onnx.Tanh"(%a2) {onnx.outputs = ["h2"]} : (tensor<?x8xf32, #onnx.dims<"N", "">>) -> tensor<?x8xf32, #onnx.dims<"N", "">>
  %loss = "onnx.ReduceSum"(%h2) <{keepdims = 0 : i64}> {onnx.name = "sum", onnx.outputs = ["loss"]} : (tensor<?x8xf32, #onnx.dims<"N", "">>) -> tensor<f32>
  return %loss : tensor<f32>
}
}
