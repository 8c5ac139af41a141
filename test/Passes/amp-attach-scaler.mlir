// RUN: split-file %s %t
// RUN: amp-opt %t/model.mlir --amp-attach-scaler="seed=scale growth-factor=3 backoff-factor=0.25 growth-interval=7" | FileCheck %s
// RUN: amp-opt %t/model.mlir --amp-attach-scaler="seed=scale scaler-mode=torch" | FileCheck %s --check-prefix=TORCH
// RUN: not amp-opt %t/model.mlir --amp-attach-scaler="seed=scales" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not amp-opt %t/model.mlir --amp-attach-scaler="seed=g" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not amp-opt %t/model.mlir --amp-attach-scaler="seed=scale scaler-mode=save" 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not amp-opt %t/model.mlir --amp-attach-scaler="seed=scale growth-factor=1" 2>&1 | FileCheck %s --check-prefix=FACTOR
// RUN: not amp-opt %t/empty.mlir --amp-attach-scaler 2>&1 | FileCheck %s --check-prefix=EMPTY

// NAME: error: seed: no input is named 'scales'
// OTHER: error: seed: no optimizer unscales by 'g': amp-attach-optimizer comes before
// MODE: error: scaler-mode: expects torch or safe, but got 'save'
// FACTOR: error: 'amp.update_scale' op expects 'growth_factor' to be more than 1, but got 1.000000e+00 : f64
// EMPTY: error: has no main graph to train

//--- model.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}]}} {
  // CHECK: {\22input\22:\22scale\22,\22output\22:\22scale_next\22},{\22input\22:\22amp.growth_tracker\22,\22output\22:\22amp.growth_tracker_next\22}
  // CHECK: func.func @main(%[[SCALE:.*]]: tensor<f32>, %{{.*}}: tensor<2xf32>, %{{.*}}: tensor<3xf32>, %[[TRACKER:.*]]: tensor<i32>)
  // CHECK-SAME: output = [{name = "u"}, {name = "v"}, {name = "scale_next"}, {name = "amp.growth_tracker_next"}]
  // CHECK: onnx.DefaultInput %[[TRACKER]], <dense<0> : tensor<i32>>
  // CHECK: %[[U:.*]], %[[FOUND:.*]] = amp.unscale
  // CHECK: %[[V:.*]], %[[FOUND2:.*]] = amp.unscale
  // CHECK: %[[NEXT:.*]], %[[NEXTTRACKER:.*]] = amp.update_scale safe %[[SCALE]], %[[TRACKER]] after %[[FOUND]], %[[FOUND2]]
  // CHECK-SAME: backoff_factor = 2.500000e-01
  // CHECK-SAME: growth_factor = 3.000000e+00
  // CHECK-SAME: growth_interval = 7
  // CHECK: return %[[U]], %[[V]], %[[NEXT]], %[[NEXTTRACKER]]

  // TORCH: amp.update_scale torch
  func.func @main(%scale: tensor<f32>, %g: tensor<2xf32>, %h: tensor<3xf32>) -> (tensor<2xf32>, tensor<3xf32>) attributes {onnx.graph = {input = [{name = "scale"}, {name = "g"}, {name = "h"}], name = "g", output = [{name = "u"}, {name = "v"}]}} {
    %u, %found = amp.unscale safe %g by %scale : tensor<2xf32> to tensor<2xf32>
    %v, %found_2 = amp.unscale safe %h by %scale : tensor<3xf32> to tensor<3xf32>
    return %u, %v : tensor<2xf32>, tensor<3xf32>
  }
}

//--- empty.mlir
module {
}
