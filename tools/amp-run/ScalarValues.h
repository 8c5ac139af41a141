//===- ScalarValues.h - numbers that each step gives ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_SCALARVALUES_H
#define AMP_TOOLS_AMPRUN_SCALARVALUES_H

#include "amp/Runtime/Session.h"

#include <optional>
#include <string>
#include <vector>

namespace amp::run {

/// A number of a step: an output or a state of one element.
struct Scalar {
  std::string name;
  bool isState = false;
  /// Where it was when it was read.
  runtime::TensorView tensor;

  double getNumber() const;
};

/// The numbers that a training step gives, the loss first.
class ScalarValues {
public:
  /// `loss` may be empty: then it is the output total_loss, or loss, or the
  /// only scalar of floats. An error without one, or if it is none.
  static runtime::Result<ScalarValues>
  find(const runtime::Executable &executable, const std::string &loss);

  /// Reads all, after a step; valid until the next.
  runtime::Status read(const runtime::Session &session);

  const std::vector<Scalar> &get() const { return scalars; }
  double getLoss() const { return scalars[0].getNumber(); }
  const std::string &getLossName() const { return scalars[0].name; }
  /// Whether gradients overflowed and an optimizer left its parameters alone:
  /// amp.found_inf, amp.found_inf.2, …
  bool isSkipped() const;
  /// amp.scale.
  std::optional<double> getScale() const;

private:
  runtime::Status findLoss(const runtime::Executable &executable,
                           const std::string &loss);

  std::vector<Scalar> scalars;
};

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_SCALARVALUES_H
