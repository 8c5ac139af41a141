// AveragePoolGrad is the gradient of the forward operation, or of one for the
// shape that its output is declared with.

// RUN: split-file %s %t
// RUN: amp-opt %t/pair.mlir --onnx-lower-ort | FileCheck %s --check-prefix=PAIR
// RUN: amp-opt %t/alone.mlir --onnx-lower-ort | FileCheck %s --check-prefix=ALONE
// RUN: not amp-opt %t/open.mlir --onnx-lower-ort 2>&1 | FileCheck %s --check-prefix=OPEN

// PAIR: "onnx.AveragePool"(%arg0)
// PAIR-NOT: onnx.AveragePool
// PAIR-NOT: onnx.Custom
// PAIR: return {{.*}}tensor<?x3x4x4xf32>

// ALONE-NOT: onnx.Custom
// ALONE: return {{.*}}tensor<2x3x4x4xf32>

// OPEN: error: node 'dx' can't be written with ONNX's operators: its forward operation is not in the model, and the shape of its output is not declared

//--- pair.mlir
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%x: tensor<?x3x4x4xf32>, %dy: tensor<?x3x2x2xf32>) -> (tensor<?x3x2x2xf32>, tensor<?x3x4x4xf32>)
    attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "dy"}], output = [{name = "y"}, {name = "dx"}]}} {
  %y = "onnx.AveragePool"(%x) <{kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>}> {onnx.name = "/pool"} : (tensor<?x3x4x4xf32>) -> tensor<?x3x2x2xf32>
  %dx = onnx.Custom "" "AveragePoolGrad"(%dy) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<?x3x2x2xf32>) -> tensor<?x3x4x4xf32> {onnx.name = "/pool_Grad/AveragePoolGrad_0"}
  return %y, %dx : tensor<?x3x2x2xf32>, tensor<?x3x4x4xf32>
}
}

//--- alone.mlir
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%dy: tensor<2x3x2x2xf32>) -> tensor<2x3x4x4xf32>
    attributes {onnx.graph = {name = "g", input = [{name = "dy"}], output = [{name = "dx"}]}} {
  %dx = onnx.Custom "" "AveragePoolGrad"(%dy) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<2x3x2x2xf32>) -> tensor<2x3x4x4xf32>
  return %dx : tensor<2x3x4x4xf32>
}
}

//--- open.mlir
module attributes {onnx.model = {ir_version = 8 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%dy: tensor<?x3x2x2xf32>) -> tensor<?x3x4x4xf32>
    attributes {onnx.graph = {name = "g", input = [{name = "dy"}], output = [{name = "dx"}]}} {
  %dx = onnx.Custom "" "AveragePoolGrad"(%dy) {kernel_shape = array<i64: 2, 2>} : (tensor<?x3x2x2xf32>) -> tensor<?x3x4x4xf32> {onnx.name = "dx"}
  return %dx : tensor<?x3x4x4xf32>
}
}
