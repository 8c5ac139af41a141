// RUN: amp-opt --amp-fuse-kernels --split-input-file %s | FileCheck %s

#map = affine_map<(i) -> (i)>

// CHECK-LABEL: func @main
// CHECK-NEXT: %[[Y:.*]] = amprt.launch @[[KERNEL:.*]](%arg0) {amprt.node = "double"}
// CHECK-NEXT: return %[[Y]]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %empty = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%empty : tensor<4xf32>) attrs = {amprt.node = "double"} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %z = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%y : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %z : tensor<4xf32>
}
// CHECK: func private @[[KERNEL]](%{{.*}}: tensor<4xf32>) -> tensor<4xf32> attributes {amprt.kernel}
// CHECK: arith.addf
// CHECK: arith.negf
// CHECK: return

// -----

#map = affine_map<(i) -> (i)>

// No kernel is made of what something else stands between.
// CHECK-LABEL: func @between
// CHECK: %[[Y:.*]] = amprt.launch
// CHECK: %[[Z:.*]] = amprt.call "sort"(%[[Y]])
// CHECK: amprt.launch @{{.*}}(%[[Y]], %[[Z]])
func.func @between(%x: tensor<4xf32>) -> tensor<4xf32> {
  %empty = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %z = amprt.call "sort"(%y) {} : (tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
      ins(%y, %z : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

#map = affine_map<(i) -> (i)>
#scalar = affine_map<(i) -> ()>

// A sum of much is one of 64 parts, then one of these.
// CHECK-LABEL: func @sum
// CHECK-NEXT: %[[PARTS:.*]] = amprt.view %arg0 : (tensor<1048576xf32>) -> tensor<64x16384xf32>
// CHECK-NEXT: %[[PART:.*]] = amprt.launch @{{.*}}(%[[PARTS]]) {amprt.node = "sum"} : (tensor<64x16384xf32>) -> tensor<64xf32>
// CHECK-NEXT: amprt.launch @{{.*}}(%[[PART]]) {amprt.node = "sum"} : (tensor<64xf32>) -> tensor<f32>
func.func @sum(%x: tensor<1048576xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %y = linalg.generic {indexing_maps = [#map, #scalar], iterator_types = ["reduction"]}
      ins(%x : tensor<1048576xf32>) outs(%init : tensor<f32>) attrs = {amprt.node = "sum"} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}

// -----

#map = affine_map<(i, j) -> (i, j)>
#scalar = affine_map<(i, j) -> ()>

// Rows are parts.
// CHECK-LABEL: func @rows
// CHECK: amprt.launch {{.*}} : (tensor<?x768xf32>) -> tensor<?xf32>
// CHECK: amprt.launch {{.*}} : (tensor<?xf32>) -> tensor<f32>
func.func @rows(%x: tensor<?x768xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %y = linalg.generic {indexing_maps = [#map, #scalar], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<?x768xf32>) outs(%init : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}

// -----

#flat = affine_map<(i, j) -> (i, j)>
#cube = affine_map<(i, j, k) -> (i, j, k)>

// A view between loops is none.
// CHECK-LABEL: func @view
// CHECK: amprt.launch
// CHECK-NOT: amprt.launch
// CHECK: return
func.func @view(%x: tensor<1024x96xf32>) -> tensor<64x16x96xf32> {
  %empty = tensor.empty() : tensor<1024x96xf32>
  %y = linalg.generic {indexing_maps = [#flat, #flat], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1024x96xf32>) outs(%empty : tensor<1024x96xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %in : f32
    linalg.yield %0 : f32
  } -> tensor<1024x96xf32>
  %v = amprt.view %y : (tensor<1024x96xf32>) -> tensor<64x16x96xf32>
  %other = tensor.empty() : tensor<64x16x96xf32>
  %z = linalg.generic {indexing_maps = [#cube, #cube], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v : tensor<64x16x96xf32>) outs(%other : tensor<64x16x96xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<64x16x96xf32>
  return %z : tensor<64x16x96xf32>
}

// -----

#map = affine_map<(i) -> (i)>

// Branches have kernels of their own.
// CHECK-LABEL: func @branch
// CHECK: amprt.if
// CHECK-NEXT: amprt.launch
// CHECK-NEXT: amprt.yield
func.func @branch(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = amprt.if %c : (tensor<i1>) -> tensor<4xf32> {
    %empty = tensor.empty() : tensor<4xf32>
    %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
        ins(%x : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %1 = arith.negf %in : f32
      linalg.yield %1 : f32
    } -> tensor<4xf32>
    amprt.yield %0 : tensor<4xf32>
  } else {
    amprt.yield %x : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

#map = affine_map<(i) -> (i)>

// What is computed twice is computed once.
// CHECK-LABEL: func @twice
// CHECK-NEXT: %[[Y:.*]] = amprt.launch
// CHECK-NEXT: return %[[Y]], %[[Y]]
func.func @twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %empty = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%empty : tensor<4xf32>) attrs = {amprt.node = "one"} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %z = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%empty : tensor<4xf32>) attrs = {amprt.node = "other"} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// -----

#map = affine_map<() -> ()>

// A number is made of a dimension of what is no loop's: a kernel's argument.
// CHECK-LABEL: func @count
// CHECK-NEXT: amprt.launch @[[KERNEL:.*]](%arg0, %arg1) : (tensor<f32>, tensor<?xf32>) -> tensor<f32>
// CHECK: func private @[[KERNEL]](%[[X:.*]]: tensor<f32>, %[[V:.*]]: tensor<?xf32>)
// CHECK: tensor.dim %[[V]]
func.func @count(%x: tensor<f32>, %v: tensor<?xf32>) -> tensor<f32> {
  %zero = arith.constant 0 : index
  %dim = tensor.dim %v, %zero : tensor<?xf32>
  %empty = tensor.empty() : tensor<f32>
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = []}
      ins(%x : tensor<f32>) outs(%empty : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.index_cast %dim : index to i64
    %1 = arith.sitofp %0 : i64 to f32
    %2 = arith.divf %in, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}
