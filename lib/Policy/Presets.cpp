//===- Presets.cpp - the policy files that are built in -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PolicyParser.h"
#include "PolicyTable.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace amp;
using namespace amp::detail;

namespace {
struct Preset {
  llvm::StringRef name, text;
};
} // namespace

// Generated from presets/*.yaml, see CMakeLists.txt.
static const Preset presets[] = {
#include "Presets.inc"
};

std::optional<llvm::StringRef> detail::presetText(llvm::StringRef name) {
  for (const Preset &preset : presets)
    if (preset.name == name)
      return preset.text;
  return std::nullopt;
}

std::vector<std::string> Policy::presetNames() {
  std::vector<std::string> names;
  for (const Preset &preset : presets)
    names.push_back(preset.name.str());
  llvm::sort(names);
  return names;
}

const llvm::StringSet<> &detail::knownOperators() {
  static const llvm::StringSet<> known = [] {
    // All other presets extend it, and their tests see to it that it is whole.
    llvm::StringSet<> names;
    collectCategorisedOperators(*presetText("torch"), names);
    return names;
  }();
  return known;
}

llvm::Error detail::unknownPreset(llvm::StringRef name) {
  std::vector<std::string> names = Policy::presetNames();
  std::vector<llvm::StringRef> refs(names.begin(), names.end());
  std::string nearest = nearestName(name, refs);
  if (nearest.empty())
    nearest = ", expected " + llvm::join(names, ", ") +
              " or a path that ends in .yaml or has a slash";
  return makeError("unknown policy " + quoted(name) + nearest);
}

llvm::Expected<Policy> Policy::preset(llvm::StringRef name) {
  if (std::optional<llvm::StringRef> text = presetText(name))
    return PolicyParser::parsePreset(name, *text);
  return unknownPreset(name);
}
