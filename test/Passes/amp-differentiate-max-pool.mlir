// RUN: amp-opt %s -split-input-file -amp-differentiate="loss=loss wrt=w" | FileCheck %s

// Where windows do not overlap, and tile the image, nothing asks for indices.
// Masks of sums of products are factors, through all of this.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<?x2x4x6xf32>
module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}]}} {
func.func @main(%x: tensor<?x2x4x6xf32>, %w: tensor<2x2x1x1xf32>, %v: tensor<3x2x2x2xf32>) -> tensor<f32> attributes {onnx.graph = {input = [{name = "x"}, {name = "w"}, {name = "v"}]}} {
  %c = "onnx.Conv"(%x, %w) <{auto_pad = "NOTSET", group = 1 : i64}> : (tensor<?x2x4x6xf32>, tensor<2x2x1x1xf32>) -> tensor<?x2x4x6xf32>
  // CHECK: %[[R:.*]] = "onnx.Relu"
  %r = "onnx.Relu"(%c) : (tensor<?x2x4x6xf32>) -> tensor<?x2x4x6xf32>
  // CHECK: %[[Y:.*]] = "onnx.MaxPool"(%[[R]]) {{.*}} : (tensor<?x2x4x6xf32>) -> tensor<?x2x2x2xf32>
  %y = "onnx.MaxPool"(%r) <{auto_pad = "NOTSET", ceil_mode = 0 : i64, kernel_shape = array<i64: 2, 3>, storage_order = 0 : i64, strides = array<i64: 2, 3>}> : (tensor<?x2x4x6xf32>) -> tensor<?x2x2x2xf32>
  %z = "onnx.Conv"(%y, %v) <{auto_pad = "NOTSET", group = 1 : i64}> : (tensor<?x2x2x2xf32>, tensor<3x2x2x2xf32>) -> tensor<?x3x1x1xf32>
  %loss = "onnx.ReduceSum"(%z) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<?x3x1x1xf32>) -> tensor<f32>
  // CHECK: %[[DY:.*]] = "onnx.ConvTranspose"
  // CHECK: dense<[6, 5, 4, 3, 2, 1]>
  // CHECK: "onnx.Tile"
  // CHECK: %[[LARGE:.*]] = "onnx.Resize"(%[[Y]], %{{.*}}) <{{.*}}coordinate_transformation_mode = "half_pixel"{{.*}}nearest_mode = "round_prefer_floor"
  // CHECK: "onnx.Equal"(%[[R]], %[[LARGE]])
  // CHECK: "onnx.MaxPool"
  // CHECK: "onnx.Resize"(%[[DY]],
  // CHECK-NOT: onnx.Where
  // CHECK-NOT: onnx.ScatterElements
  return %loss : tensor<f32>
}
}

// -----

// Rows that are in no window: indices.
// CHECK-LABEL: func.func @main
module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}]}} {
func.func @main(%w: tensor<1x2x5x4xf32>) -> tensor<f32> attributes {onnx.graph = {input = [{name = "w"}]}} {
  // CHECK: %[[Y:.*]], %[[INDICES:.*]] = "onnx.MaxPool"
  %y = "onnx.MaxPool"(%w) <{auto_pad = "NOTSET", ceil_mode = 0 : i64, kernel_shape = array<i64: 2, 2>, storage_order = 0 : i64, strides = array<i64: 2, 2>}> : (tensor<1x2x5x4xf32>) -> tensor<1x2x2x2xf32>
  %loss = "onnx.ReduceSum"(%y) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<1x2x2x2xf32>) -> tensor<f32>
  // CHECK: "onnx.Reshape"(%[[INDICES]],
  // CHECK: onnx.ScatterElements
  return %loss : tensor<f32>
}
}
