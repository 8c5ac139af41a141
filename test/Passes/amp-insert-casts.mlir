// RUN: amp-test-opt %s --split-input-file --amp-insert-casts | FileCheck %s

// The example of the pass.

// CHECK-LABEL: func.func @example
// CHECK-SAME: %[[X:.*]]: tensor<2x2xf32>, %[[W:.*]]: tensor<2x2xf32>) -> tensor<2x2xf32> {
func.func @example(%x: tensor<2x2xf32>, %w: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // CHECK-NEXT: %[[XLOW:.*]] = amp.cast %[[X]] : tensor<2x2xf32> to tensor<2x2xf16>
  // CHECK-NEXT: %[[WLOW:.*]] = amp.cast %[[W]] : tensor<2x2xf32> to tensor<2x2xf16>
  // CHECK-NEXT: %[[Y:.*]] = t.matmul %[[XLOW]], %[[WLOW]] : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf16>
  // CHECK-NEXT: %[[UP:.*]] = amp.cast %[[Y]] : tensor<2x2xf16> to tensor<2x2xf32>
  // CHECK-NEXT: return %[[UP]]
  %y = t.matmul %x, %w {amp.precision = [f16]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// One cast serves all users of a type; the narrower type comes first.

// CHECK-LABEL: func.func @shared
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
func.func @shared(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[B:.*]] = amp.cast %[[X]] : tensor<4xf32> to tensor<4xbf16>
  // CHECK-NEXT: %[[H:.*]] = amp.cast %[[X]] : tensor<4xf32> to tensor<4xf16>
  // CHECK-NEXT: %[[D:.*]] = amp.cast %[[X]] : tensor<4xf32> to tensor<4xf64>
  // CHECK-NEXT: t.relu %[[D]]
  // CHECK-NEXT: t.matmul %[[H]], %[[H]]
  // CHECK-NEXT: t.relu %[[B]]
  // CHECK-NEXT: t.relu %[[H]]
  // CHECK-NEXT: t.relu %[[X]]
  %0 = t.relu %x {amp.precision = [f64]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = t.matmul %x, %x {amp.precision = [f16]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = t.relu %x {amp.precision = [bf16]} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = t.relu %x {amp.precision = [f16]} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = t.relu %x {amp.precision = [unit]} : (tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// Operations without annotation read what they read before.

// CHECK-LABEL: func.func @kept
// CHECK-SAME: %[[X:.*]]: tensor<4xf16>
func.func @kept(%x: tensor<4xf16>) {
  // CHECK-NEXT: %[[UP:.*]] = amp.cast %[[X]] : tensor<4xf16> to tensor<4xf32>
  // CHECK-NEXT: %[[Y:.*]] = t.relu %[[UP]] : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[DOWN:.*]] = amp.cast %[[Y]] : tensor<4xf32> to tensor<4xf16>
  // CHECK-NEXT: t.opaque %[[DOWN]] : (tensor<4xf16>) -> ()
  %0 = t.relu %x {amp.precision = [f32]} : (tensor<4xf16>) -> tensor<4xf16>
  t.opaque %0 : (tensor<4xf16>) -> ()
  return
}

// Each type variable by itself; fixed operands and integers stay.

// CHECK-LABEL: func.func @type_variables
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[I:.*]]: tensor<4xi64>
func.func @type_variables(%x: tensor<4xf32>, %i: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[LOW:.*]] = amp.cast %[[X]]
  // CHECK: t.batch_norm %[[LOW]], %[[X]], %[[LOW]] : (tensor<4xf16>, tensor<4xf32>, tensor<4xf16>) -> tensor<4xf16>
  %0 = t.batch_norm %x, %x, %x {amp.precision = [f16, unit, f16]} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.resize %[[LOW]], %[[X]] : (tensor<4xf16>, tensor<4xf32>) -> tensor<4xf16>
  %1 = t.resize %x, %x {amp.precision = [f16]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: t.gather %[[LOW]], %[[I]] : (tensor<4xf16>, tensor<4xi64>) -> tensor<4xf16>
  %2 = t.gather %x, %i {amp.precision = [f16]} : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  // A variable that the annotation does not mention stays.
  // CHECK: t.rms_norm %[[LOW]], %[[X]] : (tensor<4xf16>, tensor<4xf32>) -> tensor<4xf32>
  %3 = t.rms_norm %x, %x {amp.precision = [f16]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @sequences
// CHECK-SAME: %[[S:.*]]: !t.sequence<tensor<4xf32>>
func.func @sequences(%s: !t.sequence<tensor<4xf32>>) {
  // CHECK: %[[LOW:.*]] = amp.cast %[[S]] : !t.sequence<tensor<4xf32>> to !t.sequence<tensor<4xf16>>
  // CHECK: t.sequence %[[LOW]] : (!t.sequence<tensor<4xf16>>) -> !t.sequence<tensor<4xf16>>
  %0 = t.sequence %s {amp.precision = [f16]} : (!t.sequence<tensor<4xf32>>) -> !t.sequence<tensor<4xf32>>
  return
}

// Shapes and encodings are not touched.

// CHECK-LABEL: func.func @types
func.func @types(%x: tensor<?x4xf32, "e">, %u: tensor<*xf32>) {
  // CHECK: t.relu %{{.*}} : (tensor<?x4xf16, "e">) -> tensor<?x?xf16>
  %0 = t.relu %x {amp.precision = [f16]} : (tensor<?x4xf32, "e">) -> tensor<?x?xf32>
  // CHECK: t.relu %{{.*}} : (tensor<*xf16>) -> tensor<*xf16>
  %1 = t.relu %u {amp.precision = [f16]} : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// Reasons stay, decisions go.

// CHECK-LABEL: func.func @annotations
func.func @annotations(%x: tensor<4xf32>) {
  // CHECK: t.relu %{{.*}} {amp.category = "follow", amp.reason = "why"} :
  %0 = t.relu %x {amp.category = "follow", amp.precision = [f16], amp.reason = "why"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// A constant gets a rounded copy for each type, and goes if nobody is left.

// CHECK-LABEL: func.func @constants
func.func @constants(%x: tensor<2xf32>) {
  // CHECK-NEXT: %[[H:.*]] = t.const #amp.rounded<dense<1.0{{.*}}> : tensor<2xf32>, saturate> : tensor<2xf16> {node_name = "a"}
  // CHECK-NOT: t.const
  %a = t.const dense<1.0> : tensor<2xf32> {node_name = "a"}
  // CHECK: %[[F:.*]] = t.const dense<2.0{{.*}}> : tensor<2xf32>
  // CHECK-NEXT: %[[B:.*]] = t.const #amp.rounded<dense<2.0{{.*}}> : tensor<2xf32>, infinity> : tensor<2xbf16>
  // CHECK-NEXT: %[[FH:.*]] = t.const #amp.rounded<dense<2.0{{.*}}> : tensor<2xf32>, infinity> : tensor<2xf16>
  %b = t.const dense<2.0> : tensor<2xf32> {amp.overflow = "infinity"}
  // CHECK-NEXT: t.add %[[H]], %[[H]]
  %0 = t.add %a, %a {amp.precision = [f16]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: t.add %[[H]], %[[FH]]
  %1 = t.add %a, %b {amp.precision = [f16]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: t.relu %[[B]]
  %2 = t.relu %b {amp.precision = [bf16]} : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: t.opaque %[[F]]
  t.opaque %b : (tensor<2xf32>) -> ()
  return
}

// A large constant that is also read as it is is stored once, unless a cast
// would give other values.

// CHECK-LABEL: func.func @shared_constants
func.func @shared_constants() {
  // CHECK-NEXT: %[[W:.*]] = t.const dense<1.0{{.*}}> : tensor<4097xf32>
  // CHECK-NEXT: %[[WLOW:.*]] = amp.cast %[[W]] : tensor<4097xf32> to tensor<4097xf16>
  %w = t.const dense<1.0> : tensor<4097xf32>
  // CHECK-NEXT: %[[M:.*]] = t.const dense<1.0{{.*}}> : tensor<4097xf32>
  // CHECK-NEXT: %[[MLOW:.*]] = t.const #amp.rounded
  %m = t.const dense<1.0e+06> : tensor<4097xf32> {amp.overflow = "saturate"}
  // CHECK-NEXT: %[[B:.*]] = t.const dense<1.0{{.*}}> : tensor<4096xf32>
  // CHECK-NEXT: %[[BLOW:.*]] = t.const #amp.rounded
  %b = t.const dense<1.0> : tensor<4096xf32>
  // CHECK-NEXT: t.const #amp.rounded
  // CHECK-NOT: t.const
  %alone = t.const dense<2.0> : tensor<4097xf32>
  // CHECK: t.relu %[[WLOW]]
  %0 = t.relu %w {amp.precision = [f16]} : (tensor<4097xf32>) -> tensor<4097xf32>
  // CHECK-NEXT: t.relu %[[MLOW]]
  %1 = t.relu %m {amp.precision = [f16]} : (tensor<4097xf32>) -> tensor<4097xf32>
  // CHECK-NEXT: t.relu %[[BLOW]]
  %2 = t.relu %b {amp.precision = [f16]} : (tensor<4096xf32>) -> tensor<4096xf32>
  %3 = t.relu %alone {amp.precision = [f16]} : (tensor<4097xf32>) -> tensor<4097xf32>
  // CHECK: t.opaque %[[W]], %[[M]], %[[B]]
  t.opaque %w, %m, %b : (tensor<4097xf32>, tensor<4097xf32>, tensor<4096xf32>) -> ()
  return
}

// What was unused before is someone else's, and what returns it uses it.

// CHECK-LABEL: func.func @unused_constants
func.func @unused_constants() -> tensor<2xf32> {
  // CHECK-NEXT: t.const dense<1.0
  %a = t.const dense<1.0> : tensor<2xf32>
  // CHECK-NEXT: %[[B:.*]] = t.const dense<2.0{{.*}}> : tensor<2xf32>
  // CHECK-NEXT: t.const #amp.rounded<dense<2.0
  %b = t.const dense<2.0> : tensor<2xf32>
  %0 = t.relu %b {amp.precision = [f16]} : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK: return %[[B]]
  return %b : tensor<2xf32>
}

// A constant of another shape than its value, and constants that can't be
// rounded.

// CHECK-LABEL: func.func @other_constants
func.func @other_constants() {
  // CHECK-NEXT: t.const #amp.rounded<dense<1.0{{.*}}> : tensor<1xf32>, saturate> : tensor<1xf16> -> tensor<?x4xf16>
  %a = t.const dense<1.0> : tensor<1xf32> -> tensor<?x4xf32>
  %0 = t.relu %a {amp.precision = [f16]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: %[[H:.*]] = t.const dense<1.0{{.*}}> : tensor<2xf16>
  // CHECK-NEXT: amp.cast %[[H]] : tensor<2xf16> to tensor<2xf32>
  %b = t.const dense<1.0> : tensor<2xf16>
  %1 = t.relu %b {amp.precision = [f32]} : (tensor<2xf16>) -> tensor<2xf16>
  // CHECK: %[[N:.*]] = t.const dense<1.0{{.*}}> : tensor<2xf32> {no_bf16}
  // CHECK-NEXT: amp.cast %[[N]] : tensor<2xf32> to tensor<2xbf16>
  // CHECK-NEXT: t.const #amp.rounded<dense<1.0{{.*}}> : tensor<2xf32>, saturate> : tensor<2xf16> {no_bf16}
  %c = t.const dense<1.0> : tensor<2xf32> {no_bf16}
  %2 = t.relu %c {amp.precision = [bf16]} : (tensor<2xf32>) -> tensor<2xf32>
  %3 = t.relu %c {amp.precision = [f16]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// A cast stands where its value is defined, whatever regions need it.

// CHECK-LABEL: func.func @captured
// CHECK-SAME: %[[C:.*]]: tensor<i1>, %[[X:.*]]: tensor<4xf32>
func.func @captured(%c: tensor<i1>, %x: tensor<4xf32>) {
  // CHECK-NEXT: %[[LOW:.*]] = amp.cast %[[X]]
  // CHECK-NEXT: t.const #amp.rounded
  // CHECK-NEXT: t.if
  // CHECK-NOT: amp.cast
  // CHECK: return
  %w = t.const dense<1.0> : tensor<4xf32>
  t.if %c : (tensor<i1>) -> () {
    %0 = t.matmul %x, %w {amp.precision = [f16]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    t.yield
  } else {
    %0 = t.matmul %x, %w {amp.precision = [f16]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    t.yield
  }
  return
}

// CHECK-LABEL: func.func @branches
// CHECK-SAME: %[[C:.*]]: tensor<i1>, %[[X:.*]]: tensor<4xf32>, %[[H:.*]]: tensor<4xf16>
func.func @branches(%c: tensor<i1>, %x: tensor<4xf32>, %h: tensor<4xf16>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[LOW:.*]] = amp.cast %[[X]]
  // CHECK-NEXT: %[[IF:.*]]:2 = t.if %[[C]] : (tensor<i1>) -> (tensor<4xf16>, tensor<4xf16>) {
  %0:2 = t.if %c {amp.result_types = [f16, unit]} : (tensor<i1>) -> (tensor<4xf32>, tensor<4xf16>) {
    // CHECK-NEXT: t.yield %[[LOW]], %[[H]] : tensor<4xf16>, tensor<4xf16>
    t.yield %x, %h : tensor<4xf32>, tensor<4xf16>
  } else {
    // CHECK: %[[Y:.*]] = t.relu
    // CHECK-NEXT: t.yield %[[Y]], %[[H]] : tensor<4xf16>, tensor<4xf16>
    %1 = t.relu %x {amp.precision = [f16]} : (tensor<4xf32>) -> tensor<4xf32>
    t.yield %1, %h : tensor<4xf32>, tensor<4xf16>
  }
  // CHECK: %[[UP:.*]] = amp.cast %[[IF]]#0 : tensor<4xf16> to tensor<4xf32>
  // CHECK-NEXT: return %[[UP]]
  return %0#0 : tensor<4xf32>
}

// Arguments are cast at the start of their block, in their order.

// CHECK-LABEL: func.func @loop
// CHECK-SAME: %[[N:.*]]: tensor<i64>, %[[X:.*]]: tensor<4xf32>
func.func @loop(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[LOW:.*]] = amp.cast %[[X]] : tensor<4xf32> to tensor<4xf16>
  // CHECK-NEXT: %[[LOOP:.*]]:3 = t.loop %[[N]], %[[LOW]], %[[X]] : (tensor<i64>, tensor<4xf16>, tensor<4xf32>) -> (tensor<4xf16>, tensor<4xf32>, tensor<?x4xf16>) {
  // CHECK-NEXT: (%[[I:.*]]: tensor<i64>, %[[S:.*]]: tensor<4xf16>, %[[T:.*]]: tensor<4xf32>):
  %0:3 = t.loop %n, %x, %x {amp.argument_types = [[unit, f16, unit]], amp.result_types = [f16, unit, f16]} : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<?x4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>, %t: tensor<4xf32>):
    // CHECK-NEXT: %[[SUP:.*]] = amp.cast %[[S]] : tensor<4xf16> to tensor<4xf32>
    // CHECK-NEXT: %[[TLOW:.*]] = amp.cast %[[T]] : tensor<4xf32> to tensor<4xf16>
    // CHECK-NEXT: %[[A:.*]] = t.relu %[[TLOW]]
    // CHECK-NEXT: %[[B:.*]] = t.softmax %[[SUP]]
    // CHECK-NEXT: %[[BLOW:.*]] = amp.cast %[[B]] : tensor<4xf32> to tensor<4xf16>
    // CHECK-NEXT: t.yield %[[A]], %[[B]], %[[BLOW]] : tensor<4xf16>, tensor<4xf32>, tensor<4xf16>
    %1 = t.relu %t {amp.precision = [f16]} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = t.softmax %s : (tensor<4xf32>) -> tensor<4xf32>
    t.yield %1, %2, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @structured_control_flow
func.func @structured_control_flow(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[LOW:.*]] = amp.cast %{{.*}} : tensor<4xf32> to tensor<4xf16>
  // CHECK: scf.if %{{.*}} -> (tensor<4xf16>) {
  %0 = scf.if %c -> tensor<4xf32> {
    // CHECK: scf.yield %[[LOW]] : tensor<4xf16>
    scf.yield %x : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  } {amp.result_types = [f16]}
  return %0 : tensor<4xf32>
}

// -----

// Functions, their calls and their returns.

// CHECK-LABEL: func.func @callers
// CHECK-SAME: %[[X:.*]]: tensor<4xf16>, %[[Y:.*]]: tensor<4xf32>) -> (tensor<4xf16>, tensor<4xf32>) {
func.func @callers(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {amp.argument_types = [[f16, unit]], amp.result_types = [f16, unit]} {
  // CHECK-NEXT: %[[YLOW:.*]] = amp.cast %[[Y]]
  // CHECK-NEXT: %[[R:.*]]:2 = call @callee(%[[X]], %[[Y]]) : (tensor<4xf16>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf16>)
  // CHECK-NEXT: %[[R0LOW:.*]] = amp.cast %[[R]]#0 : tensor<4xf32> to tensor<4xf16>
  // CHECK-NEXT: %[[R1UP:.*]] = amp.cast %[[R]]#1 : tensor<4xf16> to tensor<4xf32>
  %0:2 = call @callee(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK-NEXT: call @callee(%[[YLOW]], %[[R1UP]])
  %1:2 = call @callee(%y, %0#1) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: return %[[R0LOW]], %[[R1UP]]
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func private @callee
// CHECK-SAME: %[[X:.*]]: tensor<4xf16>, %[[Y:.*]]: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf16>) {
func.func private @callee(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {amp.argument_types = [[f16, unit]], amp.result_types = [unit, f16]} {
  // CHECK-NEXT: %[[XUP:.*]] = amp.cast %[[X]]
  // CHECK-NEXT: %[[YLOW:.*]] = amp.cast %[[Y]]
  // CHECK-NEXT: return %[[XUP]], %[[YLOW]]
  return %x, %y : tensor<4xf32>, tensor<4xf32>
}

// A call of a function that is declared only.

func.func private @declared(tensor<4xf32>) -> tensor<4xf32>

// CHECK-LABEL: func.func @calls_declaration
func.func @calls_declaration(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.relu %x {amp.precision = [f16]} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: call @declared(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @declared(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
