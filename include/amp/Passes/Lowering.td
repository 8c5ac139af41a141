//===- Lowering.td - passes on the onnx dialect ----------*-- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_LOWERING
#define AMP_PASSES_LOWERING

include "mlir/Pass/PassBase.td"

def InferTypes : Pass<"onnx-infer-types", "::mlir::ModuleOp"> {
  let summary = "Types and shapes of values, by the schemas of ONNX's operators";
  let description = [{
    Runs the inference functions of ONNX's schemas over the operations: types
    that are `!onnx.unknown` become known and, unless `shapes=false`, tensors get
    the dimensions that follow from their operands' and from constants, `Shape`
    and the arithmetic on what it gives. Dimensions that are known already stay,
    and so do the types of what a graph returns, which it declares itself: the
    export is the same as without this pass.

    Before:

    ```mlir
    %y = "onnx.MatMul"(%x, %w)
      : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<*xf32>
    ```

    After:

    ```mlir
    %y = "onnx.MatMul"(%x, %w)
      : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    ```
  }];
  let options = [
    Option<"shapes", "shapes", "bool", /*default=*/"true",
           "Infer dimensions too, not only element types">,
    Option<"corrects", "correct", "bool", /*default=*/"false",
           "Forget what the model declares of what nodes make: only dimensions that follow are trusted">,
  ];
}

def RaiseOpset : Pass<"onnx-raise-opset", "::mlir::ModuleOp"> {
  let summary = "Read the model with a later opset where the low format needs it";
  let description = [{
    Operators have gained types over time: Conv takes bfloat16 from opset 22 on.
    Where an operator that the policy allows to be low does not admit the low
    format, the model and its functions are rewritten for the first opset where
    all such operators do, or as many as can be had. Every other node is made to
    mean what it meant: attributes that became inputs become inputs, defaults
    that changed are written out. Where that can't be for some node, or the
    opset would be beyond `max-opset`, an earlier opset is tried, and a warning
    names the first node that stood in the way.

    Before, with `low=bf16`, in a model of opset 17:

    ```mlir
    %y = "onnx.Conv"(%x, %w)
      : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
    %z = "onnx.ReduceMean"(%y) {axes = array<i64: 2, 3>}
      : (tensor<1x1x4x4xf32>) -> tensor<1x1x1x1xf32>
    ```

    After, in a model of opset 22:

    ```mlir
    %y = "onnx.Conv"(%x, %w)
      : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
    %axes = "onnx.Constant"()
      <{value = #onnx.tensor<dense<[2, 3]> : tensor<2xi64>> : tensor<2xi64>}> : () -> tensor<2xi64>
    %z = "onnx.ReduceMean"(%y, %axes)
      : (tensor<1x1x4x4xf32>, tensor<2xi64>) -> tensor<1x1x1x1xf32>
    ```
  }];
  let dependentDialects = ["::amp::onnx::ONNXDialect"];
  let options = [
    Option<"low", "low", "std::string", /*default=*/"",
           "Low format, fp16, bf16 or tf32 (default: the policy's, else fp16)">,
    Option<"policy", "policy", "std::string", /*default=*/"\"inference\"",
           "Name of a preset, or path of a policy file">,
    Option<"minOpset", "min-opset", "int64_t", /*default=*/"0",
           "Raise to this opset at least, or fail">,
    Option<"preferredOpset", "preferred-opset", "int64_t", /*default=*/"0",
           "Raise to this opset at least, if that can be">,
    Option<"maxOpset", "max-opset", "int64_t", /*default=*/"0",
           "The latest opset to raise to (default: the latest that is known)">,
    ListOption<"keepOps", "keep-op", "std::string",
               "Operators that keep their types">,
    ListOption<"keepNodes", "keep-node", "std::string",
               "Regular expressions on the names of nodes that keep their types">,
  ];
  let statistics = [
    Statistic<"numUpgraded", "upgraded", "Nodes whose operator changed">,
  ];
}

