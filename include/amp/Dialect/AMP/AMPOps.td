//===- AMPOps.td - Operations of the amp dialect ----------*- tablegen -*--===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_AMPOPS
#define AMP_DIALECT_AMP_AMPOPS

include "amp/Dialect/AMP/AMPAttributes.td"
include "amp/Dialect/AMP/AMPBase.td"
include "amp/Dialect/AMP/LossScalingOps.td"
include "amp/Interfaces/AutocastTypeInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// What has float elements for autocast: amp::getFloatElementType().
def AMP_FloatElements : Type<
    CPred<"static_cast<bool>(::amp::getFloatElementType($_self))">,
    "tensor of floats, or a type with AutocastTypeInterface">;

def AMP_CastOp : AMP_Op<"cast", [Pure]> {
  let summary = "change of float format that autocast inserted";
  let description = [{
    Converts every element to another float type, rounding to nearest even where
    the result's format does not hold every value of the operand's. Shape and
    encoding stay.

    Only what autocast inserts is spelled with this operation: a model's own
    casts are someone's rounding, and stay as they are. A cast folds where no
    value changes: to the same type, and of a cast that did not round (f16 to
    f32, and then to f16 or bf16). A cast of a cast that rounded stays.

    Example:

    ```mlir
    %low = amp.cast %x : tensor<4x?xf32> to tensor<4x?xf16>
    ```
  }];
  let arguments = (ins AMP_FloatElements:$input);
  let results = (outs AMP_FloatElements:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($output)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

#endif // AMP_DIALECT_AMP_AMPOPS
