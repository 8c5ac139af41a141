//===- Codegen.td - passes that make compiled kernels -----*- tablegen -*--===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From linalg on tensors to machine code inside the module, in the order of the
// pipeline. Nothing here knows ONNX.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_CODEGEN
#define AMP_PASSES_CODEGEN

include "mlir/Pass/PassBase.td"

def FuseKernels : Pass<"amp-fuse-kernels", "::mlir::ModuleOp"> {
  let summary = "Group loops into kernels";
  let description = [{
    Every `linalg.generic` goes into a function with `amprt.kernel`, together
    with others, and an `amprt.launch` with the `amprt.node` of the first of them
    takes their place. Groups are made greedily, by the bytes that go through
    memory: what makes a value with what reads it, then what reads the same
    value, then what is so small that a launch is most of it. What may be one
    kernel is said in passes/Codegen/Fuse/KernelShape.h: elementwise operations;
    rows, with reductions along them (softmax is one kernel); sums of columns
    with what they read.

    Before that, views between loops go to their operands and results, and a
    reduction that leaves threads nothing to share, as one to a single number, is
    split into a fixed number of parts. What is cheap is computed again in other
    kernels, where fewer bytes are moved so.

    Before:

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %empty = tensor.empty() : tensor<4xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%x : tensor<4xf32>) outs(%empty : tensor<4xf32>) attrs = {amprt.node = "double"} {
      ^bb0(%in: f32, %out: f32):
        %0 = arith.addf %in, %in : f32
        linalg.yield %0 : f32
      } -> tensor<4xf32>
      %z = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%y : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
      ^bb0(%in: f32, %out: f32):
        %0 = arith.negf %in : f32
        linalg.yield %0 : f32
      } -> tensor<4xf32>
      return %z : tensor<4xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = amprt.launch @kernel(%x) {amprt.node = "double"} : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func private @kernel(%x: tensor<4xf32>) -> tensor<4xf32> attributes {amprt.kernel} {
      %empty = tensor.empty() : tensor<4xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%x : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
      ^bb0(%in: f32, %out: f32):
        %1 = arith.addf %in, %in : f32
        %2 = arith.negf %1 : f32
        linalg.yield %2 : f32
      } -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numKernels", "kernels", "Kernels made">,
    Statistic<"numBytesBefore", "bytes-before",
      "Bytes that loops would move one by one">,
    Statistic<"numBytes", "bytes", "Bytes that kernels move">,
  ];
  let dependentDialects = [
    "::amp::rt::AMPRTDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect",
  ];
}

