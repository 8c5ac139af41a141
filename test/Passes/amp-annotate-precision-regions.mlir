// RUN: amp-test-opt %s --split-input-file --amp-annotate-precision="policy=%S/Inputs/policy.yaml specialize=false" \
// RUN:   | FileCheck %s
// RUN: amp-test-opt %s --split-input-file --amp-annotate-precision="policy=%S/Inputs/policy.yaml low=bf16 specialize=false" \
// RUN:   | FileCheck %s --check-prefix=BF16

// Branches that agree, and that don't; a value of outside counts as itself.

// CHECK-LABEL: func.func @branches
// BF16-LABEL: func.func @branches
func.func @branches(%c: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.if
  // CHECK-SAME: {amp.result_types = [f16, unit, unit]}
  // BF16: t.if
  // BF16-SAME: {amp.result_types = [bf16, unit, unit]}
  %1:3 = t.if %c : (tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi64>) {
    // CHECK: t.relu
    // CHECK-SAME: amp.precision = [f16]
    %2 = t.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
    %3 = t.softmax %0 : (tensor<4xf32>) -> tensor<4xf32>
    %i = t.opaque %x : (tensor<4xf32>) -> tensor<4xi64>
    t.yield %2, %3, %i : tensor<4xf32>, tensor<4xf32>, tensor<4xi64>
  } else {
    %i = t.opaque %x : (tensor<4xf32>) -> tensor<4xi64>
    t.yield %0, %0, %i : tensor<4xf32>, tensor<4xf32>, tensor<4xi64>
  }
  // CHECK: t.relu
  // CHECK-SAME: its inputs are float16
  %4 = t.relu %1#0 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu
  // CHECK-SAME: its inputs are float32
  %5 = t.relu %1#1 : (tensor<4xf32>) -> tensor<4xf32>
  return %4, %5 : tensor<4xf32>, tensor<4xf32>
}

// The operation itself may not admit the format.

// CHECK-LABEL: func.func @branches_unsupported
// BF16-LABEL: func.func @branches_unsupported
func.func @branches_unsupported(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.if
  // CHECK-SAME: amp.result_types = [f16]
  // BF16: t.if
  // BF16-NOT: amp.result_types
  %1 = t.if %c {no_bf16} : (tensor<i1>) -> tensor<4xf32> {
    t.yield %0 : tensor<4xf32>
  } else {
    t.yield %0 : tensor<4xf32>
  }
  // BF16: t.relu
  // BF16-SAME: its inputs are float32
  %2 = t.relu %1 : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// A loop's state is what it begins with and what its body makes of it.

// CHECK-LABEL: func.func @loop_low
func.func @loop_low(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.loop
  // CHECK-SAME: {amp.argument_types = [
  // CHECK-SAME: [unit, f16]
  // CHECK-SAME: ], amp.result_types = [f16, f16, unit]}
  %1:3 = t.loop %n, %0 : (tensor<i64>, tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>):
    // CHECK: t.relu
    // CHECK-SAME: amp.precision = [f16]
    %2 = t.relu %s : (tensor<4xf32>) -> tensor<4xf32>
    %3 = t.softmax %2 : (tensor<4xf32>) -> tensor<4xf32>
    t.yield %2, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %1#0 : tensor<4xf32>
}

// Only the second time around is the state known to be float32.

// CHECK-LABEL: func.func @loop_fixpoint
func.func @loop_fixpoint(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.loop
  // CHECK-NOT: amp.result_types
  %1:2 = t.loop %n, %0, %0 : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>, %t: tensor<4xf32>):
    // CHECK: t.relu
    // CHECK-SAME: its inputs are float32
    %2 = t.relu %s : (tensor<4xf32>) -> tensor<4xf32>
    %3 = t.softmax %t : (tensor<4xf32>) -> tensor<4xf32>
    t.yield %3, %2 : tensor<4xf32>, tensor<4xf32>
  }
  return %1#0 : tensor<4xf32>
}

// A constant does not hold a state in float32 that is low in every iteration:
// it adopts the format, and so does what moves it. A sum stays float32, and so
// does what is constants alone.

// CHECK-LABEL: func.func @loop_from_constants
// BF16-LABEL: func.func @loop_from_constants
func.func @loop_from_constants(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.const dense<0.0> : tensor<4xf32>
  // CHECK: t.transpose
  // CHECK-SAME: amp.precision = [f16]
  // CHECK-SAME: its users are float16
  %1 = t.transpose %0 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.loop
  // CHECK-SAME: {amp.argument_types = [
  // CHECK-SAME: [unit, f16, unit, unit]
  // CHECK-SAME: ], amp.result_types = [f16, unit, unit]}
  // BF16: t.loop
  // BF16-SAME: amp.result_types = [bf16, unit, unit]
  %2:3 = t.loop %n, %1, %0, %0 : (tensor<i64>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>, %sum: tensor<4xf32>, %t: tensor<4xf32>):
    // CHECK: t.add
    // CHECK-SAME: its inputs are float16
    %3 = t.add %s, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %4 = t.matmul %3, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // CHECK: t.add
    // CHECK-SAME: its inputs are float32
    %5 = t.add %sum, %4 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    t.yield %4, %5, %0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %2#0 : tensor<4xf32>
}

// Branches inside loops inside branches.

