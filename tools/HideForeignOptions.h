//===- HideForeignOptions.h - a help text of what is ours -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_HIDEFOREIGNOPTIONS_H
#define AMP_TOOLS_HIDEFOREIGNOPTIONS_H

#include "llvm/Support/CommandLine.h"

namespace amp {

/// Hides the options that libraries have registered so far from --help. LLVM as
/// one shared library brings those of all its targets and optimisers, hundreds
/// that no module of ours ever meets. To be called first in main(), before the
/// tool's own options are registered.
inline void hideForeignOptions() {
  for (auto &option : llvm::cl::getRegisteredOptions())
    option.second->setHiddenFlag(llvm::cl::ReallyHidden);
}

} // namespace amp

#endif // AMP_TOOLS_HIDEFOREIGNOPTIONS_H
