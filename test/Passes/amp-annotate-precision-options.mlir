// RUN: amp-test-opt %s --amp-annotate-precision="policy=%S/Inputs/policy.yaml keep-io-types=false" \
// RUN:   | FileCheck %s --check-prefix=RETYPED
// RUN: amp-test-opt %s --amp-annotate-precision="policy=%S/Inputs/policy.yaml keep-op=t:matmul keep-node=first,second.*" \
// RUN:   | FileCheck %s --check-prefix=KEPT

// RETYPED-LABEL: func.func @f
// RETYPED-SAME: attributes {amp.argument_types = [
// RETYPED-SAME: [f16, unit]
// RETYPED-SAME: ], amp.result_types = [f16, f16, unit]}
// KEPT-LABEL: func.func @f
// KEPT-NOT: amp.argument_types
func.func @f(%x: tensor<4xf32>, %i: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf64>) {
  // RETYPED: t.relu
  // RETYPED-SAME: amp.precision = [f16]
  // KEPT: t.relu
  // KEPT-SAME: amp.reason = "{{.*}}; its inputs are float32"
  %0 = t.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  // KEPT: t.matmul
  // KEPT-SAME: {amp.category = "keep", amp.reason = "{{.*}}t:matmul{{.*}}"}
  %1 = t.matmul %0, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // KEPT: t.conv
  // KEPT-SAME: {amp.category = "keep", amp.reason = "{{.*}}first{{.*}}", node_name = "first"}
  %2 = t.conv %1, %1 {node_name = "first"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // KEPT: t.conv
  // KEPT-SAME: amp.reason = "{{.*}}second
  %3 = t.conv %2, %2 {node_name = "second_of_two"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // KEPT: t.conv
  // KEPT-SAME: amp.precision = [f16]
  %4 = t.conv %3, %3 {node_name = "the_second"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // RETYPED: t.softmax
  // RETYPED-NOT: amp.precision
  // RETYPED: return
  %5 = t.softmax %4 : (tensor<4xf32>) -> tensor<4xf32>
  %6 = t.cast %4 : (tensor<4xf32>) -> tensor<4xf64>
  return %4, %5, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf64>
}
