// RUN: amp-test-opt %s --amp-autocast="policy=%S/Inputs/policy.yaml" -o %t.once
// RUN: FileCheck %s --input-file=%t.once
// RUN: amp-test-opt %s --amp-autocast="policy=%S/Inputs/policy.yaml keep-reasons" \
// RUN:   | FileCheck %s --check-prefix=REASONS
// RUN: amp-test-opt %s --amp-autocast="policy=%S/Inputs/policy.yaml keep-io-types=false low=bf16" \
// RUN:   | FileCheck %s --check-prefix=RETYPED

// Again: nothing changes.
// RUN: amp-test-opt %t.once --amp-autocast="policy=%S/Inputs/policy.yaml" -o %t.twice
// RUN: diff %t.once %t.twice

// From bytecode, which lists uses in another order: the same.
// RUN: amp-test-opt %s --emit-bytecode | amp-test-opt --amp-autocast="policy=%S/Inputs/policy.yaml" -o %t.bytecode
// RUN: diff %t.once %t.bytecode

// CHECK-NOT: amp.{{precision|reason|category}}
// REASONS-NOT: amp.precision

// A block of a transformer: the residual stream is float32 where normalisation
// gives it, and the products are float16.

// CHECK-LABEL: func.func @block
// CHECK-SAME: %[[X:.*]]: tensor<4x4xf32>, %[[MASK:.*]]: tensor<4x4xi1>) -> tensor<4x4xf32>
// RETYPED-LABEL: func.func @block
// RETYPED-SAME: %[[X:.*]]: tensor<4x4xbf16>, %[[MASK:.*]]: tensor<4x4xi1>) -> tensor<4x4xbf16>
func.func @block(%x: tensor<4x4xf32>, %mask: tensor<4x4xi1>) -> tensor<4x4xf32> {
  // CHECK: %[[XLOW:.*]] = amp.cast %[[X]]
  // CHECK: %[[W:.*]] = t.const #amp.rounded<dense<5.0{{.*}}> : tensor<4x4xf32>, saturate> : tensor<4x4xf16>
  %w = t.const dense<0.5> : tensor<4x4xf32>
  // CHECK: %[[INF:.*]] = t.const #amp.rounded<dense<-3.4{{.*}}> : tensor<f32>, saturate> : tensor<f16>
  %inf = t.const dense<0xFF7FFFFF> : tensor<f32>
  // CHECK: %[[EPS:.*]] = t.const dense<{{.*}}> : tensor<f32>
  %eps = t.const dense<1.0e-12> : tensor<f32>
  // CHECK-NEXT: %[[Q:.*]] = t.matmul %[[XLOW]], %[[W]]
  // RETYPED: t.matmul %[[X]],
  %q = t.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %[[WT:.*]] = t.transpose %[[W]]
  %wt = t.transpose %w : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %[[K:.*]] = t.matmul %[[XLOW]], %[[WT]]
  %k = t.matmul %x, %wt : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %[[S:.*]] = t.matmul %[[Q]], %[[K]]
  %s = t.matmul %q, %k : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %[[M:.*]] = t.where %[[MASK]], %[[S]], %[[INF]] : (tensor<4x4xi1>, tensor<4x4xf16>, tensor<f16>)
  // REASONS: t.where
  // REASONS-SAME: amp.category = "promote", amp.reason = "
  %m = t.where %mask, %s, %inf : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %[[MUP:.*]] = amp.cast %[[M]]
  // CHECK-NEXT: %[[P:.*]] = t.softmax %[[MUP]]
  // CHECK-NEXT: %[[PLOW:.*]] = amp.cast %[[P]]
  %p = t.softmax %m : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %[[O:.*]] = t.matmul %[[PLOW]], %[[XLOW]]
  // CHECK-NEXT: %[[OUP:.*]] = amp.cast %[[O]]
  %o = t.matmul %p, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %[[R:.*]] = t.add %[[X]], %[[OUP]]
  %r = t.add %x, %o : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %[[E:.*]] = t.add %[[R]], %[[EPS]]
  %e = t.add %r, %eps : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  // CHECK-NEXT: return %[[E]]
  return %e : tensor<4x4xf32>
}

