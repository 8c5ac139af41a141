// RUN: amp-test-opt %s --split-input-file --verify-diagnostics

func.func @scale_of_integers(%x: tensor<i32>, %scale: tensor<f32>) {
  // expected-error @+1 {{operand #0 must be tensor of 16-bit float or bfloat16 type or 32-bit float or 64-bit float values, but got 'tensor<i32>'}}
  %0 = amp.scale %x by %scale : tensor<i32> to tensor<f32>
  return
}

// -----

func.func @scaled_in_16_bits(%x: tensor<f16>, %scale: tensor<f32>) {
  // expected-error @+1 {{result #0 must be tensor of 32-bit float or 64-bit float values, but got 'tensor<f16>'}}
  %0 = amp.scale %x by %scale : tensor<f16> to tensor<f16>
  return
}

// -----

func.func @scaled_shape(%x: tensor<1xf16>, %scale: tensor<f32>) {
  // expected-error @+1 {{expects a result of 'tensor<1xf32>', but got 'tensor<f32>'}}
  %0 = amp.scale %x by %scale : tensor<1xf16> to tensor<f32>
  return
}

// -----

func.func @scale_is_no_scalar(%x: tensor<f32>, %scale: tensor<1xf32>) {
  // expected-error @+1 {{operand #1 must be scalar tensor of f32, but got 'tensor<1xf32>'}}
  %0 = "amp.scale"(%x, %scale) : (tensor<f32>, tensor<1xf32>) -> tensor<f32>
  return
}

// -----

func.func @unscale_nothing(%scale: tensor<f32>) {
  // expected-error @+1 {{expects a gradient at least}}
  %0 = "amp.unscale"(%scale) {mode = 0 : i32} : (tensor<f32>) -> tensor<i1>
  return
}

// -----

func.func @unscale_float64(%x: tensor<f64>, %scale: tensor<f32>) {
  // expected-error @+1 {{operand #0 must be variadic of tensor of 16-bit float or bfloat16 type or 32-bit float values, but got 'tensor<f64>'}}
  %0:2 = amp.unscale safe %x by %scale : tensor<f64> to tensor<f32>
  return
}

// -----

func.func @unscaled_shape(%x: tensor<4xf16>, %scale: tensor<f32>) {
  // expected-error @+1 {{expects an unscaled gradient of 'tensor<4xf32>', but got 'tensor<?xf32>'}}
  %0:2 = amp.unscale safe %x by %scale : tensor<4xf16> to tensor<?xf32>
  return
}

// -----

func.func @unscaled_count(%x: tensor<4xf16>, %scale: tensor<f32>) {
  // expected-error @+1 {{expects 2 unscaled gradients, but got 1}}
  %0:2 = amp.unscale safe %x, %x by %scale : tensor<4xf16>, tensor<4xf16> to tensor<4xf32>
  return
}

// -----

func.func @unknown_mode(%x: tensor<4xf16>, %scale: tensor<f32>) {
  // expected-error @+1 {{expected string or keyword containing one of the following enum values for attribute 'mode' [torch, safe]}}
  %0:2 = amp.unscale apex %x by %scale : tensor<4xf16> to tensor<4xf32>
  return
}

// -----

func.func @clip_nothing() {
  // expected-error @+1 {{expects a gradient at least}}
  %0 = "amp.clip_grad_norm"() {max_norm = 1.0 : f64} : () -> tensor<f32>
  return
}

// -----

func.func @clip_to_nothing(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects 'max_norm' to be positive, but got 0.000000e+00 : f64}}
  %0:2 = amp.clip_grad_norm %x to 0.0 : tensor<4xf32>
  return
}

// -----

func.func @clip_with_negative_epsilon(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects 'epsilon' to be 0 or positive, but got -1.000000e+00 : f64}}
  %0:2 = amp.clip_grad_norm %x to 1.0 {epsilon = -1.0 : f64} : tensor<4xf32>
  return
}

