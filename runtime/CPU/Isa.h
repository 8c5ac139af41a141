//===- Isa.h - instruction sets that kernels are written for ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_ISA_H
#define AMP_RUNTIME_CPU_ISA_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace amp::runtime {

/// Each has what those before it have.
enum class Isa : uint8_t {
  /// x86-64-v2.
  Baseline,
  /// With FMA and F16C: x86-64-v3.
  AVX2,
  /// F, BW, DQ, VL: x86-64-v4.
  AVX512,
  /// Products of pairs of bfloat16.
  AVX512BF16,
  /// Tiles of bfloat16; the system has granted their use.
  AMX,
};

/// "baseline", "avx2", "avx512", "avx512bf16", "amx".
std::string_view getName(Isa isa);
std::optional<Isa> getIsa(std::string_view name);

/// The best one that CPU and system have.
Isa getHostIsa();

/// The host's, or what the environment variable AMP_RUNTIME_ISA says, if that
/// is less: for tests and measurements.
Isa getIsa();

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_ISA_H
