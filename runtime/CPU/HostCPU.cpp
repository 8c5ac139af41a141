//===- HostCPU.cpp - what code this machine can run -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/HostCPU.h"

#include <array>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace amp::runtime;

#if defined(__x86_64__)

namespace {

/// A register of what CPUID says: leaf 1, leaf 7.0, leaf 7.1, leaf 0x80000001.
enum Word {
  Leaf1ECX,
  Leaf7EBX,
  Leaf7ECX,
  Leaf7EDX,
  Leaf71EAX,
  ExtendedECX,
  WordCount
};

/// What the system must save for a feature when it switches threads.
enum class Registers { SSE, AVX, AVX512, AMX };

struct Feature {
  std::string_view name;
  /// The first level of the ABI that has it; 5 for none.
  unsigned level;
  Word word;
  unsigned bit;
  Registers registers;
};

} // namespace

static constexpr unsigned beyondLevels = 5;

static constexpr Feature features[] = {
    {"cx16", 2, Leaf1ECX, 13, Registers::SSE},
    {"sahf", 2, ExtendedECX, 0, Registers::SSE},
    {"popcnt", 2, Leaf1ECX, 23, Registers::SSE},
    {"sse3", 2, Leaf1ECX, 0, Registers::SSE},
    {"ssse3", 2, Leaf1ECX, 9, Registers::SSE},
    {"sse4.1", 2, Leaf1ECX, 19, Registers::SSE},
    {"sse4.2", 2, Leaf1ECX, 20, Registers::SSE},
    {"avx", 3, Leaf1ECX, 28, Registers::AVX},
    {"avx2", 3, Leaf7EBX, 5, Registers::AVX},
    {"bmi", 3, Leaf7EBX, 3, Registers::SSE},
    {"bmi2", 3, Leaf7EBX, 8, Registers::SSE},
    {"f16c", 3, Leaf1ECX, 29, Registers::AVX},
    {"fma", 3, Leaf1ECX, 12, Registers::AVX},
    {"lzcnt", 3, ExtendedECX, 5, Registers::SSE},
    {"movbe", 3, Leaf1ECX, 22, Registers::SSE},
    {"avx512f", 4, Leaf7EBX, 16, Registers::AVX512},
    {"avx512bw", 4, Leaf7EBX, 30, Registers::AVX512},
    {"avx512cd", 4, Leaf7EBX, 28, Registers::AVX512},
    {"avx512dq", 4, Leaf7EBX, 17, Registers::AVX512},
    {"avx512vl", 4, Leaf7EBX, 31, Registers::AVX512},
    {"avx512vnni", beyondLevels, Leaf7ECX, 11, Registers::AVX512},
    {"avx512vbmi", beyondLevels, Leaf7ECX, 1, Registers::AVX512},
    {"avx512bf16", beyondLevels, Leaf71EAX, 5, Registers::AVX512},
    {"avx512fp16", beyondLevels, Leaf7EDX, 23, Registers::AVX512},
    {"avxvnni", beyondLevels, Leaf71EAX, 4, Registers::AVX},
    {"amx-tile", beyondLevels, Leaf7EDX, 24, Registers::AMX},
    {"amx-bf16", beyondLevels, Leaf7EDX, 22, Registers::AMX},
    {"amx-int8", beyondLevels, Leaf7EDX, 25, Registers::AMX},
};

static std::array<uint32_t, WordCount> readWords() {
  std::array<uint32_t, WordCount> words = {};
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d))
    words[Leaf1ECX] = c;
  unsigned subleaves = 0;
  if (__get_cpuid_count(7, 0, &subleaves, &b, &c, &d)) {
    words[Leaf7EBX] = b;
    words[Leaf7ECX] = c;
    words[Leaf7EDX] = d;
    if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d))
      words[Leaf71EAX] = a;
  }
  if (__get_cpuid(0x80000001, &a, &b, &c, &d))
    words[ExtendedECX] = c;
  return words;
}

/// Which registers the system saves (XCR0).
static uint64_t readSavedRegisters(uint32_t leaf1ECX) {
  constexpr uint32_t osxsave = 1u << 27;
  if ((leaf1ECX & osxsave) == 0)
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

static bool askForTiles() {
  constexpr long requestPermission = 0x1023; // ARCH_REQ_XCOMP_PERM
  constexpr long tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

static bool isSaved(Registers registers, uint64_t saved) {
  auto has = [&](uint64_t bits) { return (saved & bits) == bits; };
  switch (registers) {
  case Registers::SSE:
    return true;
  case Registers::AVX:
    return has(0x6);
  case Registers::AVX512:
    return has(0xe6);
  case Registers::AMX:
    return has(0x60000) && askForTiles();
  }
  return false;
}

namespace {
struct Host {
  std::array<bool, std::size(features)> has = {};
  unsigned level = 4;

  Host() {
    std::array<uint32_t, WordCount> words = readWords();
    uint64_t saved = readSavedRegisters(words[Leaf1ECX]);
    for (size_t i = 0; i < std::size(features); ++i) {
      const Feature &feature = features[i];
      has[i] = (words[feature.word] >> feature.bit & 1) != 0 &&
               isSaved(feature.registers, saved);
      if (!has[i] && feature.level <= level)
        level = feature.level - 1;
    }
  }
};
} // namespace

static const Host &getHost() {
  static const Host host;
  return host;
}

static std::string_view takePart(std::string_view &rest) {
  size_t plus = rest.find('+');
  std::string_view part = rest.substr(0, plus);
  rest = plus == std::string_view::npos ? std::string_view()
                                        : rest.substr(plus + 1);
  return part;
}

static unsigned getLevel(std::string_view name) {
  constexpr std::string_view names[] = {"x86-64", "x86-64-v2", "x86-64-v3",
                                        "x86-64-v4"};
  for (unsigned i = 0; i < std::size(names); ++i)
    if (names[i] == name)
      return i + 1;
  return 0;
}

std::optional<unsigned> amp::runtime::rateCode(std::string_view cpu) {
  const Host &host = getHost();
  std::string_view rest = cpu;
  unsigned level = getLevel(takePart(rest));
  if (level == 0 || level > host.level)
    return std::nullopt;
  unsigned count = 0;
  while (!rest.empty()) {
    std::string_view name = takePart(rest);
    bool found = false;
    for (size_t i = 0; i < std::size(features); ++i)
      found |= features[i].name == name && host.has[i];
    if (!found)
      return std::nullopt;
    ++count;
  }
  return level * 1000 + count;
}

std::string amp::runtime::describeHost() {
  const Host &host = getHost();
  std::string text = "x86-64";
  if (host.level > 1)
    text += "-v" + std::to_string(host.level);
  for (size_t i = 0; i < std::size(features); ++i)
    if (host.has[i] && features[i].level > host.level)
      text += "+" + std::string(features[i].name);
  return text;
}

#else

std::optional<unsigned> amp::runtime::rateCode(std::string_view) {
  return std::nullopt;
}

std::string amp::runtime::describeHost() { return "not x86-64"; }

#endif
