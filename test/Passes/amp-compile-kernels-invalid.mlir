// RUN: amp-opt %s --amp-compile-kernels --split-input-file --verify-diagnostics
// RUN: not amp-opt %S/amp-compile-kernels.mlir --amp-compile-kernels=cpu=pentium 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not amp-opt %S/amp-compile-kernels.mlir --amp-compile-kernels=cpu=x86-64-v3+mmy 2>&1 | FileCheck %s --check-prefix=FEATURE
// RUN: rm -rf %t && mkdir -p %t/x86-64-v3.0.s
// RUN: not amp-opt %S/amp-compile-kernels.mlir --amp-compile-kernels=dump=%t 2>&1 | FileCheck %s --check-prefix=WRITE
// RUN: not amp-opt %S/amp-compile-kernels.mlir --amp-compile-kernels=dump=/dev/null/folder 2>&1 | FileCheck %s --check-prefix=FOLDER

// CPU: error: unknown CPU "pentium"; known are x86-64-v2, x86-64-v3, x86-64-v4, each with +features, and native
// FEATURE: error: unknown feature "mmy" of CPU "x86-64-v3+mmy"
// WRITE: error: cannot write "{{.*}}/x86-64-v3.0.s"
// FOLDER: error: cannot make the folder "/dev/null/folder": Not a directory

// expected-error@+1 {{kernel @k cannot be compiled: arguments are ranked tensors}}
func.func private @k(%x: f32) -> tensor<f32> attributes {amprt.kernel} {
  %y = tensor.empty() : tensor<f32>
  return %y : tensor<f32>
}

// -----

// expected-error@+1 {{kernel @k cannot be compiled: a kernel has one block}}
func.func private @k(%x: tensor<f32>) -> tensor<f32> attributes {amprt.kernel} {
  cf.br ^next
^next:
  return %x : tensor<f32>
}

// -----

// expected-error@+1 {{kernel @k cannot be compiled: there is nothing to compute}}
func.func private @k(%x: tensor<f32>) -> tensor<f32> attributes {amprt.kernel} {
  return %x : tensor<f32>
}

// -----

func.func private @k(%x: tensor<8xf32>) -> tensor<4xf32> attributes {amprt.kernel} {
  // expected-error@+1 {{kernel @k cannot be compiled: tensor.extract_slice is not supported}}
  %y = tensor.extract_slice %x[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @k(%x: tensor<4xf8E5M2>) -> tensor<4xf8E5M2> attributes {amprt.kernel} {
  %e = tensor.empty() : tensor<4xf8E5M2>
  // expected-error@+1 {{kernel @k cannot be compiled: elements of type f8E5M2 are not supported}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf8E5M2>) outs(%e : tensor<4xf8E5M2>) {
  ^bb0(%in: f8E5M2, %out: f8E5M2):
    %r = arith.negf %in : f8E5M2
    linalg.yield %r : f8E5M2
  } -> tensor<4xf8E5M2>
  return %y : tensor<4xf8E5M2>
}

// -----

func.func private @k(%x: tensor<4xf32>) -> tensor<2x3xf32> attributes {amprt.kernel} {
  %e = tensor.empty() : tensor<2x3xf32>
  // expected-error@+1 {{kernel @k cannot be compiled: index d0 + d1 is neither a loop nor 0}}
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.negf %in : f32
    linalg.yield %r : f32
  } -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {amprt.kernel} {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    // expected-error@+1 {{kernel @k cannot be compiled: arith.remf is not supported}}
    %r = arith.remf %in, %in : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @k(%x: tensor<4xf64>) -> tensor<4xf64> attributes {amprt.kernel} {
  %e = tensor.empty() : tensor<4xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf64>) outs(%e : tensor<4xf64>) {
  ^bb0(%in: f64, %out: f64):
    // expected-error@+1 {{kernel @k cannot be compiled: math.sin of f64 is not supported}}
    %r = math.sin %in : f64
    linalg.yield %r : f64
  } -> tensor<4xf64>
  return %y : tensor<4xf64>
}

// -----

func.func private @k(%x: tensor<4xf64>) -> tensor<4xf64> attributes {amprt.kernel} {
  %e = tensor.empty() : tensor<4xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf64>) outs(%e : tensor<4xf64>) {
  ^bb0(%in: f64, %out: f64):
    // expected-error@+1 {{kernel @k cannot be compiled: math.fma of f64 is not supported}}
    %r = math.fma %in, %in, %in : f64
    linalg.yield %r : f64
  } -> tensor<4xf64>
  return %y : tensor<4xf64>
}

