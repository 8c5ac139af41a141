// RUN: amp-opt %s --amp-specialize-dims=dims=N=8 | FileCheck %s
// RUN: not amp-opt %s --amp-specialize-dims=dims=n=8 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not amp-opt %s --amp-specialize-dims=dims=N 2>&1 | FileCheck %s --check-prefix=FORM

// UNKNOWN: error: no input has a dimension 'n', did you mean 'N'?
// FORM: error: expects a dimension as NAME=SIZE with a size of 1 or more, but got 'N'

module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}]}} {
  // CHECK: func.func @main(%{{.*}}: tensor<8x?xf32, #onnx.dims<"", "T">>) -> tensor<8x?xf32, #onnx.dims<"", "T">>
  func.func @main(%x: tensor<?x?xf32, #onnx.dims<"N", "T">>) -> tensor<?x?xf32, #onnx.dims<"N", "T">>
      attributes {onnx.graph = {input = [{name = "x"}], name = "g", output = [{name = "y"}]}} {
    // CHECK: "onnx.ReduceMean"(%{{.*}}) {{.*}} : (tensor<8x?xf32, #onnx.dims<"", "T">>) -> tensor<8x1xf32>
    %m = "onnx.ReduceMean"(%x) {axes = array<i64: 1>} : (tensor<?x?xf32, #onnx.dims<"N", "T">>) -> tensor<?x1xf32, #onnx.dims<"N", "">>
    %y = "onnx.Sub"(%x, %m) : (tensor<?x?xf32, #onnx.dims<"N", "T">>, tensor<?x1xf32, #onnx.dims<"N", "">>) -> tensor<?x?xf32, #onnx.dims<"N", "T">>
    return %y : tensor<?x?xf32, #onnx.dims<"N", "T">>
  }
}
