//===- Body.h - one operation of a kernel's body ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_CODEGEN_COMPILE_BODY_H
#define AMP_PASSES_CODEGEN_COMPILE_BODY_H

#include "Arithmetic.h"

namespace amp::codegen {

/// Makes what a scalar operation of arith or math computes, on numbers or lanes
/// in registers; a number among lanes is the same in all. whyNotScalar() has
/// nothing against the operation.
mlir::Value emitScalar(Arithmetic &a, mlir::Operation *op,
                       llvm::ArrayRef<mlir::Value> operands);

/// What an operation costs, in additions.
unsigned getCost(mlir::Operation *op);

} // namespace amp::codegen

#endif // AMP_PASSES_CODEGEN_COMPILE_BODY_H
