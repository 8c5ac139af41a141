// RUN: amp-test-opt %s --split-input-file --amp-annotate-precision="policy=%S/Inputs/rules.yaml" \
// RUN:   | FileCheck %s
// RUN: amp-test-opt %s --split-input-file --amp-autocast="policy=%S/Inputs/rules.yaml placement=optimal" \
// RUN:   | FileCheck %s --check-prefix=OPTIMAL
// RUN: amp-test-opt %s --split-input-file --amp-annotate-precision="policy=%S/Inputs/rules.yaml low=bf16" \
// RUN:   | FileCheck %s --check-prefix=BF16
// RUN: amp-test-opt %s --split-input-file --amp-annotate-precision="policy=%S/Inputs/rules.yaml low=tf32 keep-io-types=false" \
// RUN:   | FileCheck %s --check-prefix=TF32

// Two low formats: an operation is low in its own or not at all, and a cast
// leads from one to the other.

// CHECK-LABEL: func.func @two_formats
// OPTIMAL-LABEL: func.func @two_formats
func.func @two_formats(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: t.matmul {{.*}}amp.precision = [f16]
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu {{.*}}amp.precision = [f16]
  %1 = t.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  // Its inputs are low, but not in its own format.
  // CHECK: t.relu %1 {amp.category = "follow", amp.reason = "{{.*}}; its inputs are float32", node_name = "brain"}
  %2 = t.relu %1 {node_name = "brain"} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.matmul {{.*}}amp.precision = [bf16]
  %3 = t.matmul %2, %1 {node_name = "brain"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.add %3, %3 {{.*}}amp.precision = [bf16], {{.*}}; its inputs are bfloat16"
  %4 = t.add %3, %3 {node_name = "brain"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // float16 and bfloat16 meet in tf32, which is stored as float32.
  // CHECK: t.add %0, %4 {amp.category = "promote", amp.reason = "{{.*}}; its inputs are float32"}
  %5 = t.add %0, %4 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
  // OPTIMAL: t.relu {{.*}} (tensor<4xf16>) -> tensor<4xf16>
  // OPTIMAL-NEXT: [[B:%[0-9]+]] = amp.cast %{{[0-9]+}} : tensor<4xf16> to tensor<4xbf16>
  // OPTIMAL-NEXT: [[R:%[0-9]+]] = t.relu [[B]] {node_name = "brain"} : (tensor<4xbf16>) -> tensor<4xbf16>
  // OPTIMAL-NEXT: t.matmul [[R]], [[B]] {{.*}} -> tensor<4xbf16>
  // OPTIMAL-NEXT: t.add {{.*}} -> tensor<4xbf16>
  // OPTIMAL: t.add {{.*}} -> tensor<4xf32>
}

// What is carried around a loop takes the format that all in it have.

// CHECK-LABEL: func.func @loop
func.func @loop(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.matmul %x, %x {node_name = "brain"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.loop
  // CHECK-SAME: {amp.argument_types = [
  // CHECK-SAME: [unit, bf16]
  // CHECK-SAME: ], amp.result_types = [bf16]}
  %1 = t.loop %n, %0 : (tensor<i64>, tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %a: tensor<4xf32>):
    %2 = t.matmul %a, %a {node_name = "brain"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    t.yield %2 : tensor<4xf32>
  }
  %3 = t.matmul %1, %1 {node_name = "brain"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// tf32 changes no types: it is where an operation multiplies.

// CHECK-LABEL: func.func @tf32
// OPTIMAL-LABEL: func.func @tf32
// TF32-LABEL: func.func @tf32(%{{.*}}: tensor<4xf32>) -> tensor<4xf32> {
func.func @tf32(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: t.matmul {{.*}}{amp.category = "allow", amp.compute = "tf32",
  // CHECK-SAME: amp.reason = "policy 'policy' line {{[0-9]+}}: t:matmul is allow; multiplies in tf32", node_name = "wide"}
  // OPTIMAL: t.matmul %{{.*}} {amp.compute = "tf32", node_name = "wide"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // TF32: t.matmul {{.*}}amp.compute = "tf32"
  // TF32-NOT: amp.precision
  %0 = t.matmul %x, %x {node_name = "wide"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu {{.*}}{amp.category = "follow", amp.reason
  // TF32: t.relu {{.*}}{amp.category = "follow", amp.reason = "{{.*}}: t:relu is follow; tf32 is stored as float32"}
  %1 = t.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  // TF32: t.matmul {{.*}}amp.compute = "tf32"
  %2 = t.matmul %1, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // bfloat16 by rule stays what it is.
  // TF32: t.matmul {{.*}}amp.precision = [bf16]
  %3 = t.matmul %2, %2 {node_name = "brain"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// What leads to an island is float32, up to what is allowed to be low.

// CHECK-LABEL: func.func @island
func.func @island(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: t.matmul {{.*}}amp.precision = [f16]
  %0 = t.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu %0 {amp.category = "deny", amp.reason = "{{.*}}t:relu is follow; it leads to add, an island of float32"}
  %1 = t.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu %0 {amp.category = "follow", amp.precision = [f16]
  %2 = t.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  // Somebody else reads it, too.
  // CHECK: t.add %1, %1 {amp.category = "deny"
  %3 = t.add %1, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.add %3, %3 {amp.category = "deny"{{.*}} node_name = "loss"}
  %4 = t.add %3, %3 {node_name = "loss"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.matmul %3, %2 {amp.category = "allow", amp.precision = [f16]
  %5 = t.matmul %3, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %5, %4 : tensor<4xf32>, tensor<4xf32>
}

// Conditions on constants, shapes and the low format.

// CHECK-LABEL: func.func @conditions
// BF16-LABEL: func.func @conditions
func.func @conditions(%x: tensor<4xf32>, %y: tensor<1x256xf32>, %z: tensor<?x64xf32>)
    attributes {amp.argument_ranges = [1.5e+04, unit, unit]} {
  %small = t.const dense<9.0e+03> : tensor<4xf32>
  %large = t.const dense<-1.5e+04> : tensor<4xf32>
  // CHECK: t.matmul {{.*}}amp.category = "allow"
  %0 = t.matmul %x, %small : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.matmul {{.*}}amp.category = "deny", amp.reason = "{{.*}}deny: large weights"
  %1 = t.matmul %x, %large : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.matmul {{.*}}amp.category = "deny", amp.reason = "{{.*}}deny: long rows"
  %2 = t.matmul %y, %y : (tensor<1x256xf32>, tensor<1x256xf32>) -> tensor<1x256xf32>
  // CHECK: t.matmul {{.*}}amp.category = "allow"
  %3 = t.matmul %z, %z : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  // Measured, of a result and of an argument.
  %m = t.opaque %x {amp.ranges = [2.0e+04]} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.matmul {{.*}}amp.category = "deny", amp.reason = "{{.*}}deny: large weights"
  %5 = t.matmul %x, %m : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.matmul {{.*}}amp.category = "deny", amp.reason = "{{.*}}deny: large weights"
  %6 = t.matmul %m, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.relu {{.*}}amp.category = "follow"
  // BF16: t.relu {{.*}}amp.category = "keep", amp.reason = "{{.*}}: keep: bfloat16"
  %4 = t.relu %3 : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return
}
