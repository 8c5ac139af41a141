//===- GradientOpInterface.td - reverse mode asks an op --*- tablegen -*--===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_INTERFACES_GRADIENTOPINTERFACE
#define AMP_INTERFACES_GRADIENTOPINTERFACE

include "mlir/IR/OpBase.td"

def GradientOpInterface : OpInterface<"GradientOpInterface"> {
  let description = [{
    An operation that gradients can pass. `amp-differentiate` knows operations
    only through this interface.
  }];
  let cppNamespace = "::amp";

  let methods = [
    InterfaceMethod<[{
        Returns true if a small change of the operand makes a change of the
        result: gradients are asked for along such paths alone. An operation
        whose slope is zero wherever it is defined (Floor) says true, and gives
        no gradient. Default: true for values with float elements.
      }],
      "bool", "isGradientPath",
      (ins "unsigned":$operand, "unsigned":$result), [{}], [{
        return ::amp::detail::areFloats($_op->getOperand(operand),
                                        $_op->getResult(result));
      }]>,
    InterfaceMethod<[{
        Adds the pairs of values of which the second takes what the first has,
        for an operation with regions: operands and arguments of blocks, what
        blocks yield and results. Such pairs alone are gradient paths then. An
        operation that adds none passes what its regions read to all results.
      }],
      "void", "getRegionFlow",
      (ins "::llvm::SmallVectorImpl<std::pair<::mlir::Value, ::mlir::Value>> &":$flow),
      [{}], [{}]>,
    InterfaceMethod<[{
        Builds, by the context's nodes, the gradients of those operands (and
        of those values from outside, for an operation with regions) that
        `context.isNeeded()`, from those of the results, of which at least one
        is not zero. Gradients have the type of their value, and are added to
        the context. Fails after an error, of what there is no gradient for.
      }],
      "::llvm::LogicalResult", "buildGradient",
      (ins "::amp::GradientContext &":$context)>,
    InterfaceMethod<[{
        Returns true if the gradients are those of other operations, which
        decompose() makes of this one. Asked only where gradients pass.
      }],
      "bool", "isComposite", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Builds, at the place of this operation, operations that do the same.
        Returns a value for each result; failure, with nothing built, if that
        can't be.
      }],
      "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decompose",
      (ins "::amp::onnx::NodeBuilder &":$nodes), [{}], [{
        return ::llvm::failure();
      }]>,
  ];
}

#endif // AMP_INTERFACES_GRADIENTOPINTERFACE
