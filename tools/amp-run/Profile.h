//===- Profile.h - how long each command takes ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_PROFILE_H
#define AMP_TOOLS_AMPRUN_PROFILE_H

#include "amp/Runtime/Session.h"

#include <cstdint>
#include <string>
#include <vector>

namespace amp::run {

/// Keeps the events of a session, which must still be there when it writes.
class Profile final : public runtime::CommandObserver {
public:
  void handle(const runtime::CommandEvent &event) override;

  /// In Chrome's trace event format (chrome://tracing, ui.perfetto.dev).
  runtime::Status write(const std::string &path) const;

private:
  struct Entry {
    runtime::CommandEvent event;
    /// Of inputs, and of outputs.
    uint64_t read, written;
    /// 0 where none are counted.
    uint64_t flops;
  };
  std::vector<Entry> entries;
};

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_PROFILE_H
