// RUN: amp-opt %s -split-input-file -pass-pipeline='builtin.module(amp-autocast)' | FileCheck %s

// CHECK-LABEL: func.func @cond_if
// CHECK: %[[T:.*]] = tosa.tanh {{.*}} -> tensor<1x4x4xf16>
// CHECK: %[[IF:.*]] = tosa.cond_if %{{.*}} (%[[A:.*]] = %[[T]]) : tensor<i1> (tensor<1x4x4xf16>) -> tensor<1x4x4xf16> {
// CHECK-NEXT: ^bb0(%[[A]]: tensor<1x4x4xf16>):
// CHECK-NEXT: tosa.abs %[[A]] : (tensor<1x4x4xf16>) -> tensor<1x4x4xf16>
// CHECK: ^bb0(%[[B:.*]]: tensor<1x4x4xf16>):
// CHECK-NEXT: tosa.yield %[[B]]
// CHECK: tosa.matmul %[[IF]], %[[IF]]
func.func @cond_if(%c: tensor<i1>, %x: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.matmul %x, %x, %zp, %zp : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  %1 = tosa.tanh %0 : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %2 = tosa.cond_if %c (%a = %1) : tensor<i1> (tensor<1x4x4xf32>) -> tensor<1x4x4xf32> {
  ^bb0(%a: tensor<1x4x4xf32>):
    %3 = tosa.abs %a : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
    tosa.yield %3 : tensor<1x4x4xf32>
  } else {
  ^bb0(%b: tensor<1x4x4xf32>):
    tosa.yield %b : tensor<1x4x4xf32>
  }
  %4 = tosa.matmul %2, %2, %zp, %zp : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  return %4 : tensor<1x4x4xf32>
}

// -----

// A branch that sees values from outside, and takes none.
// CHECK-LABEL: func.func @captures
// CHECK: %[[T:.*]] = tosa.tanh {{.*}} -> tensor<1x4x4xf16>
// CHECK: tosa.cond_if {{.*}} -> tensor<1x4x4xf16> {
// CHECK-NEXT: tosa.yield %[[T]] : tensor<1x4x4xf16>
// CHECK: %[[N:.*]] = tosa.abs %[[T]]
// CHECK-NEXT: tosa.yield %[[N]]
func.func @captures(%c: tensor<i1>, %x: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.matmul %x, %x, %zp, %zp : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  %1 = tosa.tanh %0 : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %2 = tosa.cond_if %c : tensor<i1> -> tensor<1x4x4xf32> {
    tosa.yield %1 : tensor<1x4x4xf32>
  } else {
    %3 = tosa.abs %1 : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
    tosa.yield %3 : tensor<1x4x4xf32>
  }
  return %2 : tensor<1x4x4xf32>
}

// -----

// A branch that gives f32 makes the result f32.
// CHECK-LABEL: func.func @joins
// CHECK-SAME: %[[C:.*]]: tensor<i1>, %[[X:.*]]: tensor<1x4x4xf32>
// CHECK: %[[T:.*]] = tosa.tanh {{.*}} -> tensor<1x4x4xf16>
// CHECK: %[[WIDE:.*]] = amp.cast %[[T]]
// CHECK: tosa.cond_if %[[C]] : tensor<i1> -> tensor<1x4x4xf32> {
// CHECK-NEXT: tosa.yield %[[WIDE]]
// CHECK: tosa.yield %[[X]]
func.func @joins(%c: tensor<i1>, %x: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.matmul %x, %x, %zp, %zp : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  %1 = tosa.tanh %0 : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %2 = tosa.cond_if %c : tensor<i1> -> tensor<1x4x4xf32> {
    tosa.yield %1 : tensor<1x4x4xf32>
  } else {
    tosa.yield %x : tensor<1x4x4xf32>
  }
  return %2 : tensor<1x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @while_loop
// CHECK: %[[M0:.*]] = tosa.matmul {{.*}} -> tensor<1x4x4xf32>
// CHECK-NEXT: %[[INIT:.*]] = amp.cast %[[M0]] : tensor<1x4x4xf32> to tensor<1x4x4xf16>
// CHECK: tosa.while_loop (%{{.*}} = %{{.*}}, %{{.*}} = %[[INIT]]) : (tensor<i32>, tensor<1x4x4xf16>) -> (tensor<i32>, tensor<1x4x4xf16>)
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %[[Y:.*]]: tensor<1x4x4xf16>):
// CHECK: %[[M:.*]] = tosa.matmul %[[Y]], %[[Y]], {{.*}} -> tensor<1x4x4xf32>
// CHECK: %[[LOWM:.*]] = amp.cast %[[M]]
// CHECK: tosa.yield %{{.*}}, %[[LOWM]] : tensor<i32>, tensor<1x4x4xf16>
func.func @while_loop(%x: tensor<1x4x4xf32>, %i: tensor<i32>) -> tensor<1x4x4xf32> {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %n = "tosa.const"() <{values = dense<3> : tensor<i32>}> : () -> tensor<i32>
  %one = "tosa.const"() <{values = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %0 = tosa.tanh %x : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %1 = tosa.matmul %0, %0, %zp, %zp : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  %2:2 = tosa.while_loop (%j = %i, %y = %1) : (tensor<i32>, tensor<1x4x4xf32>) -> (tensor<i32>, tensor<1x4x4xf32>) {
    %3 = tosa.greater_equal %n, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tosa.yield %3 : tensor<i1>
  } do {
  ^bb0(%j: tensor<i32>, %y: tensor<1x4x4xf32>):
    %3 = tosa.add %j, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %4 = tosa.matmul %y, %y, %zp, %zp : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
    tosa.yield %3, %4 : tensor<i32>, tensor<1x4x4xf32>
  }
  return %2#1 : tensor<1x4x4xf32>
}

// -----

// Three callers of one function agree on its types.
// CHECK-LABEL: func.func private @tanh
// CHECK-SAME: (%{{.*}}: tensor<1x4x4xf16>) -> tensor<1x4x4xf16>
// CHECK-LABEL: func.func @callers
// CHECK-COUNT-3: call @tanh(%{{.*}}) : (tensor<1x4x4xf16>) -> tensor<1x4x4xf16>
func.func private @tanh(%x: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> {
  %0 = tosa.tanh %x : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  return %0 : tensor<1x4x4xf32>
}
func.func @callers(%x: tensor<1x4x4xf32>) -> (tensor<1x4x4xf32>, tensor<1x4x4xf32>) {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.matmul %x, %x, %zp, %zp : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  %1 = call @tanh(%0) : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %2 = tosa.matmul %1, %x, %zp, %zp : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
  %3 = call @tanh(%2) : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %4 = call @tanh(%3) : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  return %1, %4 : tensor<1x4x4xf32>, tensor<1x4x4xf32>
}
