//===- RoundingReport.h - what rounding did to constants --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_ROUNDINGREPORT_H
#define AMP_TOOLS_ONNX_AMP_ROUNDINGREPORT_H

#include "amp/Policy/FloatRounding.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace amp {

/// A constant that is stored in a narrower format now.
struct RoundedConstant {
  /// Of the value; may be empty. Refers to the module. Not escaped.
  llvm::StringRef name;
  mlir::Type from, to;
  /// What became of values beyond the range.
  Overflow overflow;
  RoundingStats stats;
};

/// Rounds all constants that will be rounded when the module is written, to see
/// what is lost. Takes the time of reading them, on all threads of the context.
std::vector<RoundedConstant> measureRounding(mlir::ModuleOp module);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_ROUNDINGREPORT_H
