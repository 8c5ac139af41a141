// RUN: amp-opt %s --onnx-infer-types | FileCheck %s

module attributes {onnx.model = {opset_import = [{domain = "", version = 23 : i64}]}} {
  // The result has the type of the scale, whatever ONNX's function says.
  func.func @main(%x: tensor<2x4xf32>, %scale: tensor<4xf16>) -> tensor<2x4xf16> attributes {onnx.graph = {}} {
    // CHECK: "onnx.RMSNormalization"{{.*}} -> tensor<2x4xf16>
    %y = "onnx.RMSNormalization"(%x, %scale) : (tensor<2x4xf32>, tensor<4xf16>) -> !onnx.unknown
    // CHECK: "onnx.Neg"{{.*}} -> tensor<2x4xf16>
    %z = "onnx.Neg"(%y) : (!onnx.unknown) -> tensor<2x4xf16>
    return %z : tensor<2x4xf16>
  }
}
