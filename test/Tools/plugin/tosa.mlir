// UNSUPPORTED: asan
// RUN: mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin %s \
// RUN:   --pass-pipeline='builtin.module(amp-autocast{low=bf16},amp-to-tosa)' \
// RUN:   | FileCheck %s
// What comes out is a TOSA module for any tool, of profiles that have bfloat16.
// RUN: mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin %s \
// RUN:   --pass-pipeline='builtin.module(amp-autocast{low=bf16},amp-to-tosa)' \
// RUN:   | mlir-opt --tosa-attach-target="profiles=pro_fp extensions=bf16" --tosa-validate="strict-op-spec-alignment=1" \
// RUN:   | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK-SAME: (%[[X:.*]]: tensor<1x4x8xf32>, %[[W:.*]]: tensor<1x8x4xf32>)
func.func @f(%x: tensor<1x4x8xf32>, %w: tensor<1x8x4xf32>) -> tensor<1x4x4xf32> {
  // CHECK-DAG: %[[ZP:.*]] = "tosa.const"() <{values = dense<0.000000e+00> : tensor<1xbf16>}>
  // CHECK-DAG: %[[LOWX:.*]] = tosa.cast %[[X]] : (tensor<1x4x8xf32>) -> tensor<1x4x8xbf16>
  // CHECK-DAG: %[[LOWW:.*]] = tosa.cast %[[W]] : (tensor<1x8x4xf32>) -> tensor<1x8x4xbf16>
  // CHECK: %[[Y:.*]] = tosa.matmul %[[LOWX]], %[[LOWW]], %[[ZP]], %[[ZP]] {{.*}} -> tensor<1x4x4xf32>
  // CHECK: return %[[Y]]
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.matmul %x, %w, %zp, %zp : (tensor<1x4x8xf32>, tensor<1x8x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  return %0 : tensor<1x4x4xf32>
}
