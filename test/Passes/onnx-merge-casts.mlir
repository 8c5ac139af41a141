// RUN: amp-opt %s --split-input-file --onnx-merge-casts | FileCheck %s

// What is read through one cast alone is converted at once, where that is the
// same.

module attributes {onnx.model = {opset_import = [{version = 20 : i64}]}} {
  // CHECK-LABEL: func.func @integers
  func.func @integers(%i: tensor<4xi64>, %b: tensor<4xi1>, %s: tensor<4xi16>) -> (tensor<4xf16>, tensor<4xf16>, tensor<4xbf16>, tensor<4xbf16>) {
    // CHECK-NEXT: %[[A:.*]] = "onnx.Cast"(%{{.*}}) <{to = 10 : i64}> {onnx.name = "node"} : (tensor<4xi64>) -> tensor<4xf16>
    %0 = "onnx.Cast"(%i) <{to = 1 : i64}> {onnx.name = "node"} : (tensor<4xi64>) -> tensor<4xf32>
    %1 = amp.cast %0 : tensor<4xf32> to tensor<4xf16>
    // CHECK-NEXT: %[[B:.*]] = "onnx.Cast"(%{{.*}}) <{to = 10 : i64}> : (tensor<4xi1>) -> tensor<4xf16>
    %2 = "onnx.Cast"(%b) <{to = 1 : i64}> : (tensor<4xi1>) -> tensor<4xf32>
    %3 = amp.cast %2 : tensor<4xf32> to tensor<4xf16>
    // CHECK-NEXT: %[[C:.*]] = "onnx.Cast"(%{{.*}}) <{to = 16 : i64}> : (tensor<4xi16>) -> tensor<4xbf16>
    %4 = "onnx.Cast"(%s) <{to = 1 : i64}> : (tensor<4xi16>) -> tensor<4xf32>
    %5 = amp.cast %4 : tensor<4xf32> to tensor<4xbf16>
    // Not the same: 2^24 + 2^16 + 1 is rounded down, then to even.
    // CHECK-NEXT: "onnx.Cast"
    // CHECK-NEXT: %[[D:.*]] = amp.cast
    %6 = "onnx.Cast"(%i) <{to = 1 : i64}> : (tensor<4xi64>) -> tensor<4xf32>
    %7 = amp.cast %6 : tensor<4xf32> to tensor<4xbf16>
    // CHECK-NEXT: return %[[A]], %[[B]], %[[C]], %[[D]]
    return %1, %3, %5, %7 : tensor<4xf16>, tensor<4xf16>, tensor<4xbf16>, tensor<4xbf16>
  }

  // CHECK-LABEL: func.func @floats
  // CHECK-SAME: %[[H:.*]]: tensor<4xf16>, %[[X:.*]]: tensor<4xf32>, %[[D:.*]]: tensor<4xf64>
  func.func @floats(%h: tensor<4xf16>, %x: tensor<4xf32>, %d: tensor<4xf64>) -> (tensor<4xf16>, tensor<4xf16>, tensor<4xf32>, tensor<4xf16>) {
    // CHECK-NEXT: "onnx.Cast"(%[[H]]) <{to = 10 : i64}> : (tensor<4xf16>) -> tensor<4xf16>
    %0 = amp.cast %h : tensor<4xf16> to tensor<4xf32>
    %1 = "onnx.Cast"(%0) <{to = 1 : i64}> : (tensor<4xf32>) -> tensor<4xf32>
    %2 = amp.cast %1 : tensor<4xf32> to tensor<4xf16>
    // CHECK-NEXT: "onnx.Cast"(%[[X]]) <{to = 10 : i64}> : (tensor<4xf32>) -> tensor<4xf16>
    %3 = "onnx.Cast"(%x) <{to = 1 : i64}> : (tensor<4xf32>) -> tensor<4xf32>
    %4 = amp.cast %3 : tensor<4xf32> to tensor<4xf16>
    // CHECK-NEXT: "onnx.Cast"(%[[H]]) <{to = 1 : i64}> : (tensor<4xf16>) -> tensor<4xf32>
    %5 = amp.cast %h : tensor<4xf16> to tensor<4xf32>
    %6 = "onnx.Cast"(%5) <{to = 1 : i64}> : (tensor<4xf32>) -> tensor<4xf32>
    // Two roundings.
    // CHECK-NEXT: "onnx.Cast"(%[[D]]) <{to = 1 : i64}> : (tensor<4xf64>) -> tensor<4xf32>
    // CHECK-NEXT: amp.cast
    %7 = "onnx.Cast"(%d) <{to = 1 : i64}> : (tensor<4xf64>) -> tensor<4xf32>
    %8 = amp.cast %7 : tensor<4xf32> to tensor<4xf16>
    return %2, %4, %6, %8 : tensor<4xf16>, tensor<4xf16>, tensor<4xf32>, tensor<4xf16>
  }

