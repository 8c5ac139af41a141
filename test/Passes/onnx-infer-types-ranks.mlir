// RUN: amp-opt %s --onnx-infer-types | FileCheck %s
// RUN: amp-opt %s --onnx-infer-types=correct=true | FileCheck %s --check-prefixes=CHECK,CORRECT

module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}]}} {
  // Lists that are not known have lengths that are.
  // CHECK-LABEL: @ranks
  func.func @ranks(%x: tensor<?x6xf32>, %three: tensor<3xi64>, %one: tensor<1xi64>) attributes {onnx.graph = {}} {
    // CHECK: "onnx.Reshape"{{.*}} -> tensor<?x?x?xf32>
    %0 = "onnx.Reshape"(%x, %three) : (tensor<?x6xf32>, tensor<3xi64>) -> tensor<*xf32>
    // CHECK: "onnx.Expand"{{.*}} -> tensor<?x?x6xf32>
    %1 = "onnx.Expand"(%x, %three) : (tensor<?x6xf32>, tensor<3xi64>) -> tensor<*xf32>
    // CHECK: "onnx.Unsqueeze"{{.*}} -> tensor<?x?x?xf32>
    %2 = "onnx.Unsqueeze"(%x, %one) : (tensor<?x6xf32>, tensor<1xi64>) -> tensor<*xf32>
    // CHECK: "onnx.Squeeze"{{.*}} -> tensor<?xf32>
    %3 = "onnx.Squeeze"(%x, %one) : (tensor<?x6xf32>, tensor<1xi64>) -> tensor<*xf32>
    // CHECK: "onnx.ReduceSum"{{.*}} -> tensor<?xf32>
    %4 = "onnx.ReduceSum"(%x, %one) <{keepdims = 0 : i64}> : (tensor<?x6xf32>, tensor<1xi64>) -> tensor<*xf32>
    // CHECK: "onnx.ConstantOfShape"{{.*}} -> tensor<?x?x?xf32>
    %5 = "onnx.ConstantOfShape"(%three) : (tensor<3xi64>) -> tensor<*xf32>
    return
  }

  // What a model declares is kept, or forgotten where only what follows counts.
  // CHECK-LABEL: @declared
  func.func @declared(%x: tensor<2x6xf32>, %three: tensor<3xi64>, %list: tensor<?xi64>) -> tensor<5xf32> attributes {onnx.graph = {}} {
    // CORRECT: "onnx.Reshape"{{.*}} -> tensor<?x?x?xf32>
    %0 = "onnx.Reshape"(%x, %three) : (tensor<2x6xf32>, tensor<3xi64>) -> tensor<3x4xf32>
    // CORRECT: "onnx.Reshape"{{.*}} -> tensor<*xf32>
    %1 = "onnx.Reshape"(%x, %list) : (tensor<2x6xf32>, tensor<?xi64>) -> tensor<3x4xf32>
    // CORRECT: "onnx.Neg"{{.*}} -> tensor<2x6xf32>
    %2 = "onnx.Neg"(%x) : (tensor<2x6xf32>) -> tensor<5xf32>
    return %2 : tensor<5xf32>
  }

  // A loop carries what it began with, if each iteration passes on such a value.
  // CHECK-LABEL: @carried
  func.func @carried(%n: tensor<i64>, %go: tensor<i1>, %x: tensor<2x6xf32>, %z: tensor<2xf32>) attributes {onnx.graph = {}} {
    // CHECK: -> (tensor<2x6xf32>, tensor<*xf32>)
    %0:2 = "onnx.Loop"(%n, %go, %x, %z) ({
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %a: tensor<2x6xf32>, %b: tensor<2xf32>):
      %s = "onnx.Neg"(%a) : (tensor<2x6xf32>) -> tensor<*xf32>
      %t = "onnx.Concat"(%b, %b) <{axis = 0 : i64}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<*xf32>
      onnx.Yield %c, %s, %t : tensor<i1>, tensor<*xf32>, tensor<*xf32>
    }) {operandSegmentSizes = array<i32: 1, 1, 2>} : (tensor<i64>, tensor<i1>, tensor<2x6xf32>, tensor<2xf32>) -> (tensor<*xf32>, tensor<*xf32>)
    return
  }
}
