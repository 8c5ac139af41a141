// Everything that does not move, or not as a whole.
// RUN: amp-opt %s -split-input-file -pass-pipeline='builtin.module(amp-autocast)' | FileCheck %s
// RUN: amp-opt %s -split-input-file -pass-pipeline='builtin.module(amp-autocast{policy=%S/Inputs/custom.yaml})' | FileCheck %s --check-prefix=CUSTOM
// RUN: amp-opt %s -split-input-file -pass-pipeline='builtin.module(amp-autocast{policy=apex-O3 keep-node=/head/.*})' | FileCheck %s --check-prefix=LOW

// An epsilon as a bound: zero in f16. The sum is read as it is.
// CHECK-LABEL: func.func @epsilon
// CHECK: %[[Y:.*]] = tosa.matmul {{.*}}xf16>{{.*}} -> tensor<1x4x4xf32>
// CHECK-NEXT: tosa.clamp %[[Y]] {max_val = 3.40282347E+38 : f32, min_val = 9.99999996E-13 : f32}
func.func @epsilon(%x: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.matmul %x, %x, %zp, %zp : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  %1 = tosa.clamp %0 {min_val = 1.0e-12 : f32, max_val = 3.40282347E+38 : f32} : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  return %1 : tensor<1x4x4xf32>
}

// -----

