// RUN: split-file %s %t
// RUN: amp-opt %t/model.mlir --amp-make-parameters --amp-differentiate="loss=loss seed=scale micro-batches=3" --amp-accumulate-gradients | FileCheck %s
// RUN: amp-opt %t/model.mlir --amp-make-parameters --amp-differentiate="loss=loss micro-batches=4" | FileCheck %s --check-prefix=NO-SEED
// RUN: not amp-opt %t/model.mlir --amp-make-parameters --amp-differentiate="loss=loss micro-batches=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not amp-opt %t/model.mlir --amp-make-parameters --amp-differentiate="loss=loss" --amp-accumulate-gradients 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not amp-opt %t/shape.mlir --amp-accumulate-gradients 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not amp-opt %t/none.mlir --amp-accumulate-gradients 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not amp-opt %t/empty.mlir --amp-accumulate-gradients 2>&1 | FileCheck %s --check-prefix=EMPTY

// ZERO: error: micro-batches: expects 1 or more, but got 0
// ONE: error: has no number of micro-batches: amp-differentiate takes it, as 'micro-batches', and it is 2 at least
// SHAPE: error: parameter 'w' expects float32 and a static shape, but is 'tensor<?xf32>'
// NONE: error: has no input 'X' with an output 'X_grad': amp-differentiate makes them
// EMPTY: error: has no main graph to train

//--- model.mlir
module attributes {onnx.model = {ir_version = 10 : i64, opset_import = [{domain = "", version = 20 : i64}]}} {
  // CHECK: metadata_props = [{key = "amp.state", value = "[{\22input\22:\22w.accumulated\22,\22output\22:\22w.accumulated_next\22}]"}]
  // CHECK: func.func @main(%{{.*}}: tensor<3xf32>, %[[SCALE:.*]]: tensor<f32>, %[[W:.*]]: tensor<3xf32>, %[[OLD:.*]]: tensor<3xf32>)
  // CHECK-SAME: amp.micro_batches = 3 : i64, amp.micro_outputs = ["loss", "w_grad", "w.accumulated_next"]
  // CHECK-DAG: onnx.DefaultInput %[[OLD]], <dense<0.000000e+00> : tensor<3xf32>>
  // CHECK-DAG: %[[THREE:.*]] = "onnx.Constant"() <{value = #onnx.tensor<dense<3.000000e+00> : tensor<f32>>
  // CHECK: %[[SEED:.*]] = "onnx.Div"(%[[SCALE]], %[[THREE]])
  // CHECK: "onnx.Expand"(%[[SEED]]
  // CHECK: %[[GRADIENT:.*]] = "onnx.Mul"
  // CHECK-NEXT: %[[SUM:.*]] = "onnx.Add"(%[[OLD]], %[[GRADIENT]])
  // CHECK: return %{{.*}}, %[[SUM]], %[[SUM]]

  // NO-SEED: amp.micro_batches = 4
  // NO-SEED: dense<2.500000e-01>
  // NO-SEED-NOT: "onnx.Div"
  func.func @main(%x: tensor<3xf32>, %scale: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {input = [{name = "x"}, {name = "scale"}], name = "g", output = [{name = "loss"}]}} {
    %w = onnx.Initializer <dense<1.0> : tensor<3xf32>> : tensor<3xf32> {onnx.outputs = ["w"]}
    %0 = "onnx.Mul"(%x, %w) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %loss = "onnx.ReduceSum"(%0) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<3xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

//--- shape.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}]}} {
  func.func @main(%w: tensor<?xf32>) -> tensor<?xf32> attributes {amp.micro_batches = 2 : i64, onnx.graph = {input = [{name = "w"}], name = "g", output = [{name = "w_grad"}]}} {
    %0 = "onnx.Neg"(%w) : (tensor<?xf32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>
  }
}

//--- none.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}]}} {
  func.func @main(%w: tensor<3xf32>) -> tensor<3xf32> attributes {amp.micro_batches = 2 : i64, onnx.graph = {input = [{name = "w"}], name = "g", output = [{name = "v_grad"}]}} {
    %0 = "onnx.Neg"(%w) : (tensor<3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}

//--- empty.mlir
module {
}