def MergeCasts : Pass<"onnx-merge-casts", "::mlir::ModuleOp"> {
  let summary = "Merge amp.cast with the model's own Cast where no value changes";
  let description = [{
    A Cast to float32 that is read through one `amp.cast` alone converts to the
    low format itself, if that is the same: from float32, from the low format,
    and from integers where rounding once is rounding twice (always in float16;
    in bfloat16 up to 16 bits). A Cast of what an `amp.cast` widened for it, to
    an integer or to float32 or float64, reads that itself. The model's nodes and values stay, under their
    names; a Cast that rounds stays the rounding that it was.

    Before:

    ```mlir
    %0 = "onnx.Cast"(%i) <{to = 1 : i64}> : (tensor<4xi64>) -> tensor<4xf32>
    %1 = amp.cast %0 : tensor<4xf32> to tensor<4xf16>
    ```

    After:

    ```mlir
    %0 = "onnx.Cast"(%i) <{to = 10 : i64}> : (tensor<4xi64>) -> tensor<4xf16>
    ```
  }];
  let statistics = [
    Statistic<"numMerged", "merged", "Casts merged with the model's">,
  ];
}

def ConvertAMPToONNX : Pass<"amp-to-onnx", "::mlir::ModuleOp"> {
  let summary = "Say with ONNX's operators what the amp dialect says";
  let description = [{
    `amp.cast` becomes `onnx.Cast`. The default value of an input whose type has
    changed is rounded to the new type. A local function of another opset than
    the model's gets the model's where a Cast came in that is not the same in
    both, as ONNX wants it, if its other operators are. Copies of a local
    function `f` are named `f_amp1`, `f_amp2` and so on.

    Loss scaling becomes arithmetic of opset 13 or later, and `If`, whatever
    happens in a step: nothing is left to the program around the model. Each
    rounding is the one that the operation's description names. `amp.guard` is
    an `If` whose one branch gives the old state.

    Before:

    ```mlir
    %low = amp.cast %x : tensor<2xf32> to tensor<2xf16>
    ```

    After:

    ```mlir
    %low = "onnx.Cast"(%x) <{to = 10 : i64}> : (tensor<2xf32>) -> tensor<2xf16>
    ```
  }];
  let dependentDialects = ["::amp::onnx::ONNXDialect"];
}

def Widen : Pass<"onnx-widen", "::mlir::ModuleOp"> {
  let summary = "Compute in float32 what computes in 16 bits (keeps roundings)";
  let description = [{
    Every node that reads or gives float16 or bfloat16 runs in float32: its
    operands are cast up, its results are cast down to the format that they
    were stored in, and each of these casts is there. So a runtime that has no
    kernels for a format, or hides its overflows in the registers of float32,
    gives the results of a device that computes in float32 and stores 16 bits.
    The rounded result has the name that the value had.

    `Cast` stays, and so do constants, nodes with subgraphs (what is inside is
    widened), values that are no tensors, and operators without a schema.

    With `interface`, inputs and outputs of the model in 16 bits are float32,
    and rounded inside: NumPy has no bfloat16.

    Before:

    ```mlir
    %y = "onnx.Exp"(%x) : (tensor<2xf16>) -> tensor<2xf16>
    ```

    After:

    ```mlir
    %0 = "onnx.Cast"(%x) <{to = 1 : i64}> : (tensor<2xf16>) -> tensor<2xf32>
    %1 = "onnx.Exp"(%0) : (tensor<2xf32>) -> tensor<2xf32>
    %y = "onnx.Cast"(%1) <{to = 10 : i64}> : (tensor<2xf32>) -> tensor<2xf16>
    ```
  }];
  let options = [
    Option<"interface", "interface", "bool", /*default=*/"false",
           "Inputs and outputs of the model become float32, too">,
  ];
  let statistics = [
    Statistic<"numWidened", "widened", "Nodes that compute in float32 now">,
  ];
}

#endif // AMP_PASSES_LOWERING
