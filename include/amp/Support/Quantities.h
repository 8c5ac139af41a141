//===- Quantities.h - numbers for people ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_SUPPORT_QUANTITIES_H
#define AMP_SUPPORT_QUANTITIES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace amp {

/// "64 B", "97.8 MB", with powers of 1000.
std::string formatBytes(uint64_t bytes);
/// Reads "1048576", "100 MB", "1.5 GiB": powers of 1000, and of 1024. Fails,
/// with one line, if it is not that, or not positive.
llvm::Expected<int64_t> parseBytes(llvm::StringRef text);
/// "64", "25.6 M".
std::string formatCount(uint64_t count);
/// "85 ms", "1.24 s".
std::string formatSeconds(double seconds);
/// "0.01", "1.25e-07": four digits.
std::string formatNumber(double number);
/// "1 cast", "5 casts".
std::string formatPlural(uint64_t count, llvm::StringRef noun);

} // namespace amp

#endif // AMP_SUPPORT_QUANTITIES_H
