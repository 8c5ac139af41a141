//===- NonFiniteSearch.cpp - back to where a NaN came from ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NonFiniteSearch.h"

#include "Quote.h"

#include <utility>

using namespace amp::run;
using namespace amp::runtime;

Status NonFiniteSearch::prepare(uint64_t step) {
  if (hasSnapshot && step < snapshotStep + interval)
    return {};
  hasSnapshot = true;
  snapshotStep = step;
  return snapshot.take(session);
}

static Result<std::vector<bool>> findNonFinite(const Session &session) {
  std::vector<bool> are;
  for (const TensorInfo &info : session.getExecutable().getStates()) {
    Result<TensorView> state = session.getState(info.name);
    if (!state.ok())
      return state.getStatus();
    are.push_back(bool(countNonFinite(*state)));
  }
  return are;
}

Result<bool> NonFiniteSearch::hasNewNonFinite() const {
  Result<std::vector<bool>> now = findNonFinite(session);
  if (!now.ok())
    return now.getStatus();
  for (size_t i = 0; i < now->size(); ++i)
    if ((*now)[i] && !wasNonFinite[i])
      return true;
  return false;
}

Status NonFiniteSearch::watch(uint64_t step) {
  if (Status status = data.load(step); !status.ok())
    return status;
  if (Status status = finder.begin(session); !status.ok())
    return status;
  session.setObserver(&finder);
  Status status = session.step();
  session.setObserver(nullptr);
  return status;
}

std::string NonFiniteSearch::describeInputs() const {
  for (const NamedTensor &input : data.getLoaded()) {
    NonFiniteCount count = countNonFinite(input.tensor);
    if (!count)
      continue;
    auto perSample = static_cast<uint64_t>(input.tensor.getElementCount()) /
                     static_cast<uint64_t>(input.tensor.shape[0]);
    return "input " + quote(input.name) +
           " has them: " + describe(count, input.tensor) + ", in sample " +
           std::to_string(data.findSample(count.first / perSample)) +
           " of the data";
  }
  return "";
}

Result<std::string> NonFiniteSearch::explain(uint64_t step) {
  if (Status status = snapshot.restore(session); !status.ok())
    return status;
  Result<std::vector<bool>> were = findNonFinite(session);
  if (!were.ok())
    return were.getStatus();
  wasNonFinite = std::move(*were);

  // The first step that made a state so, or the one with the loss.
  StateSnapshot before, earlier;
  uint64_t guilty = snapshotStep;
  for (bool isFound = false; !isFound; guilty += !isFound) {
    if (guilty > snapshotStep)
      std::swap(before, earlier);
    if (Status status = before.take(session); !status.ok())
      return status;
    if (guilty == step)
      break;
    if (Status status = data.load(guilty); !status.ok())
      return status;
    if (Status status = session.step(); !status.ok())
      return status;
    Result<bool> isNew = hasNewNonFinite();
    if (!isNew.ok())
      return isNew.getStatus();
    isFound = *isNew;
  }

  // What the step before did, too, was no harm.
  if (guilty > snapshotStep) {
    if (Status status = earlier.restore(session); !status.ok())
      return status;
    if (Status status = watch(guilty - 1); !status.ok())
      return status;
    finder.ignoreFound();
  }
  if (Status status = before.restore(session); !status.ok())
    return status;
  if (Status status = watch(guilty); !status.ok())
    return status;
  // Steps count from 1 for people.
  std::string where =
      guilty == step ? "" : "in step " + std::to_string(guilty + 1) + ", ";
  if (std::string inputs = describeInputs(); !inputs.empty())
    return where + inputs;
  if (finder.getFirst())
    return where + *finder.getFirst();
  return where + "no node makes them: they were in the model or its states "
                 "before";
}
