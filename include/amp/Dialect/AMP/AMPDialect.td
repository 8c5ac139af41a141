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
    | `amp.transparent` | an operation with AutocastOpInterface | unit: it moves data only, and may do so in any format that it admits |
    | `amp.compute` | an operation with AutocastOpInterface | string `tf32`: it multiplies numbers rounded to 8 exponent and 10 mantissa bits, although what it reads and writes is float32 |
    | `amp.category` | an operation with AutocastOpInterface | string: the policy's category |
    | `amp.reason` | the same | string: why it runs in the format that it runs in |
    | `amp.rule` | the same | string: what the policy says of it, where `amp.reason` does not begin with that |
    | `amp.ranges` | an operation | array: per result the largest absolute value, an `f64`, that was measured on calibration data; `unit` where nothing was |
    | `amp.argument_ranges` | a function | array: the same per argument |
    | `amp.keep` | an operation with AutocastOpInterface | string: why it, and all in its regions, keeps its types |
    | `amp.pair` | an operation with AutocastOpInterface | `i64`: operations of one number, a forward operation and what its gradient is made of, run in one format |
    | `amp.parameters` | a function | array of strings: the names of the arguments that are trained, from `amp-make-parameters` on |
    | `amp.micro_batches` | a function | `i64`: how many micro-batches a step averages its gradients over, from `amp-differentiate` to `amp-split-step` |
    | `amp.micro_outputs` | the same | array of strings: the names of the outputs that each micro-batch has, from `amp-accumulate-gradients` to `amp-split-step` |

    The first four are decisions, and gone after `amp-insert-casts`;
    `amp.transparent` goes with `amp-optimize-casts`. `amp.compute`
    is a property of the program from then on, for whatever lowers the operation.
    The next three are for people and reports. The next three come from
    measurements, before `amp-annotate-precision`, which reads them and leaves
    them. `amp.pair` is read there too, and gone after `amp-insert-casts`.
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
    static constexpr ::llvm::StringLiteral kTransparent = "amp.transparent";
    static constexpr ::llvm::StringLiteral kCompute = "amp.compute";
    static constexpr ::llvm::StringLiteral kCategory = "amp.category";
    static constexpr ::llvm::StringLiteral kReason = "amp.reason";
    static constexpr ::llvm::StringLiteral kRule = "amp.rule";
    static constexpr ::llvm::StringLiteral kRanges = "amp.ranges";
    static constexpr ::llvm::StringLiteral kArgumentRanges =
        "amp.argument_ranges";
    static constexpr ::llvm::StringLiteral kKeep = "amp.keep";
    static constexpr ::llvm::StringLiteral kPair = "amp.pair";
    static constexpr ::llvm::StringLiteral kParameters = "amp.parameters";
    static constexpr ::llvm::StringLiteral kMicroBatches = "amp.micro_batches";
    static constexpr ::llvm::StringLiteral kMicroOutputs = "amp.micro_outputs";
  }];
}

#endif // AMP_DIALECT_AMP_AMPDIALECT
