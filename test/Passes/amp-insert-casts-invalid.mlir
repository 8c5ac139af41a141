// RUN: amp-test-opt %s --split-input-file --verify-diagnostics --amp-insert-casts

// Annotations by hand can contradict each other.

func.func @loop(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has annotations that give 'f32' and 'f16' to values that one operand flows into}}
  %0 = t.loop %n, %x {amp.result_types = [f16]} : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>):
    t.yield %s : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