  // CHECK-LABEL: func.func @from_low
  // CHECK-SAME: %[[H:.*]]: tensor<4xf16>
  func.func @from_low(%h: tensor<4xf16>) -> (tensor<4xi64>, tensor<4xi1>, tensor<4xf64>, tensor<4x!onnx.string>) {
    // CHECK-NEXT: "onnx.Cast"(%[[H]]) <{to = 7 : i64}> : (tensor<4xf16>) -> tensor<4xi64>
    // CHECK-NEXT: "onnx.Cast"(%[[H]]) <{to = 9 : i64}> : (tensor<4xf16>) -> tensor<4xi1>
    // CHECK-NEXT: "onnx.Cast"(%[[H]]) <{to = 11 : i64}> : (tensor<4xf16>) -> tensor<4xf64>
    %0 = amp.cast %h : tensor<4xf16> to tensor<4xf32>
    %1 = "onnx.Cast"(%0) <{to = 7 : i64}> : (tensor<4xf32>) -> tensor<4xi64>
    %2 = amp.cast %h : tensor<4xf16> to tensor<4xf32>
    %3 = "onnx.Cast"(%2) <{to = 9 : i64}> : (tensor<4xf32>) -> tensor<4xi1>
    %4 = amp.cast %h : tensor<4xf16> to tensor<4xf32>
    %5 = "onnx.Cast"(%4) <{to = 11 : i64}> : (tensor<4xf32>) -> tensor<4xf64>
    // A string shows the format.
    // CHECK-NEXT: amp.cast
    %6 = amp.cast %h : tensor<4xf16> to tensor<4xf32>
    %7 = "onnx.Cast"(%6) <{to = 8 : i64}> : (tensor<4xf32>) -> tensor<4x!onnx.string>
    return %1, %3, %5, %7 : tensor<4xi64>, tensor<4xi1>, tensor<4xf64>, tensor<4x!onnx.string>
  }

  // Somebody else reads it; it rounds; it goes to another format.

  // CHECK-LABEL: func.func @stay
  func.func @stay(%i: tensor<4xi64>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf16>, tensor<4xf32>, tensor<4xf64>) {
    // CHECK-NEXT: "onnx.Cast"(%{{.*}}) <{to = 1 : i64}>
    // CHECK-NEXT: amp.cast
    %0 = "onnx.Cast"(%i) <{to = 1 : i64}> : (tensor<4xi64>) -> tensor<4xf32>
    %1 = amp.cast %0 : tensor<4xf32> to tensor<4xf16>
    // CHECK-NEXT: "onnx.Cast"(%{{.*}}) <{to = 10 : i64}>
    // CHECK-NEXT: amp.cast
    %2 = "onnx.Cast"(%x) <{to = 10 : i64}> : (tensor<4xf32>) -> tensor<4xf16>
    %3 = amp.cast %2 : tensor<4xf16> to tensor<4xf32>
    // CHECK-NEXT: "onnx.Cast"(%{{.*}}) <{to = 1 : i64}>
    // CHECK-NEXT: amp.cast
    %4 = "onnx.Cast"(%i) <{to = 1 : i64}> : (tensor<4xi64>) -> tensor<4xf32>
    %5 = amp.cast %4 : tensor<4xf32> to tensor<4xf64>
    return %0, %1, %3, %5 : tensor<4xf32>, tensor<4xf16>, tensor<4xf32>, tensor<4xf64>
  }
}

// -----

// Before opset 13 there is no bfloat16.

module attributes {onnx.model = {opset_import = [{version = 9 : i64}]}} {
  // CHECK-LABEL: func.func @old
  func.func @old(%b: tensor<4xi1>) -> tensor<4xbf16> {
    // CHECK: amp.cast
    %0 = "onnx.Cast"(%b) <{to = 1 : i64}> : (tensor<4xi1>) -> tensor<4xf32>
    %1 = amp.cast %0 : tensor<4xf32> to tensor<4xbf16>
    return %1 : tensor<4xbf16>
  }
}
