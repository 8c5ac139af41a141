// RUN: amp-test-opt %s --amp-annotate-precision="policy=%S/Inputs/policy.yaml keep-op=t:if keep-node=outer,mapped" \
// RUN:   | FileCheck %s
// RUN: amp-test-opt %s --amp-autocast="policy=%S/Inputs/policy.yaml keep-op=t:if keep-node=outer,mapped" \
// RUN:   | FileCheck %s --check-prefix=CASTS

// Everything inside an operation that is kept keeps its type, and so do its
// results, whatever flows into them.

// CHECK-LABEL: func.func @kept_operator
func.func @kept_operator(%c: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: t.matmul
  // CHECK-SAME: amp.precision = [f16]
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.if
  // CHECK-NOT: amp.result_types
  %1:2 = t.if %c {node_name = "branches"} : (tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
    // CHECK: t.matmul
    // CHECK-SAME: {amp.category = "keep", amp.reason = "inside if 'branches', which is kept"}
    %2 = t.matmul %0, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    t.yield %2, %0 : tensor<4xf32>, tensor<4xf32>
  } else {
    t.yield %x, %0 : tensor<4xf32>, tensor<4xf32>
  }
  // CHECK: t.relu
  // CHECK-SAME: its inputs are float32
  %3 = t.relu %1#0 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu
  // CHECK-SAME: its inputs are float32
  %4 = t.relu %1#1 : (tensor<4xf32>) -> tensor<4xf32>
  return %3, %4 : tensor<4xf32>, tensor<4xf32>
}

// What is refused elsewhere is left alone, too.

// CHECK-LABEL: func.func @kept_node
func.func @kept_node(%n: tensor<i64>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.loop
  // CHECK-NOT: amp.argument_types
  // CHECK-NOT: amp.result_types
  %1 = t.loop %n, %0 {node_name = "outer"} : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>):
    // CHECK: t.banned
    // CHECK-SAME: {amp.category = "keep", amp.reason = "inside loop 'outer', which is kept"}
    %2 = t.banned %s : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: t.loop
    %3 = t.loop %n, %2 {node_name = "inner"} : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%j: tensor<i64>, %t: tensor<4xf32>):
      // CHECK: t.matmul
      // CHECK-SAME: amp.reason = "inside loop 'outer', which is kept"
      %4 = t.matmul %t, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      t.yield %4 : tensor<4xf32>
    }
    t.yield %3 : tensor<4xf32>
  }
  // The other loop is not kept.
  // CHECK: t.loop
  // CHECK-SAME: amp.result_types = [f16]
  %5 = t.loop %n, %0 {node_name = "inner"} : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>):
    // CHECK: t.matmul
    // CHECK-SAME: amp.precision = [f16]
    %6 = t.matmul %s, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    t.yield %6 : tensor<4xf32>
  }
  return %1, %5 : tensor<4xf32>, tensor<4xf32>
}

// Also where the control flow is not known, and in regions of other dialects.

// CHECK-LABEL: func.func @unknown_regions
func.func @unknown_regions(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.map
  // CHECK-SAME: {amp.category = "keep", amp.reason = "{{.*}}mapped{{.*}}", node_name = "mapped"}
  %1 = t.map %0 {node_name = "mapped"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%s: tensor<4xf32>):
    %2 = scf.if %c -> tensor<4xf32> {
      // CHECK: t.relu
      // CHECK-SAME: {amp.category = "keep", amp.reason = "inside map 'mapped', which is kept"}
      %3 = t.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
      scf.yield %3 : tensor<4xf32>
    } else {
      scf.yield %s : tensor<4xf32>
    }
    t.yield %2 : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}

// Casts stand where values enter.

// CASTS-LABEL: func.func @kept_operator
// CASTS: %[[LOW:.*]] = t.matmul {{.*}} -> tensor<4xf16>
// CASTS: t.if {{.*}} -> (tensor<4xf32>, tensor<4xf32>)
// CASTS: t.matmul {{.*}} -> tensor<4xf32>
// CASTS: t.yield {{.*}} : tensor<4xf32>, tensor<4xf32>
// CASTS: } else {
// CASTS: t.yield {{.*}} : tensor<4xf32>, tensor<4xf32>
