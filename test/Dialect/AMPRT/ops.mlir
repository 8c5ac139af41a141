// RUN: amp-opt %s | amp-opt | FileCheck %s

// What the dialect's documentation shows.

// CHECK-LABEL: func.func @calls
func.func @calls(%x: tensor<?x4xf32>, %w: tensor<3x4xf32>, %max: tensor<f32>) -> tensor<?x3xf32> {
  // CHECK: amprt.call "gemm"(%{{.*}}, %{{.*}}) {transB = 1 : i64} : (tensor<?x4xf32>, tensor<3x4xf32>) -> tensor<?x3xf32>
  %y = amprt.call "gemm"(%x, %w) {transB = 1 : i64} : (tensor<?x4xf32>, tensor<3x4xf32>) -> tensor<?x3xf32>
  // CHECK: amprt.call "clip"(%{{.*}}, %{{.*}}) inputs [0, -1, 1] {}
  %c = amprt.call "clip"(%y, %max) inputs [0, -1, 1] {} : (tensor<?x3xf32>, tensor<f32>) -> tensor<?x3xf32>
  // CHECK: amprt.call "identity"(%{{.*}}) view {}
  %v = amprt.call "identity"(%c) view {} : (tensor<?x3xf32>) -> tensor<?x3xf32>
  return %v : tensor<?x3xf32>
}

// CHECK-LABEL: func.func @constants_and_views
func.func @constants_and_views() -> tensor<3x2xf32> {
  // CHECK: amprt.constant dense<1.000000e+00> : tensor<2x3xf32>
  %w = amprt.constant dense<1.0> : tensor<2x3xf32>
  // CHECK: amprt.view %{{.*}} : (tensor<2x3xf32>) -> tensor<6xf32>
  %y = amprt.view %w : (tensor<2x3xf32>) -> tensor<6xf32>
  // CHECK: amprt.view %{{.*}} : (tensor<6xf32>) -> tensor<3x2xf32>
  %z = amprt.view %y : (tensor<6xf32>) -> tensor<3x2xf32>
  return %z : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @control
func.func @control(%n: tensor<i64>, %if: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: amprt.if %{{.*}} : (tensor<i1>) -> tensor<4xf32> {
  // CHECK-NEXT: amprt.yield
  // CHECK-NEXT: } else {
  %a = amprt.if %if : (tensor<i1>) -> tensor<4xf32> {
    amprt.yield %x : tensor<4xf32>
  } else {
    %b = amprt.call "neg"(%x) {} : (tensor<4xf32>) -> tensor<4xf32>
    amprt.yield %b : tensor<4xf32>
  }
  // CHECK: amprt.loop trips %{{.*}} carries %{{.*}} : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
  %y = amprt.loop trips %n carries %a : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    %next = amprt.call "neg"(%v) {} : (tensor<4xf32>) -> tensor<4xf32>
    amprt.yield %go, %next : tensor<i1>, tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @launches
func.func @launches(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: amprt.launch @copy(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %y = amprt.launch @copy(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @copy(tensor<4xf32>) -> tensor<4xf32>
