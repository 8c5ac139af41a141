//===- Quote.h - foreign text made safe for a message ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_QUOTE_H
#define AMP_RUNTIME_QUOTE_H

#include <string>
#include <string_view>

namespace amp::runtime {

/// Text from a file or a user between single quotes, on one line: control
/// characters and quotes escaped, the middle of long text left out.
std::string quote(std::string_view text);

} // namespace amp::runtime

#endif // AMP_RUNTIME_QUOTE_H
