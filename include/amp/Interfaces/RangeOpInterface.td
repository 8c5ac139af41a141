//===- RangeOpInterface.td - what is known of values -----*- tablegen -*--===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_INTERFACES_RANGEOPINTERFACE
#define AMP_INTERFACES_RANGEOPINTERFACE

include "mlir/IR/OpBase.td"

def RangeOpInterface : OpInterface<"RangeOpInterface"> {
  let description = [{
    An operation that says what it does to the ranges of values. The precision
    analysis asks for three things:

    - bounds, which are proved: a softmax is in [0, 1];
    - moments, an estimate, from constants that hold statistics of data: what a
      batch normalization gives has the mean and the deviation that its
      parameters say;
    - where errors count: a normalization that takes away a mean much larger
      than the deviation, a decision that turns a small difference into 0 or 1.

    Of an operation without this interface nothing is known but the types of
    its results. Constants are read through AutocastOpInterface, and control
    flow as there.
  }];
  let cppNamespace = "::amp";

  let methods = [
    InterfaceMethod<[{
        Narrows the bounds of each result, given those of each operand. Results
        come with what their element types say.
      }],
      "void", "inferRanges",
      (ins "::llvm::ArrayRef<::amp::Interval>":$operands,
           "::llvm::MutableArrayRef<::amp::Interval>":$results), [{}],
      [{ return; }]>,
    InterfaceMethod<[{
        Estimates the moments of the first result. Both functions take time:
        they should be asked for what is needed.
      }],
      "::std::optional<::amp::Moments>", "inferMoments",
      (ins "::amp::MomentsOf":$momentsOf, "::amp::ElementsOf":$elementsOf),
      [{}], [{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
        Returns what the operation does to its first operand, if that is a
        normalization by constants.
      }],
      "::std::optional<::amp::Normalization>", "getNormalization",
      (ins "::amp::ElementsOf":$elementsOf), [{}], [{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
        Returns the largest derivative of the result by its first operand, if
        the operation turns a number of any size into a bounded one: a
        probability.
      }],
      "::std::optional<double>", "getDecisionSlope", (ins), [{}],
      [{ return ::std::nullopt; }]>,
  ];
}

#endif // AMP_INTERFACES_RANGEOPINTERFACE
