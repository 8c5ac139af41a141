// RUN: amp-opt %s -split-input-file -amp-differentiate="loss=loss wrt=x" | FileCheck %s

// The gradient of an elementwise function has the input's shape, whatever that
// is: nothing is summed. The result is used where it gives the slope.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<?x?xf32>)
module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}]}} {
func.func @main(%x: tensor<?x?xf32>) -> tensor<f32> attributes {onnx.graph = {input = [{name = "x"}]}} {
  // CHECK: %[[Y:.*]] = "onnx.Tanh"(%[[X]])
  %y = "onnx.Tanh"(%x) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  // CHECK: %[[LOSS:.*]] = "onnx.ReduceSum"(%[[Y]])
  %loss = "onnx.ReduceSum"(%y) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<?x?xf32>) -> tensor<f32>
  // CHECK: %[[DY:.*]] = "onnx.Expand"{{.*}} -> tensor<?x?xf32>
  // CHECK-NEXT: %[[SQUARE:.*]] = "onnx.Mul"(%[[Y]], %[[Y]])
  // CHECK-NEXT: %[[SLOPE:.*]] = "onnx.Sub"(%{{.*}}, %[[SQUARE]])
  // CHECK-NEXT: %[[DX:.*]] = "onnx.Mul"(%[[DY]], %[[SLOPE]])
  // CHECK-NEXT: return %[[LOSS]], %[[DX]]
  return %loss : tensor<f32>
}
}

// -----

// A slope of several steps is float32, and its gradient is rounded once; one
// side of a product is enough where the other isn't asked for.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<4xf16>, %[[W:.*]]: tensor<4xf16>)
module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}]}} {
func.func @main(%x: tensor<4xf16>, %w: tensor<4xf16>) -> tensor<f16> attributes {onnx.graph = {input = [{name = "x"}, {name = "w"}]}} {
  %s = "onnx.Sigmoid"(%x) : (tensor<4xf16>) -> tensor<4xf16>
  %y = "onnx.Mul"(%s, %w) : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  // CHECK: "onnx.ReduceSum"
  %loss = "onnx.ReduceSum"(%y) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<4xf16>) -> tensor<f16>
  // CHECK: %[[DS:.*]] = "onnx.Mul"(%{{.*}}, %[[W]]) : {{.*}} -> tensor<4xf16>
  // CHECK-NOT: "onnx.Mul"{{.*}} -> tensor<4xf16>
  // CHECK: %[[WIDE:.*]] = "onnx.Mul"({{.*}} -> tensor<4xf32>
  // CHECK: %[[SLOPE:.*]] = "onnx.Mul"({{.*}} -> tensor<4xf32>
  // CHECK-NEXT: %[[DX:.*]] = "onnx.Cast"(%[[SLOPE]]) <{to = 10 : i64}>
  // CHECK-NEXT: return %{{.*}}, %[[DX]]
  return %loss : tensor<f16>
}
}

// -----

// A Dropout that drops gets a mask; its results keep their names.
// CHECK-LABEL: func.func @main
module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}]}} {
func.func @main(%x: tensor<4xf32>, %training: tensor<i1>) -> tensor<f32> attributes {onnx.graph = {input = [{name = "x"}, {name = "training"}]}} {
  // CHECK: %[[Y:.*]], %[[MASK:.*]] = "onnx.Dropout"
  // CHECK-SAME: seed = 3 : i64
  // CHECK-SAME: onnx.name = "drop", onnx.outputs = ["y", ""]
  // CHECK-SAME: -> (tensor<4xf32>, tensor<4xi1>)
  %y = "onnx.Dropout"(%x, %training) <{operandSegmentSizes = array<i32: 1, 0, 1>, seed = 3 : i64}> {onnx.name = "drop", onnx.absent_inputs = array<i64: 1>, onnx.outputs = ["y"]} : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32>
  // CHECK: "onnx.ReduceSum"(%[[Y]])
  %loss = "onnx.ReduceSum"(%y) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
  // CHECK: "onnx.Cast"(%[[MASK]])
  // CHECK-NOT: "onnx.Where"(%[[MASK]]
  return %loss : tensor<f32>
}
}

// -----

// One without training mode is the identity.
// CHECK-LABEL: func.func @main
module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}]}} {
func.func @main(%x: tensor<4xf32>) -> tensor<f32> attributes {onnx.graph = {input = [{name = "x"}]}} {
  // CHECK: %{{.*}} = "onnx.Dropout"(%{{.*}}) {{.*}} -> tensor<4xf32>
  %y = "onnx.Dropout"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[LOSS:.*]] = "onnx.ReduceSum"
  %loss = "onnx.ReduceSum"(%y) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
  // CHECK: %[[DX:.*]] = "onnx.Expand"{{.*}} -> tensor<4xf32>
  // CHECK-NEXT: return %[[LOSS]], %[[DX]]
  return %loss : tensor<f32>
}
}

// -----

// The exponent of a power is a constant more often than not.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}]}} {
func.func @main(%x: tensor<4xf32>) -> tensor<f32> attributes {onnx.graph = {input = [{name = "x"}]}} {
  %two = "onnx.Constant"() <{value_int = 2 : i64}> : () -> tensor<i64>
  // CHECK: "onnx.Pow"
  // CHECK-NOT: "onnx.Pow"
  // CHECK: %[[TWICE:.*]] = "onnx.Mul"(%[[X]], %{{.*}})
  // CHECK: "onnx.Mul"(%{{.*}}, %[[TWICE]])
  %y = "onnx.Pow"(%x, %two) : (tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
  %loss = "onnx.ReduceSum"(%y) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
}

// -----

// What a product gives is masked by a product.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>, %[[W:.*]]: tensor<3x4xf32>)
module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}]}} {
func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<f32> attributes {onnx.graph = {input = [{name = "x"}, {name = "w"}]}} {
  // CHECK: %[[Y:.*]] = "onnx.Relu"(%[[X]])
  %y = "onnx.Relu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %z = "onnx.MatMul"(%y, %w) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %loss = "onnx.ReduceSum"(%z) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<2x4xf32>) -> tensor<f32>
  // CHECK: %[[DY:.*]] = "onnx.Gemm"
  // CHECK: %[[ON:.*]] = "onnx.Greater"(%[[Y]]
  // CHECK-NEXT: %[[FACTOR:.*]] = "onnx.Cast"(%[[ON]])
  // CHECK-NEXT: "onnx.Mul"(%[[DY]], %[[FACTOR]])
  return %loss : tensor<f32>
}
}

// -----

// The root of a Relu has infinite gradients where that is zero.
// CHECK-LABEL: func.func @main
module attributes {onnx.model = {opset_import = [{domain = "", version = 20 : i64}]}} {
func.func @main(%x: tensor<4xf32>) -> tensor<f32> attributes {onnx.graph = {input = [{name = "x"}]}} {
  %y = "onnx.Relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = "onnx.Sqrt"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %loss = "onnx.ReduceSum"(%z) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
  // CHECK: "onnx.Where"
  return %loss : tensor<f32>
}
}
