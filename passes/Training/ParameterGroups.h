//===- ParameterGroups.h - what some parameters have for themselves -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_PARAMETERGROUPS_H
#define AMP_PASSES_TRAINING_PARAMETERGROUPS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace amp {

/// What an optimizer does otherwise for some parameters.
struct ParameterGroup {
  double rateFactor = 1; ///< on the learning rate
  double weightDecay = 0;
};

/// Reads groups `REGEX:lr=FACTOR,decay=NUMBER`, and gives each name its group:
/// the first whose expression matches the whole name, or `rest`, whose numbers
/// hold for what a group leaves out. Fails for a text of another form, and for
/// a group without parameters.
llvm::Expected<llvm::SmallVector<ParameterGroup>>
groupParameters(llvm::ArrayRef<llvm::StringRef> names,
                llvm::ArrayRef<std::string> groups, ParameterGroup rest);

} // namespace amp

#endif // AMP_PASSES_TRAINING_PARAMETERGROUPS_H
