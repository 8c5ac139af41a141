//===- TestDialect.h - the dialect `t` of the tests -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TEST_TESTDIALECT_H
#define AMP_TEST_TESTDIALECT_H

#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Interfaces/ElementTypes.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "TestDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "TestTypes.h.inc"

#define GET_OP_CLASSES
#include "TestOps.h.inc"

#endif // AMP_TEST_TESTDIALECT_H
