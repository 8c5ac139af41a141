// RUN: amp-opt %s --onnx-infer-types | FileCheck %s
// RUN: amp-opt %s --onnx-infer-types=shapes=false | FileCheck %s --check-prefix=TYPES

module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}]}} {
  // What is computed from a shape is known as far as the shape is. The graph
  // returns what it declares.
  // CHECK-LABEL: @main
  // TYPES-LABEL: @main
  func.func @main(%x: tensor<?x6xf32, #onnx.dims<"N", "">>) -> tensor<*xf32> attributes {onnx.graph = {}} {
    %two = onnx.Initializer <dense<2> : tensor<1xi64>> : tensor<1xi64>
    %minus = onnx.Initializer <dense<-1> : tensor<1xi64>> : tensor<1xi64>
    %zero = onnx.Initializer <dense<0> : tensor<i64>> : tensor<i64>
    // CHECK: "onnx.Shape"{{.*}} -> tensor<2xi64>
    // TYPES: "onnx.Shape"{{.*}} -> tensor<?xi64>
    %shape = "onnx.Shape"(%x) : (tensor<?x6xf32, #onnx.dims<"N", "">>) -> !onnx.unknown
    // CHECK: "onnx.Gather"{{.*}} -> tensor<i64>
    %n = "onnx.Gather"(%shape, %zero) : (!onnx.unknown, tensor<i64>) -> tensor<*xi64>
    %axes = onnx.Initializer <dense<0> : tensor<1xi64>> : tensor<1xi64>
    %n1 = "onnx.Unsqueeze"(%n, %axes) : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
    %target = "onnx.Concat"(%n1, %two, %minus) <{axis = 0 : i64}> : (tensor<*xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xi64>
    // CHECK: "onnx.Reshape"{{.*}} -> tensor<?x2x?xf32>
    // TYPES: "onnx.Reshape"{{.*}} -> tensor<*xf32>
    %y = "onnx.Reshape"(%x, %target) : (tensor<?x6xf32, #onnx.dims<"N", "">>, tensor<*xi64>) -> tensor<*xf32>
    // A dimension that is declared stays, others become known.
    // CHECK: "onnx.Relu"{{.*}} -> tensor<?x2x3xf32, #onnx.dims<"M", "", "">>
    %z = "onnx.Relu"(%y) : (tensor<*xf32>) -> tensor<?x?x3xf32, #onnx.dims<"M", "", "">>
    // CHECK: "onnx.Neg"{{.*}} -> tensor<*xf32>
    %r = "onnx.Neg"(%z) : (tensor<?x?x3xf32, #onnx.dims<"M", "", "">>) -> tensor<*xf32>
    return %r : tensor<*xf32>
  }
}
