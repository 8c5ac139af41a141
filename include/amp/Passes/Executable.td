//===- Executable.td - passes from ONNX to executables ----*- tablegen -*--===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `onnx-amp compile` runs, in this order, with those of Codegen.td between.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_EXECUTABLE
#define AMP_PASSES_EXECUTABLE

include "mlir/Pass/PassBase.td"

def InlineFunctions : Pass<"onnx-inline-functions", "::mlir::ModuleOp"> {
  let summary = "Replace calls of local functions by their bodies";
  let description = [{
    In the main graph, to any depth; functions that nothing calls any more go.
    Types of what was inlined are inferred again: a function that was called with
    several types had none.

    Fails for functions that call others more than 64 deep, and where more than
    a million nodes would come of it.

    Before:

    ```mlir
    %y = onnx.Call @"d::f"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    ```

    After, if that is how the function is:

    ```mlir
    %y = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    ```
  }];
}

def SpecializeDims : Pass<"amp-specialize-dims", "::mlir::ModuleOp"> {
  let summary = "Give dimensions one size for good";
  let description = [{
    Dimensions of these names, of inputs and of what is named after them, get
    their sizes: the executable is for these alone, and what is planned and
    compiled for fixed sizes is faster.

    Before, with `dims=N=8`:

    ```mlir
    func.func @main(%x: tensor<?x4xf32, #onnx.dims<"N", "">>) -> tensor<?x4xf32, #onnx.dims<"N", "">>
        attributes {onnx.graph = {input = [{name = "x"} ], name = "g", output = [{name = "y"} ]}} {
      return %x : tensor<?x4xf32, #onnx.dims<"N", "">>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32>
        attributes {onnx.graph = {input = [{name = "x"} ], name = "g", output = [{name = "y"} ]}} {
      return %x : tensor<8x4xf32>
    }
    ```
  }];
  let options = [
    ListOption<"dims", "dims", "std::string",
               "Dimensions and their sizes, each NAME=SIZE">,
  ];
}

def PrepareExecutable : Pass<"amp-prepare-executable", "::mlir::ModuleOp"> {
  let summary = "Say what the interface of the executable is";
  let description = [{
    The main graph gets `amprt.signature`: names of inputs and outputs, names of
    dimensions, default values, and, from the metadata `amp.state`, which input
    and output are a state. From here on types have no names of dimensions.

    Fails for inputs that are no tensors, and for a state without an initial
    value or whose type changes.

    Before:

    ```mlir
    func.func @main(%x: tensor<?x4xf32, #onnx.dims<"N", "">>) -> tensor<?x4xf32, #onnx.dims<"N", "">>
        attributes {onnx.graph = {input = [{name = "x"} ], name = "g", output = [{name = "y"} ]}} {
      %y = "onnx.Relu"(%x) {onnx.outputs = ["y"]} : (tensor<?x4xf32, #onnx.dims<"N", "">>) -> tensor<?x4xf32, #onnx.dims<"N", "">>
      return %y : tensor<?x4xf32, #onnx.dims<"N", "">>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32>
        attributes {amprt.signature = {inputs = [{name = "x", symbols = ["N", ""]} ], outputs = [{name = "y"} ], states = []}, onnx.graph = {input = [{name = "x"} ], name = "g", output = [{name = "y"} ]}} {
      %y = "onnx.Relu"(%x) {onnx.outputs = ["y"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
      return %y : tensor<?x4xf32>
    }
    ```
  }];
}

