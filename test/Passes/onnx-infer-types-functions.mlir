// RUN: amp-opt %s --onnx-infer-types | FileCheck %s
// RUN: amp-opt %s --onnx-infer-types=shapes=false | FileCheck %s --check-prefix=TYPES

// Functions without an inference function of their own.
module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}]}} {
  // CHECK-LABEL: @main
  // TYPES-LABEL: @main
  func.func @main(%x: tensor<?x4x8xf32>, %scale: tensor<4xf32>) -> tensor<*xf32> attributes {onnx.graph = {}} {
    // CHECK: "onnx.GroupNormalization"{{.*}} -> tensor<?x4x8xf32>
    // TYPES: "onnx.GroupNormalization"{{.*}} -> tensor<*xf32>
    %y = "onnx.GroupNormalization"(%x, %scale, %scale) <{num_groups = 2 : i64}> : (tensor<?x4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> !onnx.unknown
    // CHECK: "onnx.MeanVarianceNormalization"{{.*}} -> tensor<?x4x8xf32>
    // TYPES: "onnx.MeanVarianceNormalization"{{.*}} -> tensor<*xf32>
    %z = "onnx.MeanVarianceNormalization"(%y) <{axes = array<i64: 0, 2>}> : (!onnx.unknown) -> !onnx.unknown
    // CHECK: "onnx.Neg"
    %r = "onnx.Neg"(%z) : (!onnx.unknown) -> tensor<*xf32>
    return %r : tensor<*xf32>
  }
}
