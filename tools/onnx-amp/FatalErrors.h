//===- FatalErrors.h - what can't be handled, in one line -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_FATALERRORS_H
#define AMP_TOOLS_ONNX_AMP_FATALERRORS_H

#include "llvm/ADT/StringRef.h"

namespace amp {

/// From here on a lack of memory, a fatal error of LLVM and an exception that
/// nobody catches print one line and end the process with exit code 1.
void installFatalErrorHandlers();

/// What that line is about: the input, quoted. Copied.
void setFatalErrorSubject(llvm::StringRef subject);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_FATALERRORS_H
