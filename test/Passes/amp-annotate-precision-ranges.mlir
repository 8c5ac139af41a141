// RUN: amp-test-opt %s --split-input-file \
// RUN:   --amp-annotate-precision="policy=%S/Inputs/policy.yaml placement=eager" | FileCheck %s
// RUN: amp-test-opt %s --split-input-file \
// RUN:   --amp-annotate-precision="policy=%S/Inputs/policy.yaml placement=optimal" | FileCheck %s
// RUN: amp-test-opt %s --split-input-file \
// RUN:   --amp-annotate-precision="policy=%S/Inputs/policy.yaml range-margin=1" | FileCheck %s --check-prefix=EXACT
// RUN: amp-test-opt %s --split-input-file \
// RUN:   --amp-annotate-precision="policy=%S/Inputs/policy.yaml low=bf16" | FileCheck %s --check-prefix=WIDE
// RUN: amp-test-opt %s --split-input-file \
// RUN:   --amp-annotate-precision="policy=%S/Inputs/policy.yaml keep-io-types=false placement=eager" | FileCheck %s --check-prefix=RETYPED
// RUN: amp-test-opt %s --split-input-file \
// RUN:   --amp-annotate-precision="policy=%S/Inputs/policy.yaml keep-io-types=false placement=optimal" | FileCheck %s --check-prefix=RETYPED

// A value that was measured beyond the low format keeps who gives it and who
// reads it in float32; the ranges stay for others to read.

// CHECK-LABEL: func.func @result
// EXACT-LABEL: func.func @result
// WIDE-LABEL: func.func @result
func.func @result(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: t.matmul
  // CHECK-SAME: {amp.category = "allow", amp.ranges = [6.500000e+04], amp.reason = "a value reaches 65000 on the calibration data, too close to float16's 65504", amp.rule = "policy 'policy' line {{[0-9]+}}: t:matmul is allow"}
  // EXACT: t.matmul
  // EXACT-SAME: amp.precision = [f16]
  // WIDE: t.matmul
  // WIDE-SAME: amp.precision = [bf16]
  %0 = t.matmul %x, %x {amp.ranges = [65000.0]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.matmul
  // CHECK-SAME: amp.reason = "a value reaches 1e+06 on the calibration data, beyond float16's 65504"
  // EXACT: t.matmul
  // EXACT-SAME: amp.reason = "a value reaches 1e+06 on the calibration data, beyond float16's 65504"
  // WIDE: t.matmul
  // WIDE-SAME: amp.precision = [bf16]
  %1 = t.matmul %0, %x {amp.ranges = [1.0e6]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// So does an argument. Neither changes its type at the interface.

// CHECK-LABEL: func.func @argument
// RETYPED-LABEL: func.func @argument
// RETYPED-SAME: amp.argument_types = {{\[}}[unit, f16]], amp.result_types = [unit, f16, f16]
func.func @argument(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {amp.argument_ranges = [1.0e5, unit]} {
  // CHECK: t.matmul
  // CHECK-SAME: amp.reason = "a value reaches 1e+06 on the calibration data, beyond float16's 65504"
  %0 = t.matmul %x, %y {amp.ranges = [1.0e6]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.matmul
  // CHECK-SAME: amp.precision = [f16]
  %1 = t.matmul %y, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.matmul
  // CHECK-SAME: amp.reason = "argument 0 reaches 100000 on the calibration data, beyond float16's 65504"
  %2 = t.matmul %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// What comes out of a region was inside of it: nothing is measured there.

// CHECK-LABEL: func.func @region
// CHECK-NOT: amp.result_types
func.func @region(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.if %c {amp.ranges = [1.0e5]} : (tensor<i1>) -> tensor<4xf32> {
    // CHECK: t.matmul
    // CHECK-SAME: amp.reason = "a value reaches 100000 on the calibration data, beyond float16's 65504"
    %1 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    t.yield %1 : tensor<4xf32>
  } else {
    // CHECK: t.matmul
    // CHECK-SAME: amp.reason = "a value reaches 100000 on the calibration data, beyond float16's 65504"
    %1 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    t.yield %1 : tensor<4xf32>
  }
  // CHECK: t.matmul
  // CHECK-SAME: amp.reason = "a value reaches
  %2 = t.matmul %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// amp.keep, with its reason; for all in regions, too.

// CHECK-LABEL: func.func @keep
func.func @keep(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: t.matmul
  // CHECK-SAME: {amp.category = "keep", amp.keep = "the user said so", amp.reason = "the user said so"}
  %0 = t.matmul %x, %x {amp.keep = "the user said so"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = t.if %c {amp.keep = "it is small"} : (tensor<i1>) -> tensor<4xf32> {
    // CHECK: t.matmul
    // CHECK-SAME: amp.reason = "it is small"
    %2 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    t.yield %2 : tensor<4xf32>
  } else {
    t.yield %0 : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}
