// RUN: amp-opt %s -amp-to-arith -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @cast
// CHECK-SAME: (%[[X:.*]]: tensor<2x?xf32>)
func.func @cast(%x: tensor<2x?xf32>) -> tensor<2x?xf16> {
  // CHECK: %[[Y:.*]] = arith.truncf %[[X]] : tensor<2x?xf32> to tensor<2x?xf16>
  // CHECK: return %[[Y]]
  %low = amp.cast %x : tensor<2x?xf32> to tensor<2x?xf16>
  return %low : tensor<2x?xf16>
}

// -----

// Neither holds the other.
// CHECK-LABEL: func.func @between
// CHECK-SAME: (%[[X:.*]]: tensor<2xf16>)
func.func @between(%x: tensor<2xf16>) -> tensor<2xbf16> {
  // CHECK: %[[WIDE:.*]] = arith.extf %[[X]] : tensor<2xf16> to tensor<2xf32>
  // CHECK: %[[Y:.*]] = arith.truncf %[[WIDE]] : tensor<2xf32> to tensor<2xbf16>
  // CHECK: return %[[Y]]
  %0 = amp.cast %x : tensor<2xf16> to tensor<2xbf16>
  return %0 : tensor<2xbf16>
}

// -----

// CHECK-LABEL: func.func @rounded
func.func @rounded() attributes {
  // CHECK-SAME: a = dense<[1.000000e+00, 6.550400e+04]> : tensor<2xf16>
  a = #amp.rounded<dense<[1.0, 1.0e+10]> : tensor<2xf32>, saturate> : tensor<2xf16>,
  // CHECK-SAME: b = dense<1.000980e-01> : tensor<3xbf16>
  b = #amp.rounded<dense<0.1> : tensor<3xf32>, infinity> : tensor<3xbf16>,
  // CHECK-SAME: c = dense_resource<{{.*}}> : tensor<2xf16>
  c = #amp.rounded<dense_resource<weights> : tensor<2xf32>, infinity> : tensor<2xf16>
} {
  return
}

// CHECK: {{weights.*}}: "0x40000000003C00C0"
{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F000000C0"
    }
  }
#-}

// -----

// expected-error@+1 {{'func.func' op has no data for the constant 'a'}}
func.func @gone() attributes {
  a = #amp.rounded<dense_resource<gone> : tensor<2xf32>, infinity> : tensor<2xf16>
} {
  return
}

// -----

func.func @sequence(%x: !onnx.sequence<tensor<2xf32>>) -> !onnx.sequence<tensor<2xf16>> {
  // expected-error@+1 {{'amp.cast' op to '!onnx.sequence<tensor<2xf16>>' has no operation of 'arith'}}
  %0 = amp.cast %x : !onnx.sequence<tensor<2xf32>> to !onnx.sequence<tensor<2xf16>>
  return %0 : !onnx.sequence<tensor<2xf16>>
}
