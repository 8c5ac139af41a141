//===- Philox.h - random numbers that repeat --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011) with the seed as its key
// and {block, stream, step} as its counter, as passes/Training/RandomNumbers.h
// has it in ONNX's operators.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_KERNELS_PHILOX_H
#define AMP_RUNTIME_KERNELS_PHILOX_H

#include <array>
#include <cstdint>

namespace amp::runtime {

/// A block is four words, a function of its number, the stream and the step.
class Philox {
public:
  using Words = std::array<uint32_t, 4>;

  Philox(uint64_t seed, uint32_t stream, uint64_t step)
      : seed(seed), stream(stream), step(step) {}

  Words operator()(uint32_t block) const {
    Words c = {block, stream, static_cast<uint32_t>(step),
               static_cast<uint32_t>(step >> 32)};
    auto k0 = static_cast<uint32_t>(seed),
         k1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      uint64_t first = uint64_t(0xD2511F53) * c[0];
      uint64_t second = uint64_t(0xCD9E8D57) * c[2];
      c = {static_cast<uint32_t>(second >> 32) ^ c[1] ^ k0,
           static_cast<uint32_t>(second),
           static_cast<uint32_t>(first >> 32) ^ c[3] ^ k1,
           static_cast<uint32_t>(first)};
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    return c;
  }

private:
  uint64_t seed;
  uint32_t stream;
  uint64_t step;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_KERNELS_PHILOX_H
