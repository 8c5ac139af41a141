//===- Isa.cpp - which instruction sets the host has ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Isa.h"

#include <algorithm>
#include <cstdlib>
#include <sys/syscall.h>
#include <unistd.h>

namespace amp::runtime {

static constexpr std::string_view names[] = {"baseline", "avx2", "avx512",
                                             "avx512bf16", "amx"};

std::string_view getName(Isa isa) { return names[static_cast<size_t>(isa)]; }

std::optional<Isa> getIsa(std::string_view name) {
  auto *found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names))
    return std::nullopt;
  return static_cast<Isa>(found - names);
}

/// Linux gives the state of tiles to processes that ask for it.
static bool requestTiles() {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr int requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
#else
  return false;
#endif
}

static Isa findHostIsa() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("f16c"))
    return Isa::Baseline;
  if (!__builtin_cpu_supports("avx512f") ||
      !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl"))
    return Isa::AVX2;
  if (!__builtin_cpu_supports("avx512bf16"))
    return Isa::AVX512;
  if (__builtin_cpu_supports("amx-tile") &&
      __builtin_cpu_supports("amx-bf16") && requestTiles())
    return Isa::AMX;
  // Intel's do half as much in these instructions as in floats.
  return __builtin_cpu_is("intel") ? Isa::AVX512 : Isa::AVX512BF16;
}

Isa getHostIsa() {
  static const Isa host = findHostIsa();
  return host;
}

Isa getIsa() {
  static const Isa chosen = [] {
    const char *name = std::getenv("AMP_RUNTIME_ISA");
    return std::min(getHostIsa(),
                    name ? getIsa(name).value_or(Isa::AMX) : Isa::AMX);
  }();
  return chosen;
}

} // namespace amp::runtime
