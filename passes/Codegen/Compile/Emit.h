//===- Emit.h - a kernel's loops --------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_CODEGEN_COMPILE_EMIT_H
#define AMP_PASSES_CODEGEN_COMPILE_EMIT_H

#include "Arithmetic.h"
#include "Plan.h"

namespace amp::codegen {

/// Makes the function `name` of a planned kernel at the builder's place: loops
/// of scf, arithmetic on vectors, loads and stores of LLVM's dialect.
void emitKernel(mlir::OpBuilder &builder, llvm::StringRef name, Kernel &kernel,
                const Plan &plan, const CPU &cpu);

} // namespace amp::codegen

#endif // AMP_PASSES_CODEGEN_COMPILE_EMIT_H
