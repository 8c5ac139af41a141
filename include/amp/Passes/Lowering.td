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
  ];
}

def ConvertAMPToONNX : Pass<"amp-to-onnx", "::mlir::ModuleOp"> {
  let summary = "Say with ONNX's operators what the amp dialect says";
  let description = [{
    `amp.cast` becomes `onnx.Cast`. The default value of an input whose type has
    changed is rounded to the new type. A local function of another opset than
    the model's gets the model's where a Cast came in that is not the same in
    both, as ONNX wants it, if its other operators are.

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

#endif // AMP_PASSES_LOWERING
