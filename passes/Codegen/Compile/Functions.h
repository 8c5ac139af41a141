//===- Functions.h - elementary functions -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of float, each is within 2 units in the last place (most within 1) for all
// arguments, with infinities, NaNs and denormals right. The same bits come out
// on every CPU and in every lane. With fastmath<afn>, tanh and erf of float are
// within 8 units and need half the time.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_CODEGEN_COMPILE_FUNCTIONS_H
#define AMP_PASSES_CODEGEN_COMPILE_FUNCTIONS_H

#include "Arithmetic.h"

namespace amp::codegen {

/// Makes a function of math of operands for whose type hasFunction().
mlir::Value emitFunction(Arithmetic &a, mlir::Operation *op,
                         llvm::ArrayRef<mlir::Value> operands);

/// Whether there is a formula for a type of operand. Narrower ones are computed
/// in float.
bool hasFunction(mlir::Operation *op, mlir::Type element);

} // namespace amp::codegen

#endif // AMP_PASSES_CODEGEN_COMPILE_FUNCTIONS_H
