//===- Quoted.h - Foreign text made safe for a message ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_SUPPORT_QUOTED_H
#define AMP_SUPPORT_QUOTED_H

#include "llvm/ADT/StringRef.h"
#include <cstddef>
#include <string>

namespace amp {

/// `text` between single quotes, for use in an error or a report: every name,
/// path or string that comes from a file or a command line passes through
/// here, so that it can neither break the line nor steer the terminal.
///
/// The result is valid UTF-8 on one line. Control characters (C0, DEL, C1),
/// line and paragraph separators, bidirectional controls, byte order marks,
/// the quote and the backslash are escaped (`\n`, `\'`, `\u{202e}`), and bytes
/// that are not UTF-8 become `\xNN`. Text that would take more than `limit`
/// bytes between the quotes loses its middle to a `…`: the beginning and the
/// end are what tell names and paths apart. The cost does not depend on the
/// length of `text`.
std::string quoted(llvm::StringRef text, size_t limit = 80);

} // namespace amp

#endif // AMP_SUPPORT_QUOTED_H