// No number of f16 is between the bounds.
// CHECK-LABEL: func.func @beyond
// CHECK: tosa.clamp %{{.*}} {max_val = 1.000000e+06 : f32, min_val = 1.000000e+05 : f32}
func.func @beyond(%x: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.matmul %x, %x, %zp, %zp : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  %1 = tosa.clamp %0 {min_val = 1.0e5 : f32, max_val = 1.0e6 : f32} : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  return %1 : tensor<1x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @quantized
// CHECK-NOT: amp.cast
func.func @quantized(%x: tensor<1x4x4x!quant.uniform<i8:f32, 0.1>>, %y: tensor<1x4x4xi8>) -> (tensor<1x4x4x!quant.uniform<i8:f32, 0.1>>, tensor<1x4x4xi32>) {
  %zp = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = tosa.identity %x : (tensor<1x4x4x!quant.uniform<i8:f32, 0.1>>) -> tensor<1x4x4x!quant.uniform<i8:f32, 0.1>>
  %1 = tosa.matmul %y, %y, %zp, %zp : (tensor<1x4x4xi8>, tensor<1x4x4xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4xi32>
  return %0, %1 : tensor<1x4x4x!quant.uniform<i8:f32, 0.1>>, tensor<1x4x4xi32>
}

// -----

// Types that differ are legal, and nothing moves.
// CHECK-LABEL: func.func @f8
// CHECK-NOT: amp.cast
// CHECK: tosa.matmul {{.*}} : (tensor<1x4x4xf8E4M3FN>, tensor<1x4x4xf8E5M2>, tensor<1xf8E4M3FN>, tensor<1xf8E5M2>) -> tensor<1x4x4xf16>
func.func @f8(%x: tensor<1x4x4xf8E4M3FN>, %y: tensor<1x4x4xf8E5M2>) -> tensor<1x4x4xf16> {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf8E4M3FN>}> : () -> tensor<1xf8E4M3FN>
  %zp2 = "tosa.const"() <{values = dense<0.0> : tensor<1xf8E5M2>}> : () -> tensor<1xf8E5M2>
  %0 = tosa.matmul %x, %y, %zp, %zp2 : (tensor<1x4x4xf8E4M3FN>, tensor<1x4x4xf8E5M2>, tensor<1xf8E4M3FN>, tensor<1xf8E5M2>) -> tensor<1x4x4xf16>
  return %0 : tensor<1x4x4xf16>
}

// -----

// Someone's rounding stays, and what turns floats to integers gets what it got.
// CHECK-LABEL: func.func @casts
// CHECK: tosa.cast %{{.*}} : (tensor<1x4x4xf32>) -> tensor<1x4x4xbf16>
// CHECK: tosa.cast %{{.*}} : (tensor<1x4x4xbf16>) -> tensor<1x4x4xf32>
// CHECK: %[[Y:.*]] = tosa.matmul {{.*}} -> tensor<1x4x4xf32>
// CHECK: tosa.cast %[[Y]] : (tensor<1x4x4xf32>) -> tensor<1x4x4xi8>
func.func @casts(%x: tensor<1x4x4xf32>) -> (tensor<1x4x4xf32>, tensor<1x4x4xi8>) {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.cast %x : (tensor<1x4x4xf32>) -> tensor<1x4x4xbf16>
  %1 = tosa.cast %0 : (tensor<1x4x4xbf16>) -> tensor<1x4x4xf32>
  %2 = tosa.matmul %1, %1, %zp, %zp : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  %3 = tosa.cast %2 : (tensor<1x4x4xf32>) -> tensor<1x4x4xi8>
  return %2, %3 : tensor<1x4x4xf32>, tensor<1x4x4xi8>
}

// -----

// CHECK-LABEL: func.func @shapes
// CHECK: tosa.matmul {{.*}} : (tensor<?x?x4xf16>, tensor<1x4x4xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<?x?x4xf32>
// CHECK: %[[Y:.*]] = tosa.matmul {{.*}} : (tensor<*xf16>, tensor<*xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<*xf32>
// CHECK: %[[LOWY:.*]] = amp.cast %[[Y]] : tensor<*xf32> to tensor<*xf16>
// CHECK: tosa.tanh %[[LOWY]] : (tensor<*xf16>) -> tensor<*xf16>
func.func @shapes(%x: tensor<?x?x4xf32>, %y: tensor<*xf32>) -> (tensor<?x?x4xf32>, tensor<*xf32>) {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %w = "tosa.const"() <{values = dense<0.5> : tensor<1x4x4xf32>}> : () -> tensor<1x4x4xf32>
  %0 = tosa.matmul %x, %w, %zp, %zp : (tensor<?x?x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<?x?x4xf32>
  %1 = tosa.matmul %y, %y, %zp, %zp : (tensor<*xf32>, tensor<*xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<*xf32>
  %2 = tosa.tanh %1 : (tensor<*xf32>) -> tensor<*xf32>
  return %0, %2 : tensor<?x?x4xf32>, tensor<*xf32>
}

// -----

// TOSA has it in float32 only, whatever the policy says.
// CHECK-LABEL: func.func @fft
// LOW-LABEL: func.func @fft
// LOW: tosa.rfft2d %{{.*}} : (tensor<1x4x4xf32>) -> (tensor<1x4x3xf32>, tensor<1x4x3xf32>)
// CHECK: tosa.rfft2d %{{.*}} : (tensor<1x4x4xf32>) -> (tensor<1x4x3xf32>, tensor<1x4x3xf32>)
func.func @fft(%x: tensor<1x4x4xf32>) -> (tensor<1x4x3xf32>, tensor<1x4x3xf32>) {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.matmul %x, %x, %zp, %zp : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  %real, %imag = tosa.rfft2d %0 : (tensor<1x4x4xf32>) -> (tensor<1x4x3xf32>, tensor<1x4x3xf32>)
  return %real, %imag : tensor<1x4x3xf32>, tensor<1x4x3xf32>
}

// -----

// An operator of the target, which the other policy knows.
// CHECK-LABEL: func.func @custom
// CHECK: tosa.custom {{.*}} : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
// CUSTOM-LABEL: func.func @custom
// CUSTOM: tosa.custom {{.*}} : (tensor<1x4x4xf16>) -> tensor<1x4x4xf16>
func.func @custom(%x: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.matmul %x, %x, %zp, %zp : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  %1 = tosa.custom %0 {domain_name = "target", operator_name = "gelu", implementation_attrs = ""} : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  return %1 : tensor<1x4x4xf32>
}

// -----

// Of two types, what is f32 moves by itself; here nothing says so.
// CHECK-LABEL: func.func @mixed
// CHECK-NOT: amp.cast
func.func @mixed(%x: tensor<4x4xf32>, %y: tensor<4x4xf16>) -> tensor<4x4xf32> {
  %1 = tosa.custom %x, %y {domain_name = "target", operator_name = "gelu", implementation_attrs = ""} : (tensor<4x4xf32>, tensor<4x4xf16>) -> tensor<4x4xf32>
  %2 = tosa.cast %1 : (tensor<4x4xf32>) -> tensor<4x4xf8E4M3FN>
  %3 = tosa.cast %2 : (tensor<4x4xf8E4M3FN>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// -----

// The name of a location is the name of the node.
// LOW-LABEL: func.func @named
// LOW: tosa.tanh %{{.*}} : (tensor<4x4xf16>) -> tensor<4x4xf16>
// LOW: tosa.tanh %{{.*}} : (tensor<4x4xf32>) -> tensor<4x4xf32>
func.func @named(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = tosa.tanh %x : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("/body/tanh")
  %1 = tosa.tanh %0 : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("/head/tanh")
  return %1 : tensor<4x4xf32>
}

// -----

// What nobody knows gets what it got, and its neighbours move.
// CHECK-LABEL: func.func @variables
// CHECK: %[[V:.*]] = tosa.variable_read @v : tensor<1x4x4xf32>
// CHECK: %[[LOWV:.*]] = amp.cast %[[V]]
// CHECK: %[[Y:.*]] = tosa.matmul %[[LOWV]], %[[LOWV]], {{.*}} -> tensor<1x4x4xf32>
// CHECK: tosa.variable_write @v, %[[Y]] : tensor<1x4x4xf32>
tosa.variable @v : tensor<1x4x4xf32>
func.func @variables() {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.variable_read @v : tensor<1x4x4xf32>
  %1 = tosa.matmul %0, %0, %zp, %zp : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  tosa.variable_write @v, %1 : tensor<1x4x4xf32>
  return
}
