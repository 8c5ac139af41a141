// RUN: amp-opt %s -split-input-file -allow-unregistered-dialect -pass-pipeline='builtin.module(amp-autocast)' | FileCheck %s
// RUN: amp-opt %s -split-input-file -allow-unregistered-dialect -pass-pipeline='builtin.module(amp-autocast{keep-op=scf:forall})' | FileCheck %s --check-prefix=KEEP

// Results, outputs and what is inserted into them are of one type.
// CHECK-LABEL: func.func @forall
// CHECK: %[[T:.*]] = math.tanh %{{.*}} : tensor<4x4xf16>
// CHECK-NEXT: scf.forall (%{{.*}}) in (4) shared_outs(%[[O:.*]] = %[[T]]) -> (tensor<4x4xf16>)
// CHECK-NEXT: tensor.extract_slice %[[O]]
// CHECK-NEXT: %[[U:.*]] = math.tanh %{{.*}} : tensor<1x4xf16>
// CHECK: tensor.parallel_insert_slice %[[U]] into %[[O]]
// KEEP-LABEL: func.func @forall
// KEEP: scf.forall {{.*}} -> (tensor<4x4xf32>)
// KEEP: math.tanh %{{.*}} : tensor<1x4xf32>
func.func @forall(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %c0 = arith.constant dense<0.0> : tensor<4x4xf32>
  %m = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = math.tanh %m : tensor<4x4xf32>
  %r = scf.forall (%i) in (4) shared_outs(%o = %t) -> tensor<4x4xf32> {
    %s = tensor.extract_slice %o[%i, 0] [1, 4] [1, 1] : tensor<4x4xf32> to tensor<1x4xf32>
    %u = math.tanh %s : tensor<1x4xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %u into %o[%i, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<4x4xf32>
    }
  }
  return %r : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func @while
// CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (index, tensor<4x4xf16>) -> (index, tensor<4x4xf16>)
// CHECK: math.tanh %{{.*}} : tensor<4x4xf16>
// CHECK-NEXT: arith.addi
// CHECK-NEXT: scf.yield %{{.*}}, %{{.*}} : index, tensor<4x4xf16>
func.func @while(%x: tensor<4x4xf32>, %n: index) -> tensor<4x4xf32> {
  %c0 = arith.constant dense<0.0> : tensor<4x4xf32>
  %z = arith.constant 0 : index
  %one = arith.constant 1 : index
  %m = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = math.tanh %m : tensor<4x4xf32>
  %r:2 = scf.while (%i = %z, %a = %t) : (index, tensor<4x4xf32>) -> (index, tensor<4x4xf32>) {
    %c = arith.cmpi slt, %i, %n : index
    scf.condition(%c) %i, %a : index, tensor<4x4xf32>
  } do {
  ^bb0(%i: index, %a: tensor<4x4xf32>):
    %b = math.tanh %a : tensor<4x4xf32>
    %j = arith.addi %i, %one : index
    scf.yield %j, %b : index, tensor<4x4xf32>
  }
  return %r#1 : tensor<4x4xf32>
}

// -----

// Blocks other than the first keep the types of their arguments.
// CHECK-LABEL: func.func @branches
// CHECK: cf.cond_br %{{.*}}, ^bb1(%{{.*}} : tensor<4x4xf32>), ^bb2(%{{.*}} : tensor<4x4xf32>)
// CHECK: ^bb1(%[[Y:.*]]: tensor<4x4xf32>):
func.func @branches(%x: tensor<4x4xf32>, %c: i1) -> tensor<4x4xf32> {
  %c0 = arith.constant dense<0.0> : tensor<4x4xf32>
  %m = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = math.tanh %m : tensor<4x4xf32>
  cf.cond_br %c, ^a(%t : tensor<4x4xf32>), ^b(%t : tensor<4x4xf32>)
^a(%y: tensor<4x4xf32>):
  %u = math.tanh %y : tensor<4x4xf32>
  cf.br ^b(%u : tensor<4x4xf32>)
^b(%z: tensor<4x4xf32>):
  %v = math.tanh %z : tensor<4x4xf32>
  return %v : tensor<4x4xf32>
}

// -----

// An operation that nobody knows, and its region, keep their types.
// CHECK-LABEL: func.func @unregistered
// CHECK: %[[T:.*]] = math.tanh %{{.*}} : tensor<4x4xf16>
// CHECK-NEXT: %[[WIDE:.*]] = amp.cast %[[T]]
// CHECK-NEXT: "foreign.op"(%[[WIDE]])
// CHECK: math.tanh %{{.*}} : tensor<4x4xf32>
func.func @unregistered(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %c0 = arith.constant dense<0.0> : tensor<4x4xf32>
  %m = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = math.tanh %m : tensor<4x4xf32>
  %f = "foreign.op"(%t) ({
    ^bb0(%b: tensor<4x4xf32>):
    %q = math.tanh %b : tensor<4x4xf32>
    "foreign.yield"(%q) : (tensor<4x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %f : tensor<4x4xf32>
}
