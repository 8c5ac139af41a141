// RUN: amp-opt %s --amp-make-loss-scale="initial=1024" | FileCheck %s
// RUN: amp-opt %s --amp-make-loss-scale="initial=1024 dynamic=false" | FileCheck %s --check-prefix=STATIC
// RUN: not amp-opt %s --amp-make-loss-scale="initial=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not amp-opt %s --amp-make-loss-scale="initial=1e39" 2>&1 | FileCheck %s --check-prefix=BIG
// RUN: not amp-opt %s --amp-make-loss-scale --amp-make-loss-scale 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: echo 'module {}' | not amp-opt --amp-make-loss-scale 2>&1 | FileCheck %s --check-prefix=EMPTY

// ZERO: error: initial: expected a positive number of float32, but got 0
// BIG: error: initial: expected a positive number of float32, but got 1.0{{.*}}e+39
// TWICE: error: the loss scale would be named 'amp.scale', as another value is
// EMPTY: error: has no main graph to train

module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
  // CHECK: func.func @main(%[[X:.*]]: tensor<f32>, %[[SCALE:.*]]: tensor<f32>) -> tensor<f32>
  // CHECK-SAME: {name = "amp.scale"}]
  // CHECK-NEXT: onnx.DefaultInput %[[SCALE]], <dense<1.024000e+03> : tensor<f32>>
  // STATIC: func.func @main(%{{[^,]*}}) -> tensor<f32>
  // STATIC-NEXT: onnx.Initializer <dense<1.024000e+03> : tensor<f32>> : tensor<f32> {onnx.outputs = ["amp.scale"]}
  func.func @main(%x: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "x"}], output = [{name = "x"}]}} {
    return %x : tensor<f32>
  }
}
