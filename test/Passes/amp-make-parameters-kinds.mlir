// What is state is float32: initializers of 16 bits are widened. Until IR version
// 3 initializers were inputs.

// RUN: amp-opt %s --amp-make-parameters | FileCheck %s
// RUN: not amp-opt %s --amp-make-parameters="trainable=d" 2>&1 | FileCheck %s --check-prefix=DOUBLE
// RUN: not amp-opt %s --amp-make-parameters="trainable=mean" 2>&1 | FileCheck %s --check-prefix=STATISTIC

// DOUBLE: error: trainable: 'd' expects floats of 16 or 32 bits, but it is 'tensor<f64>'
// STATISTIC: error: trainable: 'mean' is a statistic of a BatchNormalization

module attributes {onnx.model = {ir_version = 3 : i64, opset_import = [{domain = "", version = 18 : i64}]}} {
  // CHECK: func.func @main(%[[A:[^:]*]]: tensor<2xf32>, %[[B:[^:]*]]: tensor<2xf32>, %[[MEAN:[^:]*]]: tensor<2xf32>, %[[C:[^:]*]]: tensor<2xf32>) -> tensor<f32>
  // CHECK-SAME: amp.parameters = ["a", "b", "c"]
  func.func @main(%a: tensor<2xf32>, %b: tensor<2xf16>, %mean: tensor<2xf32>) -> tensor<f32> attributes {onnx.graph = {
      input = [{name = "a"}, {name = "b"}, {name = "mean"}], name = "g", output = [{name = "loss"}]}} {
    // CHECK-DAG: onnx.DefaultInput %[[A]], <dense<1.000000e+00> : tensor<2xf32>>
    // CHECK-DAG: onnx.DefaultInput %[[B]], <dense<[2.500000e+00, 6.550400e+04]> : tensor<2xf32>>
    // CHECK-DAG: onnx.DefaultInput %[[C]], <dense<3.000000e+00> : tensor<2xf32>>
    // CHECK-DAG: %[[LOWB:.*]] = "onnx.Cast"(%[[B]]) <{to = 10 : i64}>
    // CHECK-DAG: %[[LOWC:.*]] = "onnx.Cast"(%[[C]]) <{to = 16 : i64}>
    // CHECK-DAG: "onnx.Cast"(%[[LOWB]]) <{to = 1 : i64}>
    // CHECK-DAG: "onnx.Cast"(%[[LOWC]]) <{to = 1 : i64}>
    onnx.DefaultInput %a, <dense<1.0> : tensor<2xf32>> : tensor<2xf32>
    onnx.DefaultInput %b, <dense<[2.5, 65504.0]> : tensor<2xf16>> : tensor<2xf16>
    onnx.DefaultInput %mean, <dense<1.0> : tensor<2xf32>> : tensor<2xf32>
    %c = onnx.Initializer <dense<3.0> : tensor<2xbf16>> : tensor<2xbf16> {onnx.outputs = ["c"]}
    %d = onnx.Initializer <dense<3.0> : tensor<f64>> : tensor<f64> {onnx.outputs = ["d"]}
    %0 = "onnx.Cast"(%b) <{to = 1 : i64}> : (tensor<2xf16>) -> tensor<2xf32>
    %1 = "onnx.Cast"(%c) <{to = 1 : i64}> : (tensor<2xbf16>) -> tensor<2xf32>
    %2 = "onnx.Cast"(%d) <{to = 1 : i64}> : (tensor<f64>) -> tensor<f32>
    %3 = "onnx.Sum"(%a, %0, %1, %2) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    %shape = onnx.Initializer <dense<[1, 2]> : tensor<2xi64>> : tensor<2xi64> {onnx.outputs = ["shape"]}
    %4 = "onnx.Reshape"(%3, %shape) : (tensor<2xf32>, tensor<2xi64>) -> tensor<1x2xf32>
    %5 = "onnx.BatchNormalization"(%4, %3, %3, %mean, %mean) <{resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
    %loss = "onnx.ReduceSum"(%5) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<1x2xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
