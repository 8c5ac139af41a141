//===- UnfinishedFiles.h - Temporary names to remove on a signal *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_UNFINISHEDFILES_H
#define AMP_LIB_TARGET_ONNX_UNFINISHEDFILES_H

namespace amp {

/// Longest temporary name, with its zero.
constexpr unsigned maxTemporaryName = 32;

/// Notes that the file `name` in the open folder `folder` is to be removed by
/// removeUnfinishedFiles(), which is in ProcessSetup.h. Returns a slot for
/// forgetUnfinishedFile(), or -1 if there is no room (the file is then merely
/// not removed). The folder must stay open until then. Call it before the file
/// is made.
int noteUnfinishedFile(int folder, const char *name);
void forgetUnfinishedFile(int slot);

/// While one of these lives, the process is between two renames that belong
/// together: signals that would end it wait until the last one is gone.
class SignalDelay {
public:
  SignalDelay();
  ~SignalDelay();
  SignalDelay(const SignalDelay &) = delete;
  SignalDelay &operator=(const SignalDelay &) = delete;
};

/// For the handler of a signal that ends the process: returns false if it must
/// wait, and notes it. Async-signal-safe.
bool mayDieNow(int signal);

} // namespace amp

#endif // AMP_LIB_TARGET_ONNX_UNFINISHEDFILES_H
