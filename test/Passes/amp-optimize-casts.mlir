// RUN: amp-test-opt %s --amp-optimize-casts | FileCheck %s
// RUN: amp-test-opt %s --amp-optimize-casts --amp-optimize-casts | FileCheck %s

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

// What widens sinks below what moves data, and folds there.

// CHECK-LABEL: func.func @sunk
// CHECK-SAME: %[[X:.*]]: tensor<4xf16>
func.func @sunk(%x: tensor<4xf16>) -> (tensor<4xf16>, tensor<4xf32>) {
  %0 = amp.cast %x : tensor<4xf16> to tensor<4xf32>
  // CHECK-NEXT: %[[Y:.*]] = t.transpose %[[X]] : (tensor<4xf16>) -> tensor<4xf16>
  %y = t.transpose %0 {amp.transparent} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[Z:.*]] = t.transpose %[[Y]] : (tensor<4xf16>) -> tensor<4xf16>
  %z = t.transpose %y {amp.transparent} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[W:.*]] = t.transpose %[[Z]] : (tensor<4xf16>) -> tensor<4xf16>
  %w = t.transpose %z {amp.transparent} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[WIDE:.*]] = amp.cast %[[W]]
  %1 = amp.cast %w : tensor<4xf32> to tensor<4xf16>
  // CHECK-NEXT: return %[[W]], %[[WIDE]]
  return %1, %w : tensor<4xf16>, tensor<4xf32>
}

// All operands must be had without a cast: casts of both types, and constants
// that the type has exactly.

