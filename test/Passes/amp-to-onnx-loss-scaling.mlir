// RUN: amp-opt %s -amp-to-onnx -split-input-file -verify-diagnostics | FileCheck %s

module attributes {onnx.model = {opset_import = [{domain = "", version = 13 : i64}]}} {
// CHECK-LABEL: func.func @scale
// CHECK-SAME: (%[[H:.*]]: tensor<f16>, %[[S:.*]]: tensor<f32>)
func.func @scale(%h: tensor<f16>, %scale: tensor<f32>) -> tensor<f32> {
  // CHECK: %[[W:.*]] = "onnx.Cast"(%[[H]]) <{to = 1 : i64}>
  // CHECK: %[[R:.*]] = "onnx.Mul"(%[[W]], %[[S]])
  // CHECK: return %[[R]]
  %0 = amp.scale %h by %scale : tensor<f16> to tensor<f32>
  return %0 : tensor<f32>
}

// One product and one sum a gradient; what is elementwise besides, only where
// the sum is not finite.
// CHECK-LABEL: func.func @unscale
// CHECK-SAME: (%[[A:.*]]: tensor<4x?xf16>, %[[B:.*]]: tensor<2xf32>, %[[S:.*]]: tensor<f32>)
func.func @unscale(%a: tensor<4x?xf16>, %b: tensor<2xf32>, %scale: tensor<f32>) -> (tensor<4x?xf32>, tensor<2xf32>, tensor<i1>) {
  // CHECK: %[[Q:.*]] = "onnx.Div"(%{{.*}}, %[[S]])
  // CHECK: %[[I:.*]] = "onnx.Neg"(%[[Q]])
  // CHECK: %[[WA:.*]] = "onnx.Cast"(%[[A]])
  // CHECK: %[[UA:.*]] = "onnx.Mul"(%[[WA]], %[[I]]) : (tensor<4x?xf32>, tensor<f32>) -> tensor<4x?xf32>
  // CHECK: %[[UB:.*]] = "onnx.Mul"(%[[B]], %[[I]])
  // CHECK: %[[SA:.*]] = "onnx.ReduceL1"(%[[UA]]) <{keepdims = 0 : i64}>
  // CHECK: %[[SB:.*]] = "onnx.ReduceL1"(%[[UB]]) <{keepdims = 0 : i64}>
  // CHECK: %[[SUM:.*]] = "onnx.Sum"(%[[SA]], %[[SB]])
  // CHECK: %[[ABS:.*]] = "onnx.Abs"(%[[SUM]])
  // CHECK: %[[FINITE:.*]] = "onnx.Less"(%[[ABS]], %{{.*}}) : (tensor<f32>, tensor<f32>) -> tensor<i1>
  // CHECK: %[[NOT:.*]] = "onnx.Not"(%[[FINITE]])
  // CHECK: %[[FOUND:.*]] = "onnx.If"(%[[NOT]]) ({
  // CHECK: onnx.Yield %{{.*}} : tensor<i1> {onnx.graph = {name = "all_finite"}}
  // CHECK: "onnx.Mul"(%[[UA]],
  // CHECK: "onnx.Mul"(%[[UB]],
  // CHECK: onnx.Yield %{{.*}} : tensor<i1> {onnx.graph = {name = "sum_again"}}
  // CHECK: return %[[UA]], %[[UB]], %[[FOUND]]
  %u:2, %found = amp.unscale safe %a, %b by %scale
    : tensor<4x?xf16>, tensor<2xf32> to tensor<4x?xf32>, tensor<2xf32>
  return %u#0, %u#1, %found : tensor<4x?xf32>, tensor<2xf32>, tensor<i1>
}

// torch looks at what was scaled.
// CHECK-LABEL: func.func @unscale_torch
// CHECK-SAME: (%[[A:.*]]: tensor<4xf32>,
func.func @unscale_torch(%a: tensor<4xf32>, %scale: tensor<f32>) -> (tensor<4xf32>, tensor<i1>) {
  // CHECK: "onnx.ReduceL1"(%[[A]])
  %u, %found = amp.unscale torch %a by %scale : tensor<4xf32> to tensor<4xf32>
  return %u, %found : tensor<4xf32>, tensor<i1>
}

// CHECK-LABEL: func.func @clip_grad_norm
// CHECK-SAME: (%[[A:.*]]: tensor<4x?xf32>, %[[B:.*]]: tensor<2xf32>)
func.func @clip_grad_norm(%a: tensor<4x?xf32>, %b: tensor<2xf32>) -> (tensor<4x?xf32>, tensor<2xf32>, tensor<f32>) {
  // CHECK: "onnx.ReduceL2"(%[[A]])
  // CHECK: "onnx.ReduceL2"(%[[B]])
  // CHECK: %[[ALL:.*]] = "onnx.Concat"
  // CHECK: %[[NORM:.*]] = "onnx.ReduceL2"(%[[ALL]])
  // CHECK: %[[FACTOR:.*]] = "onnx.Where"
  // CHECK: %[[CA:.*]] = "onnx.Mul"(%[[A]], %[[FACTOR]])
  // CHECK: %[[CB:.*]] = "onnx.Mul"(%[[B]], %[[FACTOR]])
  // CHECK: return %[[CA]], %[[CB]], %[[NORM]]
  %c:2, %norm = amp.clip_grad_norm %a, %b to 1.0 : tensor<4x?xf32>, tensor<2xf32>
  return %c#0, %c#1, %norm : tensor<4x?xf32>, tensor<2xf32>, tensor<f32>
}

// Subgraphs give what their own nodes make, and each once.
// CHECK-LABEL: func.func @guard
// CHECK-SAME: (%[[F:.*]]: tensor<i1>, %[[P:.*]]: tensor<4xf32>, %[[Q:.*]]: tensor<4xf32>, %[[D:.*]]: tensor<4xf32>)
func.func @guard(%found: tensor<i1>, %p: tensor<4xf32>, %q: tensor<4xf32>, %d: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[R:.*]]:3 = "onnx.If"(%[[F]]) ({
  // CHECK: %[[NEW:.*]] = "onnx.Sub"(%[[P]], %[[D]])
  // CHECK: %[[AGAIN:.*]] = "onnx.Identity"(%[[NEW]])
  // CHECK: %[[OUTSIDE:.*]] = "onnx.Identity"(%[[D]])
  // CHECK: onnx.Yield %[[NEW]], %[[AGAIN]], %[[OUTSIDE]] : {{.*}} {onnx.graph = {name = "step"}}
  // CHECK: %[[OLDP:.*]] = "onnx.Identity"(%[[P]])
  // CHECK: %[[OLDQ:.*]] = "onnx.Identity"(%[[Q]])
  // CHECK: %[[OLDP2:.*]] = "onnx.Identity"(%[[P]])
  // CHECK: onnx.Yield %[[OLDP]], %[[OLDQ]], %[[OLDP2]] : {{.*}} {onnx.graph = {name = "skip"}}
  // CHECK: return %[[R]]#0, %[[R]]#1, %[[R]]#2
  %r:3 = amp.guard %found keeps %p, %q, %p : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {
    %new = "onnx.Sub"(%p, %d) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    amp.yield %new, %new, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// What is inside is converted, too.
// CHECK-LABEL: func.func @guarded_cast
// CHECK: "onnx.If"
// CHECK: "onnx.Cast"
func.func @guarded_cast(%found: tensor<i1>, %p: tensor<4xf16>, %q: tensor<4xf32>) -> tensor<4xf16> {
  %r = amp.guard %found keeps %p : tensor<4xf16> {
    %low = amp.cast %q : tensor<4xf32> to tensor<4xf16>
    amp.yield %low : tensor<4xf16>
  }
  return %r : tensor<4xf16>
}

// Factors of float32 give one product; others are multiplied in float64.
// CHECK-LABEL: func.func @update_scale
// CHECK-SAME: (%[[S:.*]]: tensor<f32>, %[[T:.*]]: tensor<i32>, %[[F:.*]]: tensor<i1>, %[[G:.*]]: tensor<i1>)
func.func @update_scale(%scale: tensor<f32>, %tracker: tensor<i32>, %f: tensor<i1>, %g: tensor<i1>) -> (tensor<f32>, tensor<i32>) {
  // CHECK: %[[NEXT:.*]] = "onnx.Add"(%[[T]], %{{.*}}) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  // CHECK: %[[ANY:.*]] = "onnx.Or"(%[[F]], %[[G]])
  // CHECK: %[[LESS:.*]] = "onnx.Mul"(%[[S]], %{{.*}}) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // CHECK: "onnx.Mul"(%{{.*}}, %{{.*}}) : (tensor<f64>, tensor<f64>) -> tensor<f64>
  // CHECK: %[[DUE:.*]] = "onnx.Equal"(%[[NEXT]], %{{.*}})
  // CHECK: %[[S1:.*]] = "onnx.Where"(%[[ANY]], %[[LESS]], %{{.*}})
  // CHECK: %[[RESET:.*]] = "onnx.Or"(%[[ANY]], %[[DUE]])
  // CHECK: %[[T1:.*]] = "onnx.Where"(%[[RESET]], %{{.*}}, %[[NEXT]])
  // CHECK: return %[[S1]], %[[T1]]
  %0:2 = amp.update_scale torch %scale, %tracker after %f, %g {growth_factor = 1.1 : f64}
  return %0#0, %0#1 : tensor<f32>, tensor<i32>
}

// CHECK-LABEL: func.func @update_scale_safe
// CHECK: "onnx.Greater"(%{{.*}}, %{{.*}}) : (tensor<i32>, tensor<i32>) -> tensor<i1>
func.func @update_scale_safe(%scale: tensor<f32>, %tracker: tensor<i32>, %f: tensor<i1>) -> (tensor<f32>, tensor<i32>) {
  %0:2 = amp.update_scale safe %scale, %tracker after %f
  return %0#0, %0#1 : tensor<f32>, tensor<i32>
}

// CHECK-LABEL: func.func @update_scale_after_nothing
// CHECK-SAME: (%[[S:.*]]: tensor<f32>, %[[T:.*]]: tensor<i32>)
func.func @update_scale_after_nothing(%scale: tensor<f32>, %tracker: tensor<i32>) -> (tensor<f32>, tensor<i32>) {
  // CHECK-NEXT: return %[[S]], %[[T]]
  %0:2 = amp.update_scale safe %scale, %tracker
  return %0#0, %0#1 : tensor<f32>, tensor<i32>
}
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 12 : i64}]}} {
func.func @old(%x: tensor<f32>, %scale: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{'amp.scale' op expects opset 13 or later of ai.onnx, but got 12}}
  %0 = amp.scale %x by %scale : tensor<f32> to tensor<f32>
  return %0 : tensor<f32>
}
}
