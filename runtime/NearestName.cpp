//===- NearestName.cpp - the name that was meant --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NearestName.h"

#include "Quote.h"

#include <algorithm>
#include <cctype>

using namespace amp::runtime;

static bool isSameLetter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) ==
         std::tolower(static_cast<unsigned char>(b));
}

/// Insertions, deletions and replacements from one to the other, whatever the
/// case.
static size_t getEditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (isSameLetter(a[i - 1], b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string
amp::runtime::suggestName(std::string_view got,
                          const std::vector<std::string_view> &names) {
  constexpr size_t maxLength = 256, maxShown = 8;
  std::string_view nearest;
  size_t limit = std::max<size_t>(2, got.size() / 3) + 1;
  for (std::string_view name : names) {
    size_t difference =
        std::max(name.size(), got.size()) - std::min(name.size(), got.size());
    if (name.empty() || difference >= limit ||
        std::max(name.size(), got.size()) > maxLength)
      continue;
    size_t distance = getEditDistance(got, name);
    // A name of which nothing is left is not alike.
    if (distance >= limit || distance >= name.size())
      continue;
    nearest = name;
    limit = distance;
  }
  if (!nearest.empty())
    return "; did you mean " + quote(nearest) + "?";
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), maxShown); ++i)
    text += (i == 0 ? "; there are " : ", ") + quote(names[i]);
  return text + (names.size() > maxShown ? ", …" : "");
}
