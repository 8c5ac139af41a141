// RUN: split-file %s %t
// RUN: amp-opt %t/model.mlir --amp-training-form | FileCheck %s
// RUN: amp-opt %t/model.mlir --amp-training-form="scaler-mode=torch dropout=keep" | FileCheck %s --check-prefix=TORCH
// RUN: amp-opt %t/model.mlir --amp-training-form="scaler-mode=torch dropout=keep" --amp-training-form="scaler-mode=torch dropout=keep" | FileCheck %s --check-prefix=TORCH
// RUN: amp-opt %t/model.mlir --amp-training-form="batch-norm=keep dropout=keep" | FileCheck %s --check-prefix=KEEP
// RUN: amp-opt %t/zero.mlir --amp-training-form | FileCheck %s --check-prefix=ZERO

//--- model.mlir
module attributes {onnx.model = {ir_version = 10 : i64, opset_import = [{domain = "", version = 20 : i64}]}} {
  // CHECK: key = "amp.state", value = "[{\22input\22:\22mean\22,\22output\22:\22mean_next\22},{\22input\22:\22var\22,\22output\22:\22var_next\22},{\22input\22:\22amp.seed\22,\22output\22:\22amp.seed_next\22},{\22input\22:\22amp.random_step\22,\22output\22:\22amp.random_step_next\22}]"
  // CHECK: func.func @main(%[[X:.*]]: tensor<8x3xf32>, %[[MEAN:.*]]: tensor<3xf32>, %[[VAR:.*]]: tensor<3xf32>, %[[SEED:.*]]: tensor<ui64>, %[[STEP:.*]]: tensor<ui64>)
  // CHECK-SAME: input = [{name = "x"}, {name = "mean"}, {name = "var"}, {name = "amp.seed"}, {name = "amp.random_step"}]
  // CHECK-SAME: output = [{name = "y"}, {name = "mean_next"}, {name = "var_next"}, {name = "amp.seed_next"}, {name = "amp.random_step_next"}]
  // CHECK-DAG: onnx.DefaultInput %[[MEAN]], <dense<5.000000e-01> : tensor<3xf32>>
  // CHECK-DAG: onnx.DefaultInput %[[SEED]], <dense<0> : tensor<ui64>>
  // CHECK-NOT: ["mean"]
  // CHECK: %[[M:.*]] = "onnx.Sum"(%[[MEAN]])
  // CHECK: %[[V:.*]] = "onnx.Sum"(%[[VAR]])
  // CHECK: %[[Y:.*]], %[[M1:.*]], %[[V1:.*]] = "onnx.BatchNormalization"(%[[X]], %{{.*}}, %{{.*}}, %[[M]], %[[V]])
  // CHECK-SAME: momentum = 8.000000e-01 : f32
  // CHECK-SAME: training_mode = 1
  // CHECK-SAME: onnx.name = "bn"
  // CHECK: %[[M2:.*]] = "onnx.Where"(%[[OK:.*]], %[[M1]], %[[MEAN]])
  // CHECK: %[[V2:.*]] = "onnx.Where"(%[[OK]], %[[V1]], %[[VAR]])
  // CHECK: %[[SCALED:.*]] = "onnx.Mul"(%[[Y]], %{{.*}}) {amp.keep = "the factor of a Dropout"}
  // CHECK: %[[D:.*]] = "onnx.Where"(%{{.*}}, %[[SCALED]], %{{.*}}) {onnx.name = "drop", onnx.outputs = ["y"]}
  // CHECK: %[[SAME:.*]] = "onnx.Identity"(%[[SEED]])
  // CHECK: %[[NEXT:.*]] = "onnx.Add"(%[[STEP]], %{{.*}})
  // CHECK: return %[[D]], %[[M2]], %[[V2]], %[[SAME]], %[[NEXT]]

  // TORCH: value = "[{\22input\22:\22mean\22,\22output\22:\22mean_next\22},{\22input\22:\22var\22,\22output\22:\22var_next\22}]"
  // TORCH: func.func @main(%{{.*}}: tensor<8x3xf32>, %{{.*}}: tensor<3xf32>, %{{.*}}: tensor<3xf32>) ->
  // TORCH: %[[Y:.*]], %[[M1:.*]], %[[V1:.*]] = "onnx.BatchNormalization"
  // TORCH: %[[D:.*]] = "onnx.Dropout"(%[[Y]], %{{.*}})
  // TORCH-NEXT: return %[[D]], %[[M1]], %[[V1]]

  // KEEP-NOT: amp.state
  // KEEP: "onnx.BatchNormalization"
  // KEEP-NOT: training_mode
  // KEEP: "onnx.Dropout"
  func.func @main(%x: tensor<8x3xf32>) -> tensor<8x3xf32> attributes {onnx.graph = {input = [{name = "x"}], name = "g", output = [{name = "y"}]}} {
    %s = onnx.Initializer <dense<1.0> : tensor<3xf32>> : tensor<3xf32> {onnx.outputs = ["s"]}
    %m = onnx.Initializer <dense<0.5> : tensor<3xf32>> : tensor<3xf32> {onnx.outputs = ["mean"]}
    %v = onnx.Initializer <dense<2.0> : tensor<3xf32>> : tensor<3xf32> {onnx.outputs = ["var"]}
    %n = "onnx.BatchNormalization"(%x, %s, %s, %m, %v) <{momentum = 8.0e-01 : f32, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> {onnx.name = "bn"} : (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
    %r = "onnx.Constant"() <{value_float = 0.1 : f32}> : () -> tensor<f32>
    %d = "onnx.Dropout"(%n, %r) <{operandSegmentSizes = array<i32: 1, 1, 0>, resultSegmentSizes = array<i32: 1, 0>}> {onnx.name = "drop", onnx.outputs = ["y"]} : (tensor<8x3xf32>, tensor<f32>) -> tensor<8x3xf32>
    return %d : tensor<8x3xf32>
  }
}

//--- zero.mlir
module attributes {onnx.model = {ir_version = 10 : i64, opset_import = [{domain = "", version = 20 : i64}]}} {
  // ZERO: func.func @main(%[[X:.*]]: tensor<8x3xf32>) ->
  // ZERO: %[[MASK:.*]] = "onnx.Expand"({{.*}}) {onnx.outputs = ["mask"]}
  // ZERO: %[[Y:.*]] = "onnx.Identity"(%[[X]]) {onnx.outputs = ["y"]}
  // ZERO: return %[[Y]], %[[MASK]]
  func.func @main(%x: tensor<8x3xf32>) -> (tensor<8x3xf32>, tensor<8x3xi1>) attributes {onnx.graph = {input = [{name = "x"}], name = "g", output = [{name = "y"}, {name = "mask"}]}} {
    %r = "onnx.Constant"() <{value_float = 0.0 : f32}> : () -> tensor<f32>
    %d, %mask = "onnx.Dropout"(%x, %r) <{operandSegmentSizes = array<i32: 1, 1, 0>, resultSegmentSizes = array<i32: 1, 1>}> {onnx.outputs = ["y", "mask"]} : (tensor<8x3xf32>, tensor<f32>) -> (tensor<8x3xf32>, tensor<8x3xi1>)
    return %d, %mask : tensor<8x3xf32>, tensor<8x3xi1>
  }
}
