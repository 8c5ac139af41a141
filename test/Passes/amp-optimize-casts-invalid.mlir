// RUN: not amp-test-opt %s --amp-optimize-casts="dim=N=0" 2>&1 | FileCheck %s

// CHECK: error: expects a dimension as NAME=SIZE with a size of 1 or more, but got 'N=0'
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
