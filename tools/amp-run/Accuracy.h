//===- Accuracy.h - how often the largest logit is the label's --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_ACCURACY_H
#define AMP_TOOLS_AMPRUN_ACCURACY_H

#include "amp/Runtime/Status.h"
#include "amp/Runtime/Tensor.h"

#include <cstdint>

namespace amp::run {

struct Accuracy {
  uint64_t correct = 0, total = 0;
};

/// Adds the first `samples` of a batch. Labels have the logits' dimensions
/// without those of classes, which are axis 1, or the last if that alone fits.
/// Labels of -100 do not count (as in cross entropy); of equal logits the first
/// holds; with a NaN among them none does. `firstSample` is for messages.
runtime::Status addAccuracy(const runtime::TensorView &logits,
                            const runtime::TensorView &labels, uint64_t samples,
                            uint64_t firstSample, Accuracy &accuracy);

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_ACCURACY_H
