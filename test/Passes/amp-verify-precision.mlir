// RUN: amp-test-opt %s --split-input-file --verify-diagnostics --amp-verify-precision

func.func @valid(%c: tensor<i1>, %n: tensor<i64>, %x: tensor<4xf16>, %y: tensor<4xf32>) -> tensor<4xf16> {
  %0 = t.add %x, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %1 = t.batch_norm %x, %y, %y : (tensor<4xf16>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf16>
  %2 = t.resize %x, %y : (tensor<4xf16>, tensor<4xf32>) -> tensor<4xf16>
  // Results of one operation with control flow may differ.
  %3:2 = t.if %c : (tensor<i1>) -> (tensor<4xf16>, tensor<4xf32>) {
    t.yield %x, %y : tensor<4xf16>, tensor<4xf32>
  } else {
    t.yield %x, %y : tensor<4xf16>, tensor<4xf32>
  }
  %4:2 = t.loop %n, %x, %y : (tensor<i64>, tensor<4xf16>, tensor<4xf32>) -> (tensor<4xf16>, tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf16>, %t: tensor<4xf32>):
    t.yield %s, %t : tensor<4xf16>, tensor<4xf32>
  }
  %5 = call @callee(%x) : (tensor<4xf16>) -> tensor<4xf16>
  return %5 : tensor<4xf16>
}

func.func private @callee(%x: tensor<4xf16>) -> tensor<4xf16> {
  return %x : tensor<4xf16>
}

// -----

func.func @two_types(%x: tensor<4xf16>, %y: tensor<4xf32>) {
  // expected-error @+1 {{has element types 'f16' and 'f32' in type variable 0}}
  %0 = t.add %x, %y : (tensor<4xf16>, tensor<4xf32>) -> tensor<4xf16>
  return
}

// -----

func.func @result_of_other_type(%x: tensor<4xf16>) {
  // expected-error @+1 {{has element types 'f16' and 'f32' in type variable 0}}
  %0 = t.relu %x : (tensor<4xf16>) -> tensor<4xf32>
  return
}

// -----

func.func @unsupported(%x: tensor<4xbf16>) {
  // expected-error @+1 {{does not admit element type 'bf16' for operand 0}}
  %0 = t.conv %x, %x : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  return
}

// -----

func.func @unsupported_by_branches(%c: tensor<i1>, %x: tensor<4xbf16>) {
  // expected-error @+1 {{does not admit element type 'bf16' for result 0}}
  %0 = t.if %c {no_bf16} : (tensor<i1>) -> tensor<4xbf16> {
    t.yield %x : tensor<4xbf16>
  } else {
    t.yield %x : tensor<4xbf16>
  }
  return
}

// -----

// All of them are reported, not only the first.

func.func @several(%x: tensor<4xf16>, %y: tensor<4xf32>) {
  // expected-error @+1 {{has element types 'f16' and 'f32' in type variable 0}}
  %0 = t.add %x, %y : (tensor<4xf16>, tensor<4xf32>) -> tensor<4xf16>
  // expected-error @+1 {{has element types 'f32' and 'f16' in type variable 0}}
  %1 = t.add %y, %x : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf16>
  return
}

// -----

// What loops stack: the operation's own verifier does not compare it.

func.func @slices(%n: tensor<i64>, %x: tensor<4xf16>) {
  %0 = t.loop %n : (tensor<i64>) -> tensor<?x4xf32> {
  ^bb0(%i: tensor<i64>):
    // expected-error @+1 {{operand 0 has element type 'f16', but flows into a value of 'f32'}}
    t.yield %x : tensor<4xf16>
  }
  return
}
