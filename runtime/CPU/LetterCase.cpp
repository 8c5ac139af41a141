//===- LetterCase.cpp - small and capital letters -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/LetterCase.h"

using namespace amp::runtime;

namespace {

/// Capitals first … last (every one, or every second one) have their small
/// letters `distance` further on.
struct CaseRange {
  uint32_t first, last;
  int32_t distance;
  bool alternates;
};
constexpr CaseRange ranges[] = {
    {'A', 'Z', 32, false},     {0xc0, 0xd6, 32, false},
    {0xd8, 0xde, 32, false},   {0x100, 0x12e, 1, true},
    {0x132, 0x136, 1, true},   {0x139, 0x147, 1, true},
    {0x14a, 0x176, 1, true},   {0x178, 0x178, -121, false},
    {0x179, 0x17d, 1, true},   {0x386, 0x386, 38, false},
    {0x388, 0x38a, 37, false}, {0x38c, 0x38c, 64, false},
    {0x38e, 0x38f, 63, false}, {0x391, 0x3a1, 32, false},
    {0x3a3, 0x3ab, 32, false}, {0x400, 0x40f, 80, false},
    {0x410, 0x42f, 32, false}, {0x460, 0x480, 1, true},
    {0x48a, 0x4be, 1, true},   {0x4c1, 0x4cd, 1, true},
    {0x4d0, 0x52e, 1, true},
};

template <typename Function>
std::string change(std::string_view text, const Function &function) {
  std::string changed;
  while (!text.empty())
    appendCodePoint(function(takeCodePoint(text)), changed);
  return changed;
}

} // namespace

uint32_t amp::runtime::takeCodePoint(std::string_view &text) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  uint8_t lead = byte(0);
  size_t size = lead < 0x80         ? 1
                : lead >> 5 == 0x6  ? 2
                : lead >> 4 == 0xe  ? 3
                : lead >> 3 == 0x1e ? 4
                                    : 0;
  uint32_t codePoint = size == 1 ? lead : lead & (0x7f >> size);
  bool isValid = size != 0 && size <= text.size();
  for (size_t i = 1; isValid && i < size; ++i) {
    isValid = byte(i) >> 6 == 0x2;
    codePoint = codePoint << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  isValid = isValid && codePoint >= smallest[size] && codePoint <= 0x10ffff &&
            (codePoint < 0xd800 || codePoint > 0xdfff);
  if (!isValid) {
    text.remove_prefix(1);
    return 0xdc00 + lead;
  }
  text.remove_prefix(size);
  return codePoint;
}

void amp::runtime::appendCodePoint(uint32_t codePoint, std::string &text) {
  auto append = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (codePoint >= 0xdc80 && codePoint <= 0xdcff)
    return append(codePoint - 0xdc00);
  if (codePoint < 0x80)
    return append(codePoint);
  if (codePoint < 0x800) {
    append(0xc0 | codePoint >> 6);
  } else {
    if (codePoint < 0x10000) {
      append(0xe0 | codePoint >> 12);
    } else {
      append(0xf0 | codePoint >> 18);
      append(0x80 | (codePoint >> 12 & 0x3f));
    }
    append(0x80 | (codePoint >> 6 & 0x3f));
  }
  append(0x80 | (codePoint & 0x3f));
}

uint32_t amp::runtime::toLower(uint32_t codePoint) {
  for (const CaseRange &range : ranges)
    if (codePoint >= range.first && codePoint <= range.last &&
        (!range.alternates || (codePoint - range.first) % 2 == 0))
      return codePoint + static_cast<uint32_t>(range.distance);
  return codePoint;
}

uint32_t amp::runtime::toUpper(uint32_t codePoint) {
  for (const CaseRange &range : ranges) {
    uint32_t capital = codePoint - static_cast<uint32_t>(range.distance);
    if (capital >= range.first && capital <= range.last &&
        (!range.alternates || (capital - range.first) % 2 == 0))
      return capital;
  }
  return codePoint;
}

std::string amp::runtime::toLower(std::string_view text) {
  return change(text, [](uint32_t c) { return toLower(c); });
}

std::string amp::runtime::toUpper(std::string_view text) {
  return change(text, [](uint32_t c) { return toUpper(c); });
}