// -----

func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {amprt.kernel} {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    // expected-error@+1 {{kernel @k cannot be compiled: arith.extf of f128 is not supported}}
    %w = arith.extf %in : f32 to f128
    %n = arith.negf %w : f128
    %r = arith.truncf %n : f128 to f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {amprt.kernel} {
  %e = tensor.empty() : tensor<4xf32>
  // expected-error@+1 {{kernel @k cannot be compiled: reads a tensor without elements: tensor.empty}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.addf %in, %out : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @k(%x: tensor<4x3xf32>) -> tensor<4xf32> attributes {amprt.kernel} {
  %e = tensor.empty() : tensor<4xf32>
  // expected-error@+1 {{kernel @k cannot be compiled: result 0 lacks a parallel loop}}
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x3xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.negf %in : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @k(%x: tensor<4x4xf32>) -> tensor<4xf32> attributes {amprt.kernel} {
  %e = tensor.empty() : tensor<4xf32>
  // expected-error@+1 {{kernel @k cannot be compiled: one loop indexes two axes of an operand}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4x4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.negf %in : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @k(%x: tensor<4xf32>) -> tensor<4x4xf32> attributes {amprt.kernel} {
  %e = tensor.empty() : tensor<4x4xf32>
  // expected-error@+1 {{kernel @k cannot be compiled: one loop indexes two axes of a result}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i, i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.negf %in : f32
    linalg.yield %r : f32
  } -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {amprt.kernel} {
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  // expected-error@+1 {{kernel @k cannot be compiled: constants are numbers or have equal elements}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %c : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %k: f32, %out: f32):
    %r = arith.mulf %in, %k : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @k(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {amprt.kernel} {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.negf %in : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  // expected-error@+1 {{kernel @k cannot be compiled: result 1 is not computed}}
  return %y, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func private @k(%x: tensor<?xf32>) -> tensor<f32> attributes {amprt.kernel} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %i = arith.index_cast %n : index to i64
  %d = arith.sitofp %i : i64 to f64
  // expected-error@+1 {{kernel @k cannot be compiled: math.powf of f64 is not supported}}
  %p = math.powf %d, %d : f64
  %s = arith.truncf %p : f64 to f32
  %e = tensor.empty() : tensor<f32>
  %y = linalg.fill ins(%s : f32) outs(%e : tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

// -----

func.func private @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {amprt.kernel} {
  %e = tensor.empty() : tensor<4x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.negf %in : f32
    linalg.yield %r : f32
  } -> tensor<4x4xf32>
  // expected-error@+1 {{kernel @k cannot be compiled: reads an intermediate at two places}}
  %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%y, %y : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4x4xf32>
  return %z : tensor<4x4xf32>
}

// -----

func.func private @k(%x: tensor<4x4xf32>) -> tensor<4xf32> attributes {amprt.kernel} {
  %e = tensor.empty() : tensor<4x4xf32>
  %e1 = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.negf %in : f32
    linalg.yield %r : f32
  } -> tensor<4x4xf32>
  // expected-error@+1 {{kernel @k cannot be compiled: reads one place of an intermediate axis}}
  %z = linalg.generic {indexing_maps = [affine_map<(i) -> (i, 0)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%y : tensor<4x4xf32>) outs(%e1 : tensor<4xf32>) {
  ^bb0(%a: f32, %out: f32):
    %r = arith.negf %a : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

func.func private @k(%x: tensor<?xf32>) -> tensor<?x?xf32> attributes {amprt.kernel} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = arith.addi %n, %n : index
  %e = tensor.empty(%n, %m) : tensor<?x?xf32>
  // expected-error@+1 {{kernel @k cannot be compiled: a dimension cannot be told from arguments'}}
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?xf32>) outs(%e : tensor<?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.negf %in : f32
    linalg.yield %r : f32
  } -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

func.func private @k(%x: tensor<2x3x4xf32>) -> tensor<2x3xf32> attributes {amprt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{kernel @k cannot be compiled: result 0 is along some of the reduction's loops, not all}}
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x : tensor<2x3x4xf32>) outs(%z : tensor<2x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.addf %in, %out : f32
    linalg.yield %r : f32
  } -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

func.func private @k(%x: tensor<8x16xf32>) -> (tensor<8xf32>, tensor<f32>) attributes {amprt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %e0 = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{kernel @k cannot be compiled: keeps a dimension that other operations reduce or that not all results have}}
  %rows = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x16xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.addf %in, %out : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %all = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%rows : tensor<8xf32>) outs(%z0 : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.addf %in, %out : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %rows, %all : tensor<8xf32>, tensor<f32>
}

// -----

func.func private @k(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8xf32>) attributes {amprt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %e2 = tensor.empty() : tensor<8x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  // expected-error@+1 {{kernel @k cannot be compiled: has results beside a reduction that is more than one operation}}
  %y:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x16xf32>) outs(%e2, %z : tensor<8x16xf32>, tensor<8xf32>) {
  ^bb0(%in: f32, %o: f32, %out: f32):
    %r = arith.addf %in, %out : f32
    %n = arith.negf %r : f32
    linalg.yield %in, %n : f32, f32
  } -> (tensor<8x16xf32>, tensor<8xf32>)
  return %y#0, %y#1 : tensor<8x16xf32>, tensor<8xf32>
}

// -----

func.func private @k(%x: tensor<8x4xf32>) -> tensor<4xf32> attributes {amprt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32xf32>
  %e1 = tensor.empty() : tensor<4xf32>
  %f = tensor.collapse_shape %x [[0, 1]] : tensor<8x4xf32> into tensor<32xf32>
  // expected-error@+1 {{kernel @k cannot be compiled: a reshape between operations cannot be removed}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%f : tensor<32xf32>) outs(%e : tensor<32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = linalg.index 0 : index
    %m = arith.index_cast %n : index to i64
    %q = arith.sitofp %m : i64 to f32
    %r = arith.addf %in, %q : f32
    linalg.yield %r : f32
  } -> tensor<32xf32>
  %g = tensor.expand_shape %y [[0, 1]] output_shape [8, 4] : tensor<32xf32> into tensor<8x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%g : tensor<8x4xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = linalg.index 0 : index
    %m = arith.index_cast %n : index to i64
    %q = arith.sitofp %m : i64 to f32
    %w = arith.mulf %in, %q : f32
    %r = arith.addf %w, %out : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

// expected-error@+1 {{kernel @k cannot be compiled: the number of iterations is no product of the arguments' dimensions}}
func.func private @k(%x: tensor<?xf32>) -> tensor<?xf32> attributes {amprt.kernel} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %q = arith.divui %n, %c4 : index
  %c = tensor.expand_shape %x [[0, 1]] output_shape [%q, 4] : tensor<?xf32> into tensor<?x4xf32>
  %e = tensor.empty(%q) : tensor<?xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%c : tensor<?x4xf32>) outs(%z : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.addf %in, %out : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// expected-error@+1 {{kernel @k cannot be compiled: a dimension of a result is not that of an argument}}
func.func private @k(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {amprt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %m = tensor.dim %x, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%n, %m) : tensor<?x?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.negf %in : f32
    linalg.yield %r : f32
  } -> tensor<?x?xf32>
  %z = tensor.collapse_shape %y [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  return %z : tensor<?xf32>
}
