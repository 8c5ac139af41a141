//===- OptimizerGroups.h - groups that have an optimizer --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_OPTIMIZERGROUPS_H
#define AMP_PASSES_TRAINING_OPTIMIZERGROUPS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <string>

namespace amp {

/// Parameters with an optimizer of their own, for amp-attach-optimizer.
struct OptimizerGroup {
  std::string parameters; ///< regular expression
  std::string optimizer;
  double rate = -1, weightDecay = -1; ///< negative: torch.optim's
  llvm::SmallVector<std::string> settings;
};

/// Groups of both kinds.
struct GroupsByKind {
  llvm::SmallVector<OptimizerGroup> own;
  /// As they are, for the optimizer of the rest.
  llvm::SmallVector<std::string> shared;
};

/// Finds the groups `REGEX:optimizer=NAME,lr=RATE,decay=NUMBER,SETTING=NUMBER`
/// among others. Fails for an expression, optimizer, setting or number that is
/// none.
llvm::Expected<GroupsByKind> splitGroups(llvm::ArrayRef<std::string> groups);

} // namespace amp

#endif // AMP_PASSES_TRAINING_OPTIMIZERGROUPS_H
