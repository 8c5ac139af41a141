// RUN: split-file %s %t
// RUN: amp-opt %t/model.mlir --amp-split-step | FileCheck %s
// RUN: amp-opt %t/model.mlir --amp-split-step=part=accumulate | FileCheck %s --check-prefix=ACCUMULATE
// RUN: amp-opt %t/model.mlir --amp-split-step=part=apply | FileCheck %s --check-prefix=APPLY
// RUN: not amp-opt %t/model.mlir --amp-split-step=part=update 2>&1 | FileCheck %s --check-prefix=PART
// RUN: not amp-opt %t/whole.mlir --amp-split-step 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: not amp-opt %t/shape.mlir --amp-split-step 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not amp-opt %t/strings.mlir --amp-split-step 2>&1 | FileCheck %s --check-prefix=STRINGS
// RUN: not amp-opt %t/empty.mlir --amp-split-step 2>&1 | FileCheck %s --check-prefix=EMPTY

// PART: error: part: expects both, accumulate or apply, but got 'update'
// WHOLE: error: has no accumulated gradients: amp-accumulate-gradients comes before
// SHAPE: error: output 'seen' of the step expects numbers of a static shape, but is 'tensor<?xf32>'
// STRINGS: error: output 'seen' of the step expects numbers of a static shape, but is 'tensor<3x!onnx.string>'
// EMPTY: error: has no main graph to train

// `seen` is an output of the step that is no state.

