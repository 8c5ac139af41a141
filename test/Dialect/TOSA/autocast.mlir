// Chains of TOSA operators, in both formats. What comes out is verified by the
// passes, and changes no more when it is converted again.
// RUN: amp-opt %s -split-input-file -pass-pipeline='builtin.module(amp-autocast)' | FileCheck %s -D$LOW=f16 -D$BIAS=9.997550e-02 -D$MAX=6.550400e+04
// RUN: amp-opt %s -split-input-file -pass-pipeline='builtin.module(amp-autocast{low=bf16})' | FileCheck %s -D$LOW=bf16 -D$BIAS=1.000980e-01 -D$MAX=3.389530e+38
// RUN: amp-opt %s -split-input-file -pass-pipeline='builtin.module(amp-autocast,amp-to-tosa)' -o %t.once
// RUN: amp-opt %t.once -split-input-file -pass-pipeline='builtin.module(amp-autocast,amp-to-tosa)' -o %t.twice
// RUN: diff %t.once %t.twice

// The sum is f32: in f16 it would be added up in f16, and TOSA has no such
// product of bf16. It is rounded for what follows in the low format.
// CHECK-LABEL: func.func @mlp
// CHECK-SAME: (%[[X:.*]]: tensor<1x4x8xf32>, %[[W1:.*]]: tensor<1x8x8xf32>, %[[W2:.*]]: tensor<1x8x4xf32>)
// CHECK-DAG: %[[LOWX:.*]] = amp.cast %[[X]] : tensor<1x4x8xf32> to tensor<1x4x8x[[$LOW]]>
// CHECK-DAG: %[[LOW1:.*]] = amp.cast %[[W1]]
// CHECK-DAG: %[[LOW2:.*]] = amp.cast %[[W2]]
// CHECK-DAG: %[[ZP:.*]] = "tosa.const"() <{values = dense<0.000000e+00> : tensor<1x[[$LOW]]>}>
// CHECK-DAG: %[[B:.*]] = "tosa.const"() <{values = dense<[[$BIAS]]> : tensor<1x1x8x[[$LOW]]>}>
// CHECK: %[[Y1:.*]] = tosa.matmul %[[LOWX]], %[[LOW1]], %[[ZP]], %[[ZP]] : (tensor<1x4x8x[[$LOW]]>, tensor<1x8x8x[[$LOW]]>, tensor<1x[[$LOW]]>, tensor<1x[[$LOW]]>) -> tensor<1x4x8xf32>
// CHECK: %[[LOWY:.*]] = amp.cast %[[Y1]] : tensor<1x4x8xf32> to tensor<1x4x8x[[$LOW]]>
// CHECK: %[[Y2:.*]] = tosa.add %[[LOWY]], %[[B]]
// CHECK: %[[Y3:.*]] = tosa.clamp %[[Y2]] {max_val = [[$MAX]] : [[$LOW]], min_val = 0.000000e+00 : [[$LOW]]} : (tensor<1x4x8x[[$LOW]]>) -> tensor<1x4x8x[[$LOW]]>
// CHECK: %[[Y4:.*]] = tosa.matmul %[[Y3]], %[[LOW2]], %[[ZP]], %[[ZP]] : {{.*}} -> tensor<1x4x4xf32>
// CHECK: return %[[Y4]]
func.func @mlp(%x: tensor<1x4x8xf32>, %w1: tensor<1x8x8xf32>, %w2: tensor<1x8x4xf32>) -> tensor<1x4x4xf32> {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %bias = "tosa.const"() <{values = dense<0.1> : tensor<1x1x8xf32>}> : () -> tensor<1x1x8xf32>
  %0 = tosa.matmul %x, %w1, %zp, %zp : (tensor<1x4x8xf32>, tensor<1x8x8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x8xf32>
  %1 = tosa.add %0, %bias : (tensor<1x4x8xf32>, tensor<1x1x8xf32>) -> tensor<1x4x8xf32>
  %2 = tosa.clamp %1 {min_val = 0.0 : f32, max_val = 3.40282347E+38 : f32} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %3 = tosa.matmul %2, %w2, %zp, %zp : (tensor<1x4x8xf32>, tensor<1x8x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  return %3 : tensor<1x4x4xf32>
}

// -----

// What is steep or adds up is f32, between two products that are not.
// CHECK-LABEL: func.func @attention
// CHECK: %[[S:.*]] = tosa.matmul {{.*}} -> tensor<2x4x4xf32>
// CHECK: %[[LOWS:.*]] = amp.cast %[[S]]
// CHECK: %[[MAXS:.*]] = tosa.reduce_max %[[LOWS]]
// CHECK: %[[D:.*]] = tosa.sub %[[LOWS]], %[[MAXS]]
// CHECK: %[[WIDE:.*]] = amp.cast %[[D]] : tensor<2x4x4x[[$LOW]]> to tensor<2x4x4xf32>
// CHECK: %[[E:.*]] = tosa.exp %[[WIDE]] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
// CHECK: %[[SUM:.*]] = tosa.reduce_sum %[[E]]
// CHECK: %[[R:.*]] = tosa.reciprocal %[[SUM]] : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
// CHECK: %[[P:.*]] = tosa.mul %[[E]], %[[R]]
// CHECK: %[[LOWP:.*]] = amp.cast %[[P]]
// CHECK: tosa.matmul %[[LOWP]]
func.func @attention(%q: tensor<2x4x8xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %s = tosa.matmul %q, %k, %zp, %zp : (tensor<2x4x8xf32>, tensor<2x8x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4x4xf32>
  %max = tosa.reduce_max %s {axis = 2 : i32} : (tensor<2x4x4xf32>) -> tensor<2x4x1xf32>
  %d = tosa.sub %s, %max : (tensor<2x4x4xf32>, tensor<2x4x1xf32>) -> tensor<2x4x4xf32>
  %e = tosa.exp %d : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %sum = tosa.reduce_sum %e {axis = 2 : i32} : (tensor<2x4x4xf32>) -> tensor<2x4x1xf32>
  %r = tosa.reciprocal %sum : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
  %p = tosa.mul %e, %r, %shift : (tensor<2x4x4xf32>, tensor<2x4x1xf32>, tensor<1xi8>) -> tensor<2x4x4xf32>
  %o = tosa.matmul %p, %v, %zp, %zp : (tensor<2x4x4xf32>, tensor<2x4x8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----

// Zero points have the type of what they belong to, acc_type stays.
// CHECK-LABEL: func.func @conv
// CHECK: %[[ZP:.*]] = "tosa.const"() <{values = dense<0.000000e+00> : tensor<1x[[$LOW]]>}>
// CHECK: %[[Y:.*]] = tosa.conv2d {{.*}}, %[[ZP]], %[[ZP]] {acc_type = f32, {{.*}} -> tensor<1x8x8x4x[[$LOW]]>
// CHECK: %[[POOL:.*]] = tosa.avg_pool2d %[[Y]], %[[ZP]], %[[ZP]] {acc_type = f32, {{.*}} -> tensor<1x4x4x4x[[$LOW]]>
// CHECK: %[[N:.*]] = tosa.negate %[[POOL]], %[[ZP]], %[[ZP]]
// CHECK: %[[R:.*]] = amp.cast %[[N]]
// CHECK: return %[[R]]
func.func @conv(%x: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32> {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %bias = "tosa.const"() <{values = dense<[1.0, 2.0, 3.0, 1.0e-9]> : tensor<4xf32>}> : () -> tensor<4xf32>
  %0 = tosa.conv2d %x, %w, %bias, %zp, %zp {acc_type = f32, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x8x4xf32>
  %1 = tosa.avg_pool2d %0, %zp, %zp {acc_type = f32, kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>} : (tensor<1x8x8x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4x4xf32>
  %2 = tosa.negate %1, %zp, %zp : (tensor<1x4x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4x4xf32>
  return %2 : tensor<1x4x4x4xf32>
}
