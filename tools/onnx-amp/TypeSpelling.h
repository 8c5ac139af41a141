//===- TypeSpelling.h - types as people write them --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_TYPESPELLING_H
#define AMP_TOOLS_ONNX_AMP_TYPESPELLING_H

#include "mlir/IR/Types.h"

#include <string>

namespace amp {

/// "float32[N,3,?]", "float32[...]" without a rank, "seq(int64[K])".
std::string spellType(mlir::Type type);

/// "float32", "int64", "string"; "unknown" for what no ONNX tensor holds.
std::string spellElementType(mlir::Type elementType);

/// A foreign name as it is where that is harmless, quoted where it is not.
std::string spellName(llvm::StringRef name);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_TYPESPELLING_H
