// RUN: amp-test-opt %s --amp-strip-annotations | FileCheck %s

// CHECK-NOT: amp.

// CHECK-LABEL: func.func @f(
func.func @f(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32>
    attributes {amp.argument_ranges = [unit, 1.0], amp.argument_types = [[unit, f16]], amp.result_types = [f16], other.kept = 1} {
  // CHECK: other.kept = 1
  %0 = t.const dense<1.0> : tensor<4xf32> {amp.overflow = "saturate"}
  // CHECK: t.if
  %1 = t.if %c {amp.result_types = [f16]} : (tensor<i1>) -> tensor<4xf32> {
    // CHECK: t.relu %{{[^ ]*}} {node_name = "n"} :
    %2 = t.relu %x {amp.category = "follow", amp.keep = "why", amp.precision = [f16], amp.ranges = [1.0], amp.reason = "why", node_name = "n"} : (tensor<4xf32>) -> tensor<4xf32>
    t.yield %2 : tensor<4xf32>
  } else {
    t.yield %0 : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}
