// RUN: amp-test-opt %s --canonicalize | FileCheck %s

// To the same type.

// CHECK-LABEL: func.func @same_type
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
func.func @same_type(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = amp.cast %x : tensor<4xf32> to tensor<4xf32>
  // CHECK-NEXT: return %[[X]]
  return %0 : tensor<4xf32>
}

// There and back through a format that holds every value.

// CHECK-LABEL: func.func @widened_and_back
// CHECK-SAME: %[[X:.*]]: tensor<4xbf16>
func.func @widened_and_back(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = amp.cast %x : tensor<4xbf16> to tensor<4xf32>
  %1 = amp.cast %0 : tensor<4xf32> to tensor<4xbf16>
  // CHECK-NEXT: return %[[X]]
  return %1 : tensor<4xbf16>
}

// On through such a format.

// CHECK-LABEL: func.func @widened_and_on
// CHECK-SAME: %[[X:.*]]: tensor<4xf16>
func.func @widened_and_on(%x: tensor<4xf16>) -> (tensor<4xbf16>, tensor<4xf64>) {
  %0 = amp.cast %x : tensor<4xf16> to tensor<4xf32>
  // CHECK-NEXT: %[[B:.*]] = amp.cast %[[X]] : tensor<4xf16> to tensor<4xbf16>
  %1 = amp.cast %0 : tensor<4xf32> to tensor<4xbf16>
  // CHECK-NEXT: %[[D:.*]] = amp.cast %[[X]] : tensor<4xf16> to tensor<4xf64>
  %2 = amp.cast %0 : tensor<4xf32> to tensor<4xf64>
  // CHECK-NEXT: return %[[B]], %[[D]]
  return %1, %2 : tensor<4xbf16>, tensor<4xf64>
}

// A cast that rounded stays, whatever comes after it.

// CHECK-LABEL: func.func @rounded
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
func.func @rounded(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xbf16>) {
  // CHECK-NEXT: %[[LOW:.*]] = amp.cast %[[X]] : tensor<4xf32> to tensor<4xf16>
  %0 = amp.cast %x : tensor<4xf32> to tensor<4xf16>
  // CHECK-NEXT: %[[UP:.*]] = amp.cast %[[LOW]] : tensor<4xf16> to tensor<4xf32>
  %1 = amp.cast %0 : tensor<4xf16> to tensor<4xf32>
  // CHECK-NEXT: %[[B:.*]] = amp.cast %[[LOW]] : tensor<4xf16> to tensor<4xbf16>
  %2 = amp.cast %0 : tensor<4xf16> to tensor<4xbf16>
  // CHECK-NEXT: return %[[UP]], %[[B]]
  return %1, %2 : tensor<4xf32>, tensor<4xbf16>
}

// float16 and bfloat16 do not hold each other.

// CHECK-LABEL: func.func @incomparable
func.func @incomparable(%x: tensor<4xf16>) -> tensor<4xf16> {
  // CHECK-COUNT-2: amp.cast
  %0 = amp.cast %x : tensor<4xf16> to tensor<4xbf16>
  %1 = amp.cast %0 : tensor<4xbf16> to tensor<4xf16>
  return %1 : tensor<4xf16>
}

// What the lattice does not know is not folded.

// CHECK-LABEL: func.func @unknown_format
func.func @unknown_format(%x: tensor<4xf8E4M3FNUZ>) -> tensor<4xf8E4M3FNUZ> {
  // CHECK-COUNT-2: amp.cast
  %0 = amp.cast %x : tensor<4xf8E4M3FNUZ> to tensor<4xf32>
  %1 = amp.cast %0 : tensor<4xf32> to tensor<4xf8E4M3FNUZ>
  return %1 : tensor<4xf8E4M3FNUZ>
}

// Without an optimizer nothing was unscaled.

// CHECK-LABEL: func.func @update_scale_after_nothing
// CHECK-SAME: %[[S:.*]]: tensor<f32>, %[[T:.*]]: tensor<i32>
func.func @update_scale_after_nothing(%scale: tensor<f32>, %tracker: tensor<i32>) -> (tensor<f32>, tensor<i32>) {
  %0:2 = amp.update_scale safe %scale, %tracker
  // CHECK-NEXT: return %[[S]], %[[T]]
  return %0#0, %0#1 : tensor<f32>, tensor<i32>
}
