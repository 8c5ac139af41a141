// RUN: amp-opt --onnx-to-linalg --split-input-file %s | FileCheck %s

// An unknown dimension is counted where it comes from; float16 is computed with
// in float32, and rounded once.

module attributes {onnx.model = {opset_import = [{domain = "", version = 24 : i64}]}} {
  // CHECK-LABEL: func @bias
  func.func @bias(%x: tensor<?x4xf16>, %b: tensor<4xf16>) -> tensor<?x4xf16> {
    // CHECK: %[[DIM:.*]] = tensor.dim %arg0, %c0
    // CHECK: %[[EMPTY:.*]] = tensor.empty(%[[DIM]]) : tensor<?x4xf16>
    // CHECK: linalg.generic
    // CHECK-SAME: ins(%arg0, %arg1 : tensor<?x4xf16>, tensor<4xf16>) outs(%[[EMPTY]]
    // CHECK-SAME: amprt.node = "bias"
    // CHECK: %[[A:.*]] = arith.extf
    // CHECK: %[[B:.*]] = arith.extf
    // CHECK: %[[SUM:.*]] = arith.addf %[[A]], %[[B]] : f32
    // CHECK: arith.truncf %[[SUM]] : f32 to f16
    %y = "onnx.Add"(%x, %b) {onnx.name = "bias"} : (tensor<?x4xf16>, tensor<4xf16>) -> tensor<?x4xf16>
    return %y : tensor<?x4xf16>
  }

