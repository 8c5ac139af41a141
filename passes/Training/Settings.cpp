//===- Settings.cpp - numbers that are set by name ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Settings.h"

#include "amp/Support/NearestName.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <tuple>

using namespace llvm;

namespace amp {

static std::string describeRange(const Setting &setting) {
  if (setting.kind == Setting::Flag)
    return "0 or 1";
  std::string text;
  raw_string_ostream out(text);
  out << (setting.kind == Setting::Whole ? "a whole number" : "a number");
  bool hasLeast = std::isfinite(setting.least);
  if (hasLeast)
    out << format(" from %g", setting.least);
  if (std::isfinite(setting.bound))
    out << (hasLeast ? " to" : "") << format(" below %g", setting.bound);
  return text;
}

static bool isInRange(const Setting &setting, double value) {
  if (setting.kind == Setting::Flag)
    return value == 0 || value == 1;
  return std::isfinite(value) && value >= setting.least &&
         value < setting.bound &&
         (setting.kind == Setting::Number || value == std::floor(value));
}

Error checkSetting(const Setting &setting, double value, StringRef owner) {
  if (isInRange(setting, value))
    return Error::success();
  std::string subject = setting.name.str();
  if (!owner.empty())
    subject += (" of " + owner).str();
  return createStringError("%s expects %s, but got %g", subject.c_str(),
                           describeRange(setting).c_str(), value);
}

Error readSettings(StringRef owner, ArrayRef<Setting> known,
                   ArrayRef<StringRef> texts) {
  for (StringRef text : texts) {
    StringRef name, digits;
    std::tie(name, digits) = text.split('=');
    double value = 0;
    if (digits.getAsDouble(value))
      return createStringError(
          owner + " expects settings NAME=NUMBER, but got " + quoted(text));
    const Setting *found = find_if(
        known, [&](const Setting &setting) { return setting.name == name; });
    if (found == known.end()) {
      SmallVector<StringRef> names;
      for (const Setting &setting : known)
        names.push_back(setting.name);
      std::string hint = didYouMean(name, names);
      if (hint.empty() && !names.empty())
        hint = " (" + join(names, ", ") + ")";
      return createStringError(owner + " has no setting " + quoted(name) +
                               hint);
    }
    if (Error error = checkSetting(*found, value, owner))
      return error;
    *found->value = value;
  }
  return Error::success();
}

std::string didYouMean(StringRef got, ArrayRef<StringRef> names) {
  StringRef nearest = findNearestName(got, names);
  return nearest.empty() ? std::string()
                         : "; did you mean " + quoted(nearest) + "?";
}

} // namespace amp
