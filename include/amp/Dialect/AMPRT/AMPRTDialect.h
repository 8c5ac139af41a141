//===- AMPRTDialect.h - the amprt dialect -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `amprt.signature`, on the function that is the executable's program:
//
//   {inputs = [{name = "x", symbols = ["N", ""]}, …], outputs = [{name = "y"},
//    …], states = [{argument = 2 : i64, result = 1 : i64, initial = dense<…>}]}
//
// `inputs` has an entry for each argument, `outputs` one for each result.
// `symbols` are names of dimensions, "" for none: equal names, equal sizes.
// `initial` of an input is what it is when nobody sets it. A state is an
// argument that becomes what a result was in the step before; `initial` is its
// first value.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMPRT_AMPRTDIALECT_H
#define AMP_DIALECT_AMPRT_AMPRTDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "amp/Dialect/AMPRT/AMPRTDialect.h.inc"

#define GET_OP_CLASSES
#include "amp/Dialect/AMPRT/AMPRTOps.h.inc"

#endif // AMP_DIALECT_AMPRT_AMPRTDIALECT_H
