//===- ElementTypes.h - the float elements of a type ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Autocast changes the element type of tensors, and of what holds tensors, and
// nothing else of a type. These two functions are the only place that knows
// which types that concerns.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_INTERFACES_ELEMENTTYPES_H
#define AMP_INTERFACES_ELEMENTTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Types.h"

#include "amp/Interfaces/AutocastTypeInterface.h.inc"

namespace amp {

/// The type of the float elements of a tensor (ranked or not) or of a type with
/// AutocastTypeInterface; null for every other type, scalars included.
mlir::FloatType getFloatElementType(mlir::Type type);

/// `type` with elements of `elementType` and everything else unchanged, or null
/// if `type` has no float elements.
mlir::Type withFloatElementType(mlir::Type type, mlir::FloatType elementType);

} // namespace amp

#endif // AMP_INTERFACES_ELEMENTTYPES_H
