//===- Run.cpp - runs an executable on arrays from files ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Run.h"

#include "ArrayFile.h"
#include "Profile.h"
#include "amp/Runtime/Session.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace amp;
using namespace amp::run;
using namespace amp::runtime;

static Status runSteps(Session &session, unsigned count) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> milliseconds;
  for (unsigned i = 0; i < count; ++i) {
    Clock::time_point begin = Clock::now();
    if (Status status = session.step(); !status.ok())
      return status;
    std::chrono::duration<double, std::milli> time = Clock::now() - begin;
    milliseconds.push_back(time.count());
  }
  if (count < 2)
    return {};
  std::sort(milliseconds.begin(), milliseconds.end());
  std::printf("%u steps: median %.3f ms, from %.3f to %.3f ms\n", count,
              milliseconds[count / 2], milliseconds.front(),
              milliseconds.back());
  return {};
}

static Status writeOutputs(const Session &session, const std::string &path) {
  std::vector<NamedTensor> tensors;
  for (const TensorInfo &output : session.getExecutable().getOutputs()) {
    Result<TensorView> tensor = session.getOutput(output.name);
    if (!tensor.ok())
      return tensor.getStatus();
    tensors.push_back({output.name, *tensor});
  }
  return writeArrays(path, tensors);
}

Status amp::run::run(const ModelOptions &modelOptions,
                     const RunOptions &options) {
  Result<Model> model = openModel(modelOptions);
  if (!model.ok())
    return model.getStatus();
  Session &session = *model->session;
  Profile profile;
  if (!options.profile.empty())
    session.setObserver(&profile);
  if (Status status = runSteps(session, options.repeat); !status.ok())
    return status;

  if (!options.outputs.empty())
    if (Status status = writeOutputs(session, options.outputs); !status.ok())
      return status;
  if (!modelOptions.saveState.empty())
    if (Status status = session.saveStates(modelOptions.saveState);
        !status.ok())
      return status;
  if (!options.profile.empty())
    return profile.write(options.profile);
  return {};
}