def FuseProducts : Pass<"amp-fuse-products", "::mlir::ModuleOp"> {
  let summary = "Let the library's kernels compute what is around products";
  let description = [{
    MatMul, Gemm, Conv and ConvTranspose become one `amprt.call` together with
    nodes around them, each of which nobody else reads:

    * Transposes of operands that exchange the last two dimensions, also where
      batches are one dimension meanwhile: `transA`, `transB`;
    * a number that multiplies or divides an operand or the result: `alpha`.
      Operands, and what is divided, only by powers of two, which round nothing;
    * BatchNormalization by running statistics, and for convolutions numbers that
      multiply or are added to channels, where these and weights are constants
      that nobody else reads: new weights and a bias, computed in float64 and
      rounded once;
    * tensors that are added: a bias, and then a residual. They are known to
      broadcast to the result; for convolutions, the bias has a number for each
      channel and the residual all dimensions;
    * an activation: Relu, LeakyRelu, Sigmoid, Tanh, Gelu, Swish, Clip by
      constants, HardSigmoid, HardSwish, or the nodes that exporters write for
      one of them. A Reshape of rows may be before it and before sums; it goes
      behind the call.

    MatMul, Softmax and MatMul become a call of "attention", which has no matrix
    of scores, with the scale and masks between them, and with casts and the
    `Where(IsNaN(p), 0, p)` that exporters write for rows in which all is masked:
    these give 0, where the nodes alone would give NaN. Batches are known to be
    equal, and masks to broadcast to scores. Heads that several queries share are
    not repeated; where Transposes make all heads of rows, and rows of the result,
    they vanish.

    Einsum of two operands becomes a MatMul between Transposes and Reshapes,
    where each label occurs once in an operand, and sizes are known to be equal.

    Gradients of convolutions' weights, as `amp-differentiate` writes them,
    become "conv_weight_gradient".

    Numerics: in float32 the operations are the same, but for sums, whose order is
    the kernel's; scale in attention, which multiplies scores; and folded
    normalizations. Results of 16 bits are rounded once, at the end of all that
    is one call, as in the epilogues of cuBLASLt and cuDNN; attention rounds
    neither scores nor weights. With `round-each-node` only Transposes are taken
    where that would be so.

    Before:

    ```mlir
    func.func @main(%x: tensor<?x4xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>) -> tensor<?x3xf32> {
      %t = "onnx.Transpose"(%w) {perm = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
      %h = "onnx.MatMul"(%x, %t) {onnx.name = "dense"} : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
      %s = "onnx.Add"(%h, %b) : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
      %y = "onnx.Relu"(%s) : (tensor<?x3xf32>) -> tensor<?x3xf32>
      return %y : tensor<?x3xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<?x4xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>) -> tensor<?x3xf32> {
      %y = amprt.call "matmul"(%x, %w, %b) {activation = "relu", transB = 1 : i64} {amprt.node = "dense"} : (tensor<?x4xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<?x3xf32>
      return %y : tensor<?x3xf32>
    }
    ```
  }];
  let options = [
    Option<"roundEachNode", "round-each-node", "bool", /*default=*/"false",
      "Round results of 16 bits as often as the nodes do">,
  ];
  let statistics = [
    Statistic<"numProducts", "products", "Products that more is part of">,
    Statistic<"numAttentions", "attentions", "Calls of attention">,
    Statistic<"numEinsums", "einsums", "Einsums that became products">,
    Statistic<"numGradients", "gradients", "Gradients of weights">,
  ];
  let dependentDialects = ["::amp::rt::AMPRTDialect"];
}

def SelectKernels : Pass<"amp-select-kernels", "::mlir::ModuleOp"> {
  let summary = "Choose what runs each node";
  let description = [{
    Every ONNX node becomes operations of the amprt dialect, by the first of its
    candidates that accepts it: a view, control flow, a kernel of the library,
    the nodes by which ONNX defines its operator, one by one. Initializers become
    `amprt.constant`.

    Fails for a node that no candidate accepts: the error says the node, its
    operator and opset, and why.

    Before:

    ```mlir
    %y = "onnx.Gemm"(%x, %w) {transB = 1 : si64} : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
    ```

    After:

    ```mlir
    %y = amprt.call "gemm"(%x, %w) {transB = 1 : i64} : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
    ```
  }];
  let dependentDialects = [
    "::amp::rt::AMPRTDialect", "::mlir::tensor::TensorDialect",
  ];
}

def MarkEntry : Pass<"amp-mark-entry", "::mlir::ModuleOp"> {
  let summary = "Find what depends on dimensions only";
  let description = [{
    Calls of kernels that depend on constants and on dimensions alone get
    `amprt.at_entry`: they run when the dimensions of inputs change, not in each
    step. Such are the lists that Reshape takes its dimensions from. What has
    dimensions that depend on data is not among them, nor what is random, nor
    what is in a branch or a loop.

    Before:

    ```mlir
    %s = amprt.call "shape"(%x) {} : (tensor<?x4xf32>) -> tensor<2xi64>
    %y = amprt.call "reshape"(%z, %s) view {} : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    ```

    After:

    ```mlir
    %s = amprt.call "shape"(%x) {} {amprt.at_entry} : (tensor<?x4xf32>) -> tensor<2xi64>
    %y = amprt.call "reshape"(%z, %s) view {} : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    ```
  }];
}

