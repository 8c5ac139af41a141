//===- AMPDialect.h - the amp dialect ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_AMPDIALECT_H
#define AMP_DIALECT_AMP_AMPDIALECT_H

#include "amp/Interfaces/ElementTypes.h"
#include "amp/Policy/FloatRounding.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "amp/Dialect/AMP/AMPDialect.h.inc"
#include "amp/Dialect/AMP/AMPEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "amp/Dialect/AMP/AMPAttributes.h.inc"

#define GET_OP_CLASSES
#include "amp/Dialect/AMP/AMPOps.h.inc"

namespace amp {

/// The spelling in attributes: "saturate" or "infinity".
llvm::StringRef stringifyOverflow(Overflow overflow);

} // namespace amp

#endif // AMP_DIALECT_AMP_AMPDIALECT_H
