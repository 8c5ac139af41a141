// UNSUPPORTED: asan
// RUN: mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin %s \
// RUN:   --pass-pipeline='builtin.module(amp-autocast,amp-to-arith)' \
// RUN:   | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8x4xf32>)
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4xf32> {
  // CHECK-DAG: %[[ACC:.*]] = arith.constant dense<0.000000e+00> : tensor<4x4xf32>
  // CHECK-DAG: %[[LOWX:.*]] = arith.truncf %[[X]] : tensor<4x8xf32> to tensor<4x8xf16>
  // CHECK-DAG: %[[LOWW:.*]] = arith.truncf %[[W]] : tensor<8x4xf32> to tensor<8x4xf16>
  // CHECK: %[[Y:.*]] = linalg.matmul ins(%[[LOWX]], %[[LOWW]] : tensor<4x8xf16>, tensor<8x4xf16>) outs(%[[ACC]] : tensor<4x4xf32>)
  // CHECK: %[[LOW:.*]] = arith.truncf %[[Y]] : tensor<4x4xf32> to tensor<4x4xf16>
  // CHECK: %[[T:.*]] = math.tanh %[[LOW]] : tensor<4x4xf16>
  // CHECK: %[[R:.*]] = arith.extf %[[T]]
  // CHECK: return %[[R]]
  %acc = arith.constant dense<0.0> : tensor<4x4xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x4xf32>) outs(%acc : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = math.tanh %0 : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
