// RUN: amp-test-ranges %s --split-input-file --test-static-ranges -o /dev/null | FileCheck %s

// What is known of ONNX's values before anything runs.

// CHECK: soft [0, 1] attained
// CHECK: scaled [0, 1000000] attained
// CHECK: product [0, 1000000] bound
// CHECK: moved [0, 1000000] attained
// CHECK: sum [0, 4.{{[0-9]+}}] bound
// CHECK: mean [0, 1.{{[0-9]+}}] bound
// CHECK: bounded [-5, 6] attained
// CHECK: six [0, 6] attained
// CHECK: squares [0, inf] bound
// CHECK: positive [{{9.9.*e-06}}, inf] bound
// CHECK-NOT: unknown
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
  func.func @main(%x: tensor<2x4xf32>) attributes {onnx.graph = {}} {
    %million = "onnx.Constant"() <{value = #onnx.tensor<dense<1.0e6> : tensor<f32>>}> : () -> tensor<f32>
    %low = "onnx.Constant"() <{value = #onnx.tensor<dense<-5.0> : tensor<f32>>}> : () -> tensor<f32>
    %high = "onnx.Constant"() <{value = #onnx.tensor<dense<6.0> : tensor<f32>>}> : () -> tensor<f32>
    %zero = "onnx.Constant"() <{value = #onnx.tensor<dense<0.0> : tensor<f32>>}> : () -> tensor<f32>
    %tiny = "onnx.Constant"() <{value = #onnx.tensor<dense<1.0e-5> : tensor<f32>>}> : () -> tensor<f32>
    %axis = "onnx.Constant"() <{value = #onnx.tensor<dense<1> : tensor<1xi64>>}> : () -> tensor<1xi64>
    %soft = "onnx.Softmax"(%x) {onnx.outputs = ["soft"]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %scaled = "onnx.Mul"(%soft, %million) {onnx.outputs = ["scaled"]} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %product = "onnx.Mul"(%soft, %scaled) {onnx.outputs = ["product"]} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %moved = "onnx.Transpose"(%scaled) <{perm = array<i64: 1, 0>}> {onnx.outputs = ["moved"]} : (tensor<2x4xf32>) -> tensor<4x2xf32>
    %sum = "onnx.ReduceSum"(%soft, %axis) {onnx.outputs = ["sum"]} : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2x1xf32>
    %mean = "onnx.ReduceMean"(%soft, %axis) {onnx.outputs = ["mean"]} : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2x1xf32>
    %bounded = "onnx.Clip"(%x, %low, %high) <{operandSegmentSizes = array<i32: 1, 1, 1>}> {onnx.outputs = ["bounded"]} : (tensor<2x4xf32>, tensor<f32>, tensor<f32>) -> tensor<2x4xf32>
    %six = "onnx.Max"(%bounded, %zero) {onnx.outputs = ["six"]} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %squares = "onnx.Mul"(%x, %x) {onnx.outputs = ["squares"]} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %positive = "onnx.Add"(%squares, %tiny) {onnx.outputs = ["positive"]} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %unknown = "onnx.Add"(%x, %positive) {onnx.outputs = ["unknown"]} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
}

// -----

// Integers and truth; sizes. A number that a type does not hold is another one.

// CHECK: mask [0, 1] attained
// CHECK: hidden [-1000, 0] attained
// CHECK: pixels [0, 255] attained
// CHECK: wrapped [-128, 127] attained
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
  func.func @main(%m: tensor<4xi1>, %p: tensor<4xui8>) attributes {onnx.graph = {}} {
    %one = "onnx.Constant"() <{value = #onnx.tensor<dense<1.0> : tensor<f32>>}> : () -> tensor<f32>
    %lowest = "onnx.Constant"() <{value = #onnx.tensor<dense<-1000.0> : tensor<f32>>}> : () -> tensor<f32>
    %mask = "onnx.Cast"(%m) <{to = 1 : i64}> {onnx.outputs = ["mask"]} : (tensor<4xi1>) -> tensor<4xf32>
    %not = "onnx.Sub"(%one, %mask) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
    %hidden = "onnx.Mul"(%not, %lowest) {onnx.outputs = ["hidden"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %pixels = "onnx.Cast"(%p) <{to = 1 : i64}> {onnx.outputs = ["pixels"]} : (tensor<4xui8>) -> tensor<4xf32>
    %wrapped = "onnx.Cast"(%p) <{to = 3 : i64}> {onnx.outputs = ["wrapped"]} : (tensor<4xui8>) -> tensor<4xi8>
    return
  }
}

// -----

// What comes out of branches is what either gives. What a loop carries can be
// anything inside, and is what it was given or what the body yields after it.

// CHECK: choice [-1, 1] bound
// CHECK: state [-1, 5] attained
// CHECK-NOT: anything
module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
  func.func @main(%c: tensor<i1>, %n: tensor<i64>, %x: tensor<4xf32>) attributes {onnx.graph = {}} {
    %five = "onnx.Constant"() <{value = #onnx.tensor<dense<5.0> : tensor<f32>>}> : () -> tensor<f32>
    %choice, %anything = "onnx.If"(%c) ({
      %0 = "onnx.Sigmoid"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      onnx.Yield %0, %x : tensor<4xf32>, tensor<4xf32>
    }, {
      %0 = "onnx.Softsign"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      onnx.Yield %0, %0 : tensor<4xf32>, tensor<4xf32>
    }) {onnx.outputs = ["choice", "anything"]} : (tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>)
    %state = "onnx.Loop"(%n, %c, %five) <{operandSegmentSizes = array<i32: 1, 1, 1>}> ({
    ^bb0(%i: tensor<i64>, %go: tensor<i1>, %s: tensor<f32>):
      %1 = "onnx.Sin"(%s) : (tensor<f32>) -> tensor<f32>
      onnx.Yield %go, %1 : tensor<i1>, tensor<f32>
    }) {onnx.outputs = ["state"]} : (tensor<i64>, tensor<i1>, tensor<f32>) -> tensor<f32>
    return
  }
}
