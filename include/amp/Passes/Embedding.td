//===- Embedding.td - passes for MLIR's own dialects ------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What another compiler runs before and after `amp-autocast`. Nothing here knows
// ONNX.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_EMBEDDING
#define AMP_PASSES_EMBEDDING

include "mlir/Pass/PassBase.td"

def RegisterModels : Pass<"amp-register-models", "::mlir::ModuleOp"> {
  let summary = "Let MLIR's own dialects implement AutocastOpInterface";
  let description = [{
    Changes nothing in the module: it only makes the context know the models of
    tosa, linalg, scf, tensor, arith and math, as a tool does that calls
    registerForeignAutocastModels(). The plugin's `amp-autocast` begins with it.

    Without these models `amp-autocast` leaves such a module as it is; with them,
    before:

    ```mlir
    %y = tosa.tanh %x : (tensor<2xf16>) -> tensor<2xf16>
    ```

    and after this pass the operation is the same.
  }];
}

def ConvertAMPToTosa : Pass<"amp-to-tosa", "::mlir::ModuleOp"> {
  let summary = "Say with the tosa dialect what the amp dialect says";
  let description = [{
    `amp.cast` becomes `tosa.cast`, by way of f32 between f16 and bf16, which
    TOSA does not convert into each other: that is exact or rounds once.
    Attributes `#amp.rounded` become dense constants.

    Fails for a cast of what is no tensor, and for a rounded constant whose data
    can't be had.

    Before:

    ```mlir
    %low = amp.cast %x : tensor<2xf32> to tensor<2xf16>
    ```

    After:

    ```mlir
    %low = tosa.cast %x : (tensor<2xf32>) -> tensor<2xf16>
    ```
  }];
  let dependentDialects = ["::mlir::tosa::TosaDialect"];
}

def ConvertAMPToArith : Pass<"amp-to-arith", "::mlir::ModuleOp"> {
  let summary = "Say with the arith dialect what the amp dialect says";
  let description = [{
    `amp.cast` becomes `arith.extf` or `arith.truncf` on tensors, both where
    neither type holds the other (f16 and bf16): that rounds once. Attributes
    `#amp.rounded` become dense constants.

    Fails as amp-to-tosa does.

    Before:

    ```mlir
    %low = amp.cast %x : tensor<2xf32> to tensor<2xf16>
    ```

    After:

    ```mlir
    %low = arith.truncf %x : tensor<2xf32> to tensor<2xf16>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // AMP_PASSES_EMBEDDING