def ONNXToLinalg : Pass<"onnx-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Turn nodes that compute element by element into loops";
  let description = [{
    Nodes of ai.onnx whose results are arithmetic on elements, along rows or
    over axes, become `linalg.generic` on tensors: elementwise operators,
    activations, reductions, softmax and normalisations, cross entropy. Their
    names go with them, as `amprt.node`. Transpose and Expand go into the maps of
    loops that read them, where rows stay rows.

    Numerics: 16-bit floats are computed with and added up in float32, and each
    node rounds its result once, to the nearest, ties to even.

    Nodes stay, for the library, whose types have no rank, or elements other
    than floats of 16 to 64 bits, integers and bools; that compute a few integers
    of a few (`few-integers`), as of shapes; where it is not known at
    compile time which operand is broadcast (an unknown dimension is read with
    others of its origin or of size 1 only); what is not exact: casts from floats
    to integers, or that would round twice; and functions of float64 that kernels
    do not have: trigonometric ones, powers, the error function.
    Nodes are those of the newest opset.

    Before:

    ```mlir
    func.func @main(%x: tensor<?x4xf16>, %b: tensor<4xf16>) -> tensor<?x4xf16> {
      %y = "onnx.Add"(%x, %b) {onnx.name = "bias"} : (tensor<?x4xf16>, tensor<4xf16>) -> tensor<?x4xf16>
      return %y : tensor<?x4xf16>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<?x4xf16>, %b: tensor<4xf16>) -> tensor<?x4xf16> {
      %c0 = arith.constant 0 : index
      %dim = tensor.dim %x, %c0 : tensor<?x4xf16>
      %empty = tensor.empty(%dim) : tensor<?x4xf16>
      %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
          ins(%x, %b : tensor<?x4xf16>, tensor<4xf16>) outs(%empty : tensor<?x4xf16>) attrs = {amprt.node = "bias"} {
      ^bb0(%in: f16, %bias: f16, %out: f16):
        %0 = arith.extf %in : f16 to f32
        %1 = arith.extf %bias : f16 to f32
        %2 = arith.addf %0, %1 : f32
        %3 = arith.truncf %2 : f32 to f16
        linalg.yield %3 : f16
      } -> tensor<?x4xf16>
      return %y : tensor<?x4xf16>
    }
    ```
  }];
  let options = [
    Option<"fewIntegers", "few-integers", "int64_t", /*default=*/"0",
      "Nodes of integers stay that have no tensor of more elements">,
  ];
  let statistics = [
    Statistic<"numNodes", "nodes", "Nodes that became loops">,
  ];
  let dependentDialects = [
    "::amp::rt::AMPRTDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect",
  ];
}

def PlanMemory : Pass<"amp-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Say which results are made in whose memory";
  let description = [{
    A result of a compiled kernel takes the memory of an operand that nothing
    reads afterwards, where the kernel allows it (`aliases`): `amprt.in_place`.
    The next value of a state is made in the state's own memory when nothing reads
    the present one any more: `amprt.next_state`; so are those that branches
    give, as where an optimizer's step is skipped. What is left is copied at the
    end of a step.

    Where in memory the rest lies is planned when an executable is loaded, for
    the dimensions of inputs may not be known before.

    Before, where `@relu` may take its operand's memory:

    ```mlir
    %h = amprt.call "matmul"(%x, %w) {} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %y = amprt.launch @relu(%h) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    ```

    After:

    ```mlir
    %h = amprt.call "matmul"(%x, %w) {} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %y = amprt.launch @relu(%h) {amprt.in_place = array<i64: 0>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    ```
  }];
  let statistics = [
    Statistic<"numInPlace", "in-place", "Results in the memory of an operand">,
    Statistic<"numStates", "states", "States that are written where they lie">,
  ];
}

#endif // AMP_PASSES_EXECUTABLE
