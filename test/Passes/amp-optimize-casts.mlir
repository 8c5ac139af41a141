// RUN: amp-test-opt %s --amp-optimize-casts | FileCheck %s

// The example of the pass.

// CHECK-LABEL: func.func @example
// CHECK-SAME: %[[X:.*]]: tensor<4xf16>
func.func @example(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = amp.cast %x : tensor<4xf16> to tensor<4xf32>
  %1 = amp.cast %0 : tensor<4xf32> to tensor<4xf16>
  // CHECK-NEXT: t.relu %[[X]]
  %y = t.relu %1 : (tensor<4xf16>) -> tensor<4xf16>
  return %y : tensor<4xf16>
}

// Long chains fold to what their first cast read.

// CHECK-LABEL: func.func @chain
// CHECK-SAME: %[[X:.*]]: tensor<4xf16>
func.func @chain(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = amp.cast %x : tensor<4xf16> to tensor<4xf32>
  %1 = amp.cast %0 : tensor<4xf32> to tensor<4xf64>
  %2 = amp.cast %1 : tensor<4xf64> to tensor<4xf32>
  %3 = amp.cast %2 : tensor<4xf32> to tensor<4xf32>
  %4 = amp.cast %3 : tensor<4xf32> to tensor<4xf16>
  // CHECK-NEXT: return %[[X]]
  return %4 : tensor<4xf16>
}

// Our own rounding stays, and so does the model's.

// CHECK-LABEL: func.func @rounding
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
func.func @rounding(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[LOW:.*]] = amp.cast %[[X]] : tensor<4xf32> to tensor<4xf16>
  // CHECK-NEXT: %[[UP:.*]] = amp.cast %[[LOW]] : tensor<4xf16> to tensor<4xf32>
  %0 = amp.cast %x : tensor<4xf32> to tensor<4xf16>
  %1 = amp.cast %0 : tensor<4xf16> to tensor<4xf32>
  // CHECK-NEXT: %[[USERLOW:.*]] = t.cast %[[X]]
  // CHECK-NEXT: %[[USERUP:.*]] = t.cast %[[USERLOW]]
  %2 = t.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  %3 = t.cast %2 : (tensor<4xf16>) -> tensor<4xf32>
  // CHECK-NEXT: return %[[UP]], %[[USERUP]]
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// Casts of one value to one type are one; the first in a region moves out.

// CHECK-LABEL: func.func @merged
// CHECK-SAME: %[[C:.*]]: tensor<i1>, %[[X:.*]]: tensor<4xf32>
func.func @merged(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[XLOW:.*]] = amp.cast %[[X]] : tensor<4xf32> to tensor<4xf16>
  // CHECK-NEXT: %[[Y:.*]] = t.relu %[[X]]
  // CHECK-NEXT: %[[YLOW:.*]] = amp.cast %[[Y]] : tensor<4xf32> to tensor<4xf16>
  // CHECK-NOT: amp.cast
  %y = t.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  t.if %c : (tensor<i1>) -> () {
    // CHECK: t.add %[[XLOW]], %[[YLOW]]
    %0 = amp.cast %x : tensor<4xf32> to tensor<4xf16>
    %1 = amp.cast %y : tensor<4xf32> to tensor<4xf16>
    %2 = t.add %0, %1 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
    t.yield
  } else {
    // CHECK: t.add %[[YLOW]], %[[XLOW]]
    %0 = amp.cast %y : tensor<4xf32> to tensor<4xf16>
    %1 = amp.cast %x : tensor<4xf32> to tensor<4xf16>
    %2 = t.add %0, %1 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
    t.yield
  }
  // CHECK: t.relu %[[XLOW]]
  %3 = amp.cast %x : tensor<4xf32> to tensor<4xf16>
  %4 = t.relu %3 : (tensor<4xf16>) -> tensor<4xf16>
  return %y : tensor<4xf32>
}

// Dead casts go, with what they alone read; dead operations of others stay.

// CHECK-LABEL: func.func @dead
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
func.func @dead(%x: tensor<4xf32>) {
  // CHECK-NEXT: t.relu %[[X]]
  %0 = t.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = amp.cast %0 : tensor<4xf32> to tensor<4xf16>
  %2 = amp.cast %1 : tensor<4xf16> to tensor<4xf32>
  // CHECK-NEXT: return
  return
}
