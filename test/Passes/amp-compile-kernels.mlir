// RUN: amp-opt %s --amp-compile-kernels | FileCheck %s
// RUN: amp-opt %s --amp-compile-kernels="cpu=x86-64-v2,x86-64-v4+avx512bf16" | FileCheck %s --check-prefix=CPUS
// RUN: amp-opt %s --amp-compile-kernels="cpu=native dump=%t" | FileCheck %s --check-prefix=NATIVE
// RUN: cat %t/*.s > %t/native.s
// RUN: FileCheck %s --check-prefix=ASSEMBLY --input-file=%t/native.s

// CHECK: module attributes {amprt.code = [{cpu = "x86-64-v3", image = dense<"0x{{[0-9A-F]+}}"> : tensor<{{[0-9]+}}xi8>}]}
// CPUS: amprt.code = [{cpu = "x86-64-v2", image = dense<{{.*}}>{{.*}}}, {cpu = "x86-64-v4+avx512bf16", image = dense<
// NATIVE: amprt.code = [{cpu = "x86-64-v{{[234]}}"
// ASSEMBLY-NOT: call

// Adjacent dimensions are one, of which the lanes are; a result may take its
// operand's memory.
// CHECK-LABEL: func.func private @relu(tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-SAME: amprt.compiled = {aliases = {{\[\[}}0]], bytes = 8 : i64, dims = {{\[\[\[}}0, 0], 4]], extent = [4, [0, 0]], grain = {{[0-9]+}} : i64,
// CHECK-SAME: offsets = [0], operations = 1 : i64, scratch = 0 : i64, sizes = {{\[\[}}0, 0]]}, amprt.kernel
// CPUS: offsets = [0, 0]
func.func private @relu(%x: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {amprt.kernel} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x4xf32>
  %empty = tensor.empty(%d) : tensor<?x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x4xf32>) outs(%empty : tensor<?x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %max = arith.maximumf %in, %zero : f32
    linalg.yield %max : f32
  } -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// Equal to @relu but for names.
// CHECK-NOT: @rectifier
func.func private @rectifier(%a: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {amprt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %a, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %o = arith.maximumf %p, %zero : f32
    linalg.yield %o : f32
  } -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}

// Rows of a cluster are iterations. What is exponentiated is kept: 100 floats.
// CHECK-LABEL: func.func private @softmax
// CHECK-SAME: aliases = {{\[\[}}0]], {{.*}}extent = [8], {{.*}}scratch = {{[1-9][0-9]*}} : i64, sizes = []
func.func private @softmax(%x: tensor<8x100xf32>) -> tensor<8x100xf32> attributes {amprt.kernel} {
  %low = arith.constant 0xff800000 : f32
  %zero = arith.constant 0.0 : f32
  %row = tensor.empty() : tensor<8xf32>
  %all = tensor.empty() : tensor<8x100xf32>
  %lows = linalg.fill ins(%low : f32) outs(%row : tensor<8xf32>) -> tensor<8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%row : tensor<8xf32>) -> tensor<8xf32>
  %max = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x100xf32>) outs(%lows : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.maximumf %in, %out : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %e = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %max : tensor<8x100xf32>, tensor<8xf32>) outs(%all : tensor<8x100xf32>) {
  ^bb0(%in: f32, %m: f32, %out: f32):
    %d = arith.subf %in, %m : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<8x100xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%e : tensor<8x100xf32>) outs(%zeros : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.addf %in, %out : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%e, %sum : tensor<8x100xf32>, tensor<8xf32>) outs(%all : tensor<8x100xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %r = arith.divf %in, %s : f32
    linalg.yield %r : f32
  } -> tensor<8x100xf32>
  return %y : tensor<8x100xf32>
}

// Columns are iterations; a number of another type of the same width may not be
// where the operand is if places differ.
// CHECK-LABEL: func.func private @columns
// CHECK-SAME: aliases = {{\[\[}}]], {{.*}}extent = [1, [0, 1]], {{.*}}sizes = {{\[\[}}0, 0], [0, 1]]
func.func private @columns(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {amprt.kernel} {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c1 : tensor<?x?xf32>
  %empty = tensor.empty(%d) : tensor<?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
                         iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<?x?xf32>) outs(%zeros : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.addf %in, %out : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %sum : tensor<?xf32>
}

// A sum in chunks. The reshape is another way to count an argument's elements.
// CHECK-LABEL: func.func private @chunks
// CHECK-SAME: extent = [32],
func.func private @chunks(%x: tensor<2048xbf16>) -> tensor<32xf32> attributes {amprt.kernel} {
  %zero = arith.constant 0.0 : f32
  %c = tensor.expand_shape %x [[0, 1]] output_shape [32, 64] : tensor<2048xbf16> into tensor<32x64xbf16>
  %empty = tensor.empty() : tensor<32xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<32xf32>) -> tensor<32xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%c : tensor<32x64xbf16>) outs(%zeros : tensor<32xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %w = arith.extf %in : bf16 to f32
    %r = arith.addf %w, %out : f32
    linalg.yield %r : f32
  } -> tensor<32xf32>
  return %sum : tensor<32xf32>
}

// CHECK-LABEL: func.func @main
// CHECK: amprt.launch @relu
// CHECK: amprt.launch @relu
func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = amprt.launch @relu(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %z = amprt.launch @rectifier(%y) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %z : tensor<?x4xf32>
}
