//===- ScopeBlocks.h - nodes put together by scope --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_SCOPEBLOCKS_H
#define AMP_TOOLS_ONNX_AMP_SCOPEBLOCKS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace amp {

/// Where a node is in what the model was made of, outermost first: "encoder",
/// "layer.0".
using Scope = llvm::SmallVector<llvm::StringRef, 4>;

struct ScopeBlocks {
  /// In the order of their first nodes; not escaped.
  std::vector<std::string> names;
  /// Per node the index of its block.
  std::vector<uint32_t> blockOf;
};

/// Makes at most `most` blocks of nodes, one at least. Scopes are opened, the
/// largest first, as long as the number of blocks allows. Nodes of one scope,
/// or of none, that are too many for one block are divided in their order.
ScopeBlocks collectBlocks(llvm::ArrayRef<Scope> scopes, size_t most);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_SCOPEBLOCKS_H