//--- model.mlir
// CHECK: {\22input\22:\22amp.micro_step\22,\22output\22:\22amp.micro_step_next\22}
// ACCUMULATE: value = "[{\22input\22:\22w.accumulated\22,\22output\22:\22w.accumulated_next\22}]"
// APPLY: value = "[{\22input\22:\22w.accumulated\22,\22output\22:\22w.accumulated_next\22},{\22input\22:\22w\22,\22output\22:\22w_next\22}]"
module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}], metadata_props = [{key = "amp.state", value = "[{\22input\22:\22w.accumulated\22,\22output\22:\22w.accumulated_next\22},{\22input\22:\22w\22,\22output\22:\22w_next\22}]"}]}} {
  // CHECK: func.func @main(%[[X:.*]]: tensor<3xf32>, %[[W:.*]]: tensor<3xf32>, %[[OLD:.*]]: tensor<3xf32>, %{{.*}}: tensor<f32>, %[[COUNT:.*]]: tensor<i64>)
  // CHECK-SAME: attributes {onnx.graph
  // CHECK-SAME: output = [{name = "loss"}, {name = "w.accumulated_next"}, {name = "w_next"}, {name = "seen"}, {name = "amp.micro_step_next"}]
  // CHECK: %[[SUM:.*]] = "onnx.Add"(%[[OLD]],
  // CHECK-NOT: "onnx.Sub"
  // CHECK: %[[NEXT:.*]] = "onnx.Add"(%[[COUNT]],
  // CHECK: %[[WAITS:.*]] = "onnx.Less"(%[[NEXT]],
  // CHECK: %[[MICRO:.*]] = "onnx.Where"(%[[WAITS]], %[[NEXT]],
  // CHECK: %[[IDLE:.*]] = "onnx.Constant"() {{.*}}dense<0.000000e+00> : tensor<f32>
  // CHECK: %[[NEW:.*]]:3 = amp.guard %[[WAITS]] keeps %[[SUM]], %[[W]], %[[IDLE]]
  // CHECK: "onnx.Mul"(%[[SUM]],
  // CHECK: %[[UPDATED:.*]] = "onnx.Sub"(%[[W]],
  // CHECK: %[[SEEN:.*]] = "onnx.ReduceMax"(%[[SUM]])
  // CHECK: %[[ZEROS:.*]] = "onnx.Expand"
  // CHECK: amp.yield %[[ZEROS]], %[[UPDATED]], %[[SEEN]]
  // CHECK: return %{{.*}}, %[[NEW]]#0, %[[NEW]]#1, %[[NEW]]#2, %[[MICRO]]

  // ACCUMULATE: func.func @main(%[[X:.*]]: tensor<3xf32>, %[[W:.*]]: tensor<3xf32>, %[[OLD:.*]]: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>)
  // ACCUMULATE-SAME: input = [{name = "x"}, {name = "w"}, {name = "w.accumulated"}]
  // ACCUMULATE-SAME: output = [{name = "loss"}, {name = "w.accumulated_next"}]
  // ACCUMULATE-DAG: onnx.DefaultInput %[[W]]
  // ACCUMULATE-DAG: onnx.DefaultInput %[[OLD]]
  // ACCUMULATE: %[[LOSS:.*]] = "onnx.ReduceSum"
  // ACCUMULATE: %[[SUM:.*]] = "onnx.Add"(%[[OLD]],
  // ACCUMULATE-NOT: "onnx.Sub"
  // ACCUMULATE: return %[[LOSS]], %[[SUM]]

  // APPLY-NOT: func.func private
  // APPLY: func.func @main(%[[W:.*]]: tensor<3xf32>, %[[SUM:.*]]: tensor<3xf32>, %[[RATE:.*]]: tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<f32>)
  // APPLY-SAME: attributes {onnx.graph
  // APPLY-SAME: input = [{name = "w"}, {name = "w.accumulated"}, {name = "rate"}]
  // APPLY-SAME: output = [{name = "w.accumulated_next"}, {name = "w_next"}, {name = "seen"}]
  // APPLY-DAG: onnx.DefaultInput %[[W]]
  // APPLY-DAG: onnx.DefaultInput %[[SUM]]
  // APPLY-NOT: "onnx.ReduceSum"
  // APPLY: %[[UPDATE:.*]] = "onnx.Mul"(%[[SUM]], %[[RATE]])
  // APPLY: %[[UPDATED:.*]] = "onnx.Sub"(%[[W]], %[[UPDATE]])
  // APPLY: %[[SEEN:.*]] = "onnx.ReduceMax"(%[[SUM]])
  // APPLY: %[[ZEROS:.*]] = "onnx.Expand"
  // APPLY: return %[[ZEROS]], %[[UPDATED]], %[[SEEN]]
  func.func @main(%x: tensor<3xf32>, %w: tensor<3xf32>, %old: tensor<3xf32>, %rate: tensor<f32>) -> (tensor<f32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>)
      attributes {amp.micro_batches = 4 : i64, amp.micro_outputs = ["loss", "w_grad", "w.accumulated_next"], onnx.graph = {input = [{name = "x"}, {name = "w"}, {name = "w.accumulated"}, {name = "rate"}], name = "g", output = [{name = "loss"}, {name = "w.accumulated_next"}, {name = "w_next"}, {name = "seen"}]}} {
    onnx.DefaultInput %w, <dense<1.0> : tensor<3xf32>> : tensor<3xf32>
    onnx.DefaultInput %old, <dense<0.0> : tensor<3xf32>> : tensor<3xf32>
    %0 = "onnx.Mul"(%x, %w) {onnx.outputs = ["xw"]} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %loss = "onnx.ReduceSum"(%0) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<3xf32>) -> tensor<f32>
    %sum = "onnx.Add"(%old, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %update = "onnx.Mul"(%sum, %rate) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    %next = "onnx.Sub"(%w, %update) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %seen = "onnx.ReduceMax"(%sum) <{keepdims = 0 : i64}> : (tensor<3xf32>) -> tensor<f32>
    return %loss, %sum, %next, %seen : tensor<f32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>
  }
  func.func private @unused(%x: tensor<3xf32>) -> tensor<3xf32> attributes {onnx.function = {domain = "local", name = "unused", opset_import = [{domain = "", version = 20 : i64}]}} {
    %0 = "onnx.Neg"(%x) : (tensor<3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}

//--- whole.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}]}} {
  func.func @main(%w: tensor<3xf32>) -> tensor<3xf32> attributes {amp.micro_batches = 2 : i64, onnx.graph = {input = [{name = "w"}], name = "g", output = [{name = "w_grad"}]}} {
    return %w : tensor<3xf32>
  }
}

//--- shape.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}]}} {
  func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> attributes {amp.micro_batches = 2 : i64, amp.micro_outputs = [], onnx.graph = {input = [{name = "x"}], name = "g", output = [{name = "seen"}]}} {
    %0 = "onnx.Neg"(%x) : (tensor<?xf32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>
  }
}

//--- strings.mlir
module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}]}} {
  func.func @main(%x: tensor<3x!onnx.string>) -> tensor<3x!onnx.string> attributes {amp.micro_batches = 2 : i64, amp.micro_outputs = [], onnx.graph = {input = [{name = "x"}], name = "g", output = [{name = "seen"}]}} {
    %0 = "onnx.Identity"(%x) : (tensor<3x!onnx.string>) -> tensor<3x!onnx.string>
    return %0 : tensor<3x!onnx.string>
  }
}

//--- empty.mlir
module {
}
