// RUN: amp-opt %s --amp-annotate-precision="placement=optimal" | FileCheck %s
// RUN: amp-opt %s --amp-annotate-precision="placement=optimal dim=N=4,M=100" \
// RUN:   | FileCheck %s --check-prefix=GIVEN

// Dynamic dimensions are taken for what the options say.

module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}]}} {
// CHECK-LABEL: func.func @f
// GIVEN-LABEL: func.func @f
func.func @f(%x: tensor<?x?xf32, #onnx.dims<"N", "M">>) -> tensor<?x?xf32> {
  // CHECK: onnx.Relu
  // CHECK-SAME: float16 moves 256 bytes less
  // GIVEN: onnx.Relu
  // GIVEN-SAME: float16 moves 2400 bytes less
  %0 = "onnx.Relu"(%x) : (tensor<?x?xf32, #onnx.dims<"N", "M">>) -> tensor<?x?xf32, #onnx.dims<"", "M">>
  %1 = "onnx.MatMul"(%0, %0) : (tensor<?x?xf32, #onnx.dims<"", "M">>, tensor<?x?xf32, #onnx.dims<"", "M">>) -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}
}
