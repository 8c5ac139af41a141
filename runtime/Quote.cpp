//===- Quote.cpp - foreign text made safe for a message ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Quote.h"

static void append(std::string &out, std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
}

/// Back to where a character of UTF-8 begins.
static size_t alignToCharacter(std::string_view text, size_t position) {
  while (position > 0 && position < text.size() &&
         (static_cast<unsigned char>(text[position]) & 0xc0) == 0x80)
    --position;
  return position;
}

std::string amp::runtime::quote(std::string_view text) {
  constexpr size_t limit = 80, part = 38;
  std::string out = "'";
  if (text.size() <= limit) {
    append(out, text);
  } else {
    append(out, text.substr(0, alignToCharacter(text, part)));
    out += "…";
    append(out, text.substr(alignToCharacter(text, text.size() - part)));
  }
  return out + "'";
}