  // Numbers are part of bodies.
  // CHECK-LABEL: func @number
  func.func @number(%x: tensor<4xf32>) -> tensor<4xf32> {
    %two = "onnx.Constant"() <{value = #onnx.tensor<dense<2.0> : tensor<f32>>}> : () -> tensor<f32>
    // CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<4xf32>)
    // CHECK: arith.constant 2.000000e+00 : f32
    // CHECK: arith.mulf
    %y = "onnx.Mul"(%x, %two) {onnx.outputs = ["y"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }

  // Of two dimensions that are not known, either may be 1.
  // CHECK-LABEL: func @unknown
  func.func @unknown(%x: tensor<?xf32>, %b: tensor<?xf32>, %c: tensor<4xf32>) -> (tensor<?xf32>, tensor<4xf32>) {
    // CHECK: onnx.Add
    %y = "onnx.Add"(%x, %b) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    // CHECK: onnx.Mul
    %z = "onnx.Mul"(%x, %c) : (tensor<?xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %y, %z : tensor<?xf32>, tensor<4xf32>
  }

  // Where they come from one dimension, they are equal.
  // CHECK-LABEL: func @same_origin
  func.func @same_origin(%x: tensor<?x4xf32>, %w: tensor<4x8xf32>, %v: tensor<?x8xf32>) -> tensor<?x8xf32> {
    %0 = "onnx.MatMul"(%x, %w) : (tensor<?x4xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
    // CHECK: onnx.MatMul
    // CHECK-NOT: onnx.
    // CHECK: math.exp
    %1 = "onnx.Exp"(%0) : (tensor<?x8xf32>) -> tensor<?x8xf32>
    // CHECK: arith.subf
    %2 = "onnx.Sub"(%0, %1) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    return %2 : tensor<?x8xf32>
  }

  // CHECK-LABEL: func @batch
  func.func @batch(%x: tensor<?x3x8x8xf32>, %w: tensor<3x3x1x1xf32>) -> tensor<?x3x8x8xf32> {
    %0 = "onnx.Conv"(%x, %w) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<?x3x8x8xf32>, tensor<3x3x1x1xf32>) -> tensor<?x3x8x8xf32>
    // CHECK: arith.addf
    %1 = "onnx.Add"(%0, %x) : (tensor<?x3x8x8xf32>, tensor<?x3x8x8xf32>) -> tensor<?x3x8x8xf32>
    return %1 : tensor<?x3x8x8xf32>
  }

  // … or have one symbol.
  // CHECK-LABEL: func @symbols
  func.func @symbols(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32>
      attributes {amprt.signature = {inputs = [{name = "x", symbols = ["N"]}, {name = "y", symbols = ["N"]}], outputs = [{name = "z"}]}} {
    // CHECK: arith.addf
    %0 = "onnx.Add"(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>
  }

  // Softmax along rows: two reductions, from float16 to float16.
  // CHECK-LABEL: func @softmax
  func.func @softmax(%x: tensor<8x16xf16>) -> tensor<8x16xf16> {
    // CHECK: linalg.fill {{.*}} -> tensor<8xf32>
    // CHECK: iterator_types = ["parallel", "reduction"]
    // CHECK: arith.maximumf
    // CHECK: iterator_types = ["parallel", "parallel"]
    // CHECK: math.exp
    // CHECK: iterator_types = ["parallel", "reduction"]
    // CHECK: arith.addf
    // CHECK: arith.divf
    // CHECK: arith.truncf
    %y = "onnx.Softmax"(%x) : (tensor<8x16xf16>) -> tensor<8x16xf16>
    return %y : tensor<8x16xf16>
  }

  // A mean over images: along rows, then over the batch.
  // CHECK-LABEL: func @mean
  func.func @mean(%x: tensor<2x3x4x5xf32>) -> tensor<1x3x1x1xf32> {
    %axes = "onnx.Constant"() <{value_ints = array<i64: 0, 2, 3>}> : () -> tensor<3xi64>
    // CHECK: iterator_types = ["parallel", "parallel", "reduction", "reduction"]
    // CHECK: -> tensor<2x3xf32>
    // CHECK: iterator_types = ["reduction", "parallel"]
    // CHECK: -> tensor<3xf32>
    // CHECK: arith.constant 4.000000e+01 : f32
    // CHECK: -> tensor<1x3x1x1xf32>
    %y = "onnx.ReduceMean"(%x, %axes) : (tensor<2x3x4x5xf32>, tensor<3xi64>) -> tensor<1x3x1x1xf32>
    return %y : tensor<1x3x1x1xf32>
  }

  // Of an unknown number.
  // CHECK-LABEL: func @count
  func.func @count(%x: tensor<4x?xf32>) -> tensor<4xf32> {
    %axes = "onnx.Constant"() <{value_ints = array<i64: 1>}> : () -> tensor<1xi64>
    // CHECK: %[[DIM:.*]] = tensor.dim %arg0, %c1
    // CHECK: arith.index_cast %[[DIM]]
    // CHECK: arith.divf
    %y = "onnx.ReduceMean"(%x, %axes) <{keepdims = 0 : i64}> : (tensor<4x?xf32>, tensor<1xi64>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }

  // Rows stay rows: loops read through the first, not through the second.
  // CHECK-LABEL: func @transpose
  func.func @transpose(%x: tensor<2x3x4xf32>) -> (tensor<3x2x4xf32>, tensor<4x3x2xf32>) {
    // CHECK-NOT: perm = array<i64: 1, 0, 2>
    %0 = "onnx.Transpose"(%x) <{perm = array<i64: 1, 0, 2>}> : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
    // CHECK: indexing_maps = [#[[MAP:.*]], #{{.*}}]
    // CHECK-SAME: ins(%arg0 : tensor<2x3x4xf32>)
    %1 = "onnx.Exp"(%0) : (tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
    // CHECK: onnx.Transpose
    %2 = "onnx.Transpose"(%x) <{perm = array<i64: 2, 1, 0>}> : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
    %3 = "onnx.Exp"(%2) : (tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
    return %1, %3 : tensor<3x2x4xf32>, tensor<4x3x2xf32>
  }

  // What is not exact is the library's.
  // CHECK-LABEL: func @library
  func.func @library(%x: tensor<4xf32>, %d: tensor<4xf64>, %s: tensor<*xf32>) -> (tensor<4xi32>, tensor<4xf64>, tensor<4xf16>, tensor<*xf32>) {
    // CHECK: onnx.Cast
    %0 = "onnx.Cast"(%x) <{to = 6 : i64}> : (tensor<4xf32>) -> tensor<4xi32>
    // CHECK: onnx.Sin
    %1 = "onnx.Sin"(%d) : (tensor<4xf64>) -> tensor<4xf64>
    // CHECK: onnx.Cast
    %2 = "onnx.Cast"(%d) <{to = 10 : i64}> : (tensor<4xf64>) -> tensor<4xf16>
    // CHECK: onnx.Neg
    %3 = "onnx.Neg"(%s) : (tensor<*xf32>) -> tensor<*xf32>
    return %0, %1, %2, %3 : tensor<4xi32>, tensor<4xf64>, tensor<4xf16>, tensor<*xf32>
  }

  // One element of a row, found by its position.
  // CHECK-LABEL: func @scatter
  func.func @scatter(%x: tensor<4x5xf32>, %i: tensor<4x1xi64>, %u: tensor<4x1xf32>) -> tensor<4x5xf32> {
    // CHECK: linalg.index 1
    // CHECK: arith.select
    %y = "onnx.ScatterElements"(%x, %i, %u) <{axis = 1 : i64, reduction = "add"}> : (tensor<4x5xf32>, tensor<4x1xi64>, tensor<4x1xf32>) -> tensor<4x5xf32>
    return %y : tensor<4x5xf32>
  }

  // Integers have no sign in bodies.
  // CHECK-LABEL: func @unsigned
  func.func @unsigned(%x: tensor<4xui8>, %y: tensor<4xui8>) -> tensor<4xui8> {
    // CHECK: builtin.unrealized_conversion_cast %{{.*}} : ui8 to i8
    // CHECK: arith.maxui
    // CHECK: builtin.unrealized_conversion_cast %{{.*}} : i8 to ui8
    %0 = "onnx.Max"(%x, %y) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
    return %0 : tensor<4xui8>
  }

  // Identity and what drops nothing are nothing.
  // CHECK-LABEL: func @nothing
  // CHECK-NEXT: return %arg0
  func.func @nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "onnx.Identity"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "onnx.Dropout"(%0) <{operandSegmentSizes = array<i32: 1, 0, 0>, resultSegmentSizes = array<i32: 1, 0>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