def CompileKernels : Pass<"amp-compile-kernels", "::mlir::ModuleOp"> {
  let summary = "Compile the bodies of kernels to machine code";
  let description = [{
    Every function with `amprt.kernel` becomes a declaration, and machine code for
    the CPUs in `cpu` goes into the module. Functions whose bodies are equal share
    one function: launches are led to it.

    A compiled function is

    ```c
    void f(void *const *data, const int64_t *sizes, int64_t begin, int64_t end);
    ```

    `data` has a pointer for each argument, then for each result, then, if there
    is any, the thread's scratch memory, aligned to 64 bytes; tensors are dense and
    row-major, aligned to their element. `sizes` holds what `sizes` below lists. It
    computes the iterations [begin, end) of `extent`, which are independent of each
    other.

    After this pass a kernel has the attribute `amprt.compiled`, a dictionary:

    | entry | meaning |
    |---|---|
    | `offsets` | where the function begins in the code of each CPU |
    | `sizes` | the dimensions that it is told: array of [argument, axis] |
    | `extent` | factors whose product is the number of iterations: integers and [argument, axis] |
    | `grain` | iterations that are worth a thread |
    | `dims` | for each result its dimensions, as in `extent`; if one is not known at compile time |
    | `scratch` | bytes of scratch memory for each thread |
    | `aliases` | for each result the arguments in whose memory it may be made; only if no other argument and no other result is in that memory |
    | `bytes`, `operations` | per iteration, for profiles; if known |

    and the module `amprt.code`, an array of dictionaries with `cpu` and `image`:
    position-independent code without relocations, which begins at a page.

    #### What a kernel is

    A function of one block from ranked tensors to ranked tensors. It has
    `linalg.generic` and linalg's named operations that generalize to it,
    `tensor.empty`, `tensor.dim` of arguments, arithmetic on numbers, and
    `tensor.expand_shape` and `tensor.collapse_shape`, which have to vanish: those of
    arguments and results do, others if they fold into a neighbour. Every result
    is computed; none is an argument.

    * Elements are f16, bf16, f32, f64, i1 (a byte, 0 or 1), and i8 to i64 with or
      without a sign; in a body, integers with one are cast to those without by
      `builtin.unrealized_conversion_cast`.
    * Indexing maps have loops and zeros, each loop once. Sizes are static or those
      of arguments.
    * Bodies have operations of arith and math on numbers, `linalg.index`, and
      numbers from outside. No remainder of floats, no power of integers; of f64
      neither fused multiplication nor powf, atan2, asin, acos, cbrt, erf, exp2, sin,
      cos, tan. `whyNotCompilable(op)` in Codegen.h knows. Integers divide by zero
      without a trap; floats beyond an integer's range give no certain integer.
      `fastmath` is ignored, but for `afn` of tanh and erf of f32: within 8 units in
      the last place, in half the time, good enough for results of 16 bits.
    * A result of a generic extends along all of its reduction loops or along none.
      A reduction is one operation of the body on the accumulator (addf, maximumf,
      andi …): then lanes share it. Any other body, such as that of argmax, runs
      one element after the other (when lanes are of another dimension, in all
      lanes).

    Loops of generics are one dimension where one reads what the other wrote, and,
    if that contradicts nothing, where both read the same argument; parts of a
    kernel that have nothing in common share the leading dimensions of their results
    as long as these are equal. Dimensions that are adjacent everywhere are one.
    The kernel's iterations are the *outer* dimensions: parallel wherever they
    occur, part of all results and of all reductions. Within an iteration the other,
    *inner* dimensions run, in as many passes as reductions depend on each other;
    what is between is computed again in each pass or kept in scratch memory, never
    as a whole tensor. So softmax, normalizations, losses along rows and
    their gradients are kernels; so are sums of columns, where columns are outer
    and rows inner.

    A reduction keeps no inner dimension: a kernel cannot give the whole sum
    along with values of rows. A sum that has few outer iterations occupies few
    threads. To divide it, expand the reduced dimension of the argument to a
    constant number of chunks, sum each (`extent` has the chunks), and sum these in
    a second kernel:

    ```mlir
    %c = tensor.expand_shape %x [[0, 1], [2]] output_shape [32, 64, 768] : tensor<2048x768xf32> into tensor<32x64x768xf32>
    // (chunk, row, column) -> (chunk, column), then (chunk, column) -> (column)
    ```

    Numerics: every operation of the body rounds as written, in the order of the
    body: nothing is contracted or reassociated, but for reductions. A reduction
    along the lanes' dimension has 4 times 16 partial results: groups of 64 elements
    go to all, the 16s that are left to the first 16; then these are combined
    pairwise, vectors first, and last with what the reduction starts with. When
    lanes are of an outer dimension, each adds its elements in order. So the order
    depends on the dimensions alone, neither on the CPU nor on the number of
    threads or where pieces begin. Arithmetic of f16 and bf16 is that of f32,
    rounded after each operation: sums should be of f32, by arith.extf in the body.
    Elementary functions are formulas (`Compile/Functions.h`), not the C library's,
    within 2 units in the last place for f32. Denormals are kept. Every CPU gives
    the same bits, but for the payloads of NaNs.

    Example:

    ```mlir
    func.func private @relu(%x: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {amprt.kernel} {…}
    ```

    becomes

    ```mlir
    func.func private @relu(tensor<?x4xf32>) -> tensor<?x4xf32> attributes {amprt.kernel, amprt.compiled = {
        aliases = [[0]], bytes = 8 : i64, extent = [4, [0, 0]], grain = 13120 : i64, offsets = [0], operations = 1 : i64,
        scratch = 0 : i64, sizes = [[0, 0]]}}
    ```
  }];
  let options = [
    ListOption<"cpus", "cpu", "std::string",
      "Kinds of CPU, best last: x86-64-v2, -v3 or -v4, each with +features, or native, the best of these that this machine has (default: x86-64-v3)">,
    Option<"dump", "dump", "std::string", /*default=*/"\"\"",
      "Folder for LLVM IR and assembly of what is compiled">,
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "Kernels compiled">,
    Statistic<"numShared", "shared", "Kernels that are equal to another">,
  ];
}

#endif // AMP_PASSES_CODEGEN
