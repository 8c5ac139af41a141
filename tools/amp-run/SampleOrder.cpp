//===- SampleOrder.cpp - the order of samples in an epoch -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SampleOrder.h"

#include "kernels/Philox.h"

#include <numeric>
#include <string>
#include <utility>

using namespace amp::run;
using namespace amp::runtime;

/// The last: those of nodes, which draw with the same generator and maybe the
/// same seed, count from 0.
static constexpr uint32_t stream = UINT32_MAX;

Result<SampleOrder> SampleOrder::create(uint64_t count,
                                        std::optional<uint64_t> seed) {
  if (seed && count > UINT32_MAX)
    return Status::error(std::to_string(count) +
                         " samples are more than --shuffle can order, which "
                         "is " +
                         std::to_string(UINT32_MAX));
  SampleOrder order;
  order.count = count;
  order.seed = seed;
  if (seed)
    order.samples.resize(count);
  return order;
}

void SampleOrder::beginEpoch(uint64_t epoch) {
  if (!seed || current == epoch)
    return;
  current = epoch;
  std::iota(samples.begin(), samples.end(), uint32_t{0});
  Philox random(*seed, stream, epoch);
  // Fisher and Yates, by 64 bits each: two of them are a block. What a product
  // of 64 bits and a bound favours is below one part in 2^32.
  Philox::Words words{};
  uint32_t block = 0;
  for (uint64_t left = count, drawn = 0; left > 1; --left, ++drawn) {
    if (drawn % 2 == 0)
      words = random(block++);
    size_t half = drawn % 2 * 2;
    uint64_t bits = words[half] | uint64_t{words[half + 1]} << 32;
    auto chosen = static_cast<uint64_t>(
        (static_cast<unsigned __int128>(bits) * left) >> 64);
    std::swap(samples[left - 1], samples[chosen]);
  }
}
