// RUN: amp-opt %s --split-input-file --verify-diagnostics --amp-select-kernels

module attributes {onnx.model = {opset_import = [{domain = "", version = 25 : i64}]}} {
  func.func @main(%q: tensor<2x3x8xf32>, %k: tensor<*xf32>, %p: tensor<2x2x5x4xf32>) -> tensor<2x3x8xf32> attributes {amprt.signature = {}} {
    // expected-error@+1 {{node 'a' (Attention, opset 25) can't be compiled: the rank of its keys is not known}}
    %y = "onnx.Attention"(%q, %k, %k, %p, %p) <{kv_num_heads = 2 : i64, q_num_heads = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0>}> {onnx.name = "a"}
      : (tensor<2x3x8xf32>, tensor<*xf32>, tensor<*xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) -> tensor<2x3x8xf32>
    return %y : tensor<2x3x8xf32>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 25 : i64}, {domain = "ai.onnx.preview", version = 1 : i64}]}} {
  func.func @main(%q: tensor<2x3x4x8xf32>, %k: tensor<2x2x4x8xf32>, %n: tensor<?x?x?x?xf32>) -> (tensor<2x3x4x8xf32>) attributes {amprt.signature = {}} {
    // expected-error@+1 {{can't be compiled: 3 heads of queries don't share 2 of keys and 2 of values}}
    %y = "onnx.preview.FlexAttention"(%q, %k, %k) ({}, {}) : (tensor<2x3x4x8xf32>, tensor<2x2x4x8xf32>, tensor<2x2x4x8xf32>) -> tensor<2x3x4x8xf32>
    return %y : tensor<2x3x4x8xf32>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 25 : i64}, {domain = "ai.onnx.preview", version = 1 : i64}]}} {
  func.func @main(%q: tensor<?x?x?x?xf32>) -> (tensor<?x?x?x?xf32>) attributes {amprt.signature = {}} {
    // expected-error@+1 {{can't be compiled: its numbers of heads and their sizes are not known}}
    %y = "onnx.preview.FlexAttention"(%q, %q, %q) ({}, {}) : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
    return %y : tensor<?x?x?x?xf32>
  }
}

// -----

module attributes {onnx.model = {opset_import = [{domain = "", version = 25 : i64}]}} {
  func.func @main(%x: !onnx.sequence<tensor<2xf32>>) -> tensor<i1> attributes {amprt.signature = {}} {
    // expected-error@+1 {{can't be compiled: executables have no optional values and no sequences}}
    %y = "onnx.OptionalHasElement"(%x) : (!onnx.sequence<tensor<2xf32>>) -> tensor<i1>
    return %y : tensor<i1>
  }
}
