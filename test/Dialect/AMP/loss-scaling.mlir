// RUN: amp-test-opt %s | amp-test-opt | FileCheck %s
// RUN: amp-test-opt %s --emit-bytecode | amp-test-opt | FileCheck %s

// CHECK-LABEL: func.func @scale
// CHECK-SAME: %[[H:.*]]: tensor<f16>, %[[W:.*]]: tensor<*xf64>, %[[S:.*]]: tensor<f32>
func.func @scale(%h: tensor<f16>, %w: tensor<*xf64>, %scale: tensor<f32>) {
  // CHECK: amp.scale %[[H]] by %[[S]] : tensor<f16> to tensor<f32>
  %0 = amp.scale %h by %scale : tensor<f16> to tensor<f32>
  // CHECK: amp.scale %[[W]] by %[[S]] : tensor<*xf64> to tensor<*xf64>
  %1 = amp.scale %w by %scale : tensor<*xf64> to tensor<*xf64>
  return
}

// CHECK-LABEL: func.func @unscale
// CHECK-SAME: %[[A:.*]]: tensor<4x?xf16>, %[[B:.*]]: tensor<2xf32>, %[[S:.*]]: tensor<f32>
func.func @unscale(%a: tensor<4x?xf16>, %b: tensor<2xf32>, %scale: tensor<f32>) -> tensor<i1> {
  // CHECK: %{{.*}}:2, %[[FOUND:.*]] = amp.unscale safe %[[A]], %[[B]] by %[[S]] : tensor<4x?xf16>, tensor<2xf32> to tensor<4x?xf32>, tensor<2xf32>
  %u:2, %found = amp.unscale safe %a, %b by %scale
    : tensor<4x?xf16>, tensor<2xf32> to tensor<4x?xf32>, tensor<2xf32>
  // CHECK: amp.unscale torch %[[B]] by %[[S]] : tensor<2xf32> to tensor<2xf32>
  %v, %other = amp.unscale torch %b by %scale : tensor<2xf32> to tensor<2xf32>
  // CHECK: return %[[FOUND]]
  return %found : tensor<i1>
}

// CHECK-LABEL: func.func @clip_grad_norm
// CHECK-SAME: %[[A:.*]]: tensor<4x?xf32>, %[[B:.*]]: tensor<2xf32>
func.func @clip_grad_norm(%a: tensor<4x?xf32>, %b: tensor<2xf32>) {
  // CHECK: amp.clip_grad_norm %[[A]], %[[B]] to 1.000000e+00 : tensor<4x?xf32>, tensor<2xf32>
  %c:2, %norm = amp.clip_grad_norm %a, %b to 1.0
    : tensor<4x?xf32>, tensor<2xf32>
  // CHECK: amp.clip_grad_norm %[[B]] to 5.000000e-01 {epsilon = 0.000000e+00 : f64} : tensor<2xf32>
  %d, %other = amp.clip_grad_norm %b to 0.5 {epsilon = 0.0 : f64} : tensor<2xf32>
  return
}

// CHECK-LABEL: func.func @guard
// CHECK-SAME: %[[F:.*]]: tensor<i1>, %[[P:.*]]: tensor<4xf32>, %[[N:.*]]: tensor<i64>
func.func @guard(%found: tensor<i1>, %p: tensor<4xf32>, %steps: tensor<i64>) {
  // CHECK: amp.guard %[[F]] keeps %[[P]], %[[N]] : tensor<4xf32>, tensor<i64> {
  %p1, %steps1 = amp.guard %found keeps %p, %steps
    : tensor<4xf32>, tensor<i64> {
    // CHECK: %[[Q:.*]] = t.relu
    %p2 = t.relu %p : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: amp.yield %[[Q]], %[[N]] : tensor<4xf32>, tensor<i64>
    amp.yield %p2, %steps : tensor<4xf32>, tensor<i64>
  }
  return
}

// CHECK-LABEL: func.func @update_scale
// CHECK-SAME: %[[S:.*]]: tensor<f32>, %[[T:.*]]: tensor<i32>, %[[F:.*]]: tensor<i1>, %[[G:.*]]: tensor<i1>
func.func @update_scale(%scale: tensor<f32>, %tracker: tensor<i32>, %f: tensor<i1>, %g: tensor<i1>) {
  // CHECK: amp.update_scale safe %[[S]], %[[T]] after %[[F]], %[[G]] {growth_interval = 500 : i64}
  %scale1, %tracker1 = amp.update_scale safe %scale, %tracker
    after %f, %g {growth_interval = 500 : i64}
  // CHECK: amp.update_scale safe %[[S]], %[[T]] after %[[F]] {max_scale = 1.024000e+03 : f32, min_scale = 1.000000e+00 : f32}
  %0:2 = amp.update_scale safe %scale, %tracker after %f {min_scale = 1.0 : f32, max_scale = 1024.0 : f32}
  // CHECK: amp.update_scale torch %[[S]], %[[T]] after %[[F]] {backoff_factor = 2.500000e-01 : f64, growth_factor = 1.500000e+00 : f64}
  %1:2 = amp.update_scale torch %scale, %tracker after %f {growth_factor = 1.5 : f64, backoff_factor = 0.25 : f64}
  // CHECK: amp.update_scale torch %[[S]], %[[T]]{{$}}
  %2:2 = amp.update_scale torch %scale, %tracker
  return
}