// CHECK-LABEL: func.func @operands
// CHECK-SAME: %[[X:.*]]: tensor<4xf16>, %[[Y:.*]]: tensor<4xf16>
func.func @operands(%x: tensor<4xf16>, %y: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = amp.cast %x : tensor<4xf16> to tensor<4xf32>
  %1 = amp.cast %y : tensor<4xf16> to tensor<4xf32>
  // CHECK-NEXT: %[[HALF:.*]] = t.const #amp.rounded<dense<5.000000e-01>{{.*}} : tensor<4xf16>
  // CHECK: %[[BOTH:.*]] = t.gather %[[X]], %[[Y]], %[[HALF]]
  %half = t.const dense<5.000000e-01> : tensor<4xf32>
  %2 = t.gather %0, %1, %half {amp.transparent}
    : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: amp.cast %[[BOTH]]
  return %2, %2 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @inexact
func.func @inexact(%x: tensor<4xf16>) -> tensor<4xf32> {
  %0 = amp.cast %x : tensor<4xf16> to tensor<4xf32>
  %tenth = t.const dense<1.000000e-01> : tensor<4xf32>
  // CHECK: t.gather {{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = t.gather %0, %tenth {amp.transparent} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Not where more bytes would move: the cast is needed in any case, and the
// result is larger than what it was made of.

// CHECK-LABEL: func.func @dearer
func.func @dearer(%x: tensor<4xf16>) -> (tensor<4xf32>, tensor<64xf32>) {
  %0 = amp.cast %x : tensor<4xf16> to tensor<4xf32>
  // CHECK: t.gather {{.*}} : (tensor<4xf32>) -> tensor<64xf32>
  %1 = t.gather %0 {amp.transparent} : (tensor<4xf32>) -> tensor<64xf32>
  return %0, %1 : tensor<4xf32>, tensor<64xf32>
}

// Nor past what nobody says of that it moves data only, nor where the operator
// lacks the type.

// CHECK-LABEL: func.func @opaque
func.func @opaque(%x: tensor<4xf16>, %b: tensor<4xbf16>) -> (tensor<4xf16>, tensor<4xbf16>) {
  %0 = amp.cast %x : tensor<4xf16> to tensor<4xf32>
  // CHECK: t.transpose {{.*}} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = t.transpose %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = amp.cast %1 : tensor<4xf32> to tensor<4xf16>
  %3 = amp.cast %b : tensor<4xbf16> to tensor<4xf32>
  // CHECK: t.conv {{.*}} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = t.conv %3 {amp.transparent} : (tensor<4xf32>) -> tensor<4xf32>
  %5 = amp.cast %4 : tensor<4xf32> to tensor<4xbf16>
  return %2, %5 : tensor<4xf16>, tensor<4xbf16>
}

// A rounding is a fence, the model's and ours: what is read is what was rounded.

// CHECK-LABEL: func.func @fence
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
func.func @fence(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf16>) {
  // CHECK-NEXT: %[[LOW:.*]] = t.cast %[[X]]
  // CHECK-NEXT: %[[UP:.*]] = t.cast %[[LOW]]
  // CHECK-NEXT: %[[Y:.*]] = t.transpose %[[UP]] : (tensor<4xf32>) -> tensor<4xf32>
  %0 = t.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  %1 = t.cast %0 : (tensor<4xf16>) -> tensor<4xf32>
  %2 = t.transpose %1 {amp.transparent} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[OURS:.*]] = amp.cast %[[X]]
  // CHECK-NEXT: %[[Z:.*]] = t.transpose %[[OURS]] : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK-NEXT: return %[[Y]], %[[Z]]
  %3 = amp.cast %x : tensor<4xf32> to tensor<4xf16>
  %4 = amp.cast %3 : tensor<4xf16> to tensor<4xf32>
  %5 = t.transpose %4 {amp.transparent} : (tensor<4xf32>) -> tensor<4xf32>
  %6 = amp.cast %5 : tensor<4xf32> to tensor<4xf16>
  return %2, %6 : tensor<4xf32>, tensor<4xf16>
}

// A cast below gives way to the one that the operand has, if it widens; what
// rounds stays where it is.

// CHECK-LABEL: func.func @hoisted
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf16>
func.func @hoisted(%x: tensor<4xf32>, %y: tensor<4xf16>)
    -> (tensor<4xf16>, tensor<4xf16>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[XLOW:.*]] = amp.cast %[[X]]
  // CHECK-NEXT: %[[XMOVED:.*]] = t.transpose %[[X]] : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[XROUNDED:.*]] = amp.cast %[[XMOVED]]
  %0 = amp.cast %x : tensor<4xf32> to tensor<4xf16>
  %1 = t.transpose %x {amp.transparent} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = amp.cast %1 : tensor<4xf32> to tensor<4xf16>
  // CHECK-NEXT: %[[YUP:.*]] = amp.cast %[[Y]]
  // CHECK-NEXT: %[[YMOVED:.*]] = t.transpose %[[YUP]] : (tensor<4xf32>) -> tensor<4xf32>
  %3 = amp.cast %y : tensor<4xf16> to tensor<4xf32>
  %4 = t.transpose %y {amp.transparent} : (tensor<4xf16>) -> tensor<4xf16>
  %5 = amp.cast %4 : tensor<4xf16> to tensor<4xf32>
  // CHECK-NEXT: return %[[XLOW]], %[[XROUNDED]], %[[YUP]], %[[YMOVED]]
  return %0, %2, %3, %5 : tensor<4xf16>, tensor<4xf16>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @read_between
func.func @read_between(%x: tensor<4xf32>) -> (tensor<4xf16>, tensor<4xf16>, tensor<4xf32>) {
  %0 = amp.cast %x : tensor<4xf32> to tensor<4xf16>
  // CHECK: t.transpose {{.*}} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = t.transpose %x {amp.transparent} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = amp.cast %1 : tensor<4xf32> to tensor<4xf16>
  return %0, %2, %1 : tensor<4xf16>, tensor<4xf16>, tensor<4xf32>
}

// What one branch alone reads is cast there; what a loop reads, before it.

// CHECK-LABEL: func.func @branches
// CHECK-SAME: %[[C:.*]]: tensor<i1>, %[[N:.*]]: tensor<i64>, %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>
func.func @branches(%c: tensor<i1>, %n: tensor<i64>, %x: tensor<4xf32>, %y: tensor<4xf32>) {
  // CHECK-NEXT: %[[YLOW:.*]] = amp.cast %[[Y]]
  // CHECK-NEXT: t.if
  t.if %c : (tensor<i1>) -> () {
    // CHECK-NEXT: %[[XLOW:.*]] = amp.cast %[[X]]
    // CHECK-NEXT: t.loop
    t.loop %n : (tensor<i64>) -> () {
    ^bb0(%i: tensor<i64>):
      // CHECK-NOT: amp.cast
      // CHECK: t.add %[[XLOW]], %[[YLOW]]
      %0 = amp.cast %x : tensor<4xf32> to tensor<4xf16>
      %1 = amp.cast %y : tensor<4xf32> to tensor<4xf16>
      %2 = t.add %0, %1 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
      t.yield
    }
    t.yield
  } else {
    // CHECK: t.relu %[[YLOW]]
    %0 = amp.cast %y : tensor<4xf32> to tensor<4xf16>
    %1 = t.relu %0 : (tensor<4xf16>) -> tensor<4xf16>
    t.yield
  }
  return
}
