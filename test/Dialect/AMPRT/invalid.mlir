// RUN: amp-opt %s --split-input-file --verify-diagnostics

func.func @indices_out_of_order(%x: tensor<f32>, %y: tensor<f32>) {
  // expected-error @+1 {{expects inputs to be indices in order, or -1, but got 1}}
  %0 = amprt.call "add"(%x, %y) inputs [1, 0] {} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @too_few_indices(%x: tensor<f32>, %y: tensor<f32>) {
  // expected-error @+1 {{expects inputs to name all 2, but got 1}}
  %0 = amprt.call "add"(%x, %y) inputs [0] {} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @nobody(%x: tensor<f32>) {
  // expected-error @+1 {{expects a function, but got @no}}
  %0 = amprt.launch @no(%x) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func private @f(tensor<f32>) -> tensor<f32>
func.func @another_type(%x: tensor<2xf32>) {
  // expected-error @+1 {{expects operands and results as of '(tensor<f32>) -> tensor<f32>', but got '(tensor<2xf32>) -> tensor<f32>'}}
  %0 = amprt.launch @f(%x) : (tensor<2xf32>) -> tensor<f32>
  return
}

// -----

func.func @other_elements(%x: tensor<2xf32>) {
  // expected-error @+1 {{expects elements of 'f32', but got 'f16'}}
  %0 = amprt.view %x : (tensor<2xf32>) -> tensor<2xf16>
  return
}

// -----

func.func @more_elements(%x: tensor<2xf32>) {
  // expected-error @+1 {{expects 2 elements, but got 3}}
  %0 = amprt.view %x : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @two_unknown(%x: tensor<?xf32>) {
  // expected-error @+1 {{expects one unknown dimension at most, but got 'tensor<?x?xf32>'}}
  %0 = amprt.view %x : (tensor<?xf32>) -> tensor<?x?xf32>
  return
}