// State that begins as a constant is low if the body makes it low; a sum that
// the body carries along is not.

// CHECK-LABEL: func.func @recurrence
// CHECK-SAME: %[[N:.*]]: tensor<i64>, %[[X:.*]]: tensor<4xf32>
func.func @recurrence(%n: tensor<i64>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<?x4xf32>) {
  // CHECK: %[[XLOW:.*]] = amp.cast %[[X]]
  // CHECK: %[[ZERO:.*]] = t.const dense<0.0{{.*}}> : tensor<4xf32>
  // CHECK: %[[ZEROLOW:.*]] = t.const #amp.rounded
  %zero = t.const dense<0.0> : tensor<4xf32>
  // CHECK: %[[LOOP:.*]]:3 = t.loop %[[N]], %[[ZEROLOW]], %[[ZERO]] : (tensor<i64>, tensor<4xf16>, tensor<4xf32>) -> (tensor<4xf16>, tensor<4xf32>, tensor<?x4xf16>) {
  // CHECK-NEXT: (%{{.*}}: tensor<i64>, %[[H:.*]]: tensor<4xf16>, %[[SUM:.*]]: tensor<4xf32>):
  %0:3 = t.loop %n, %zero, %zero : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<?x4xf32>) {
  ^bb0(%i: tensor<i64>, %h: tensor<4xf32>, %sum: tensor<4xf32>):
    // CHECK-NEXT: %[[Y:.*]] = t.matmul %[[XLOW]], %[[H]]
    // CHECK-NEXT: %[[YUP:.*]] = amp.cast %[[Y]]
    %1 = t.matmul %x, %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // CHECK-NEXT: %[[NEXT:.*]] = t.add %[[SUM]], %[[YUP]]
    %2 = t.add %sum, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // CHECK-NEXT: t.yield %[[Y]], %[[NEXT]], %[[Y]] : tensor<4xf16>, tensor<4xf32>, tensor<4xf16>
    t.yield %1, %2, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  // CHECK: %[[UP0:.*]] = amp.cast %[[LOOP]]#0 : tensor<4xf16> to tensor<4xf32>
  // CHECK: %[[UP2:.*]] = amp.cast %[[LOOP]]#2 : tensor<?x4xf16> to tensor<?x4xf32>
  // CHECK: return %[[UP0]], %[[LOOP]]#1, %[[UP2]]
  return %0#0, %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>, tensor<?x4xf32>
}

// An output that is also used inside; an input that is an output; an output
// that is a constant.

// CHECK-LABEL: func.func @outputs
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
func.func @outputs(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: %[[W:.*]] = t.const dense<1.0{{.*}}> : tensor<4xf32>
  // CHECK-DAG: %[[WLOW:.*]] = t.const #amp.rounded
  %w = t.const dense<1.0> : tensor<4xf32>
  // CHECK: %[[Y:.*]] = t.matmul %{{.*}}, %[[WLOW]]
  // CHECK-NEXT: %[[YUP:.*]] = amp.cast %[[Y]]
  %y = t.matmul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[Z:.*]] = t.relu %[[Y]]
  // CHECK-NEXT: %[[ZUP:.*]] = amp.cast %[[Z]]
  %z = t.relu %y : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: return %[[YUP]], %[[ZUP]], %[[X]], %[[W]]
  return %y, %z, %x, %w : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// The model's own casts are where they were.

// CHECK-LABEL: func.func @own_casts
func.func @own_casts(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: t.cast %{{.*}} : (tensor<4xf32>) -> tensor<4xf16>
  %0 = t.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  // CHECK-NEXT: %[[R:.*]] = t.relu
  %1 = t.relu %0 : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK-NEXT: %[[UP:.*]] = t.cast %[[R]] : (tensor<4xf16>) -> tensor<4xf32>
  %2 = t.cast %1 : (tensor<4xf16>) -> tensor<4xf32>
  // CHECK-NEXT: %[[LOW:.*]] = amp.cast %[[UP]]
  // CHECK-NEXT: t.matmul %[[LOW]], %[[LOW]]
  %3 = t.matmul %2, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
