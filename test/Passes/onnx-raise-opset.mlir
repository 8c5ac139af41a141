// RUN: amp-opt %s --split-input-file --onnx-raise-opset=low=bf16 | FileCheck %s
// RUN: amp-opt %s --split-input-file --onnx-raise-opset=low=fp16 | FileCheck %s --check-prefix=FP16
// RUN: amp-opt %s --split-input-file --onnx-raise-opset="low=bf16 max-opset=21" | FileCheck %s --check-prefix=MAX
// RUN: amp-opt %s --split-input-file --onnx-raise-opset="low=bf16 keep-op=Conv" | FileCheck %s --check-prefix=MAX
// RUN: not amp-opt %s --split-input-file --onnx-raise-opset="low=bf16 min-opset=24" 2>%t.errors | FileCheck %s --check-prefix=MIN
// RUN: amp-opt %s --split-input-file --onnx-raise-opset="low=bf16 preferred-opset=24" 2>%t.warnings | FileCheck %s --check-prefix=MIN
// RUN: FileCheck %s --check-prefix=UNPREFERRED < %t.warnings
// RUN: FileCheck %s --check-prefix=UNREACHED < %t.errors

// UNPREFERRED: warning: opset 24 is out of reach for AveragePool
// UNREACHED: error: opset 24 is out of reach for AveragePool: with ceil_mode its last window changed at opset 19
// UNREACHED: error: opset 24 is out of reach: there the shape that the model declares of 'y' is wrong

// Conv takes bfloat16 from opset 22 on. What was there before means the same.

// CHECK: opset_import = [{domain = "", version = 22 : i64}, {domain = "x", version = 1 : i64}]
// CHECK: @main
// FP16: version = 17 : i64
// MAX: version = 17 : i64
// MAX: "onnx.ReduceMean"(%{{[0-9]+}}) <{keepdims = 1 : i64}> {axes = array<i64: 2, 3>
// MIN: version = 24 : i64
module attributes {onnx.model = {opset_import = [{domain = "", version = 17 : i64}, {domain = "x", version = 1 : i64}]}} {
  func.func @main(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x1x1xf32>, %g: tensor<1x2x2x2xf32>) -> tensor<1x1x1x1xf32> attributes {onnx.graph = {}} {
    %y = "onnx.Conv"(%x, %w) : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
    // CHECK: [[AXES:%[0-9]+]] = "onnx.Constant"() <{value = #onnx.tensor<dense<[2, 3]> : tensor<2xi64>> : tensor<2xi64>}>
    // CHECK-NEXT: "onnx.ReduceMean"(%{{[0-9]+}}, [[AXES]]) <{keepdims = 1 : i64}> {onnx.name = "mean", onnx.outputs = ["z"]}
    %z = "onnx.ReduceMean"(%y) <{keepdims = 1 : i64}> {axes = array<i64: 2, 3>, onnx.name = "mean", onnx.outputs = ["z"]} : (tensor<1x1x4x4xf32>) -> tensor<1x1x1x1xf32>
    // CHECK: "onnx.Split"(%{{[a-z0-9]+}}) <{axis = 2 : i64, num_outputs = 2 : i64}>
    %s:2 = "onnx.Split"(%x) <{axis = 2 : i64}> : (tensor<1x1x4x4xf32>) -> (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
    // CHECK: "onnx.GridSample"{{.*}}mode = "linear"
    %r = "onnx.GridSample"(%x, %g) <{mode = "bilinear"}> : (tensor<1x1x4x4xf32>, tensor<1x2x2x2xf32>) -> tensor<1x1x2x2xf32>
    return %z : tensor<1x1x1x1xf32>
  }
}

// -----

// Some operators have bfloat16 later than others; one node that has no other
// form keeps the model below that.

// CHECK: version = 13 : i64
module attributes {onnx.model = {opset_import = [{domain = "", version = 12 : i64}]}} {
  func.func @main(%x: tensor<4x4xf32>, %w: tensor<1x1x1x1xf32>, %i: tensor<1x1x4x4xf32>, %r: tensor<1x4xf32>, %b: tensor<1xi64>) attributes {onnx.graph = {}} {
    %y = "onnx.Conv"(%i, %w) : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
    %m = "onnx.MatMul"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %p = "onnx.AveragePool"(%i) <{ceil_mode = 1 : i64, kernel_shape = array<i64: 3, 3>}> : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32>
    return
  }
}

// -----

// Inference sees through more operators in later opsets: what a model declares
// may turn out to be wrong.

// CHECK: version = 12 : i64
module attributes {onnx.model = {opset_import = [{domain = "", version = 12 : i64}]}} {
  func.func @main(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x1x1xf32>, %n: tensor<i64>) -> tensor<1x1x4x4xf32> attributes {onnx.graph = {}} {
    %m = "onnx.Conv"(%x, %w) : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
    %u = "onnx.Unsqueeze"(%n) {axes = array<i64: 0>} : (tensor<i64>) -> tensor<1xi64>
    %s = "onnx.Concat"(%u, %u, %u) <{axis = 0 : i64}> : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
    %y = "onnx.Reshape"(%m, %s) {onnx.outputs = ["y"]} : (tensor<1x1x4x4xf32>, tensor<3xi64>) -> tensor<?x?xf32>
    return %m : tensor<1x1x4x4xf32>
  }
}
