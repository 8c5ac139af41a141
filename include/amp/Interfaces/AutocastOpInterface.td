//===- AutocastOpInterface.td - What autocast asks an op --*- tablegen -*--===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The autocast passes know operations only through this interface. Every
// method has a default, so that an external model for an elementwise operation
// is an empty class.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_INTERFACES_AUTOCASTOPINTERFACE
#define AMP_INTERFACES_AUTOCASTOPINTERFACE

include "mlir/IR/OpBase.td"

def AutocastOpInterface : OpInterface<"AutocastOpInterface"> {
  let description = [{
    An operation that can take part in mixed precision. It says by which name a
    policy knows it, which of its operands and results must have the same
    element type, and which element types it admits; for a constant, also what
    its value is and how to make another one.

    Element types move by *type variable*. Operands and results that share a
    variable have one element type, before and after: for ONNX the variables
    are the type strings of the operator's schema, of which `Resize` has two:

    ```
    Resize(X: T1, roi: T2, scales: tensor(float), sizes: tensor(int64)) -> Y: T1
    operand variables  0      1              -1                   -1       0
    ```

    Variables are small numbers in an order of the operation's choice, except
    that the smallest should be the type of its data: results whose variable no
    operand but constants shares go where the smallest variable goes.

    test/lib/TestOps.td is a dialect of examples, docs/embedding.md says how to
    use the passes on it.

    An operation without this interface keeps its types, and whatever it reads
    is cast back to the types that it had.

    Operations that implement RegionBranchOpInterface, or that say what flows
    through their regions by getElementTypeFlow(), are not given a category.
    The element types of their results and of their regions' arguments are the
    join of what flows into them; their type variables are only used to ask
    supportsElementType(), and results with one variable may have different
    types. If a policy's category for such an operation is `keep`, its results,
    its regions' arguments and everything inside keep their types.
  }];
  let cppNamespace = "::amp";

  let methods = [
    InterfaceMethod<[{
        Returns the operator's domain in policies. Called by the precision
        analysis. Default: the name of the dialect.
      }],
      "::llvm::StringRef", "getAutocastDomain", (ins), [{}], [{
        return $_op->getName().getDialectNamespace();
      }]>,
    InterfaceMethod<[{
        Returns the operator's name in policies ("MatMul"). Called by the
        precision analysis, also for its messages. Default: the operation's
        name without its dialect.
      }],
      "::llvm::StringRef", "getAutocastName", (ins), [{}], [{
        return $_op->getName().stripDialect();
      }]>,
    InterfaceMethod<[{
        Returns the version of the operator set that the operation is read with,
        which a policy's rules may depend on, or 0 where that has no meaning.
      }],
      "int64_t", "getAutocastVersion", (ins), [{}], [{ return 0; }]>,
    InterfaceMethod<[{
        Returns the name that a user knows this very operation by, for rules on
        nodes and for messages; may be empty.
      }],
      "::llvm::StringRef", "getAutocastNodeName", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<[{
        Returns the name that a user knows a result by; may be empty.
      }],
      "::llvm::StringRef", "getAutocastResultName",
      (ins "unsigned":$result), [{}], [{ return {}; }]>,
    InterfaceMethod<[{
        Adds the names of what the operation was part of in the program that it
        comes from: modules and their classes, outermost first. A policy's rules
        match them (`scopes`). Functions and operations around this one add
        themselves.
      }],
      "void", "getAutocastScopes",
      (ins "::llvm::SmallVectorImpl<::std::string> &":$scopes), [{}],
      [{ return; }]>,
    InterfaceMethod<[{
        Returns the value of the attribute that a user knows by this name, or
        its default: an integer in decimal digits, or a text; none if there is
        no such attribute, or it is of another kind. A policy's rules may ask
        for it.
      }],
      "::std::optional<::std::string>", "getAutocastAttribute",
      (ins "::llvm::StringRef":$name), [{}], [{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
        Returns how many numbers the operation adds up, or compares, for each
        element of its result: the inner dimension of a matrix product, the size
        of a window, the size of the axes that are reduced. None if that is not
        known, or the operation reduces nothing.
      }],
      "::std::optional<int64_t>", "getReductionLength", (ins), [{}],
      [{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
        Returns the operand's type variable, or -1 if its type is fixed: it has
        no float elements, or the operator admits one type there only. Called
        for every operand by every pass; may depend on which values have one
        element type, but not on which type that is. Default: 0 for everything
        with float elements.
      }],
      "int", "getOperandTypeVariable", (ins "unsigned":$operand), [{}], [{
        return ::amp::detail::defaultTypeVariable(
            $_op->getOperand(operand).getType());
      }]>,
    InterfaceMethod<[{
        Returns the result's type variable, from the same numbers as
        getOperandTypeVariable(). A result whose element type an attribute
        states (the `to` of a cast, the `dtype` of a random tensor) is fixed:
        -1. A variable of results alone is taken as fixed, too, unless the
        operation is a constant.
      }],
      "int", "getResultTypeVariable", (ins "unsigned":$result), [{}], [{
        return ::amp::detail::defaultTypeVariable(
            $_op->getResult(result).getType());
      }]>,
    InterfaceMethod<[{
        Returns the operand's position in the operator's definition, where
        optional operands that are left out count. It is what a policy's `pin`
        refers to.
      }],
      "unsigned", "getOperandPosition", (ins "unsigned":$operand), [{}], [{
        return operand;
      }]>,
    InterfaceMethod<[{
        Returns true if the operator admits this float type for everything that
        shares `variable`, in the version that this operation is read with.
        Called by the analysis before it moves a variable, by amp-insert-casts
        before it copies a constant, and by amp-verify-precision.
      }],
      "bool", "supportsElementType",
      (ins "int":$variable, "::mlir::FloatType":$elementType), [{}], [{
        return true;
      }]>,
    InterfaceMethod<[{
        Returns true for a constant: an initializer, a Constant node, a tensor
        filled with one value. Constants adopt the format of each of their
        users, and are no reason for an operation to run in a wider one.
      }],
      "bool", "isAutocastConstant", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Returns the value of a constant's result: a DenseElementsAttr, a
        DenseResourceElementsAttr or an `#amp.rounded`; null if it is not known.
        It has the result's element type, and may have less elements if they
        are repeated. Called only if isAutocastConstant(), by the analysis (to
        see whether the values fit a narrower format) and by amp-insert-casts.
      }],
      "::mlir::TypedAttr", "getAutocastConstantValue",
      (ins "unsigned":$result), [{}], [{ return {}; }]>,
    InterfaceMethod<[{
        Builds, at the builder's insertion point, another constant like this
        one with the value `value`, which is getAutocastConstantValue(result)
        rounded to another element type. Returns its result, or null if that
        can't be: a cast takes its place. Called once for each type that users
        of this constant ask for, after isAutocastConstant(). Names and
        other properties should be copied: if the original loses its last user
        it is erased.
      }],
      "::mlir::Value", "materializeConstant",
      (ins "::mlir::OpBuilder &":$builder, "unsigned":$result,
           "::mlir::TypedAttr":$value), [{}], [{ return {}; }]>,
    InterfaceMethod<[{
        Adds the pairs of an operand, of this operation or of a terminator of
        its regions, and a value, a result of this operation or an argument of
        its regions, that have one element type although the operand is not
        forwarded to the value: the slices that a scan takes, the slices that a
        loop stacks. Called for operations with regions. RegionBranchOpInterface
        says the rest; an operation that does not implement it may say all of
        its control flow here.
      }],
      "void", "getElementTypeFlow",
      (ins "::llvm::SmallVectorImpl<::amp::ElementTypeEdge> &":$edges), [{}],
      [{ return; }]>,
    InterfaceMethod<[{
        Returns true if updateElementTypes() brings the operation's regions in
        line with its operands: a body of scalars. Called by the analysis, which
        lets an operation with other regions, through which nothing is known to
        flow, keep its types.
      }],
      "bool", "canUpdateRegions", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Brings in line what else than operands and results states an element
        type: an attribute, a region, an accumulator. Called by amp-insert-casts
        for an operation that it moved, after all operands and results have got
        their types and casts; the builder inserts after the operation. May
        change a result's type, if its users are given a cast.
      }],
      "void", "updateElementTypes", (ins "::mlir::OpBuilder &":$builder), [{}],
      [{ return; }]>,
  ];
}

#endif // AMP_INTERFACES_AUTOCASTOPINTERFACE
