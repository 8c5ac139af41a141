// RUN: amp-opt --amp-fuse-products %s | FileCheck %s

module attributes {onnx.model = {opset_import = [{domain = "", version = 24 : i64}]}} {
  // Rows are batches of MatMul: the weight is a matrix of all columns.
  // CHECK-LABEL: func @columns
  func.func @columns(%x: tensor<2x?x4xf32>, %w: tensor<8x4x5xf32>) -> tensor<2x?x8x5xf32> {
    // CHECK: %[[T:.*]] = "onnx.Transpose"(%arg1) <{perm = array<i64: 1, 0, 2>}>
    // CHECK: %[[W:.*]] = "onnx.Reshape"(%[[T]], {{.*}}) {{.*}} -> tensor<4x40xf32>
    // CHECK: %[[M:.*]] = "onnx.MatMul"(%arg0, %[[W]]) {onnx.name = "experts"} : {{.*}} -> tensor<2x?x40xf32>
    // CHECK: "onnx.Reshape"(%[[M]], {{.*}}) : {{.*}} -> tensor<2x?x8x5xf32>
    // CHECK-NOT: onnx.Einsum
    %y = "onnx.Einsum"(%x, %w) {equation = "bsd, edh -> bseh", onnx.name = "experts"} : (tensor<2x?x4xf32>, tensor<8x4x5xf32>) -> tensor<2x?x8x5xf32>
    return %y : tensor<2x?x8x5xf32>
  }

  // CHECK-LABEL: func @batch
  func.func @batch(%x: tensor<2x?x8x5xf32>, %w: tensor<8x5x4xf32>) -> tensor<2x?x8x4xf32> {
    // CHECK: %[[T:.*]] = "onnx.Transpose"(%arg0) <{perm = array<i64: 2, 0, 1, 3>}>
    // CHECK: %[[X:.*]] = "onnx.Reshape"(%[[T]], {{.*}}) {{.*}} -> tensor<8x?x5xf32>
    // CHECK: %[[M:.*]] = "onnx.MatMul"(%[[X]], %arg1)
    // CHECK: %[[R:.*]] = "onnx.Reshape"(%[[M]], {{.*}}) : {{.*}} -> tensor<8x2x?x4xf32>
    // CHECK: "onnx.Transpose"(%[[R]]) <{perm = array<i64: 1, 2, 0, 3>}>
    %y = "onnx.Einsum"(%x, %w) {equation = "bseh,ehd->bsed"} : (tensor<2x?x8x5xf32>, tensor<8x5x4xf32>) -> tensor<2x?x8x4xf32>
    return %y : tensor<2x?x8x4xf32>
  }

  // An exchange goes on into the call.
  // CHECK-LABEL: func @exchanged
  func.func @exchanged(%x: tensor<3x4xf32>, %w: tensor<5x4xf32>) -> tensor<3x5xf32> {
    // CHECK-NEXT: amprt.call "matmul"(%arg0, %arg1) {transB = 1 : i64}
    %y = "onnx.Einsum"(%x, %w) {equation = "ij,kj->ik"} : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
    return %y : tensor<3x5xf32>
  }

  // A diagonal, a sum over one operand, an ellipsis, an outer product, a size
  // that may be broadcast, no result, one operand.
  // CHECK-LABEL: func @refused
  func.func @refused(%x: tensor<4x4xf32>, %w: tensor<4x5xf32>, %u: tensor<?x5xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x4x4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4xf32>) {
    // CHECK-COUNT-7: onnx.Einsum
    %y0 = "onnx.Einsum"(%x, %w) {equation = "ii,ij->ij"} : (tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    %y1 = "onnx.Einsum"(%x, %w) {equation = "ik,jl->il"} : (tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    %y2 = "onnx.Einsum"(%x, %w) {equation = "...j,jk->...k"} : (tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    %y3 = "onnx.Einsum"(%x, %w) {equation = "ij,kl->ijkl"} : (tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x4x4x5xf32>
    %y4 = "onnx.Einsum"(%x, %u) {equation = "ij,jk->ik"} : (tensor<4x4xf32>, tensor<?x5xf32>) -> tensor<4x5xf32>
    %y5 = "onnx.Einsum"(%x, %w) {equation = "ij,jk"} : (tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    %y6 = "onnx.Einsum"(%x) {equation = "ij->i"} : (tensor<4x4xf32>) -> tensor<4xf32>
    return %y0, %y1, %y2, %y3, %y4, %y5, %y6 : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x4x4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4xf32>
  }
}
