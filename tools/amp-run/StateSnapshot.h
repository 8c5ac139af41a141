//===- StateSnapshot.h - states as they were --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_STATESNAPSHOT_H
#define AMP_TOOLS_AMPRUN_STATESNAPSHOT_H

#include "Buffer.h"
#include "amp/Runtime/Session.h"

#include <vector>

namespace amp::run {

/// A copy of a session's states; it takes memory once.
class StateSnapshot {
public:
  runtime::Status take(const runtime::Session &session);
  /// Only after take().
  runtime::Status restore(runtime::Session &session) const;

private:
  std::vector<runtime::Buffer> buffers;
};

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_STATESNAPSHOT_H
