//===- PlacementRules.h - what a choice of formats must obey ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of optimal placement (lib/Analysis/PlacementProblem.h), written
// down a second time in the plainest way.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_UNIT_ANALYSIS_PLACEMENTRULES_H
#define AMP_UNIT_ANALYSIS_PLACEMENTRULES_H

#include "PlacementProblem.h"

namespace amp {

/// Who reads which values: what the rules depend on. Variables are numbered as
/// in PlacementProblem.
struct PlacementGraph {
  struct User {
    PlacementProblem::Variable variable;
    PlacementProblem::Use use;
    /// Its low format is not that of the producer.
    bool hasOtherLow = false;
  };
  struct Value {
    PlacementProblem::Variable producer;
    bool adopts;
    std::vector<User> users;
  };
  struct Operation {
    std::vector<PlacementProblem::Variable> variables;
    bool touchesLow;
  };
  std::vector<Operation> operations;
  std::vector<Value> values;
  /// With those that can't choose.
  unsigned numVariables = 2;
};

/// Per variable whether it is low.
using Formats = std::vector<bool>;

/// The variables that no rule makes float32.
std::vector<PlacementProblem::Variable>
findFreeVariables(const PlacementGraph &graph);

/// Tries all choices that obey the rules. Returns the union of the cheapest,
/// which should be one of them. Empty if there are too many.
Formats findCheapest(const PlacementGraph &graph,
                     llvm::function_ref<int64_t(const Formats &)> costOf,
                     size_t maxFree);

} // namespace amp

#endif // AMP_UNIT_ANALYSIS_PLACEMENTRULES_H
