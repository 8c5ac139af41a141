//===- FloatTypes.h - float formats as element types ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_FLOATTYPES_H
#define AMP_DIALECT_AMP_FLOATTYPES_H

#include "amp/Policy/FloatFormat.h"

#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace amp {

/// The format of a float type: f16, bf16, f32, f64, f8E4M3FN, f8E5M2; none for
/// the others, whose values are no format's (f8E4M3FNUZ has another bias).
std::optional<FloatFormat> getFloatFormat(mlir::FloatType type);

/// The float type that stores this format; null for formats that no memory
/// holds (tf32, bottom, formats without a name).
mlir::FloatType getFloatType(mlir::MLIRContext *context, FloatFormat format);

/// True if every value of `from` is a value of `to`, so that a cast does not
/// round. False where a type has no format, unless the two are equal.
bool isExactCast(mlir::FloatType from, mlir::FloatType to);

} // namespace amp

#endif // AMP_DIALECT_AMP_FLOATTYPES_H
