//===- AMPAttributes.td - Attributes of the amp dialect ---*- tablegen -*--===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_AMPATTRIBUTES
#define AMP_DIALECT_AMP_AMPATTRIBUTES

include "amp/Dialect/AMP/AMPDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

def AMP_RoundedAttr : AttrDef<AMP_Dialect, "Rounded", [TypedAttrInterface]> {
  let mnemonic = "rounded";
  let summary = "a constant rounded to a narrower format when it is read";
  let description = [{
    The tensor `source`, rounded to nearest even to the element type of this
    attribute's own type. Signs, infinities and NaNs are kept. What finite
    values beyond the range become is said by `overflow`: `infinity`, as IEEE 754
    rounds, or `saturate`, the largest finite value.

    Nothing is computed before someone reads the values (see
    amp/Dialect/AMP/ConstantData.h), so that weights of gigabytes can be
    converted while they are written. The source is a DenseElementsAttr, a
    DenseResourceElementsAttr, or any attribute of a tensor type that the reader
    knows.

    Example:

    ```mlir
    #amp.rounded<dense<[1.0, 1.0e+10]> : tensor<2xf32>, saturate> : tensor<2xf16>
    ```
  }];
  let parameters = (ins
    "::mlir::TypedAttr":$source,
    "::amp::Overflow":$overflow,
    AttributeSelfTypeParameter<"">:$type
  );
  let builders = [
    AttrBuilderWithInferredContext<(ins "::mlir::TypedAttr":$source,
                                        "::amp::Overflow":$overflow,
                                        "::mlir::FloatType":$elementType)>
  ];
  let assemblyFormat = "`<` $source `,` custom<Overflow>($overflow) `>`";
  let genVerifyDecl = 1;
}

#endif // AMP_DIALECT_AMP_AMPATTRIBUTES
