//===- NeverTrained.h - initializers that are no weights --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_NEVERTRAINED_H
#define AMP_PASSES_TRAINING_NEVERTRAINED_H

#include "mlir/IR/BuiltinTypeInterfaces.h"
#include "mlir/IR/Value.h"

#include <string>

namespace amp {

/// What an initializer is for its readers that is no weight by their schemas,
/// "the exponent of a Pow"; empty if it may be one. One with several readers is
/// no weight if it is none for each, running statistics for any.
std::string describeFixedRole(mlir::Value initializer);

/// Why a parameter may be a constant that an exporter made an initializer: it
/// has "one element", or is "a mask"; empty otherwise.
llvm::StringRef describeDoubt(mlir::ShapedType type, mlir::Attribute elements);

} // namespace amp

#endif // AMP_PASSES_TRAINING_NEVERTRAINED_H
