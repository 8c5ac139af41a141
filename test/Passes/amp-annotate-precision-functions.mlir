// RUN: amp-test-opt %s --split-input-file --amp-annotate-precision="policy=%S/Inputs/scopes.yaml" \
// RUN:   | FileCheck %s
// RUN: amp-test-opt %s --split-input-file --amp-annotate-precision="policy=%S/Inputs/scopes.yaml placement=optimal" \
// RUN:   | FileCheck %s
// RUN: amp-test-opt %s --split-input-file --amp-annotate-precision="policy=%S/Inputs/scopes.yaml specialize=false" \
// RUN:   | FileCheck %s --check-prefix=SHARED

// SHARED-NOT: _1

// Calls that disagree get a body each.
// CHECK-LABEL: func.func @disagree
func.func @disagree(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: call @f(%{{.*}})
  %1 = call @f(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = t.matmul %1, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = t.softmax %x : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: call @f_1(%{{.*}})
  %4 = call @f(%3) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = t.softmax %4 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: call @f(%{{.*}})
  %6 = call @f(%2) : (tensor<4xf32>) -> tensor<4xf32>
  %7 = t.matmul %6, %6 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %5, %7 : tensor<4xf32>, tensor<4xf32>
}
// CHECK: func.func private @f({{.*}} attributes {amp.argument_types = {{\[\[f16\]\]}}, amp.result_types = [f16]}
// CHECK: t.relu {{.*}}amp.precision = [f16]
// CHECK: func.func private @f_1({{.*}}) -> tensor<4xf32> {
// CHECK: t.relu {{.*}} {amp.category = "follow", amp.reason
// SHARED: func.func private @f(
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Calls that agree share one, constants agree with everybody.
// CHECK-LABEL: func.func @agree
func.func @agree(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = t.const dense<1.0> : tensor<4xf32>
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: call @f(
  // CHECK: call @f(
  // CHECK: call @f(
  %1 = call @f(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = call @f(%0, %one) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = call @f(%one, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = t.matmul %1, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = t.matmul %4, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
}
// CHECK: func.func private @f(
// CHECK: t.add {{.*}}amp.precision = [f16]
// CHECK-NOT: func.func
func.func private @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// What disagrees by its callers' callers, and by what it is called from in a
// loop. A function inside that is the same for all is shared.
// CHECK-LABEL: func.func @nested
func.func @nested(%n: tensor<i64>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = t.softmax %x : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: call @outer(
  %1 = call @outer(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = t.softmax %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = t.loop %n, %3 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %state: tensor<4xf32>):
    // CHECK: call @outer_1(
    %5 = func.call @outer(%state) : (tensor<4xf32>) -> tensor<4xf32>
    %6 = t.matmul %5, %5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    t.yield %6 : tensor<4xf32>
  }
  %7 = t.matmul %4, %4 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2, %7 : tensor<4xf32>, tensor<4xf32>
}
// CHECK: func.func private @outer(
// CHECK: call @inner(
// CHECK: call @same(
// CHECK: func.func private @outer_1(
// CHECK: call @inner_1(
// CHECK: call @same(
func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @same() : () -> tensor<4xf32>
  %2 = t.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
// CHECK: func.func private @inner(
// CHECK: func.func private @inner_1(
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK: func.func private @same(
// CHECK-NOT: func.func private
func.func private @same() -> tensor<4xf32> {
  %0 = t.const dense<1.0> : tensor<4xf32>
  %1 = t.softmax %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// A rule on a scope holds in what is called from there, for these calls alone.
// CHECK: func.func private @exact(
// CHECK: call @helper(
func.func private @exact(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @helper(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK: func.func @scopes
// CHECK: call @exact(
// CHECK: call @helper_1(
func.func @scopes(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = call @exact(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @helper(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
// CHECK: func.func private @helper(
// CHECK: call @leaf(
// CHECK: func.func private @helper_1(
// CHECK: call @leaf_1(
func.func private @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @leaf(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK: func.func private @leaf(
// CHECK: t.matmul {{.*}} {amp.category = "deny", amp.reason = "policy 'scopes' line {{[0-9]+}}: deny: sums must be exact"}
// CHECK: func.func private @leaf_1(
// CHECK: t.matmul {{.*}}amp.precision = [f16]
// Where it is shared, the rule holds for all.
// SHARED: func.func private @leaf(
// SHARED: t.matmul {{.*}}"deny"
func.func private @leaf(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A name that is taken, a function that is known otherwise, one that calls
// itself, and what it calls.
module {
// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = t.softmax %x : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: call @f(
  // CHECK: call @f_2(
  %2 = call @f(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = call @f(%1) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: call @known(
  // CHECK: call @known(
  %4 = call @known(%2) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = call @known(%3) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: call @again(
  // CHECK: call @again(
  %6 = call @again(%2) : (tensor<4xf32>) -> tensor<4xf32>
  %7 = call @again(%3) : (tensor<4xf32>) -> tensor<4xf32>
  %8 = t.add %4, %6 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = t.add %5, %7 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  t.opaque {callback = @known} : () -> ()
  %10 = t.matmul %8, %8 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %11 = t.softmax %9 : (tensor<4xf32>) -> tensor<4xf32>
  return %10, %11 : tensor<4xf32>, tensor<4xf32>
}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @f_1() {
  return
}
func.func private @known(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @again(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
}
