//===- ProcessSetup.h - What a tool does first and last ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For main() of our own tools only: a library must not change what belongs to
// the process.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TARGET_ONNX_PROCESSSETUP_H
#define AMP_TARGET_ONNX_PROCESSSETUP_H

#include "llvm/ADT/StringRef.h"

namespace amp {

/// Fills descriptors 0, 1 and 2 where the parent closed them, so that no file
/// of ours becomes standard output or error. What they are filled with cannot
/// be read or written: using them stays an error, as it was.
void guardStandardDescriptors();

/// Makes signals keep the promise of OutputFile, and faults one line:
/// - SIGINT, SIGTERM, SIGHUP, SIGQUIT remove unfinished outputs, then end the
///   process by the same signal;
/// - SIGBUS on an input file that got shorter while it was mapped removes them,
///   prints "PROGRAM: error: 'FILE' changed while it was read", exits with 1;
/// - SIGXFSZ and SIGPIPE are ignored: writing fails with a reason instead.
/// Signals that the parent ignores stay ignored. `program` is copied.
void installSignalHandlers(llvm::StringRef program);

/// Removes what OutputFile has written and not committed, for whoever ends the
/// process without unwinding. Allocates nothing, async-signal-safe.
void removeUnfinishedFiles();

/// For the end of main(): writes out what llvm::outs() and llvm::errs() hold,
/// whose destructors would abort the process if that failed. Returns
/// `exitCode`, or 1 if standard output could not be written, after saying so; a
/// reader that went away is no failure.
int finishStandardStreams(int exitCode);

} // namespace amp

#endif // AMP_TARGET_ONNX_PROCESSSETUP_H
