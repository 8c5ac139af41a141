// RUN: amp-opt %s -split-input-file -pass-pipeline='builtin.module(amp-autocast)' | FileCheck %s
// RUN: amp-opt %s -split-input-file -pass-pipeline='builtin.module(amp-autocast{low=bf16},amp-to-arith)' -o %t.once
// RUN: amp-opt %t.once -split-input-file -pass-pipeline='builtin.module(amp-autocast{low=bf16},amp-to-arith)' -o %t.twice
// RUN: diff %t.once %t.twice

// The accumulator stays f32; what follows reads it rounded.
// CHECK-LABEL: func.func @mlp
// CHECK-DAG: %[[ACC:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<4x8xf32>)
// CHECK-DAG: %[[ZERO:.*]] = linalg.fill ins(%{{.*}} : f16) outs(%{{.*}} : tensor<4x8xf16>)
// CHECK: %[[Y1:.*]] = linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<4x8xf16>, tensor<8x8xf16>) outs(%[[ACC]] : tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: %[[LOWY:.*]] = amp.cast %[[Y1]] : tensor<4x8xf32> to tensor<4x8xf16>
// CHECK: %[[Y2:.*]] = linalg.add ins(%[[LOWY]], %{{.*}} : tensor<4x8xf16>, tensor<4x8xf16>) outs(%{{.*}} : tensor<4x8xf16>)
// CHECK: %[[Y3:.*]] = linalg.max ins(%[[Y2]], %[[ZERO]] : tensor<4x8xf16>, tensor<4x8xf16>)
// CHECK: %[[Y4:.*]] = linalg.matmul ins(%[[Y3]], %{{.*}} : tensor<4x8xf16>, tensor<8x4xf16>) outs(%{{.*}} : tensor<4x4xf32>)
// CHECK: return %[[Y4]]
func.func @mlp(%x: tensor<4x8xf32>, %w1: tensor<8x8xf32>, %w2: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %bias = arith.constant dense<0.1> : tensor<4x8xf32>
  %e1 = tensor.empty() : tensor<4x8xf32>
  %acc1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.matmul ins(%x, %w1 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%acc1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.add ins(%0, %bias : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.max ins(%1, %acc1 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %e2 = tensor.empty() : tensor<4x4xf32>
  %acc2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = linalg.matmul ins(%2, %w2 : tensor<4x8xf32>, tensor<8x4xf32>) outs(%acc2 : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// -----

// The result in float32 is the accumulator: nothing is rounded for exp.
// CHECK-LABEL: func.func @exp
// CHECK: %[[Y:.*]] = linalg.matmul {{.*}} -> tensor<4x4xf32>
// CHECK-NEXT: math.exp %[[Y]] : tensor<4x4xf32>
func.func @exp(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %acc = arith.constant dense<0.0> : tensor<4x4xf32>
  %0 = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%acc : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = math.exp %0 : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

// Bodies of which nothing is known read the low format, and compute as before.
// CHECK-LABEL: func.func @generic
// CHECK-SAME: %[[Y:[^ ]*]]: tensor<4xf32>)
// CHECK: %[[T:.*]] = math.tanh %{{.*}} : tensor<4x4xf16>
// CHECK-NEXT: linalg.generic {{.*}} ins(%[[T]], %[[Y]] : tensor<4x4xf16>, tensor<4xf32>) outs(%{{.*}} : tensor<4x4xf32>)
// CHECK-NEXT: ^bb0(%[[A:.*]]: f16, %[[B:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[A]] : f16 to f32
// CHECK-NEXT: arith.addf %[[WIDE]], %[[B]] : f32
// CHECK: linalg.reduce ins(%[[T]] : tensor<4x4xf16>) outs(%{{.*}} : tensor<4xf32>)
// CHECK: arith.extf
// CHECK-NEXT: arith.addf %{{.*}} : f32
func.func @generic(%x: tensor<4x4xf32>, %y: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
  %acc = arith.constant dense<0.0> : tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %init = arith.constant dense<0.0> : tensor<4xf32>
  %0 = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%acc : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = math.tanh %0 : tensor<4x4xf32>
  %2 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%1, %y : tensor<4x4xf32>, tensor<4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  %3 = linalg.reduce ins(%1 : tensor<4x4xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
    (%a: f32, %sum: f32) {
      %s = arith.addf %a, %sum : f32
      linalg.yield %s : f32
    }
  return %2, %3 : tensor<4x4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @conv
// CHECK: %[[Y:.*]] = linalg.conv_2d_nhwc_hwcf {{.*}} : tensor<1x8x8x3xf16>, tensor<3x3x3x4xf16>) outs(%{{.*}} : tensor<1x6x6x4xf32>)
// CHECK: %[[LOWY:.*]] = amp.cast %[[Y]]
// CHECK: %[[P:.*]] = linalg.pooling_nhwc_max {{.*}} ins(%[[LOWY]], %{{.*}} : tensor<1x6x6x4xf16>, tensor<2x2xf16>) outs(%{{.*}} : tensor<1x3x3x4xf32>)
// CHECK: return %[[P]]
func.func @conv(%x: tensor<1x8x8x3xf32>, %w: tensor<3x3x3x4xf32>) -> tensor<1x3x3x4xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant -3.40282347E+38 : f32
  %e = tensor.empty() : tensor<1x6x6x4xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%e : tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>} ins(%x, %w : tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) outs(%acc : tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  %window = tensor.empty() : tensor<2x2xf32>
  %e2 = tensor.empty() : tensor<1x3x3x4xf32>
  %init = linalg.fill ins(%lowest : f32) outs(%e2 : tensor<1x3x3x4xf32>) -> tensor<1x3x3x4xf32>
  %1 = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>} ins(%0, %window : tensor<1x6x6x4xf32>, tensor<2x2xf32>) outs(%init : tensor<1x3x3x4xf32>) -> tensor<1x3x3x4xf32>
  return %1 : tensor<1x3x3x4xf32>
}

// -----

// Elementwise operations and what moves data.
// CHECK-LABEL: func.func @elementwise
// CHECK: linalg.elementwise kind=#linalg.elementwise_kind<tanh> ins(%{{.*}} : tensor<4x4xf16>) outs(%{{.*}} : tensor<4x4xf16>)
// CHECK-NEXT: linalg.transpose ins(%{{.*}} : tensor<4x4xf16>)
// CHECK-NEXT: tensor.collapse_shape {{.*}} into tensor<16xf16>
// CHECK-NEXT: tensor.expand_shape {{.*}} into tensor<2x8xf16>
// CHECK: %[[SLICE:.*]] = tensor.extract_slice {{.*}} to tensor<?x4xf16>
// CHECK-NEXT: tensor.dim %[[SLICE]], %{{.*}} : tensor<?x4xf16>
// CHECK-NEXT: tensor.empty(%{{.*}}) : tensor<?x4xf16>
// CHECK-NEXT: linalg.copy
func.func @elementwise(%x: tensor<4x4xf32>, %n: index) -> (tensor<2x8xf32>, tensor<?x4xf32>, index) {
  %c0 = arith.constant 0 : index
  %acc = arith.constant dense<0.0> : tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %0 = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%acc : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = linalg.elementwise kind=#linalg.elementwise_kind<tanh> ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.transpose ins(%1 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) permutation = [1, 0]
  %3 = tensor.collapse_shape %2 [[0, 1]] : tensor<4x4xf32> into tensor<16xf32>
  %4 = tensor.expand_shape %3 [[0, 1]] output_shape [2, 8] : tensor<16xf32> into tensor<2x8xf32>
  %5 = tensor.extract_slice %2[0, 0] [%n, 4] [1, 1] : tensor<4x4xf32> to tensor<?x4xf32>
  %6 = tensor.dim %5, %c0 : tensor<?x4xf32>
  %7 = tensor.empty(%6) : tensor<?x4xf32>
  %8 = linalg.copy ins(%5 : tensor<?x4xf32>) outs(%7 : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %4, %8, %6 : tensor<2x8xf32>, tensor<?x4xf32>, index
}

// -----

// An accumulator that is carried: in f32 all the way.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}) -> (tensor<4x4xf32>)
// CHECK-NEXT: %[[SUM:.*]] = linalg.matmul ins(%{{.*}} : tensor<4x4xf16>, tensor<4x4xf16>) outs(%[[A]] : tensor<4x4xf32>)
// CHECK-NEXT: scf.yield %[[SUM]]
func.func @loop(%x: tensor<4x4xf32>, %n: index) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %acc = arith.constant dense<0.0> : tensor<4x4xf32>
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %acc) -> tensor<4x4xf32> {
    %1 = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
    scf.yield %1 : tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}

// -----

// Inputs of two types are legal here: each moves by itself.
// CHECK-LABEL: func.func @mixed
// CHECK-SAME: %[[X:.*]]: tensor<4x4xf16>, %[[Y:.*]]: tensor<4x4xf32>
// CHECK: %[[LOWY:.*]] = amp.cast %[[Y]] : tensor<4x4xf32> to tensor<4x4xf16>
// CHECK: linalg.matmul ins(%[[X]], %[[LOWY]] : tensor<4x4xf16>, tensor<4x4xf16>)
func.func @mixed(%x: tensor<4x4xf16>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %acc = arith.constant dense<0.0> : tensor<4x4xf32>
  %0 = linalg.matmul ins(%x, %y : tensor<4x4xf16>, tensor<4x4xf32>) outs(%acc : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// Scalars, vectors and buffers are no tensors.
// CHECK-LABEL: func.func @others
// CHECK-NOT: amp.cast
func.func @others(%x: f32, %v: vector<4xf32>, %m: memref<4x4xf32>) -> (f32, vector<4xf32>) {
  %0 = arith.addf %x, %x : f32
  %1 = math.exp %v : vector<4xf32>
  linalg.matmul ins(%m, %m : memref<4x4xf32>, memref<4x4xf32>) outs(%m : memref<4x4xf32>)
  return %0, %1 : f32, vector<4xf32>
}

// -----

// What pads is a scalar, and no operation of a known kind.
// CHECK-LABEL: func.func @padded
// CHECK: %[[WIDE:.*]] = amp.cast %{{.*}} : tensor<4x4xf16> to tensor<4x4xf32>
// CHECK: tensor.pad %[[WIDE]]
// CHECK: linalg.pack %[[WIDE]] padding_value
func.func @padded(%x: tensor<4x4xf32>) -> (tensor<6x6xf32>, tensor<2x2x3x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %acc = arith.constant dense<0.0> : tensor<4x4xf32>
  %e = tensor.empty() : tensor<2x2x3x3xf32>
  %0 = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%acc : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = math.tanh %0 : tensor<4x4xf32>
  %2 = tensor.pad %1 low[1, 1] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<4x4xf32> to tensor<6x6xf32>
  %3 = linalg.pack %1 padding_value(%zero : f32) inner_dims_pos = [0, 1] inner_tiles = [3, 3] into %e : tensor<4x4xf32> -> tensor<2x2x3x3xf32>
  return %2, %3 : tensor<6x6xf32>, tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @contractions
// CHECK: linalg.batch_matmul {{.*}} : tensor<2x4x8xf16>, tensor<2x8x4xf16>) outs(%{{.*}} : tensor<2x4x4xf32>)
// CHECK: linalg.batch_reduce_matmul {{.*}} : tensor<2x4x8xf16>, tensor<2x8x4xf16>) outs(%{{.*}} : tensor<4x4xf32>)
// CHECK: linalg.dot {{.*}} : tensor<8xf16>, tensor<8xf16>) outs(%{{.*}} : tensor<f32>)
// CHECK: linalg.batch_matvec {{.*}} : tensor<2x4x8xf16>, tensor<2x8xf16>) outs(%{{.*}} : tensor<2x4xf32>)
// CHECK: linalg.contract {{.*}} : tensor<2x4x8xf16>, tensor<2x8x4xf16>) outs(%{{.*}} : tensor<2x4x4xf32>)
// CHECK: linalg.mmt4d {{.*}} : tensor<1x1x4x4xf16>, tensor<1x1x4x4xf16>) outs(%{{.*}} : tensor<1x1x4x4xf32>)
func.func @contractions(%a: tensor<2x4x8xf32>, %b: tensor<2x8x4xf32>, %v: tensor<8xf32>, %w: tensor<2x8xf32>, %p : tensor<1x1x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<4x4xf32>, tensor<f32>, tensor<2x4xf32>, tensor<2x4x4xf32>, tensor<1x1x4x4xf32>) {
  %c = arith.constant dense<0.0> : tensor<2x4x4xf32>
  %c2 = arith.constant dense<0.0> : tensor<4x4xf32>
  %c3 = arith.constant dense<0.0> : tensor<f32>
  %c4 = arith.constant dense<0.0> : tensor<2x4xf32>
  %c5 = arith.constant dense<0.0> : tensor<1x1x4x4xf32>
  %0 = linalg.batch_matmul ins(%a, %b : tensor<2x4x8xf32>, tensor<2x8x4xf32>) outs(%c : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %1 = linalg.batch_reduce_matmul ins(%a, %b : tensor<2x4x8xf32>, tensor<2x8x4xf32>) outs(%c2 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.dot ins(%v, %v : tensor<8xf32>, tensor<8xf32>) outs(%c3 : tensor<f32>) -> tensor<f32>
  %3 = linalg.batch_matvec ins(%a, %w : tensor<2x4x8xf32>, tensor<2x8xf32>) outs(%c4 : tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = linalg.contract indexing_maps = [affine_map<(b,i,j,k)->(b,i,k)>, affine_map<(b,i,j,k)->(b,k,j)>, affine_map<(b,i,j,k)->(b,i,j)>] ins(%a, %b : tensor<2x4x8xf32>, tensor<2x8x4xf32>) outs(%c : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %5 = linalg.mmt4d ins(%p, %p : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) outs(%c5 : tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<2x4x4xf32>, tensor<4x4xf32>, tensor<f32>, tensor<2x4xf32>, tensor<2x4x4xf32>, tensor<1x1x4x4xf32>
}
