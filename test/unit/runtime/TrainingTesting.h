//===- TrainingTesting.h - a small model to train, and data -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TEST_RUNTIME_TRAININGTESTING_H
#define AMP_TEST_RUNTIME_TRAININGTESTING_H

#include "ArrayFile.h"
#include "ExecutableBuilder.h"

#include <cstdint>
#include <string>
#include <vector>

namespace amp::run::test {

struct LinearModel {
  /// 0: batches of any size.
  int64_t batch = 0;
  float rate = 0.1f;
  /// With the output amp.found_inf: whether the loss is not finite; steps are
  /// taken all the same.
  bool hasFoundInf = false;
  /// With -inf among what is computed in every step, to no effect.
  bool hasMask = false;
};

/// Writes a step of linear regression: inputs x (batch x 2), t (batch x 1),
/// states w (2), amp.step and amp.scale, output loss, the mean of squares; with
/// the runtime's own kernels. Its nodes are called after what they make.
std::string writeLinearModel(const LinearModel &options = {});

/// Writes x and t for so many samples, as .npz.
std::string writeLinearData(int64_t samples, float spread = 1);

/// Writes a .npy file of this name in a new folder; the path.
std::string writeNpy(const runtime::TensorView &tensor,
                     const std::string &name = "");

std::string readFile(const std::string &path);

struct Outcome {
  /// 128 + the signal for a process that a signal ended.
  int code;
  std::string text;
};
/// Runs amp-run in a shell; both its streams.
Outcome runTool(const std::string &arguments);
/// The executable.
const char *getToolPath();

/// amp-run at work.
class ToolProcess {
public:
  explicit ToolProcess(const std::vector<std::string> &arguments);
  ~ToolProcess();
  void send(int signal) const;
  /// As Outcome has it.
  int wait();

private:
  int process = -1;
};

} // namespace amp::run::test

#endif // AMP_TEST_RUNTIME_TRAININGTESTING_H
