// The numbers: softmax over rows of equal scores, times values of 0.3, is 0.3,
// and a sum of 4096 products of 1 and 1 is 4096, which f16 does not reach by
// adding 1 to 2048.
// UNSUPPORTED: asan
// DEFINE: %{pipeline} =
// DEFINE: %{lower} = func.func(tosa-to-linalg-named),func.func(tosa-to-linalg),tosa-to-arith, \
// DEFINE:   convert-elementwise-to-linalg, \
// DEFINE:   one-shot-bufferize{bufferize-function-boundaries}, \
// DEFINE:   convert-linalg-to-loops,convert-scf-to-cf,expand-strided-metadata, \
// DEFINE:   lower-affine,convert-math-to-llvm,convert-math-to-libm,finalize-memref-to-llvm, \
// DEFINE:   convert-arith-to-llvm,convert-func-to-llvm,convert-cf-to-llvm, \
// DEFINE:   reconcile-unrealized-casts
// DEFINE: %{run} = mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin %s \
// DEFINE:   --pass-pipeline='builtin.module(%{pipeline}%{lower})' \
// DEFINE:   | mlir-runner -e main --entry-point-result=void \
// DEFINE:   --shared-libs=%mlir_libs/libmlir_runner_utils.so,%mlir_libs/libmlir_c_runner_utils.so

// RUN: %{run} | FileCheck %s --check-prefixes=CHECK,F32
// REDEFINE: %{pipeline} = amp-autocast,amp-to-tosa,
// RUN: %{run} | FileCheck %s --check-prefixes=CHECK,F16
// REDEFINE: %{pipeline} = amp-autocast{low=bf16 placement=optimal},amp-to-tosa,
// RUN: %{run} | FileCheck %s --check-prefixes=CHECK,BF16

// F32: 0.3,
// F16: {{0.299[0-9]+|0.3000[0-9]+}},
// BF16: 0.300781,
// CHECK: 4096

func.func private @printMemrefF32(tensor<*xf32>)

func.func @attention(%q: tensor<1x4x8xf32>, %k: tensor<1x8x4xf32>, %v: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %s = tosa.matmul %q, %k, %zp, %zp : (tensor<1x4x8xf32>, tensor<1x8x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  %max = tosa.reduce_max %s {axis = 2 : i32} : (tensor<1x4x4xf32>) -> tensor<1x4x1xf32>
  %d = tosa.sub %s, %max : (tensor<1x4x4xf32>, tensor<1x4x1xf32>) -> tensor<1x4x4xf32>
  %e = tosa.exp %d : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %sum = tosa.reduce_sum %e {axis = 2 : i32} : (tensor<1x4x4xf32>) -> tensor<1x4x1xf32>
  %r = tosa.reciprocal %sum : (tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %p = tosa.mul %e, %r, %shift : (tensor<1x4x4xf32>, tensor<1x4x1xf32>, tensor<1xi8>) -> tensor<1x4x4xf32>
  %o = tosa.matmul %p, %v, %zp, %zp : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  return %o : tensor<1x4x4xf32>
}

func.func @sum() -> tensor<1x1x1xf32> {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %a = "tosa.const"() <{values = dense<1.0> : tensor<1x1x4096xf32>}> : () -> tensor<1x1x4096xf32>
  %b = "tosa.const"() <{values = dense<1.0> : tensor<1x4096x1xf32>}> : () -> tensor<1x4096x1xf32>
  %0 = tosa.matmul %a, %b, %zp, %zp : (tensor<1x1x4096xf32>, tensor<1x4096x1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x1xf32>
  return %0 : tensor<1x1x1xf32>
}

func.func @main() {
  %q = "tosa.const"() <{values = dense<0.5> : tensor<1x4x8xf32>}> : () -> tensor<1x4x8xf32>
  %k = "tosa.const"() <{values = dense<2.0> : tensor<1x8x4xf32>}> : () -> tensor<1x8x4xf32>
  %v = "tosa.const"() <{values = dense<0.3> : tensor<1x4x4xf32>}> : () -> tensor<1x4x4xf32>
  %0 = call @attention(%q, %k, %v) : (tensor<1x4x8xf32>, tensor<1x8x4xf32>, tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %1 = tensor.cast %0 : tensor<1x4x4xf32> to tensor<*xf32>
  call @printMemrefF32(%1) : (tensor<*xf32>) -> ()

  %2 = call @sum() : () -> tensor<1x1x1xf32>
  %3 = tensor.cast %2 : tensor<1x1x1xf32> to tensor<*xf32>
  call @printMemrefF32(%3) : (tensor<*xf32>) -> ()
  return
}
