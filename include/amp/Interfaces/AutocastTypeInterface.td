//===- AutocastTypeInterface.td - Types that hold floats --*- tablegen -*--===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builtin tensors need no interface: everything that moves element types goes
// through amp/Interfaces/ElementTypes.h, which knows them.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_INTERFACES_AUTOCASTTYPEINTERFACE
#define AMP_INTERFACES_AUTOCASTTYPEINTERFACE

include "mlir/IR/OpBase.td"

def AutocastTypeInterface : TypeInterface<"AutocastTypeInterface"> {
  let description = [{
    A type, other than a builtin tensor, whose values hold floating point
    elements of one type: a sequence of tensors, an optional tensor. A type
    that implements this can be the operand and the result of `amp.cast`.
  }];
  let cppNamespace = "::amp";

  let methods = [
    InterfaceMethod<[{
        Returns the type of the elements, or null if they are no floats (a
        sequence of integer tensors) or not of one type.
      }],
      "::mlir::FloatType", "getFloatElementType">,
    InterfaceMethod<[{
        Returns this type with other elements and everything else, shapes and
        encodings, unchanged. Called only where getFloatElementType() is not
        null, and with a float type.
      }],
      "::mlir::Type", "withFloatElementType",
      (ins "::mlir::FloatType":$elementType)>,
  ];
}

#endif // AMP_INTERFACES_AUTOCASTTYPEINTERFACE
