//===- LetterCase.h - small and capital letters -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_LETTERCASE_H
#define AMP_RUNTIME_CPU_LETTERCASE_H

#include <cstdint>
#include <string>
#include <string_view>

namespace amp::runtime {

/// Takes a code point from the front of UTF-8 text that is not empty. A byte
/// that begins none is taken by itself, as U+DC80 + its lower bits, which no
/// UTF-8 has.
uint32_t takeCodePoint(std::string_view &text);
void appendCodePoint(uint32_t codePoint, std::string &text);

/// The other case of a letter of Latin, Greek or Cyrillic script (up to U+052F)
/// whose cases are one code point each; anything else as it is.
uint32_t toLower(uint32_t codePoint);
uint32_t toUpper(uint32_t codePoint);

std::string toLower(std::string_view text);
std::string toUpper(std::string_view text);

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_LETTERCASE_H
