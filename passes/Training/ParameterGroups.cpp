//===- ParameterGroups.cpp - what some parameters have for themselves -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParameterGroups.h"

#include "NamedValues.h"
#include "Settings.h"

#include "amp/Support/Quoted.h"

#include <optional>

using namespace llvm;

namespace amp {

/// Names for a message: some, if there are many.
static std::string listNames(ArrayRef<StringRef> names) {
  constexpr size_t kMost = 8;
  std::string text;
  for (StringRef name : names.take_front(kMost))
    text += (text.empty() ? "" : ", ") + quoted(name);
  return names.size() > kMost ? text + ", ..." : text;
}

Expected<SmallVector<ParameterGroup>>
groupParameters(ArrayRef<StringRef> names, ArrayRef<std::string> groups,
                ParameterGroup rest) {
  SmallVector<std::optional<ParameterGroup>> found(names.size());
  for (StringRef text : groups) {
    // Names may have colons, settings do not.
    auto [expression, settings] = text.rsplit(':');
    if (settings.empty())
      return createStringError(
          "group: expected REGEX:lr=FACTOR,decay=NUMBER, but got " +
          quoted(text));
    ParameterGroup group = rest;
    SmallVector<StringRef> texts;
    settings.split(texts, ',');
    if (Error error = readSettings(
            "group " + quoted(expression),
            {{"lr", &group.rateFactor}, {"decay", &group.weightDecay}}, texts))
      return error;
    Expected<Regex> regex = getWholeNameRegex(expression);
    if (!regex)
      return createStringError("group: " + toString(regex.takeError()));
    bool anyMatches = false, anyJoins = false;
    for (auto [name, its] : zip_equal(names, found)) {
      if (!regex->match(name))
        continue;
      anyMatches = true;
      if (its)
        continue;
      its = group;
      anyJoins = true;
    }
    if (anyMatches && !anyJoins)
      return createStringError("group: all parameters like " +
                               quoted(expression) + " are in groups before it");
    if (anyMatches)
      continue;
    std::string hint = didYouMean(expression, names);
    return createStringError(
        "group: no parameter has a name like " + quoted(expression) +
        (hint.empty() ? " (" + listNames(names) + ")" : hint));
  }
  return map_to_vector(found, [&](std::optional<ParameterGroup> group) {
    return group.value_or(rest);
  });
}

} // namespace amp
