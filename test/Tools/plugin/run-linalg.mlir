// The numbers: 8 products of 0.3 and 0.7, and 0.1, times 8 times -0.2 are -2.848.
// UNSUPPORTED: asan
// DEFINE: %{pipeline} =
// DEFINE: %{lower} = convert-elementwise-to-linalg, \
// DEFINE:   one-shot-bufferize{bufferize-function-boundaries}, \
// DEFINE:   convert-linalg-to-loops,convert-scf-to-cf,expand-strided-metadata, \
// DEFINE:   lower-affine,finalize-memref-to-llvm,convert-math-to-llvm, \
// DEFINE:   convert-arith-to-llvm,convert-func-to-llvm,convert-cf-to-llvm, \
// DEFINE:   reconcile-unrealized-casts
// DEFINE: %{run} = mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin %s \
// DEFINE:   --pass-pipeline='builtin.module(%{pipeline}%{lower})' \
// DEFINE:   | mlir-runner -e main --entry-point-result=void \
// DEFINE:   --shared-libs=%mlir_libs/libmlir_runner_utils.so,%mlir_libs/libmlir_c_runner_utils.so

// RUN: %{run} | FileCheck %s --check-prefix=F32
// REDEFINE: %{pipeline} = amp-autocast,amp-to-arith,
// RUN: %{run} | FileCheck %s --check-prefix=F16
// REDEFINE: %{pipeline} = amp-autocast{low=bf16 placement=optimal},amp-to-arith,
// RUN: %{run} | FileCheck %s --check-prefix=BF16

// F32: -2.848,
// F16: -2.847{{[0-9]+}},
// BF16: -2.85{{[0-9]+}},

func.func private @printMemrefF32(tensor<*xf32>)

func.func @mlp(%x: tensor<4x8xf32>, %w1: tensor<8x8xf32>, %w2: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %bias = arith.constant dense<0.1> : tensor<4x8xf32>
  %e1 = tensor.empty() : tensor<4x8xf32>
  %acc1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.matmul ins(%x, %w1 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%acc1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.add ins(%0, %bias : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = arith.maximumf %1, %acc1 : tensor<4x8xf32>
  %e2 = tensor.empty() : tensor<4x4xf32>
  %acc2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = linalg.matmul ins(%2, %w2 : tensor<4x8xf32>, tensor<8x4xf32>) outs(%acc2 : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

func.func @main() {
  %x = arith.constant dense<0.3> : tensor<4x8xf32>
  %w1 = arith.constant dense<0.7> : tensor<8x8xf32>
  %w2 = arith.constant dense<-0.2> : tensor<8x4xf32>
  %0 = call @mlp(%x, %w1, %w2) : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = tensor.cast %0 : tensor<4x4xf32> to tensor<*xf32>
  call @printMemrefF32(%1) : (tensor<*xf32>) -> ()
  return
}
