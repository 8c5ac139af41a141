//===- SampleOrder.h - the order of samples in an epoch ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_SAMPLEORDER_H
#define AMP_TOOLS_AMPRUN_SAMPLEORDER_H

#include "amp/Runtime/Status.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace amp::run {

/// Which sample comes at which place of an epoch: that of the data, or a random
/// order that depends on the number of samples, the seed and the epoch only.
class SampleOrder {
public:
  SampleOrder() = default;
  /// Without a seed, the order of the data.
  static runtime::Result<SampleOrder> create(uint64_t count,
                                             std::optional<uint64_t> seed);

  /// Before samples of an epoch are asked for. Epochs count from 0.
  void beginEpoch(uint64_t epoch);

  bool isShuffled() const { return seed.has_value(); }
  uint64_t getCount() const { return count; }
  uint64_t operator[](uint64_t place) const {
    return seed ? samples[place] : place;
  }

private:
  uint64_t count = 0;
  std::optional<uint64_t> seed;
  std::optional<uint64_t> current;
  /// Empty without a seed.
  std::vector<uint32_t> samples;
};

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_SAMPLEORDER_H
