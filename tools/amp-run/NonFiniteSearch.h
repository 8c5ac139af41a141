//===- NonFiniteSearch.h - back to where a NaN came from --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_NONFINITESEARCH_H
#define AMP_TOOLS_AMPRUN_NONFINITESEARCH_H

#include "NonFinite.h"
#include "StateSnapshot.h"
#include "amp/Runtime/Session.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace amp::run {

/// Keeps the states of some steps ago. When the loss is not finite, it runs the
/// steps since again, which give the same bits, and looks where states or
/// values began not to be finite. The cost is a copy of the states in every
/// sixteenth step.
class NonFiniteSearch {
public:
  /// What it needs to know of the data.
  struct Data {
    /// Loads the batch of a step.
    std::function<runtime::Status(uint64_t step)> load;
    /// Inputs that come from the data, as loaded.
    std::function<std::vector<runtime::NamedTensor>()> getLoaded;
    /// The sample of the data at a place of the batch that is loaded.
    std::function<uint64_t(uint64_t place)> findSample;
  };

  NonFiniteSearch(runtime::Session &session, Data data)
      : session(session), data(std::move(data)) {}

  /// Before each step.
  runtime::Status prepare(uint64_t step);

  /// After a step with a loss that is not finite: "node …", maybe "in step 7,
  /// node …". States are what they were before or after one of the steps.
  runtime::Result<std::string> explain(uint64_t step);

private:
  runtime::Status watch(uint64_t step);
  runtime::Result<bool> hasNewNonFinite() const;
  std::string describeInputs() const;

  static constexpr uint64_t interval = 16;

  runtime::Session &session;
  Data data;
  StateSnapshot snapshot;
  uint64_t snapshotStep = 0;
  bool hasSnapshot = false;
  /// By state, whether it was not finite in the snapshot already.
  std::vector<bool> wasNonFinite;
  NonFiniteFinder finder;
};

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_NONFINITESEARCH_H
