// RUN: amp-test-opt %s | amp-test-opt | FileCheck %s
// RUN: amp-test-opt %s --emit-bytecode | amp-test-opt | FileCheck %s

// CHECK-LABEL: func.func @cast
// CHECK-SAME: %[[X:.*]]: tensor<4x?xf32>, %[[U:.*]]: tensor<*xf16>, %[[S:.*]]: !t.sequence<tensor<4xf32>>
func.func @cast(%x: tensor<4x?xf32>, %u: tensor<*xf16>, %s: !t.sequence<tensor<4xf32>>) {
  // CHECK: amp.cast %[[X]] : tensor<4x?xf32> to tensor<4x?xf16>
  %low = amp.cast %x : tensor<4x?xf32> to tensor<4x?xf16>
  // CHECK: amp.cast %[[U]] : tensor<*xf16> to tensor<*xf32>
  %0 = amp.cast %u : tensor<*xf16> to tensor<*xf32>
  // CHECK: amp.cast %[[S]] : !t.sequence<tensor<4xf32>> to !t.sequence<tensor<4xbf16>>
  %1 = amp.cast %s : !t.sequence<tensor<4xf32>> to !t.sequence<tensor<4xbf16>>
  return
}

// CHECK-LABEL: func.func @cast_keeps_encoding
func.func @cast_keeps_encoding(%x: tensor<4xf32, "e">) {
  // CHECK: tensor<4xf32, "e"> to tensor<4xf16, "e">
  %0 = amp.cast %x : tensor<4xf32, "e"> to tensor<4xf16, "e">
  return
}

// CHECK-LABEL: func.func @rounded
func.func @rounded() {
  // CHECK: #amp.rounded<dense<[1.000000e+00, 1.000000e+10]> : tensor<2xf32>, saturate> : tensor<2xf16>
  %0 = t.const #amp.rounded<dense<[1.0, 1.0e+10]> : tensor<2xf32>, saturate> : tensor<2xf16>
  // CHECK: #amp.rounded<dense<0.000000e+00> : tensor<0x3xf64>, infinity> : tensor<0x3xbf16>
  %1 = t.const #amp.rounded<dense<0.0> : tensor<0x3xf64>, infinity> : tensor<0x3xbf16>
  // CHECK: #amp.rounded<dense_resource<weights> : tensor<2xf32>, saturate> : tensor<2xf16>
  %2 = t.const #amp.rounded<dense_resource<weights> : tensor<2xf32>, saturate> : tensor<2xf16>
  return
}

// CHECK-LABEL: func.func @annotations
// CHECK-SAME: amp.argument_types = {{\[}}[f16, unit]], amp.result_types = [bf16]
func.func @annotations(%x: tensor<4xf32>, %i: tensor<4xi64>) -> tensor<4xf32>
    attributes {amp.argument_types = [[f16, unit]], amp.result_types = [bf16]} {
  // CHECK: {amp.category = "follow", amp.precision = [f16, unit], amp.reason = "why"}
  %0 = t.relu %x {amp.category = "follow", amp.precision = [f16, unit], amp.reason = "why"} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: {amp.overflow = "infinity"}
  %1 = t.const dense<1.0> : tensor<f32> {amp.overflow = "infinity"}
  return %0 : tensor<4xf32>
}

// CHECK: weights: "0x040000000000803F00247449"
{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F00247449"
    }
  }
#-}
