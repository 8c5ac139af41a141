// RUN: split-file %s %t
// RUN: amp-opt %t/model.mlir --amp-make-parameters --amp-autocast="policy=training low=bf16 placement=eager" --amp-to-onnx --amp-differentiate="loss=loss" --amp-attach-optimizer="optimizer=sgd settings=momentum=0.9" --amp-stochastic-rounding="seed=7" | FileCheck %s
// RUN: amp-opt %t/model.mlir --amp-make-parameters --amp-differentiate="loss=loss" --amp-attach-optimizer="optimizer=sgd settings=momentum=0.9" --amp-stochastic-rounding="states=.*buffer" | FileCheck %s --check-prefix=SLOT
// RUN: not amp-opt %t/empty.mlir --amp-stochastic-rounding 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not amp-opt %t/model.mlir --amp-stochastic-rounding 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not amp-opt %t/model.mlir --amp-stochastic-rounding="states=w.*" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not amp-opt %t/model.mlir --amp-stochastic-rounding="states=*" 2>&1 | FileCheck %s --check-prefix=REGEX

// EMPTY: error: has no main graph to train
// NONE: error: states: no float32 state of static shape is a parameter
// NAME: error: states: no float32 state of static shape has a name like 'w.*'
// REGEX: error: states: '*' is no regular expression: repetition-operator operand invalid

//--- model.mlir
module attributes {onnx.model = {ir_version = 10 : i64, opset_import = [{domain = "", version = 22 : i64}]}} {
  // CHECK: func.func @main(%[[X:.*]]: tensor<2x3xf32>, %[[W:.*]]: tensor<3x1xbf16>, %[[M:.*]]: tensor<3x1xf32>, %{{.*}}: tensor<i64>, %[[SEED:.*]]: tensor<ui64>, %{{.*}}: tensor<ui64>) -> (tensor<f32>, tensor<3x1xbf16>, tensor<3x1xf32>,
  // CHECK: %[[WIDE:.*]] = "onnx.Cast"(%[[W]]) <{to = 1 : i64}>
  // CHECK: onnx.DefaultInput %[[SEED]], <dense<7> : tensor<ui64>>
  // CHECK: onnx.DefaultInput %[[W]], <#amp.rounded<dense<1.000000e+00> : tensor<3x1xf32>, infinity> : tensor<3x1xbf16>> : tensor<3x1xbf16>
  // The working copy is the state itself.
  // CHECK: "onnx.MatMul"(%{{.*}}, %[[W]]) : (tensor<2x3xbf16>, tensor<3x1xbf16>)
  // CHECK: %[[NEXT:.*]] = "onnx.Sub"(%[[WIDE]],
  // CHECK: %[[NEAREST:.*]] = "onnx.Cast"(%[[NEXT]]) <{to = 16 : i64}>
  // CHECK: %[[IS_OTHER:.*]] = "onnx.Less"(%{{.*}}, %{{.*}}) : (tensor<3x1xf32>, tensor<3x1xf32>)
  // CHECK-NEXT: %[[CHOSEN:.*]] = "onnx.Where"(%[[IS_OTHER]],
  // CHECK-NEXT: %[[LAST:.*]] = "onnx.Cast"(%[[CHOSEN]]) <{to = 16 : i64}>
  // CHECK-NEXT: return %{{.*}}, %[[LAST]], %

  // SLOT: func.func @main(%{{.*}}: tensor<2x3xf32>, %{{.*}}: tensor<3x1xf32>, %{{.*}}: tensor<3x1xbf16>,
  func.func @main(%x: tensor<2x3xf32>) -> tensor<f32> attributes {onnx.graph = {input = [{name = "x"}], name = "g", output = [{name = "loss"}]}} {
    %w = onnx.Initializer <dense<1.0> : tensor<3x1xf32>> : tensor<3x1xf32> {onnx.outputs = ["w"]}
    %0 = "onnx.MatMul"(%x, %w) : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32>
    %loss = "onnx.ReduceSum"(%0) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<2x1xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

//--- empty.mlir
module {
}
