//===- LossTerms.h - what a loss is a sum of --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_LOSSTERMS_H
#define AMP_PASSES_TRAINING_LOSSTERMS_H

#include "TrainingState.h"

#include "llvm/Support/Error.h"

namespace amp {

/// A loss, built or named, and its factor in the sum that is trained on.
struct LossTerm {
  std::string name;
  double weight = 1;

  bool isBuilt() const { return isBuiltLoss(name); }
};

/// Reads texts `NAME` and `NAME=WEIGHT`. Fails for none, an empty name, a
/// weight that is not finite, and a value that is named twice.
llvm::Expected<llvm::SmallVector<LossTerm>>
parseLossTerms(llvm::ArrayRef<std::string> texts);

/// True for more than one loss as it is: the sum is a value of its own.
bool isWeightedSum(llvm::ArrayRef<LossTerm> terms);

/// The name of the value that is trained on.
std::string getTrainedLossName(llvm::ArrayRef<LossTerm> terms);

/// Reads an axis; none for an empty text, which leaves the choice.
llvm::Expected<std::optional<int64_t>> parseClassAxis(llvm::StringRef text);

} // namespace amp

#endif // AMP_PASSES_TRAINING_LOSSTERMS_H
