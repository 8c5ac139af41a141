//===- Quoted.cpp - Foreign text made safe for a message ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Support/Quoted.h"

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

using namespace llvm;

namespace {

constexpr StringRef ellipsis = "\xe2\x80\xa6";

/// Takes one character off the front of `text`. Returns its size in bytes, or 0
/// if these bytes are not a character in UTF-8 (overlong forms and surrogates
/// are not).
unsigned decode(StringRef text, uint32_t &character) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  uint8_t first = byte(0);
  if (first < 0x80) {
    character = first;
    return 1;
  }
  unsigned size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size)
    return 0;
  character = first & (0x7f >> size);
  for (unsigned i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
    character = character << 6 | (byte(i) & 0x3f);
  }
  bool overlong = character < (size == 4   ? 0x10000u
                               : size == 3 ? 0x800u
                                           : 0x80u);
  bool surrogate = character >= 0xd800 && character < 0xe000;
  return overlong || surrogate || character > 0x10ffff ? 0 : size;
}

/// Characters that end a line, move the cursor, reorder or hide what follows.
bool isUnsafe(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c ||
         c == 0x200b || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
         c == 0xfeff || (c & 0xfffe) == 0xfffe ||
         (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff);
}

void appendHex(std::string &out, uint32_t value, unsigned digits) {
  for (unsigned i = digits; i-- > 0;)
    out += "0123456789abcdef"[value >> (4 * i) & 15];
}

/// Takes one character or one stray byte off the front of `text` and returns
/// how it is shown.
std::string takeShown(StringRef &text) {
  uint32_t c = 0;
  unsigned size = decode(text, c);
  StringRef taken = text.take_front(size ? size : 1);
  text = text.drop_front(taken.size());
  std::string shown;
  if (size == 0 || (c < 0x20 && c != '\n' && c != '\r' && c != '\t') ||
      c == 0x7f) {
    shown = "\\x";
    appendHex(shown, static_cast<uint8_t>(taken[0]), 2);
  } else if (c == '\n' || c == '\r' || c == '\t') {
    shown = c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
  } else if (c == '\'' || c == '\\') {
    shown = {'\\', static_cast<char>(c)};
  } else if (isUnsafe(c)) {
    unsigned digits = 1;
    while (c >> (4 * digits))
      ++digits;
    shown = "\\u{";
    appendHex(shown, c, digits);
    shown += '}';
  } else {
    shown = taken.str();
  }
  return shown;
}

} // namespace

std::string amp::quoted(StringRef text, size_t limit) {
  // No character is shown in fewer bytes than it has, so a longer text is cut
  // without looking at all of it.
  std::string out = "'";
  if (text.size() <= limit) {
    for (StringRef rest = text; !rest.empty();)
      out += takeShown(rest);
    if (out.size() - 1 <= limit)
      return out + "'";
    out = "'";
  }

  size_t room = limit > ellipsis.size() ? limit - ellipsis.size() : 0;
  size_t headRoom = room * 3 / 5, tailRoom = room - headRoom;
  for (StringRef rest = text; !rest.empty();) {
    std::string shown = takeShown(rest);
    if (out.size() - 1 + shown.size() > headRoom)
      break;
    out += shown;
  }
  out += ellipsis;

  // The tail is read forwards, from a place where a character may begin.
  StringRef rest = text.take_back(limit);
  for (unsigned i = 0; i < 3 && rest.size() < text.size() && !rest.empty() &&
                       (static_cast<uint8_t>(rest[0]) & 0xc0) == 0x80;
       ++i)
    rest = rest.drop_front();
  SmallVector<std::string, 0> tail;
  while (!rest.empty())
    tail.push_back(takeShown(rest));
  size_t first = tail.size(), tailSize = 0;
  while (first > 0 && tailSize + tail[first - 1].size() <= tailRoom)
    tailSize += tail[--first].size();
  for (; first < tail.size(); ++first)
    out += tail[first];
  return out + "'";
}
