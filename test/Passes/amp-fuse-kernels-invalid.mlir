// RUN: amp-opt --amp-fuse-kernels --split-input-file --verify-diagnostics %s

#map = affine_map<(i) -> (i)>

func.func @captured(%x: tensor<4xf32>, %i: tensor<f32>) -> tensor<4xf32> {
  // expected-error@below {{expected loops to read tensors and what is computed of their dimensions, but got 'f32'}}
  %number = tensor.extract %i[] : tensor<f32>
  %empty = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %number : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

#map = affine_map<(i) -> (i)>

func.func @axis(%x: tensor<?xf32>, %i: index) -> tensor<?xf32> {
  // expected-error@below {{'tensor.dim' op expects a constant axis}}
  %dim = tensor.dim %x, %i : tensor<?xf32>
  %empty = tensor.empty(%dim) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%empty : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
