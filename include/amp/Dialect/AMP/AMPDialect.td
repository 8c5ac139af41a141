//===- AMPDialect.td - The amp dialect --------------------*- tablegen -*--===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_AMPDIALECT
#define AMP_DIALECT_AMP_AMPDIALECT

include "mlir/IR/DialectBase.td"

def AMP_Dialect : Dialect {
  let name = "amp";
  let cppNamespace = "::amp";
  let summary = "What automatic mixed precision adds to a program";
  let description = [{
    Operations and attributes that the passes of this project add to programs of
    other dialects, and that a later pass lowers to those dialects.

    ### Annotations

    `amp-annotate-precision` writes what it decided into discardable attributes,
    `amp-insert-casts` reads nothing else. They can be written by hand.

    | attribute | on | meaning |
    |---|---|---|
    | `amp.precision` | an operation with AutocastOpInterface | array: per type variable the element type it takes, `unit` where it keeps its own |
    | `amp.result_types` | an operation with regions and control flow, a function | array: per result its element type or `unit` |
    | `amp.argument_types` | the same | array: per region an array, per argument of its first block its element type or `unit` |
    | `amp.overflow` | a constant | string `saturate` (the default) or `infinity`: what finite values beyond a narrower format's range become |
    | `amp.compute` | an operation with AutocastOpInterface | string `tf32`: it multiplies numbers rounded to 8 exponent and 10 mantissa bits, although what it reads and writes is float32 |
    | `amp.category` | an operation with AutocastOpInterface | string: the policy's category |
    | `amp.reason` | the same | string: why it runs in the format that it runs in |

    The first four are decisions, and gone after `amp-insert-casts`. `amp.compute`
    is a property of the program from then on, for whatever lowers the operation.
    The last two are for people and reports.
  }];

  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    // Names of the annotations, described above.
    static constexpr ::llvm::StringLiteral kPrecision = "amp.precision";
    static constexpr ::llvm::StringLiteral kResultTypes = "amp.result_types";
    static constexpr ::llvm::StringLiteral kArgumentTypes =
        "amp.argument_types";
    static constexpr ::llvm::StringLiteral kOverflow = "amp.overflow";
    static constexpr ::llvm::StringLiteral kCompute = "amp.compute";
    static constexpr ::llvm::StringLiteral kCategory = "amp.category";
    static constexpr ::llvm::StringLiteral kReason = "amp.reason";
  }];
}

#endif // AMP_DIALECT_AMP_AMPDIALECT
