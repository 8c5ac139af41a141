//===- FatalErrors.h - what can't be handled, in one line -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_FATALERRORS_H
#define AMP_TOOLS_ONNX_AMP_FATALERRORS_H

#include "llvm/ADT/StringRef.h"

namespace amp {

/// Removes unfinished outputs, writes "onnx-amp: error: SUBJECT: REASON" as
/// writeErrorLine() does, and ends the process with exit code 1. Allocates
/// nothing; several threads may get here at once. What comes after a line
/// break in `reason` is left out.
[[noreturn]] void die(const char *reason);

/// From here on a lack of memory, a fatal error of LLVM and an exception that
/// nobody catches die(). Where malloc() is glibc's, a lack of memory does so
/// even before, see Malloc.cpp.
void installFatalErrorHandlers();

/// What die() says it is about: the input, quoted. Copied.
void setFatalErrorSubject(llvm::StringRef subject);

/// From here on the outputs have their names, and all that is missing is the
/// report: dying takes a warning and exit code 0.
void setOutputsCommitted();

/// Writes the line of an error, line break included, to standard error, unless
/// there was one before: a process writes one. Allocates nothing.
void writeErrorLine(llvm::StringRef line);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_FATALERRORS_H
