// RUN: amp-test-opt %s --split-input-file --amp-annotate-precision="policy=%S/Inputs/policy.yaml" \
// RUN:   | FileCheck %s
// RUN: amp-test-opt %s --split-input-file --amp-annotate-precision="policy=%S/Inputs/policy.yaml low=bf16" \
// RUN:   | FileCheck %s --check-prefix=BF16

// One operation of each category.

// CHECK-LABEL: func.func @categories
func.func @categories(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: t.matmul %{{.*}}, %{{.*}} {amp.category = "allow", amp.precision = [f16],
  // CHECK-SAME: amp.reason = "policy 'policy' line {{[0-9]+}}: t:matmul is allow"}
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu
  // CHECK-SAME: {amp.category = "follow", amp.precision = [f16],
  // CHECK-SAME: amp.reason = "policy 'policy' line {{[0-9]+}}: t:relu is follow; its inputs are float16"}
  %1 = t.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.transpose
  // CHECK-SAME: {amp.category = "clear", amp.precision = [f16],
  %2 = t.transpose %1 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.softmax
  // CHECK-SAME: {amp.category = "deny", amp.reason = "policy 'policy' line {{[0-9]+}}: t:softmax is deny"}
  %3 = t.softmax %2 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.add
  // CHECK-SAME: {amp.category = "promote", amp.precision = [f16],
  %4 = t.add %1, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.add
  // CHECK-SAME: {amp.category = "promote", amp.reason = "{{.*}}; its inputs are float32"}
  %5 = t.add %3, %4 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.cast
  // CHECK-SAME: {amp.category = "keep", amp.reason = "policy 'policy' line {{[0-9]+}}: t:cast is keep"}
  %6 = t.cast %4 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu
  // CHECK-SAME: {amp.category = "follow", amp.reason = "{{.*}}; its inputs are float32"}
  %7 = t.relu %6 : (tensor<4xf32>) -> tensor<4xf32>
  // An operation without the interface gets nothing, and gives float32.
  // CHECK: t.opaque %{{[^ ]*}} : (
  %8 = t.opaque %4 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu
  // CHECK-SAME: {amp.category = "follow", amp.reason = "{{.*}}; its inputs are float32"}
  %9 = t.relu %8 : (tensor<4xf32>) -> tensor<4xf32>
  return %9 : tensor<4xf32>
}

// Someone else's operation, through an external model.

// CHECK-LABEL: func.func @external_model
func.func @external_model(%x: tensor<4xf32>, %s: f32) -> (tensor<4xf32>, f32) {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: arith.addf
  // CHECK-SAME: amp.precision = [f16]
  %1 = arith.addf %0, %0 : tensor<4xf32>
  // CHECK: arith.addf %{{[^ ]*}}, %{{[^ ]*}} : f32
  %2 = arith.addf %s, %s : f32
  return %1, %2 : tensor<4xf32>, f32
}

// Constants adopt the format of the rest, and alone they stay.

// CHECK-LABEL: func.func @constants
func.func @constants(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: t.const dense<1.000000e+00> : tensor<f32>
  %c = t.const dense<1.0> : tensor<f32>
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.add
  // CHECK-SAME: amp.precision = [f16]
  %1 = t.add %0, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: t.add
  // CHECK-SAME: {amp.category = "promote", amp.reason = "{{.*}}; all its inputs are constants"}
  %2 = t.add %c, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // CHECK: t.add
  // CHECK-SAME: {amp.category = "promote", amp.reason = "{{.*}}; its inputs are float32"}
  %3 = t.add %1, %2 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// What moves constants' data takes what its users ask for.

// CHECK-LABEL: func.func @moved_constants
func.func @moved_constants(%x: tensor<4xf32>, %i: tensor<4xi64>) -> tensor<4xf32> {
  %w = t.const dense<1.0> : tensor<4xf32>
  // CHECK: t.transpose
  // CHECK-SAME: amp.precision = [f16], amp.reason = "{{.*}}; its users are float16"
  %0 = t.transpose %w : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.transpose
  // CHECK-SAME: amp.precision = [f16]
  %1 = t.transpose %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = t.matmul %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // Users that disagree: float32.
  // CHECK: t.gather
  // CHECK-SAME: {amp.category = "clear", amp.reason = "{{.*}}; its users are float32"}
  %3 = t.gather %w, %i : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  %4 = t.matmul %2, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = t.softmax %3 : (tensor<4xf32>) -> tensor<4xf32>
  // It does not count in a join.
  // CHECK: t.transpose
  // CHECK-SAME: amp.precision = [f16]
  %6 = t.transpose %w : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.add
  // CHECK-SAME: amp.precision = [f16]
  %7 = t.add %4, %6 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // no_pull: users are no reason to round.
  // CHECK: t.argmax
  // CHECK-SAME: {amp.category = "clear", amp.reason = "{{.*}}; all its inputs are constants"}
  %8 = t.argmax %w : (tensor<4xf32>) -> tensor<4xf32>
  %9 = t.matmul %7, %8 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %10 = t.add %9, %5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %10 : tensor<4xf32>
}

// float64 and 16 bits stay what they are.

// CHECK-LABEL: func.func @other_formats
// BF16-LABEL: func.func @other_formats
func.func @other_formats(%d: tensor<4xf64>, %h: tensor<4xf16>, %b: tensor<4xbf16>) -> (tensor<4xf64>, tensor<4xf16>, tensor<4xbf16>) {
  // CHECK: t.matmul
  // CHECK-SAME: {amp.category = "allow", amp.reason = "its inputs are float64", amp.rule = "{{.*}}is allow"}
  %0 = t.matmul %d, %d : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  // CHECK: t.softmax
  // CHECK-SAME: {amp.category = "deny", amp.reason = "its inputs are float16", amp.rule = "{{.*}}is deny"}
  %1 = t.softmax %h : (tensor<4xf16>) -> tensor<4xf16>
  // BF16: t.softmax
  // BF16: t.matmul
  // BF16-SAME: {amp.category = "allow", amp.reason = "its inputs are bfloat16", amp.rule = "{{.*}}is allow"}
  %2 = t.matmul %b, %b : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  return %0, %1, %2 : tensor<4xf64>, tensor<4xf16>, tensor<4xbf16>
}

// The operator has to admit the low format.

// CHECK-LABEL: func.func @unsupported
// BF16-LABEL: func.func @unsupported
func.func @unsupported(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: t.conv
  // CHECK-SAME: amp.precision = [f16]
  // BF16: t.conv
  // BF16-SAME: {amp.category = "allow", amp.reason = "bfloat16 is not a type of conv at opset 17", amp.rule = "{{.*}}is allow"}
  %0 = t.conv %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // BF16: t.relu
  // BF16-SAME: its inputs are float32
  %1 = t.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  // BF16: t.matmul
  // BF16-SAME: amp.precision = [bf16]
  %2 = t.matmul %1, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Operands with types of their own.

// CHECK-LABEL: func.func @type_variables
func.func @type_variables(%x: tensor<4xf32>, %p: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = t.const dense<1.0> : tensor<4xf32>
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // Parameters that are constants are not rounded along with the data,
  // CHECK: t.batch_norm
  // CHECK-SAME: amp.precision = [f16, unit, unit]
  %1 = t.batch_norm %0, %c, %c : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // each variable has its own join,
  // CHECK: t.batch_norm
  // CHECK-SAME: amp.precision = [f16, f16, unit]
  %2 = t.batch_norm %1, %0, %p : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // and a result whose type only a constant shares goes with the data.
  // CHECK: t.rms_norm
  // CHECK-SAME: amp.precision = [f16, f16]
  %3 = t.rms_norm %2, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.resize
  // CHECK-SAME: amp.precision = [f16]
  %4 = t.resize %3, %p : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // A variable of results alone is fixed.
  // CHECK: t.layer_norm
  // CHECK-SAME: {amp.category = "deny", amp.reason = "
  %5:2 = t.layer_norm %4 : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: t.batch_norm
  // CHECK-SAME: {amp.category = "follow", amp.reason = "{{.*}}: operand 0 keeps its type", node_name = "pinned"}
  %6 = t.batch_norm %0, %c, %c {node_name = "pinned"} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %5#0, %6 : tensor<4xf32>, tensor<4xf32>
}

// Sequences have elements, too.

// CHECK-LABEL: func.func @sequences
func.func @sequences(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: = t.sequence
  // CHECK-SAME: amp.precision = [f16]
  %1 = t.sequence %0 : (tensor<4xf32>) -> !t.sequence<tensor<4xf32>>
  // CHECK: = t.sequence
  // CHECK-SAME: amp.precision = [f16]
  %2 = t.sequence %1 : (!t.sequence<tensor<4xf32>>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// What has no reason of its own does not hold a constant that was moved.

// CHECK-LABEL: func.func @moved_and_looked_at
func.func @moved_and_looked_at(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xi64>) {
  %w = t.const dense<1.0> : tensor<4x4xf32>
  // CHECK: t.transpose
  // CHECK-SAME: amp.precision = [f16], amp.reason = "{{.*}}; its users are float16"
  %0 = t.transpose %w : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: t.argmax
  // CHECK-SAME: amp.precision = [f16], amp.reason = "{{.*}}; its inputs are float16"
  %1 = t.argmax %0 : (tensor<4x4xf32>) -> tensor<4xi64>
  // CHECK: t.matmul
  %2 = t.matmul %x, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2, %1 : tensor<4x4xf32>, tensor<4xi64>
}
