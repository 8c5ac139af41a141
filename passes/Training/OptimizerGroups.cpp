//===- OptimizerGroups.cpp - groups that have an optimizer ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptimizerGroups.h"

#include "NamedValues.h"
#include "Optimizers.h"
#include "Settings.h"

#include "amp/Support/Quoted.h"

using namespace llvm;

namespace amp {

Expected<GroupsByKind> splitGroups(ArrayRef<std::string> groups) {
  constexpr StringLiteral kOptimizer = "optimizer=";
  GroupsByKind found;
  for (StringRef text : groups) {
    // Names may have colons, settings do not.
    auto [expression, settings] = text.rsplit(':');
    SmallVector<StringRef> texts;
    settings.split(texts, ',');
    if (none_of(texts, [&](StringRef setting) {
          return setting.starts_with(kOptimizer);
        })) {
      found.shared.push_back(text.str());
      continue;
    }
    OptimizerGroup group;
    group.parameters = expression.str();
    std::string owner = "group " + quoted(expression);
    for (StringRef setting : texts) {
      if (setting.consume_front(kOptimizer)) {
        if (!group.optimizer.empty())
          return createStringError(owner + " has two optimizers, " +
                                   quoted(group.optimizer) + " and " +
                                   quoted(setting));
        group.optimizer = setting.str();
      } else if (setting.starts_with("lr=") || setting.starts_with("decay=")) {
        double rate = 0, decay = 0;
        if (Error error = readSettings(
                owner, {{"lr", &rate}, {"decay", &decay}}, setting))
          return error;
        (setting.starts_with("lr=") ? group.rate : group.weightDecay) =
            setting.starts_with("lr=") ? rate : decay;
      } else {
        group.settings.push_back(setting.str());
      }
    }
    if (auto regex = getWholeNameRegex(expression); !regex)
      return createStringError("group: " + toString(regex.takeError()));
    if (auto rule = Optimizer::create(group.optimizer, group.settings); !rule)
      return createStringError(owner + ": " + toString(rule.takeError()));
    found.own.push_back(std::move(group));
  }
  return found;
}

} // namespace amp
