// RUN: amp-test-opt %s --amp-annotate-precision="policy=%S/Inputs/policy.yaml" | FileCheck %s
// RUN: amp-test-opt %s --amp-annotate-precision="policy=%S/Inputs/policy.yaml low=bf16" \
// RUN:   | FileCheck %s --check-prefix=BF16
// RUN: amp-test-opt %s --amp-annotate-precision="policy=%S/Inputs/convert.yaml" \
// RUN:   | FileCheck %s --check-prefix=CONVERT

// Constants that the low format can't hold keep their operation in float32.

// CHECK-LABEL: func.func @overflow
// BF16-LABEL: func.func @overflow
func.func @overflow(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: t.const dense<1.000000e+05> : tensor<4xf32> {node_name = "w"}
  %w = t.const dense<1.0e+05> : tensor<4xf32> {node_name = "w"}
  // CHECK: t.matmul
  // CHECK-SAME: amp.reason = "constant 'w' is out of the range of float16: absmax 100000 > 65504
  // BF16: t.matmul
  // BF16-SAME: amp.precision = [bf16]
  %0 = t.matmul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // 65519 rounds to 65504, 65520 to infinity.
  %in = t.const dense<65519.0> : tensor<4xf32>
  %out = t.const dense<-65520.0> : tensor<4xf32>
  // CHECK: t.matmul
  // CHECK-SAME: amp.precision = [f16]
  %1 = t.matmul %0, %in : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.matmul
  // CHECK-SAME: a constant operand is out of the range
  %2 = t.matmul %1, %out : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Infinities and NaNs exist in every format.

// CHECK-LABEL: func.func @not_finite
func.func @not_finite(%x: tensor<2xf32>) -> tensor<2xf32> {
  %w = t.const dense<[0xFF800000, 0x7FC00000]> : tensor<2xf32>
  // CHECK: t.const
  // CHECK-NOT: amp.overflow
  // CHECK: t.matmul
  // CHECK-SAME: amp.precision = [f16]
  %0 = t.matmul %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Where the policy saturates, masks and bounds are clamped; other values aren't.

// CHECK-LABEL: func.func @masks
// BF16-LABEL: func.func @masks
func.func @masks(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: t.const dense<[0.000000e+00, -3.40282347E+38]> : tensor<2xf32> {amp.overflow = "saturate"}
  // BF16: t.const dense<[0.000000e+00, -3.40282347E+38]> : tensor<2xf32> {amp.overflow = "saturate"}
  %mask = t.const dense<[0.0, 0xFF7FFFFF]> : tensor<2xf32>
  // CHECK: t.const
  // CHECK-NOT: amp.overflow
  %scale = t.const dense<1.0e+06> : tensor<f32>
  %0 = t.matmul %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: t.where
  // CHECK-SAME: amp.precision = [f16]
  // BF16: t.where
  // BF16-SAME: amp.precision = [bf16]
  %1 = t.where %0, %mask : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: t.where
  // CHECK-SAME: a constant operand is out of the range of float16
  %2 = t.where %1, %scale : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  // CHECK: t.add
  // CHECK-SAME: a constant operand is out of the range of float16
  %3 = t.add %1, %mask : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}

// CHECK-LABEL: func.func @to_infinity
func.func @to_infinity(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: t.const
  // CHECK-SAME: amp.overflow = "infinity"
  %w = t.const dense<1.0e+06> : tensor<2xf32>
  // CHECK: t.matmul
  // CHECK-SAME: amp.precision = [f16]
  %0 = t.matmul %x, %w {node_name = "to_infinity"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @to_largest
func.func @to_largest(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: t.const
  // CHECK-SAME: amp.overflow = "saturate"
  %w = t.const dense<1.0e+06> : tensor<2xf32>
  // CHECK: t.matmul
  // CHECK-SAME: amp.precision = [f16]
  %0 = t.matmul %x, %w {node_name = "to_largest"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @underflow
// BF16-LABEL: func.func @underflow
func.func @underflow(%x: tensor<4xf32>) -> tensor<4xf32> {
  %eps = t.const dense<1.0e-12> : tensor<f32> {node_name = "eps"}
  // It would not be zero, but 19% too large.
  %tiny = t.const dense<1.0e-07> : tensor<f32>
  %small = t.const dense<1.0e-05> : tensor<f32>
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.add
  // CHECK-SAME: {amp.category = "promote", amp.reason = "constant 'eps' underflows in float16: 1e-12", amp.rule = "policy 'policy' line {{[0-9]+}}: t:add is promote"}
  // BF16: t.add
  // BF16-SAME: amp.precision = [bf16]
  %1 = t.add %0, %eps : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: t.add
  // CHECK-SAME: underflows in float16
  %2 = t.add %0, %tiny : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: t.add
  // CHECK-SAME: amp.precision = [f16]
  %3 = t.add %0, %small : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // Each of a few values counts; of many, and of weights, the largest does.
  %few = t.const dense<[1.0, 1.0e-12]> : tensor<2xf32>
  %many = t.const dense<[1.0, 1.0e-12, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]> : tensor<17xf32>
  %lost = t.const dense<[1.0e-09, 1.0e-12, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]> : tensor<17xf32>
  // CHECK: t.add
  // CHECK-SAME: underflows in float16
  %4 = t.add %0, %few : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  // CHECK: t.matmul
  // CHECK-SAME: amp.precision = [f16]
  %7 = t.matmul %0, %few : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  // CHECK: t.add
  // CHECK-SAME: amp.precision = [f16]
  %5 = t.add %0, %many : (tensor<4xf32>, tensor<17xf32>) -> tensor<4xf32>
  // CHECK: t.matmul
  // CHECK-SAME: a constant operand underflows in float16: absmax 1e-09
  %6 = t.matmul %0, %lost : (tensor<4xf32>, tensor<17xf32>) -> tensor<4xf32>
  return %6 : tensor<4xf32>
}

// The policy says of which operands that is no reason: of biases.

// CHECK-LABEL: func.func @bias
func.func @bias(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = t.const dense<1.0> : tensor<4xf32>
  %b = t.const dense<1.0e-09> : tensor<4xf32>
  // CHECK: t.conv
  // CHECK-SAME: amp.precision = [f16]
  %0 = t.conv %x, %w, %b : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.conv
  // CHECK-SAME: underflows in float16: absmax 1e-09
  %1 = t.conv %x, %b, %b : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.add
  // CHECK-SAME: underflows in float16: 1e-09
  %2 = t.add %0, %w, %b : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Also where something moves the constant on its way.

// CHECK-LABEL: func.func @moved
func.func @moved(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = t.const dense<1.0e+05> : tensor<4xf32> {node_name = "w"}
  // CHECK: t.transpose
  // CHECK-SAME: its users are float32
  %0 = t.transpose %w : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.matmul
  // CHECK-SAME: {amp.category = "allow", amp.reason = "constant 'w' is out of the range
  %1 = t.matmul %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A moved mask is clamped if it becomes low for all of its users. A cast, where
// it does not, would make infinities of it.

// CHECK-LABEL: func.func @moved_mask
// BF16-LABEL: func.func @moved_mask
func.func @moved_mask(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  // CHECK: t.const {{.*}} {amp.overflow = "saturate"}
  %mask = t.const dense<[0.0, 0xFF7FFFFF]> : tensor<2xf32>
  %0 = t.matmul %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: t.transpose
  // CHECK-SAME: amp.precision = [f16]
  %1 = t.transpose %mask : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK: t.transpose
  // CHECK-SAME: amp.precision = [f16]
  %2 = t.transpose %1 : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK: t.where
  // CHECK-SAME: amp.precision = [f16]
  %3 = t.where %0, %2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: t.transpose
  // CHECK-NOT: amp.precision
  // CHECK-SAME: its users are float32
  %4 = t.transpose %mask : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK: t.where
  // CHECK-SAME: a constant operand is out of the range of float16
  %5 = t.where %0, %4 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  t.opaque %4 : (tensor<2xf32>) -> ()
  // A constant that can't be stored in the format is cast, too.
  %fixed = t.const dense<[0.0, 0xFF7FFFFF]> : tensor<2xf32> {no_bf16}
  // CHECK: t.where
  // CHECK-SAME: amp.precision = [f16]
  // BF16: t.where
  // BF16-SAME: amp.precision = [bf16]
  // BF16: t.where
  // BF16: t.where
  // BF16-SAME: a constant operand is out of the range of bfloat16
  %6 = t.where %0, %fixed : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %5, %6 : tensor<2xf32>, tensor<2xf32>
}

// Constants that control flow reads: where they do not fit, the values that
// they flow into stay float32.

// CHECK-LABEL: func.func @state
// CONVERT-LABEL: func.func @state
func.func @state(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = t.const dense<0.0> : tensor<4xf32>
  // CONVERT: t.const dense<1.0{{.*}}e+05> : tensor<4xf32> {amp.overflow = "infinity"}
  %large = t.const dense<1.0e+05> : tensor<4xf32>
  %tiny = t.const dense<1.0e-09> : tensor<4xf32>
  // CHECK: t.loop
  // CHECK-SAME: [unit, f16, unit, unit]
  // CHECK-SAME: amp.result_types = [f16, unit, unit]
  // CONVERT: amp.result_types = [f16, f16, unit]
  %0:3 = t.loop %n, %zero, %large, %tiny : (tensor<i64>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>, %t: tensor<4xf32>, %u: tensor<4xf32>):
    %1 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    t.yield %1, %1, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %0#0 : tensor<4xf32>
}

// Weights of a resource, and a resource without data.

// CHECK-LABEL: func.func @resources
func.func @resources(%x: tensor<2xf32>) -> tensor<2xf32> {
  %w = t.const dense_resource<large> : tensor<2xf32> {node_name = "large"}
  %e = t.const dense_resource<elided> : tensor<2xf32>
  // CHECK: t.matmul
  // CHECK-SAME: constant 'large' is out of the range
  %0 = t.matmul %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: t.matmul
  // CHECK-SAME: amp.precision = [f16]
  %1 = t.matmul %x, %e : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = t.add %0, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

{-#
  dialect_resources: {
    builtin: {
      // 1.0 and 1.0e+06
      large: "0x040000000000803F00247449"
    }
  }
#-}

// What an epsilon keeps from 0 is not rounded by whoever reads it, however it
// gets there.

// CHECK-LABEL: func.func @guarded
func.func @guarded(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %epsilon = t.const dense<1.0e-12> : tensor<4xf32> {node_name = "epsilon"}
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.add %{{.*}} {amp.category = "promote", amp.reason = "constant 'epsilon' underflows in float16: 1e-12"
  %1 = t.add %0, %epsilon : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.transpose {{.*}}amp.reason = "its input may be as small as a constant: constant 'epsilon' underflows in float16: 1e-12"
  %2 = t.transpose %1 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.batch_norm {{.*}}amp.reason = "its input may be as small as a constant: {{.*}}"
  %3 = t.batch_norm %2, %0, %0 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // Nobody knows how small that is.
  // CHECK: t.add {{.*}}amp.reason = "{{.*}}; its inputs are float32"
  %4 = t.add %3, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.matmul {{.*}}amp.precision = [f16]
  %5 = t.matmul %2, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4, %5 : tensor<4xf32>, tensor<4xf32>
}
