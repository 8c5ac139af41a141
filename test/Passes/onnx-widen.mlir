// RUN: amp-opt %s -onnx-widen | FileCheck %s
// RUN: amp-opt %s -onnx-widen=interface | FileCheck %s --check-prefix=INTERFACE

module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {

// Each result is rounded, by a cast that has the value's name.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<2xf16>, %[[B:.*]]: tensor<2xbf16>) -> (tensor<2xf16>, tensor<2xbf16>)
// INTERFACE-LABEL: func.func @main
// INTERFACE-SAME: (%[[X:.*]]: tensor<2xf32>, %[[B:.*]]: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
func.func @main(%x: tensor<2xf16>, %b: tensor<2xbf16>) -> (tensor<2xf16>, tensor<2xbf16>) {
  // CHECK: %[[BW:.*]] = "onnx.Cast"(%[[B]]) <{to = 1 : i64}> : (tensor<2xbf16>) -> tensor<2xf32>
  // CHECK: %[[XW:.*]] = "onnx.Cast"(%[[X]]) <{to = 1 : i64}> : (tensor<2xf16>) -> tensor<2xf32>
  // INTERFACE-DAG: "onnx.Cast"(%[[X]]) <{to = 10 : i64}>
  // INTERFACE-DAG: "onnx.Cast"(%[[B]]) <{to = 16 : i64}>

  // CHECK: %[[E:.*]] = "onnx.Exp"(%[[XW]]) {onnx.outputs = ["e_wide"]} : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK: %[[EL:.*]] = "onnx.Cast"(%[[E]]) <{to = 10 : i64}> {onnx.outputs = ["e"]}
  %e = "onnx.Exp"(%x) {onnx.outputs = ["e"]} : (tensor<2xf16>) -> tensor<2xf16>
  // CHECK: %[[EW:.*]] = "onnx.Cast"(%[[EL]]) <{to = 1 : i64}>
  // CHECK: "onnx.Add"(%[[EW]], %[[EW]])
  // CHECK: "onnx.Cast"{{.*}} {onnx.outputs = ["y"]}
  %y = "onnx.Add"(%e, %e) {onnx.outputs = ["y"]} : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
  // CHECK: "onnx.Neg"(%[[BW]]) : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK: <{to = 16 : i64}>
  %n = "onnx.Neg"(%b) : (tensor<2xbf16>) -> tensor<2xbf16>
  // INTERFACE: return {{.*}} : tensor<2xf32>, tensor<2xf32>
  return %y, %n : tensor<2xf16>, tensor<2xbf16>
}

// Casts are someone's rounding; float32 is left alone, and so is an operator
// without a schema.
// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<2xf32>, %h: tensor<2xf16>) -> (tensor<2xf16>, tensor<2xf32>, tensor<2xf16>) {
  // CHECK-NEXT: "onnx.Cast"(%{{.*}}) <{to = 10 : i64}> : (tensor<2xf32>) -> tensor<2xf16>
  %c = "onnx.Cast"(%x) <{to = 10 : i64}> : (tensor<2xf32>) -> tensor<2xf16>
  // CHECK-NEXT: "onnx.Exp"
  %e = "onnx.Exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: onnx.Custom
  %u = onnx.Custom "my" "Op"(%h) : (tensor<2xf16>) -> tensor<2xf16>
  // CHECK-NEXT: return
  return %c, %e, %u : tensor<2xf16>, tensor<2xf32>, tensor<2xf16>
}

// What is inside of subgraphs is widened; a value has one cast up for all.
// CHECK-LABEL: func.func @subgraph
// CHECK-SAME: (%{{.*}}: tensor<i1>, %[[X:.*]]: tensor<2xf16>)
func.func @subgraph(%c: tensor<i1>, %x: tensor<2xf16>) -> tensor<2xf16> {
  // CHECK: %[[W:.*]] = "onnx.Cast"(%[[X]]) <{to = 1 : i64}>
  // CHECK: "onnx.If"
  %r = "onnx.If"(%c) ({
    // CHECK: "onnx.Sqrt"(%[[W]])
    // CHECK: %[[L:.*]] = "onnx.Cast"({{.*}}) <{to = 10 : i64}>
    // CHECK: onnx.Yield %[[L]]
    %s = "onnx.Sqrt"(%x) : (tensor<2xf16>) -> tensor<2xf16>
    onnx.Yield %s : tensor<2xf16>
  }, {
    // CHECK: "onnx.Exp"(%[[W]])
    %s = "onnx.Exp"(%x) : (tensor<2xf16>) -> tensor<2xf16>
    onnx.Yield %s : tensor<2xf16>
  }) : (tensor<i1>) -> tensor<2xf16>
  return %r : tensor<2xf16>
}
}
