//===- StateSnapshot.cpp - states as they were ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateSnapshot.h"

#include "Quote.h"

#include <cstring>

using namespace amp::run;
using namespace amp::runtime;

Status StateSnapshot::take(const Session &session) {
  const std::vector<TensorInfo> &infos = session.getExecutable().getStates();
  if (buffers.empty())
    buffers.resize(infos.size());
  for (size_t i = 0; i < infos.size(); ++i) {
    Result<TensorView> state = session.getState(infos[i].name);
    if (!state.ok())
      return state.getStatus();
    size_t size = state->getByteCount();
    if (buffers[i].getCapacity() < size)
      if (Status status = buffers[i].reserve(size, "a copy of state " +
                                                       quote(infos[i].name));
          !status.ok())
        return status;
    if (size > 0)
      std::memcpy(buffers[i].getData(), state->data, size);
  }
  return {};
}

Status StateSnapshot::restore(Session &session) const {
  const std::vector<TensorInfo> &infos = session.getExecutable().getStates();
  for (size_t i = 0; i < infos.size(); ++i) {
    Result<TensorView> state = session.getState(infos[i].name);
    if (!state.ok())
      return state.getStatus();
    if (size_t size = state->getByteCount())
      std::memcpy(state->data, buffers[i].getData(), size);
  }
  return {};
}
