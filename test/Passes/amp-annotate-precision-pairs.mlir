// RUN: amp-test-opt %s --split-input-file --amp-annotate-precision="policy=%S/Inputs/policy.yaml" \
// RUN:   | FileCheck %s
// RUN: amp-test-opt %s --split-input-file --amp-annotate-precision="policy=%S/Inputs/policy.yaml placement=optimal" \
// RUN:   | FileCheck %s

// The gradient of what is free goes with it, whatever its own inputs are.

// CHECK-LABEL: func.func @follows
func.func @follows(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = t.matmul %x, %x : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  // CHECK: t.add
  // CHECK-SAME: amp.category = "promote"
  // CHECK-SAME: amp.precision = [f16]
  %1 = t.add %0, %0 {amp.pair = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %2 = t.matmul %1, %1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  // CHECK: t.softmax
  // CHECK-NOT: amp.precision
  %3 = t.softmax %2 : (tensor<64xf32>) -> tensor<64xf32>
  // CHECK: t.add
  // CHECK-SAME: amp.precision = [f16]
  // CHECK-SAME: amp.reason = "policy 'policy' line {{[0-9]+}}: t:add is promote; goes with add"
  %4 = t.add %3, %3 {amp.pair = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %4 : tensor<64xf32>
}

// -----

// The forward operation goes by its own inputs, not by those of its gradient.

// CHECK-LABEL: func.func @leads
func.func @leads(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = t.softmax %x : (tensor<64xf32>) -> tensor<64xf32>
  // CHECK: t.add
  // CHECK-NOT: amp.precision
  %1 = t.add %0, %0 {amp.pair = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  // CHECK: t.matmul
  %2 = t.matmul %1, %1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  // CHECK: t.add
  // CHECK-NOT: amp.precision
  // CHECK-SAME: goes with
  %3 = t.add %2, %2 {amp.pair = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %4 = t.matmul %3, %3 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %4 : tensor<64xf32>
}

// -----

// What denies one of them denies both.

// CHECK-LABEL: func.func @denied
func.func @denied(%x: tensor<64xf32>) -> tensor<64xf32> {
  // CHECK: t.matmul
  // CHECK-NOT: amp.precision
  // CHECK-SAME: amp.reason = "policy 'policy' line {{[0-9]+}}: t:softmax is deny; goes with
  %0 = t.matmul %x, %x {amp.pair = 7 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  // CHECK: t.softmax
  %1 = t.softmax %0 {amp.pair = 7 : i64} : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

// So does what keeps it, and a measured range.

// CHECK-LABEL: func.func @kept
func.func @kept(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  // CHECK: t.matmul
  // CHECK-SAME: amp.category = "keep"
  // CHECK-SAME: amp.reason = "asked for; goes with
  %0 = t.matmul %x, %x {amp.pair = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = t.matmul %0, %x {amp.keep = "asked for", amp.pair = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  // CHECK: t.matmul
  // CHECK: t.matmul
  // CHECK-NOT: amp.precision
  // CHECK-SAME: amp.reason = "goes with
  %2 = t.matmul %x, %x {amp.pair = 1 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  // CHECK: t.matmul
  // CHECK-NOT: amp.precision
  %3 = t.matmul %2, %x {amp.pair = 1 : i64, amp.ranges = [1.0e6]} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1, %3 : tensor<64xf32>, tensor<64xf32>
}