// CHECK-LABEL: func.func @nested
func.func @nested(%c: tensor<i1>, %n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.if
  // CHECK-SAME: amp.result_types = [f16]
  %1 = t.if %c : (tensor<i1>) -> tensor<4xf32> {
    // CHECK: t.loop
    // CHECK-SAME: amp.result_types = [f16]
    %2 = t.loop %n, %0 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%i: tensor<i64>, %s: tensor<4xf32>):
      // CHECK: t.if
      // CHECK-SAME: amp.result_types = [f16]
      %3 = t.if %c : (tensor<i1>) -> tensor<4xf32> {
        t.yield %s : tensor<4xf32>
      } else {
        t.yield %0 : tensor<4xf32>
      }
      t.yield %3 : tensor<4xf32>
    }
    t.yield %2 : tensor<4xf32>
  } else {
    t.yield %0 : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}

// Region operations of other dialects.

// CHECK-LABEL: func.func @structured_control_flow
func.func @structured_control_flow(%c: i1, %x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = scf.for %i = %zero to %n step %one iter_args(%s = %0) -> tensor<4xf32> {
    %2 = scf.if %c -> tensor<4xf32> {
      scf.yield %s : tensor<4xf32>
    } else {
      // CHECK: t.relu
      // CHECK-SAME: amp.precision = [f16]
      %3 = t.relu %s : (tensor<4xf32>) -> tensor<4xf32>
      scf.yield %3 : tensor<4xf32>
    }
    // CHECK: } {amp.result_types = [f16]}
    scf.yield %2 : tensor<4xf32>
  }
  // CHECK: } {amp.argument_types = [
  // CHECK-SAME: [unit, f16]
  // CHECK-SAME: ], amp.result_types = [f16]}
  return %1 : tensor<4xf32>
}

// Regions that nothing is known of keep the types at their borders.

// CHECK-LABEL: func.func @unknown_regions
func.func @unknown_regions(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.map %{{[^ ]*}} {amp.category = "clear", amp.reason = "its regions are of no known control flow", amp.rule = "{{.*}}: t:map is clear"}
  %1 = t.map %0 : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%s: tensor<4xf32>):
    // CHECK: t.relu
    // CHECK-SAME: its inputs are float32
    %2 = t.relu %s : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: t.relu
    // CHECK-SAME: its inputs are float16
    %3 = t.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
    t.yield %3 : tensor<4xf32>
  }
  // CHECK: t.relu
  // CHECK-SAME: its inputs are float32
  %4 = t.relu %1 : (tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// Code that never runs has types, too.

// CHECK-LABEL: func.func @dead_branch
func.func @dead_branch(%x: tensor<4xf32>) -> tensor<4xf32> {
  %false = arith.constant false
  %0 = scf.if %false -> tensor<4xf32> {
    // CHECK: t.matmul
    // CHECK-SAME: amp.precision = [f16]
    %1 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  // CHECK: t.relu
  // CHECK-SAME: its inputs are float32
  %2 = t.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// A private function is called with both; one is called with low values only.

// CHECK-LABEL: func.func @callers
// CHECK-SAME: (%{{.*}}: tensor<4xf32>) -> tensor<4xf32> {
func.func @callers(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = call @low(%0) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu
  // CHECK-SAME: its inputs are float16
  %2 = t.relu %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = call @joined(%x, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = call @joined(%2, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu
  // CHECK-SAME: its inputs are float32
  %5 = t.relu %4 : (tensor<4xf32>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
}

// CHECK-LABEL: func.func private @low
// CHECK-SAME: attributes {amp.argument_types = [
// CHECK-SAME: [f16]
// CHECK-SAME: ], amp.result_types = [f16]}
func.func private @low(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: t.relu
  // CHECK-SAME: amp.precision = [f16]
  %0 = t.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A constant that one of the callers passes does not count.

// CHECK-LABEL: func.func @callers_with_constants
func.func @callers_with_constants(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.const dense<1.0> : tensor<4xf32>
  %1 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = call @adopted(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = call @adopted(%1) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.add
  // CHECK-SAME: amp.precision = [f16]
  %4 = t.add %2, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// CHECK-LABEL: func.func private @adopted
// CHECK-SAME: attributes {amp.argument_types = [
// CHECK-SAME: [f16]
// CHECK-SAME: ], amp.result_types = [f16]}
func.func private @adopted(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// CHECK-LABEL: func.func private @joined
// CHECK-SAME: attributes {amp.argument_types = [
// CHECK-SAME: [unit, f16]
// CHECK-SAME: ]}
func.func private @joined(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Types that others rely on: of public functions, of functions that are used
// otherwise than by calls, of declarations. What nobody calls is as it was.

// CHECK-LABEL: func.func @interfaces
func.func @interfaces(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = call @public(%0) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu
  // CHECK-SAME: its inputs are float32
  %2 = t.relu %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = call @referenced(%0) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu
  // CHECK-SAME: its inputs are float32
  %4 = t.relu %3 : (tensor<4xf32>) -> tensor<4xf32>
  %5 = call @declared(%0) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu
  // CHECK-SAME: its inputs are float32
  %6 = t.relu %5 : (tensor<4xf32>) -> tensor<4xf32>
  t.opaque {callback = @referenced} : () -> ()
  return %6 : tensor<4xf32>
}

// CHECK-LABEL: func.func @public
// CHECK-NOT: amp.argument_types
func.func @public(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: t.matmul
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func private @referenced
// CHECK-NOT: amp.argument_types
func.func private @referenced(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: t.matmul
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func private @declared(tensor<4xf32>) -> tensor<4xf32>

// CHECK-LABEL: func.func private @uncalled
// CHECK-SAME: attributes {amp.result_types = [f16]}
func.func private @uncalled(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func private @recursive
// CHECK-NOT: amp.argument_types
func.func private @recursive(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: t.relu
  // CHECK-SAME: its inputs are float32
  %0 = t.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @recursive(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
