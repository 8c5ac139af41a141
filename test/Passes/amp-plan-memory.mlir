// RUN: amp-opt %s --amp-plan-memory --split-input-file | FileCheck %s

// Kernels that may work in the memory of their first operand, of either one, or
// of none.
func.func private @unary(tensor<4xf32>) -> tensor<4xf32> attributes {amprt.compiled = {aliases = [[0]]}}
func.func private @binary(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {amprt.compiled = {aliases = [[0, 1]]}}
func.func private @both(tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {amprt.compiled = {aliases = [[0, 1], [0, 1]]}}
func.func private @apart(tensor<4xf32>) -> tensor<4xf32> attributes {amprt.compiled = {aliases = [[]]}}

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {amprt.signature = {inputs = [{name = "x", symbols = [""]}], outputs = [{name = "y"}, {name = "z"}], states = []}} {
  // The caller's memory is not written.
  // CHECK: %[[A:.*]] = amprt.launch @unary(%{{.*}}) : (
  %a = amprt.launch @unary(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[B:.*]] = amprt.launch @unary(%[[A]]) : (
  %b = amprt.launch @unary(%a) : (tensor<4xf32>) -> tensor<4xf32>
  // The first operand is read again later, the second is not.
  // CHECK: %[[C:.*]] = amprt.launch @binary(%[[A]], %[[B]]) {amprt.in_place = array<i64: 1>}
  %c = amprt.launch @binary(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // A view is the same memory.
  %v = amprt.view %c : (tensor<4xf32>) -> tensor<2x2xf32>
  // CHECK: %[[D:.*]] = amprt.launch @binary(%[[C]], %[[A]]) {amprt.in_place = array<i64: 1>}
  %d = amprt.launch @binary(%c, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %w = amprt.view %v : (tensor<2x2xf32>) -> tensor<4xf32>
  // Not two results in one place; not where an operand is there twice.
  // CHECK: amprt.launch @both(%[[D]], %{{.*}}) {amprt.in_place = array<i64: 0, 1>}
  %e:2 = amprt.launch @both(%d, %w) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: amprt.launch @binary(%[[E:.*]]#0, %[[E]]#0) : (
  %f = amprt.launch @binary(%e#0, %e#0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: amprt.launch @apart(%{{.*}}) : (
  %g = amprt.launch @apart(%e#1) : (tensor<4xf32>) -> tensor<4xf32>
  // What is made at entry stays.
  %h = amprt.call "shape"(%x) {} {amprt.at_entry} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: amprt.launch @unary(%{{.*}}) : (
  %i = amprt.launch @unary(%h) : (tensor<4xf32>) -> tensor<4xf32>
  // Outputs are read by whoever runs the model.
  // CHECK: amprt.launch @unary(%{{.*}}) {amprt.in_place = array<i64: 0>}
  %j = amprt.launch @unary(%f) : (tensor<4xf32>) -> tensor<4xf32>
  %k = amprt.launch @binary(%g, %i) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %j, %k : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func private @unary(tensor<4xf32>) -> tensor<4xf32> attributes {amprt.compiled = {aliases = [[0]]}}

// States: w is written where it lies, n where nobody reads it any more, m is
// read afterwards, and the next value of l is the present one of w.

// CHECK-LABEL: func.func @main
func.func @main(%w: tensor<4xf32>, %n: tensor<4xf32>, %m: tensor<4xf32>, %l: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {amprt.signature = {
      inputs = [{name = "w", symbols = [""]}, {name = "n", symbols = [""]}, {name = "m", symbols = [""]}, {name = "l", symbols = [""]}],
      outputs = [{name = "w_next"}, {name = "n_next"}, {name = "m_next"}, {name = "l_next"}, {name = "y"}],
      states = [{argument = 1 : i64, initial = dense<0.0> : tensor<4xf32>, result = 1 : i64},
                {argument = 0 : i64, initial = dense<0.0> : tensor<4xf32>, result = 0 : i64},
                {argument = 2 : i64, initial = dense<0.0> : tensor<4xf32>, result = 2 : i64},
                {argument = 3 : i64, initial = dense<0.0> : tensor<4xf32>, result = 3 : i64}]}} {
  // CHECK: %[[Y:.*]] = amprt.launch @unary(%arg1) : (
  %y = amprt.launch @unary(%n) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: amprt.call "neg"(%[[Y]]) {} {amprt.next_state = array<i64: 0>}
  %nn = amprt.call "neg"(%y) {} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: amprt.launch @unary(%arg2) : (
  %mm = amprt.launch @unary(%m) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: amprt.launch @unary(%arg0) {amprt.next_state = array<i64: 1>}
  %ww = amprt.launch @unary(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %z = amprt.call "add"(%y, %m) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %ww, %nn, %mm, %m, %z : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

func.func private @unary(tensor<4xf32>) -> tensor<4xf32> attributes {amprt.compiled = {aliases = [[0]]}}

// A step that is skipped: both branches leave the states where they are. What
// another result reads is not overwritten.

// CHECK-LABEL: func.func @main
func.func @main(%skip: tensor<i1>, %w: tensor<4xf32>, %m: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {amprt.signature = {
      inputs = [{name = "skip", symbols = []}, {name = "w", symbols = [""]}, {name = "m", symbols = [""]}],
      outputs = [{name = "w_next"}, {name = "m_next"}, {name = "y"}],
      states = [{argument = 1 : i64, initial = dense<0.0> : tensor<4xf32>, result = 0 : i64},
                {argument = 2 : i64, initial = dense<0.0> : tensor<4xf32>, result = 1 : i64}]}} {
  // CHECK: amprt.if
  %0:3 = amprt.if %skip : (tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    amprt.yield %w, %m, %m : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } else {
    // CHECK: amprt.launch @unary(%arg1) {amprt.next_state = array<i64: 0>}
    %ww = amprt.launch @unary(%w) : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: amprt.launch @unary(%arg2) : (
    %mm = amprt.launch @unary(%m) : (tensor<4xf32>) -> tensor<4xf32>
    amprt.yield %ww, %mm, %mm : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  // CHECK: } {amprt.next_state = array<i64: 0, -1, -1>}
  return %0#0, %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
