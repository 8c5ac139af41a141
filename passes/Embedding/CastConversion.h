//===- CastConversion.h - the amp dialect by another dialect ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_EMBEDDING_CASTCONVERSION_H
#define AMP_PASSES_EMBEDDING_CASTCONVERSION_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace amp {

/// Builds a cast of a tensor to a type that holds all of its values, or whose
/// values it all holds.
using BuildCast = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &, mlir::Location, mlir::Type, mlir::Value)>;

/// Replaces every `amp.cast` of the module, with two steps where neither type
/// holds the other, and every `#amp.rounded` by its values. Fails with an error
/// at the operation where that can't be; `dialect` is what it names.
llvm::LogicalResult convertAMP(mlir::ModuleOp module, llvm::StringRef dialect,
                               BuildCast build);

} // namespace amp

#endif // AMP_PASSES_EMBEDDING_CASTCONVERSION_H
