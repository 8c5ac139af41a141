// RUN: amp-opt %s --onnx-infer-types | FileCheck %s

// A function sees what its callers have in common.

module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}, {domain = "local", version = 1 : i64}]}} {
  // CHECK-LABEL: @main
  func.func @main(%x: tensor<2x4xf32>, %z: tensor<3x4xf32>) -> (tensor<*xf32>, tensor<*xf32>) attributes {onnx.graph = {}} {
    // CHECK: onnx.Call @"local::f"{{.*}} -> tensor<?x4xf32>
    %a = onnx.Call @"local::f"(%x) : (tensor<2x4xf32>) -> tensor<*xf32>
    %b = "onnx.Relu"(%a) : (tensor<*xf32>) -> tensor<*xf32>
    // CHECK: onnx.Call @"local::f"{{.*}} -> tensor<?x4xf32>
    %c = onnx.Call @"local::f"(%z) : (tensor<3x4xf32>) -> tensor<*xf32>
    %d = "onnx.Relu"(%c) : (tensor<*xf32>) -> tensor<*xf32>
    return %b, %d : tensor<*xf32>, tensor<*xf32>
  }
  // CHECK: func.func private @"local::f"(%{{.*}}: tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: "onnx.Neg"{{.*}} -> tensor<?x4xf32>
  func.func private @"local::f"(%x: tensor<*xf32>) -> tensor<*xf32> attributes {onnx.function = {domain = "local", name = "f", opset_import = [{domain = "", version = 17 : i64}]}} {
    %y = "onnx.Neg"(%x) : (tensor<*xf32>) -> tensor<*xf32>
    return %y : tensor<*xf32>
  }
}
