// RUN: amp-opt %s --amp-mark-entry | FileCheck %s

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<?x4xf32>, %n: tensor<1xi64>, %if: tensor<i1>) -> (tensor<?x?xf32>, tensor<?xf32>, tensor<i64>, tensor<?xf32>)
    attributes {amprt.signature = {inputs = [{name = "x", symbols = ["N", ""]}, {name = "n", symbols = [""]}, {name = "if", symbols = []}], outputs = [{name = "y"}, {name = "z"}, {name = "c"}, {name = "r"}], states = []}} {
  %two = amprt.constant dense<2> : tensor<2xi64>
  // CHECK: amprt.call "shape"(%{{.*}}) {} {amprt.at_entry}
  %s = amprt.call "shape"(%x) {} : (tensor<?x4xf32>) -> tensor<2xi64>
  // CHECK: amprt.call "mul"(%{{.*}}) {} {amprt.at_entry}
  %t = amprt.call "mul"(%s, %two) {} : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  // Known dimensions, but data of the step.
  // CHECK: amprt.call "tile"(%{{.*}}) {} : (
  %y = amprt.call "tile"(%x, %t) {} : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // Its dimensions are data.
  // CHECK: amprt.call "constant_of_shape"(%{{.*}}) {} : (
  %z = amprt.call "constant_of_shape"(%n) {} : (tensor<1xi64>) -> tensor<?xf32>
  // CHECK: amprt.call "shape"(%{{.*}}) {} : (
  %u = amprt.call "shape"(%z) {} : (tensor<?xf32>) -> tensor<1xi64>
  // A view of what is made at entry has memory of its own.
  // CHECK: amprt.call "reshape"(%{{.*}}) {} {amprt.at_entry} : (
  %flat = amprt.call "reshape"(%t, %two) view {} : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  // Random numbers are others each time.
  // CHECK: amprt.call "random_uniform"() {stream = 0 : i64} : (
  %r = amprt.call "random_uniform"() {stream = 0 : i64} : () -> tensor<?xf32>
  // Not in branches.
  // CHECK: amprt.if
  %c = amprt.if %if : (tensor<i1>) -> tensor<i64> {
    // CHECK: amprt.call "size"(%{{.*}}) {} : (
    %size = amprt.call "size"(%x) {} : (tensor<?x4xf32>) -> tensor<i64>
    amprt.yield %size : tensor<i64>
  } else {
    %one = amprt.constant dense<1> : tensor<i64>
    amprt.yield %one : tensor<i64>
  }
  return %y, %z, %c, %r : tensor<?x?xf32>, tensor<?xf32>, tensor<i64>, tensor<?xf32>
}