// -----

func.func @clipped_type(%x: tensor<4xf32>) {
  // expected-error @+1 {{clipped gradients have the types of the gradients}}
  %0:2 = "amp.clip_grad_norm"(%x) {max_norm = 1.0 : f64} : (tensor<4xf32>) -> (tensor<3xf32>, tensor<f32>)
  return
}

// -----

func.func @guard_yields_too_little(%found: tensor<i1>, %p: tensor<4xf32>) {
  // expected-error @+1 {{expects its region to yield 1 values, but got 0}}
  %0 = amp.guard %found keeps %p : tensor<4xf32> {
    amp.yield
  }
  return
}

// -----

func.func @guard_yields_another_type(%found: tensor<i1>, %p: tensor<4xf32>, %q: tensor<4xf16>) {
  // expected-error @+1 {{expects its region to yield 'tensor<4xf32>' as value 0, but got 'tensor<4xf16>'}}
  %0 = amp.guard %found keeps %p : tensor<4xf32> {
    amp.yield %q : tensor<4xf16>
  }
  return
}

// -----

func.func @guard_yields_another_shape(%found: tensor<i1>, %p: tensor<4xf32>, %q: tensor<3xf32>) {
  // expected-error @+1 {{expects its region to yield 'tensor<4xf32>' as value 0, but got 'tensor<3xf32>'}}
  %0 = amp.guard %found keeps %p : tensor<4xf32> {
    amp.yield %q : tensor<3xf32>
  }
  return
}

// -----

func.func @guard_ends_otherwise(%found: tensor<i1>, %p: tensor<4xf32>) {
  // expected-error @+1 {{expects its region to end with 'amp.yield'}}
  %0 = amp.guard %found keeps %p : tensor<4xf32> {
    t.yield %p : tensor<4xf32>
  }
  return
}

// -----

func.func @yield_elsewhere() {
  // expected-error @+1 {{expects parent op 'amp.guard'}}
  amp.yield
}

// -----

func.func @growth(%scale: tensor<f32>, %tracker: tensor<i32>, %f: tensor<i1>) {
  // expected-error @+1 {{expects 'growth_factor' to be more than 1, but got 1.000000e+00 : f64}}
  %0:2 = amp.update_scale safe %scale, %tracker after %f {growth_factor = 1.0 : f64}
  return
}

// -----

func.func @backoff(%scale: tensor<f32>, %tracker: tensor<i32>, %f: tensor<i1>) {
  // expected-error @+1 {{expects 'backoff_factor' to be between 0 and 1, but got 0.000000e+00 : f64}}
  %0:2 = amp.update_scale safe %scale, %tracker after %f {backoff_factor = 0.0 : f64}
  return
}

// -----

func.func @interval(%scale: tensor<f32>, %tracker: tensor<i32>, %f: tensor<i1>) {
  // expected-error @+1 {{expects 'growth_interval' to be from 1 to 2^31 - 1, but got 0}}
  %0:2 = amp.update_scale safe %scale, %tracker after %f {growth_interval = 0 : i64}
  return
}

// -----

func.func @torch_with_bounds(%scale: tensor<f32>, %tracker: tensor<i32>, %f: tensor<i1>) {
  // expected-error @+1 {{has bounds of the scale in mode 'safe' only}}
  %0:2 = amp.update_scale torch %scale, %tracker after %f {min_scale = 1.0 : f32}
  return
}

// -----

func.func @bounds_crossed(%scale: tensor<f32>, %tracker: tensor<i32>, %f: tensor<i1>) {
  // expected-error @+1 {{expects 2^-126 <= min_scale <= max_scale <= 2^126, but got 2.000000e+00 and 1.000000e+00}}
  %0:2 = amp.update_scale safe %scale, %tracker after %f {min_scale = 2.0 : f32, max_scale = 1.0 : f32}
  return
}
