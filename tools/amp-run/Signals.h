//===- Signals.h - the wish to stop -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_SIGNALS_H
#define AMP_TOOLS_AMPRUN_SIGNALS_H

namespace amp::run {

/// From here on SIGINT and SIGTERM are noted: the first of each; the second
/// ends the process as ever.
void catchSignals();

/// The signal that came, 0 if none did.
int getSignal();

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_SIGNALS_H
