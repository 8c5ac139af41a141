// RUN: amp-opt %s -amp-to-onnx | FileCheck %s

module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}]}} {
// CHECK-LABEL: func.func @cast
// CHECK-SAME: (%[[X:.*]]: tensor<2xf32>)
func.func @cast(%x: tensor<2xf32>) -> tensor<2xf16> {
  // CHECK: %[[Y:.*]] = "onnx.Cast"(%[[X]]) <{to = 10 : i64}> : (tensor<2xf32>) -> tensor<2xf16>
  // CHECK: return %[[Y]]
  %low = amp.cast %x : tensor<2xf32> to tensor<2xf16>
  return %low : tensor<2xf16>
}

// The default of an input follows the input's type.
// CHECK-LABEL: func.func @default
// CHECK-SAME: (%[[X:.*]]: tensor<1xf16>)
func.func @default(%x: tensor<1xf16>) -> tensor<1xf32> {
  // CHECK: onnx.DefaultInput %[[X]], <#amp.rounded<dense<1.000000e+00> : tensor<1xf32>, saturate> : tensor<1xf16>> : tensor<1xf16>
  %0 = amp.cast %x : tensor<1xf16> to tensor<1xf32>
  onnx.DefaultInput %0, <dense<1.0> : tensor<1xf32>> : tensor<1xf32>
  return %0 : tensor<1xf32>
}
}
