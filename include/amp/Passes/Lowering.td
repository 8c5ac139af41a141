//===- Lowering.td - from the amp dialect to others -------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_LOWERING
#define AMP_PASSES_LOWERING

include "mlir/Pass/PassBase.td"

def ConvertAMPToONNX : Pass<"amp-to-onnx", "::mlir::ModuleOp"> {
  let summary = "Say with ONNX's operators what the amp dialect says";
  let description = [{
    `amp.cast` becomes `onnx.Cast`. The default value of an input whose type has
    changed is rounded to the new type.

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
