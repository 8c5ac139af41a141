// Several losses, and classes that are not dimension 1.

// RUN: amp-opt %s --amp-build-loss="loss=cross-entropy,mse=0.25,inner output=y,h" 2>&1 | FileCheck %s
// RUN: amp-opt %s --amp-build-loss="output=y class-axis=-1" | FileCheck %s --check-prefix=LAST
// RUN: amp-opt %s --amp-build-loss="output=y class-axis=0" | FileCheck %s --check-prefix=FIRST
// RUN: amp-opt %s --amp-build-loss="output=t" 2>&1 | FileCheck %s --check-prefix=TOKENS
// RUN: not amp-opt %s --amp-build-loss="output=y class-axis=3" 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not amp-opt %s --amp-build-loss="output=y class-axis=x" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not amp-opt %s --amp-build-loss="loss=mse output=h class-axis=1" 2>&1 | FileCheck %s --check-prefix=NO-CLASSES
// RUN: not amp-opt %s --amp-build-loss="loss=inner,inner" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not amp-opt %s --amp-build-loss="loss=mse,mse output=y" 2>&1 | FileCheck %s --check-prefix=COUNT

// The axis is said of three dimensions.
// CHECK: remark: classes are dimension 1 of 'y', as in PyTorch; where they are the last, say --class-axis 2
// CHECK: func.func @main({{.*}}, %[[LABELS:[^:]*]]: tensor<2x5xi64>, %[[TARGETS:[^:]*]]: tensor<4x4xf32>)
// CHECK-SAME: {name = "labels"}, {name = "targets.2"}]
// CHECK-SAME: {name = "loss"}, {name = "loss.2"}, {name = "inner"}, {name = "total_loss"}]
// CHECK: %[[INNER:.*]] = "onnx.ReduceSum"
// CHECK: %[[LOSS:.*]] = "onnx.SoftmaxCrossEntropyLoss"
// CHECK: %[[MSE:.*]] = "onnx.ReduceMean"
// CHECK: %[[QUARTER:.*]] = "onnx.Constant"{{.*}}dense<2.500000e-01>
// CHECK: %[[PART:.*]] = "onnx.Mul"(%[[MSE]], %[[QUARTER]]) {onnx.name = "amp.loss/Mul
// CHECK: %[[TWO:.*]] = "onnx.Add"(%[[LOSS]], %[[PART]])
// CHECK: %[[ALL:.*]] = "onnx.Add"(%[[TWO]], %[[INNER]]) {onnx.name = "amp.loss/Add
// CHECK: return {{.*}}, %[[LOSS]], %[[MSE]], %[[INNER]], %[[ALL]]

// The last dimension is a list of examples, without a transpose.
// LAST: %[[LABELS:[^:]*]]: tensor<2x3xi64>)
// LAST: %[[SCORES:.*]] = "onnx.Flatten"(%{{.*}}) <{axis = 2 : i64}> {{.*}} -> tensor<6x5xf32>
// LAST: %[[LIST:.*]] = "onnx.Reshape"(%[[LABELS]], {{.*}} -> tensor<6xi64>
// LAST: "onnx.SoftmaxCrossEntropyLoss"(%[[SCORES]], %[[LIST]])

// FIRST: %[[LABELS:[^:]*]]: tensor<3x5xi64>)
// FIRST: %[[SCORES:.*]] = "onnx.Transpose"(%{{.*}}) <{perm = array<i64: 1, 0, 2>}> {{.*}} -> tensor<3x2x5xf32>
// FIRST: "onnx.SoftmaxCrossEntropyLoss"(%[[SCORES]], %[[LABELS]])

// TOKENS: remark: classes are dimension 2 of 't', whose size alone is known; --class-axis chooses another one
// TOKENS: tensor<?x?xi64, #onnx.dims<"N", "T">>)

// RANGE: error: class-axis: 'y' expects an axis from -3 to 2, but got 3
// NUMBER: error: class-axis expects a whole number, but got 'x'
// NO-CLASSES: error: class-axis: expects the loss cross-entropy, but got 'mse'
// TWICE: error: loss: 'inner' is named twice
// COUNT: error: output: expected one for each loss that is built, 2, but got 1

module attributes {onnx.model = {opset_import = [{domain = "", version = 18 : i64}]}} {
func.func @main(%y: tensor<2x3x5xf32>, %h: tensor<4x4xf32>, %t: tensor<?x?x7xf32, #onnx.dims<"N", "T", "">>)
      -> (tensor<2x3x5xf32>, tensor<4x4xf32>, tensor<?x?x7xf32, #onnx.dims<"N", "T", "">>)
    attributes {onnx.graph = {name = "g", input = [{name = "y"}, {name = "h"}, {name = "t"}],
      output = [{name = "y"}, {name = "h"}, {name = "t"}]}} {
  %inner = "onnx.ReduceSum"(%h) <{keepdims = 0 : i64}> {onnx.outputs = ["inner"]} : (tensor<4x4xf32>) -> tensor<f32>
  return %y, %h, %t : tensor<2x3x5xf32>, tensor<4x4xf32>, tensor<?x?x7xf32, #onnx.dims<"N", "T", "">>
}
}
