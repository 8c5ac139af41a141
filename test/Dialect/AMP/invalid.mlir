// RUN: amp-test-opt %s --split-input-file --verify-diagnostics

func.func @cast_of_integers(%x: tensor<4xi32>) {
  // expected-error @+1 {{operand #0 must be tensor of floats, or a type with AutocastTypeInterface, but got 'tensor<4xi32>'}}
  %0 = amp.cast %x : tensor<4xi32> to tensor<4xf16>
  return
}

// -----

func.func @cast_of_scalar(%x: f32) {
  // expected-error @+1 {{operand #0 must be tensor of floats, or a type with AutocastTypeInterface, but got 'f32'}}
  %0 = amp.cast %x : f32 to f16
  return
}

// -----

func.func @cast_to_other_shape(%x: tensor<4xf32>) {
  // expected-error @+1 {{changes more than the element type: expects 'tensor<4xf16>', but got 'tensor<?xf16>'}}
  %0 = amp.cast %x : tensor<4xf32> to tensor<?xf16>
  return
}

// -----

func.func @cast_to_other_encoding(%x: tensor<4xf32, "a">) {
  // expected-error @+1 {{changes more than the element type: expects 'tensor<4xf16, "a">', but got 'tensor<4xf16>'}}
  %0 = amp.cast %x : tensor<4xf32, "a"> to tensor<4xf16>
  return
}

// -----

func.func @rounded_integers() {
  // expected-error @+1 {{expects a source tensor of f32 or f64, but got 'tensor<2xi32>'}}
  %0 = t.const #amp.rounded<dense<1> : tensor<2xi32>, saturate> : tensor<2xf16>
  return
}

// -----

func.func @rounded_scalar() {
  // expected-error @+1 {{expects a source tensor of f32 or f64, but got 'f32'}}
  %0 = t.const #amp.rounded<1.0 : f32, saturate> : tensor<2xf16>
  return
}

// -----

func.func @rounded_twice() {
  // expected-error @+1 {{expects a source tensor of f32 or f64, but got 'tensor<f16>'}}
  %0 = t.const #amp.rounded<#amp.rounded<dense<1.0> : tensor<f32>, saturate> : tensor<f16>, saturate> : tensor<bf16>
  return
}

// -----

func.func @rounded_to_f32() {
  // expected-error @+1 {{expects a tensor of f16 or bf16, but got 'tensor<2xf32>'}}
  %0 = t.const #amp.rounded<dense<1.0> : tensor<2xf64>, saturate> : tensor<2xf32>
  return
}

// -----

func.func @rounded_shape() {
  // expected-error @+1 {{expects the shape of its source, 'tensor<2xf32>', but got 'tensor<3xf16>'}}
  %0 = t.const #amp.rounded<dense<1.0> : tensor<2xf32>, saturate> : tensor<3xf16>
  return
}

// -----

func.func @rounded_overflow() {
  // expected-error @+1 {{expects 'saturate' or 'infinity', but got 'wrap'}}
  %0 = t.const #amp.rounded<dense<1.0> : tensor<2xf32>, wrap> : tensor<2xf16>
  return
}

// -----

func.func @precision_is_no_array(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects attribute 'amp.precision' to be an array, but got f16}}
  %0 = t.relu %x {amp.precision = f16} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @precision_of_no_float(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects float types and 'unit' in 'amp.precision', but got i32}}
  %0 = t.relu %x {amp.precision = [i32]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @result_types(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @+1 {{expects 1 element types in 'amp.result_types', but got 2}}
  %0 = t.if %c {amp.result_types = [f16, f16]} : (tensor<i1>) -> tensor<4xf32> {
    t.yield %x : tensor<4xf32>
  } else {
    t.yield %x : tensor<4xf32>
  }
  return
}

// -----

// expected-error @+1 {{expects 1 element types in 'amp.result_types', but got 0}}
func.func @function_result_types(%x: tensor<4xf32>) -> tensor<4xf32> attributes {amp.result_types = []} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{expects 'amp.argument_types' to be an array of 1 arrays, one per region, but got [f16, f16]}}
func.func @argument_types(%x: tensor<4xf32>) attributes {amp.argument_types = [f16, f16]} {
  return
}

// -----

// expected-error @+1 {{expects 1 element types in 'amp.argument_types', but got 2}}
func.func @too_many_argument_types(%x: tensor<4xf32>) attributes {amp.argument_types = [[f16, f16]]} {
  return
}

// -----

// expected-error @+1 {{expects attribute 'amp.argument_types' to be an array, but got f16}}
func.func @argument_types_of_region(%x: tensor<4xf32>) attributes {amp.argument_types = [f16]} {
  return
}

// -----

func.func @overflow() {
  // expected-error @+1 {{expects attribute 'amp.overflow' to be 'saturate' or 'infinity', but got 'wrap'}}
  %0 = t.const dense<1.0> : tensor<f32> {amp.overflow = "wrap"}
  return
}

// -----

func.func @reason(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects attribute 'amp.reason' to be a string, but got 1 : i64}}
  %0 = t.relu %x {amp.reason = 1} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @unknown_attribute(%x: tensor<4xf32>) {
  // expected-error @+1 {{has no attribute 'amp.precisions' in dialect 'amp'}}
  %0 = t.relu %x {amp.precisions = [f16]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @ranges_number(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects 'amp.ranges' to be an array of 1 ranges, but got [1.000000e+00, 2.000000e+00]}}
  %0 = t.relu %x {amp.ranges = [1.0, 2.0]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @ranges_no_array(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects 'amp.ranges' to be an array of 1 ranges, but got 1.000000e+00}}
  %0 = t.relu %x {amp.ranges = 1.0} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @ranges_negative(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects absolute values of type f64 and 'unit' in 'amp.ranges', but got -1.000000e+00}}
  %0 = t.relu %x {amp.ranges = [-1.0]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{expects 'amp.argument_ranges' to be an array of 2 ranges, but got [unit]}}
func.func @argument_ranges_number(%x: tensor<4xf32>, %y: tensor<4xf32>) attributes {amp.argument_ranges = [unit]} {
  return
}

// -----

func.func @argument_ranges_elsewhere(%x: tensor<4xf32>) {
  // expected-error @+1 {{has attribute 'amp.argument_ranges', which is for functions}}
  %0 = t.relu %x {amp.argument_ranges = [1.0]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @keep_no_string(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects attribute 'amp.keep' to be a string, but got unit}}
  %0 = t.relu %x {amp.keep} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @transparent(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects attribute 'amp.transparent' to be 'unit', but got "yes"}}
  %0 = t.relu %x {amp.transparent = "yes"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{expects attribute 'amp.micro_batches' to be a positive i64, but got 0 : i64}}
func.func @no_micro_batch() attributes {amp.micro_batches = 0 : i64} {
  return
}

// -----

// expected-error @+1 {{expects attribute 'amp.micro_outputs' to be an array of strings, but got [1]}}
func.func @outputs_without_names() attributes {amp.micro_outputs = [1]} {
  return
}

// -----

// expected-error @+1 {{expects attribute 'amp.parameters' to be an array of strings, but got "w"}}
func.func @parameters_without_list() attributes {amp.parameters = "w"} {
  return
}

// -----

func.func @pair(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expects 'amp.pair' to be an i64, but got unit}}
  %0 = t.relu %x {amp.pair} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
