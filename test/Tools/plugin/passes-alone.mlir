// The pass plugin alone is enough, for a module that has no amp dialect yet.
// UNSUPPORTED: asan
// RUN: mlir-opt --load-pass-plugin=%plugin %s \
// RUN:   --pass-pipeline='builtin.module(amp-autocast,amp-to-tosa)' | FileCheck %s
// RUN: mlir-opt --load-pass-plugin=%plugin %s \
// RUN:   --pass-pipeline='builtin.module(amp-register-models,amp-annotate-precision,amp-insert-casts,amp-to-tosa)' \
// RUN:   | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK: tosa.matmul {{.*}} : (tensor<1x4x4xf16>, tensor<1x4x4xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<1x4x4xf32>
func.func @f(%x: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.matmul %x, %x, %zp, %zp : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  return %0 : tensor<1x4x4xf32>
}
