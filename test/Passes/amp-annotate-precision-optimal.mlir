// RUN: amp-test-opt %s --split-input-file \
// RUN:   --amp-annotate-precision="policy=%S/Inputs/policy.yaml placement=optimal" | FileCheck %s
// RUN: amp-test-opt %s --split-input-file \
// RUN:   --amp-annotate-precision="policy=%S/Inputs/policy.yaml placement=optimal keep-io-types=false" \
// RUN:   | FileCheck %s --check-prefix=RETYPED
// RUN: amp-test-opt %s --split-input-file \
// RUN:   --amp-annotate-precision="policy=%S/Inputs/conv-moves.yaml placement=optimal low=bf16" \
// RUN:   | FileCheck %s --check-prefix=MOVED
// RUN: amp-test-opt %s --split-input-file \
// RUN:   --amp-annotate-precision="policy=%S/Inputs/policy.yaml placement=optimal keep-islands=false" \
// RUN:   | FileCheck %s --check-prefix=LOWERED

// What is free goes where less bytes move: before the product and behind it.

// CHECK-LABEL: func.func @free
// RETYPED-LABEL: func.func @free
// RETYPED-SAME: attributes {amp.argument_types = {{\[}}[f16]], amp.result_types = [f16]}
func.func @free(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: t.relu
  // CHECK-SAME: {amp.category = "follow", amp.precision = [f16],
  // CHECK-SAME: amp.reason = "policy 'policy' line {{[0-9]+}}: t:relu is follow; float16 moves 16 bytes less"}
  %0 = t.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.matmul
  // CHECK-SAME: amp.precision = [f16], amp.reason = "policy 'policy' line {{[0-9]+}}: t:matmul is allow"
  %1 = t.matmul %0, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.transpose
  // CHECK-SAME: amp.precision = [f16]
  %2 = t.transpose %1 : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Casts that cost more than what they save: the cast of %0 is there anyhow, and
// for a result it does not matter how it was computed.

// CHECK-LABEL: func.func @costs
func.func @costs(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu
  // CHECK-SAME: {amp.category = "follow", amp.reason = "{{.*}}; casts would move more than the 16 bytes that float16 saves"}
  %1 = t.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// One cast serves all users, in any branch.

// CHECK-LABEL: func.func @shared
func.func @shared(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = t.softmax %x : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu
  // CHECK-SAME: amp.precision = [f16]
  %1 = t.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu
  // CHECK-SAME: amp.precision = [f16]
  %2 = t.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = t.matmul %1, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3, %3, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Of two choices that cost the same, the one with more in float16.

// CHECK-LABEL: func.func @tie
func.func @tie(%x: tensor<4xf32>) -> (tensor<6xf32>, tensor<12xf32>) {
  %0 = t.matmul %x : (tensor<4xf32>) -> tensor<12xf32>
  // 12 * 2 + 6 * 2 bytes saved, 6 * 6 for a cast of the result.
  // CHECK: t.relu
  // CHECK-SAME: amp.precision = [f16], amp.reason = "{{.*}}; float16 moves 36 bytes less"
  %1 = t.relu %0 : (tensor<12xf32>) -> tensor<6xf32>
  return %1, %0 : tensor<6xf32>, tensor<12xf32>
}

// -----

// promote and no_pull: low only if the data is.

// CHECK-LABEL: func.func @joins
func.func @joins(%x: tensor<64xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: t.matmul
  %0 = t.matmul %x : (tensor<64xf32>) -> tensor<64xf32>
  // CHECK: t.add
  // CHECK-SAME: {amp.category = "promote", amp.reason = "{{.*}}; its inputs are float32"}
  %1 = t.add %0, %y : (tensor<64xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.add
  // CHECK-SAME: {amp.category = "promote", amp.reason = "{{.*}}; its inputs are float32"}
  %2 = t.add %1, %0 : (tensor<4xf32>, tensor<64xf32>) -> tensor<4xf32>
  // CHECK: t.add
  // CHECK-SAME: {amp.category = "promote", amp.precision = [f16],
  %3 = t.add %0, %0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  // Its inputs would be float16 for its sake alone: they may be, if the policy
  // leaves them free.
  // CHECK: t.relu
  // CHECK-SAME: amp.precision = [f16]
  %4 = t.relu %y : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.add
  // CHECK-SAME: amp.precision = [f16]
  %5 = t.add %3, %4 : (tensor<64xf32>, tensor<4xf32>) -> tensor<64xf32>
  // CHECK: t.argmax
  // CHECK-SAME: {amp.category = "clear", amp.precision = [f16], amp.reason = "{{.*}}; its inputs are float16"}
  %6 = t.argmax %5 : (tensor<64xf32>) -> tensor<4xf32>
  // CHECK: t.argmax
  // CHECK-SAME: {amp.category = "clear", amp.reason = "{{.*}}; its inputs are float32"}
  %7 = t.argmax %y : (tensor<4xf32>) -> tensor<4xf32>
  %8 = t.matmul %6, %7 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = t.matmul %2, %8 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %9 : tensor<4xf32>
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
  %2 = t.matmul %x, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2, %1 : tensor<4x4xf32>, tensor<4xi64>
}

// -----

// What no float16 is near stays as it was, however much it would save, unless
// that is not asked for.

// LOWERED-LABEL: func.func @island
// LOWERED-COUNT-3: t.relu {{.*}}amp.precision = [f16], amp.reason = "{{.*}} bytes less"
// CHECK-LABEL: func.func @island
func.func @island(%x: tensor<4xf32>, %h: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf16>) {
  // CHECK-COUNT-3: t.relu {{.*}}amp.reason = "{{.*}}; nothing near it is float16"
  %0 = t.relu %x : (tensor<4xf32>) -> tensor<400xf32>
  %1 = t.relu %0 : (tensor<400xf32>) -> tensor<400xf32>
  %2 = t.relu %1 : (tensor<400xf32>) -> tensor<4xf32>
  // CHECK: t.relu
  // CHECK-SAME: amp.precision = [f16]
  %3 = t.relu %x : (tensor<4xf32>) -> tensor<400xf32>
  // CHECK: t.batch_norm
  // CHECK-SAME: amp.precision = [unit, f16, f16]
  %4 = t.batch_norm %h, %3, %x : (tensor<4xf16>, tensor<400xf32>, tensor<4xf32>) -> tensor<4xf16>
  return %2, %4 : tensor<4xf32>, tensor<4xf16>
}

// -----

// Operations that move constants are float32 if a user is.

// CHECK-LABEL: func.func @moved_constants
func.func @moved_constants(%x: tensor<4xf32>, %i: tensor<4xi64>) -> tensor<4xf32> {
  %w = t.const dense<1.0> : tensor<4xf32>
  %tiny = t.const dense<1.0e-12> : tensor<4xf32>
  // CHECK: t.transpose
  // CHECK-SAME: {amp.category = "clear", amp.precision = [f16], amp.reason = "{{.*}}; its users are float16"}
  %0 = t.transpose %w : (tensor<4xf32>) -> tensor<4xf32>
  %1 = t.matmul %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.gather
  // CHECK-SAME: {amp.category = "clear", amp.reason = "{{.*}}; its users are float32"}
  %2 = t.gather %w, %i : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  %3 = t.softmax %2 : (tensor<4xf32>) -> tensor<4xf32>
  %4 = t.matmul %1, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.transpose
  // CHECK-SAME: its users are float32
  %5 = t.transpose %tiny : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.matmul
  // CHECK-SAME: underflows
  %6 = t.matmul %4, %5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.argmax
  // CHECK-SAME: amp.reason = "{{.*}}; all its inputs are constants"
  %7 = t.argmax %w : (tensor<4xf32>) -> tensor<4xf32>
  %8 = t.add %6, %7 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = t.add %8, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %9 : tensor<4xf32>
}

// -----

// A moved constant that is float32 is no reason to promote.

// MOVED-LABEL: func.func @promoted_constants
func.func @promoted_constants(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = t.const dense<1.0> : tensor<4xf32>
  // MOVED: t.conv
  // MOVED-SAME: amp.reason = "bfloat16 is not a type of conv at opset 17"
  %0 = t.conv %w : (tensor<4xf32>) -> tensor<4xf32>
  %1 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<400xf32>
  // MOVED: t.add
  // MOVED-SAME: amp.precision = [bf16]
  %2 = t.add %1, %0 : (tensor<400xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// What a loop carries is free, wherever it starts. A cast of what it captures
// stands outside and is paid once.

// CHECK-LABEL: func.func @loop
func.func @loop(%n: tensor<i64>, %x: tensor<40xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = t.const dense<0.0> : tensor<4xf32>
  %lowest = t.const dense<0xFF7FFFFF> : tensor<4xf32>
  // CHECK: t.loop
  // CHECK-SAME: amp.argument_types = {{\[}}[unit, f16, unit]], amp.result_types = [f16, unit]
  %0:2 = t.loop %n, %zero, %lowest : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %h: tensor<4xf32>, %largest: tensor<4xf32>):
    // CHECK: t.relu
    // CHECK-SAME: amp.precision = [f16], amp.reason = "{{.*}}; float16 moves 704 bytes less"
    %1 = t.relu %x : (tensor<40xf32>) -> tensor<4xf32>
    %2 = t.matmul %1, %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // The lowest float32 stands for something: what begins with it stays.
    // CHECK: t.add
    // CHECK-SAME: its inputs are float32
    %3 = t.add %2, %largest : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    t.yield %2, %3 : tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A sum is as precise as it begins: with a constant, or with something low.

// CHECK-LABEL: func.func @sums
func.func @sums(%n: tensor<i64>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = t.const dense<0.0> : tensor<4xf32>
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.loop
  // CHECK-SAME: amp.argument_types = {{\[}}[unit, unit, f16]], amp.result_types = [unit, f16]
  %1:2 = t.loop %n, %zero, %0 : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    // CHECK: t.add
    // CHECK-SAME: its inputs are float32
    %2 = t.add %a, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // CHECK: t.add
    // CHECK-SAME: amp.precision = [f16]
    %3 = t.add %b, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    t.yield %2, %3 : tensor<4xf32>, tensor<4xf32>
  }
  return %1#0, %1#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Branches: what they give has one format.

// CHECK-LABEL: func.func @branches
func.func @branches(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = t.softmax %x : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.if
  // CHECK-SAME: amp.result_types = [f16]
  %2 = t.if %c : (tensor<i1>) -> tensor<4xf32> {
    t.yield %0 : tensor<4xf32>
  } else {
    t.yield %1 : tensor<4xf32>
  }
  %3 = t.matmul %2, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.if
  // CHECK-NOT: amp.result_types
  // CHECK: return
  %4 = t.softmax %x : (tensor<4xf32>) -> tensor<4xf32>
  %5 = t.if %c : (tensor<i1>) -> tensor<4xf32> {
    t.yield %3 : tensor<4xf32>
  } else {
    t.yield %4 : tensor<4xf32>
  }
  return %5 : tensor<4xf32>
}

// -----

// Functions: one format for all calls.

// CHECK-LABEL: func.func @calls
// RETYPED-LABEL: func.func @calls
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @callee(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @callee(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = func.call @public(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// CHECK: func.func private @callee
// CHECK-SAME: attributes {amp.argument_types = {{\[}}[f16]], amp.result_types = [f16]}
func.func private @callee(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: t.relu
  // CHECK-SAME: float16 moves 16 bytes less
  %0 = t.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK: func.func @public(%{{.*}}: tensor<4xf32>) -> tensor<4xf32> {
// RETYPED: func.func @public
// RETYPED-SAME: attributes {amp.argument_types = {{\[}}[f16]], amp.result_types = [f16]}
func.func @public(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// A sequence can hardly be cast: it has the format of what is in it.

// CHECK-LABEL: func.func @sequences
func.func @sequences(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: = t.sequence
  // CHECK-NOT: amp.precision
  %0 = t.sequence %x : (tensor<4xf32>) -> !t.sequence<tensor<4xf32>>
  %1 = t.opaque %0 : (!t.sequence<tensor<4xf32>>) -> tensor<4xf32>
  // CHECK: t.matmul
  %2 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: = t.sequence
  // CHECK-SAME: amp.precision = [f16]
  %3 = t.sequence %2, %x : (tensor<4xf32>, tensor<4xf32>) -> !t.sequence<tensor<4xf32>>
  // CHECK: = t.sequence
  // CHECK-SAME: amp.precision = [f16]
  %4 = t.sequence %3 : (!t.sequence<tensor<4xf32>>) -> tensor<4xf32>
  %5 = t.matmul %1, %4 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
}
