//===- ConstantFit.h - constants that a low format can't hold ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ANALYSIS_CONSTANTFIT_H
#define AMP_LIB_ANALYSIS_CONSTANTFIT_H

#include "amp/Policy/FloatRounding.h"
#include "amp/Policy/Policy.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace amp {

/// Constants of up to so many elements are parameters of a formula (an epsilon,
/// bounds, a scale): each of their values matters. Of weights the largest do.
inline constexpr uint64_t kParameterElements = 16;

/// Finite values from here on stand for infinity (-1e9 in a mask, the largest
/// float32 as a bound) and may be clamped to whatever is largest.
inline constexpr double kStandsForInfinity = 1e8;

/// True if a finite value of the range rounds beyond the largest one of
/// `format`.
bool overflows(const FloatRange &range, FloatFormat format);

/// Why an operation with this decision can't read a constant of this range in
/// `format`; empty if it can. `name` is the constant's, and may be empty.
std::string explainMisfit(const FloatRange &range, llvm::StringRef name,
                          FloatFormat format, const Decision &decision);

/// "float16", "bfloat16", …: formats in messages, as ONNX and PyTorch write
/// them.
std::string spellFormat(FloatFormat format);

/// "Conv 'conv_1'", what messages call an operation: its operator and its own
/// name, or that of its first result.
std::string describeOperation(mlir::Operation *op);

} // namespace amp

#endif // AMP_LIB_ANALYSIS_CONSTANTFIT_H
