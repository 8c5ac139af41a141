//===- ConstantBytes.h - constants as they are in memory --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_EXECUTABLE_CONSTANTBYTES_H
#define AMP_LIB_TARGET_EXECUTABLE_CONSTANTBYTES_H

#include "mlir/IR/BuiltinAttributes.h"

#include <string>

namespace amp {

/// Bytes that are somebody's, or were made.
struct ConstantBytes {
  llvm::StringRef bytes;
  std::unique_ptr<std::string> made;
};

/// The elements of a constant, row-major, in the machine's order; those of
/// fewer than 8 bits take a byte each. None if its data can't be had, or is not
/// of the size that its type says.
std::optional<ConstantBytes> getConstantBytes(mlir::TypedAttr value);

} // namespace amp

#endif // AMP_LIB_TARGET_EXECUTABLE_CONSTANTBYTES_H
