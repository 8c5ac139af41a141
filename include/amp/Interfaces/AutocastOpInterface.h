//===- AutocastOpInterface.h - what autocast asks an op ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_INTERFACES_AUTOCASTOPINTERFACE_H
#define AMP_INTERFACES_AUTOCASTOPINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

namespace amp {

/// An operand whose element type is that of a value it is not forwarded to.
struct ElementTypeEdge {
  mlir::OpOperand *source;
  mlir::Value target;
};

namespace detail {
/// 0 for a type with float elements, -1 for any other.
int defaultTypeVariable(mlir::Type type);
} // namespace detail

} // namespace amp

#include "amp/Interfaces/AutocastOpInterface.h.inc"

#endif // AMP_INTERFACES_AUTOCASTOPINTERFACE_H
