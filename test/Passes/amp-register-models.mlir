// RUN: amp-opt %s -amp-register-models | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK-NEXT: tosa.tanh %{{.*}} : (tensor<2xf16>) -> tensor<2xf16>
func.func @f(%x: tensor<2xf16>) -> tensor<2xf16> {
  %y = tosa.tanh %x : (tensor<2xf16>) -> tensor<2xf16>
  return %y : tensor<2xf16>
}
