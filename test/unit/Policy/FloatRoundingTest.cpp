//===- FloatRoundingTest.cpp - conversions against llvm::APFloat ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Every table of loops that this machine can run is held to the same oracle.
// AMP_TEST_ALL_FLOATS=1 tries all 2^32 float32 inputs instead of 2^24 of them.
//
//===----------------------------------------------------------------------===//

#include "amp/Policy/FloatRounding.h"

#include "FloatRoundingKernels.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/bit.h"

#include "gtest/gtest.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace amp;
using namespace amp::detail;

namespace {

//===----------------------------------------------------------------------===//
// The oracle
//===----------------------------------------------------------------------===//

const llvm::fltSemantics &half() { return llvm::APFloat::IEEEhalf(); }
const llvm::fltSemantics &bfloat() { return llvm::APFloat::BFloat(); }

template <typename Bits> llvm::APFloat decode(Bits bits) {
  return llvm::APFloat(sizeof(Bits) == 4 ? llvm::APFloat::IEEEsingle()
                                         : llvm::APFloat::IEEEdouble(),
                       llvm::APInt(8 * sizeof(Bits), bits));
}

template <typename Bits>
uint16_t expected(Bits bits, const llvm::fltSemantics &to,
                  bool saturate = false) {
  llvm::APFloat value = decode(bits);
  bool finite = value.isFinite();
  bool losesInfo;
  value.convert(to, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  if (saturate && finite && value.isInfinity())
    value = llvm::APFloat::getLargest(to, value.isNegative());
  return static_cast<uint16_t>(value.bitcastToAPInt().getZExtValue());
}

uint32_t expectedWide(uint16_t bits, const llvm::fltSemantics &from) {
  llvm::APFloat value(from, llvm::APInt(16, bits));
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  return static_cast<uint32_t>(value.bitcastToAPInt().getZExtValue());
}

std::vector<const FloatRoundingKernels *> allKernels() {
  std::vector<const FloatRoundingKernels *> tables;
  for (const auto *const *next = supportedKernels(); *next; ++next)
    tables.push_back(*next);
  return tables;
}

template <typename T> char *bytesOf(std::vector<T> &values) {
  return reinterpret_cast<char *>(values.data());
}
template <typename T> const char *bytesOf(const std::vector<T> &values) {
  return reinterpret_cast<const char *>(values.data());
}

/// Runs every table's rounding from Bits to 16 bits over `inputs`, with and
/// without saturation, and compares with the oracle. True if all agree.
template <typename Bits>
bool check(const std::vector<Bits> &inputs, bool toHalf) {
  const llvm::fltSemantics &to = toHalf ? half() : bfloat();
  std::vector<uint16_t> got(inputs.size());
  std::vector<uint16_t> wanted(inputs.size()), wantedSaturated(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    wanted[i] = wantedSaturated[i] = expected(inputs[i], to);
    if ((wanted[i] & 0x7fff) == (toHalf ? 0x7c00 : 0x7f80))
      wantedSaturated[i] = expected(inputs[i], to, /*saturate=*/true);
  }
  for (const FloatRoundingKernels *kernels : allKernels())
    for (bool saturate : {false, true}) {
      FloatRoundingKernels::Round round =
          sizeof(Bits) == 4 ? (toHalf ? kernels->float32ToFloat16
                                      : kernels->float32ToBFloat16)
                            : (toHalf ? kernels->float64ToFloat16
                                      : kernels->float64ToBFloat16);
      round(bytesOf(inputs), bytesOf(got), inputs.size(), saturate);
      const auto &want = saturate ? wantedSaturated : wanted;
      if (got == want)
        continue;
      size_t i = std::mismatch(got.begin(), got.end(), want.begin()).first -
                 got.begin();
      ADD_FAILURE() << kernels->name << " to " << (toHalf ? "fp16" : "bf16")
                    << (saturate ? ", saturated" : "") << ": input 0x"
                    << std::hex << uint64_t(inputs[i]) << " gives 0x" << got[i]
                    << ", expected 0x" << want[i];
      return false;
    }
  return true;
}

/// Inputs around everything that may go wrong in a format with this many
/// mantissa bits: per sign and exponent, mantissas with few bits set or clear,
/// and all values around the ends of what rounding drops.
template <typename Bits>
std::vector<Bits> boundaries(unsigned exponentBits, unsigned mantissaBits) {
  std::vector<Bits> mantissas;
  Bits mask = (Bits(1) << mantissaBits) - 1;
  for (unsigned i = 0; i <= mantissaBits; ++i)
    for (unsigned j = 0; j <= mantissaBits; ++j)
      for (int offset : {-1, 0, 1}) {
        Bits bits = ((Bits(1) << i) | (Bits(1) << j)) + Bits(offset);
        mantissas.push_back(bits & mask);
        mantissas.push_back(~bits & mask);
      }
  std::sort(mantissas.begin(), mantissas.end());
  mantissas.erase(std::unique(mantissas.begin(), mantissas.end()),
                  mantissas.end());
  std::vector<Bits> inputs;
  for (Bits high = 0; high < Bits(1) << (exponentBits + 1); ++high)
    for (Bits mantissa : mantissas)
      inputs.push_back((high << mantissaBits) | mantissa);
  return inputs;
}

/// Every value of the 16-bit format, every midpoint between neighbours (the
/// ties), and what lies next to both.
template <typename Bits> std::vector<Bits> ties(const llvm::fltSemantics &to) {
  std::vector<Bits> inputs;
  auto encode = [](llvm::APFloat value) {
    bool losesInfo;
    value.convert(sizeof(Bits) == 4 ? llvm::APFloat::IEEEsingle()
                                    : llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return static_cast<Bits>(value.bitcastToAPInt().getZExtValue());
  };
  auto addAround = [&](Bits bits) {
    for (Bits sign : {Bits(0), Bits(1) << (8 * sizeof(Bits) - 1)})
      for (int offset : {-1, 0, 1})
        inputs.push_back((bits + Bits(offset)) | sign);
  };
  for (uint32_t bits = 0; bits < 0x7fff; ++bits) {
    llvm::APFloat low(to, llvm::APInt(16, bits));
    llvm::APFloat high(to, llvm::APInt(16, bits + 1));
    if (!low.isFinite())
      break;
    Bits below = encode(low);
    // Past the largest: where the next value would be without the limit.
    Bits above =
        high.isFinite()
            ? encode(high)
            : below + (below -
                       encode(llvm::APFloat(to, llvm::APInt(16, bits - 1))));
    addAround(below);
    // The magnitudes' average is the values' when both have one exponent or
    // the upper one is a power of two with an empty mantissa.
    if constexpr (sizeof(Bits) == 4) {
      double middle = (double(llvm::bit_cast<float>(below)) +
                       double(llvm::bit_cast<float>(above))) /
                      2;
      addAround(llvm::bit_cast<uint32_t>(float(middle)));
    } else {
      double middle =
          (llvm::bit_cast<double>(below) + llvm::bit_cast<double>(above)) / 2;
      addAround(llvm::bit_cast<uint64_t>(middle));
    }
  }
  return inputs;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

TEST(FloatRoundingTest, WideningAllValues) {
  std::vector<uint16_t> inputs(1 << 16);
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = static_cast<uint16_t>(i);
  std::vector<uint32_t> wide(inputs.size());
  std::vector<uint16_t> back(inputs.size());
  for (const FloatRoundingKernels *kernels : allKernels())
    for (bool isHalf : {true, false}) {
      SCOPED_TRACE(std::string(kernels->name) + (isHalf ? " fp16" : " bf16"));
      (isHalf ? kernels->float16ToFloat32 : kernels->bfloat16ToFloat32)(
          bytesOf(inputs), bytesOf(wide), inputs.size());
      (isHalf ? kernels->float32ToFloat16 : kernels->float32ToBFloat16)(
          bytesOf(wide), bytesOf(back), inputs.size(), false);
      uint16_t infinity = isHalf ? 0x7c00 : 0x7f80;
      uint16_t quiet = isHalf ? 0x200 : 0x40;
      for (size_t i = 0; i < inputs.size(); ++i) {
        ASSERT_EQ(wide[i], expectedWide(inputs[i], isHalf ? half() : bfloat()))
            << i;
        bool isNaN = (inputs[i] & 0x7fff) > infinity;
        ASSERT_EQ(back[i], isNaN ? inputs[i] | quiet : inputs[i]) << i;
      }
    }
}

TEST(FloatRoundingTest, ByHand) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float inputs[] = {0.0f,     -0.0f,      1.0f,      65504.0f,  65519.99f,
                          65520.0f, -1e30f,     infinity,  -infinity, 0x1p-24f,
                          0x1p-25f, 0x1.8p-25f, -0x1p-14f, 1e-10f,    0.1f};
  const uint16_t wanted[] = {0x0000, 0x8000, 0x3c00, 0x7bff, 0x7bff,
                             0x7c00, 0xfc00, 0x7c00, 0xfc00, 0x0001,
                             0x0000, 0x0001, 0x8400, 0x0000, 0x2e66};
  uint16_t got[std::size(inputs)];
  RoundingStats stats;
  roundToFloat16(reinterpret_cast<const char *>(inputs),
                 reinterpret_cast<char *>(got), std::size(inputs),
                 Overflow::Infinity, &stats);
  for (size_t i = 0; i < std::size(inputs); ++i)
    EXPECT_EQ(got[i], wanted[i]) << inputs[i];
  EXPECT_EQ(stats.count, std::size(inputs));
  EXPECT_EQ(stats.overflowed, 2u);
  EXPECT_EQ(stats.underflowed, 2u);
  EXPECT_EQ(stats.subnormal, 2u);
  EXPECT_EQ(stats.nan, 0u);
  EXPECT_EQ(stats.infinite, 2u);
  EXPECT_EQ(stats.absmax, 1e30f);
  EXPECT_LE(stats.largestRelativeError, 0x1p-11);
  EXPECT_GT(stats.largestRelativeError, 0x1p-13);
}

TEST(FloatRoundingTest, BFloat16NaNsKeepSignAndPayload) {
  const uint32_t inputs[] = {0x7f800001, 0xff800001, 0x7fc12345, 0xffffffff};
  uint16_t got[std::size(inputs)];
  roundToBFloat16(reinterpret_cast<const char *>(inputs),
                  reinterpret_cast<char *>(got), std::size(inputs),
                  Overflow::Saturate);
  for (size_t i = 0; i < std::size(inputs); ++i)
    EXPECT_EQ(got[i], (inputs[i] >> 16) | 0x40);
}

TEST(FloatRoundingTest, Boundaries) {
  std::vector<uint32_t> inputs = boundaries<uint32_t>(8, 23);
  check(inputs, true);
  check(inputs, false);
}

TEST(FloatRoundingTest, Ties) {
  check(ties<uint32_t>(half()), true);
  check(ties<uint32_t>(bfloat()), false);
}

TEST(FloatRoundingTest, Float64Boundaries) {
  std::vector<uint64_t> all = boundaries<uint64_t>(11, 52);
  std::vector<uint64_t> inputs;
  for (size_t i = 0; i < all.size(); i += 7) // a prime, to meet all patterns
    inputs.push_back(all[i]);
  check(inputs, true);
  check(inputs, false);
}

TEST(FloatRoundingTest, Float64Ties) {
  check(ties<uint64_t>(half()), true);
  check(ties<uint64_t>(bfloat()), false);
}

TEST(FloatRoundingTest, Float64RoundsOnce) {
  // Just above a tie of fp16, but a tie after rounding to float32.
  double value = 1 + 0x1p-11 + 0x1p-40;
  uint16_t got;
  roundFloat64ToFloat16(reinterpret_cast<const char *>(&value),
                        reinterpret_cast<char *>(&got), 1, Overflow::Infinity);
  EXPECT_EQ(got, 0x3c01);
  value = 1 + 0x1p-8 + 0x1p-40;
  roundFloat64ToBFloat16(reinterpret_cast<const char *>(&value),
                         reinterpret_cast<char *>(&got), 1, Overflow::Infinity);
  EXPECT_EQ(got, 0x3f81);
}

TEST(FloatRoundingTest, Float64Random) {
  std::mt19937_64 generator(1);
  std::vector<uint64_t> inputs;
  for (size_t i = 0; i < 1 << 19; ++i) {
    uint64_t bits = generator();
    inputs.push_back(bits);
    // Most of all doubles are out of range: as many within.
    uint64_t exponent = 1023 - 150 + bits % 300;
    inputs.push_back((bits & ~(uint64_t(0x7ff) << 52)) | exponent << 52);
  }
  check(inputs, true);
  check(inputs, false);
}

TEST(FloatRoundingTest, Sweep) {
  const char *all = std::getenv("AMP_TEST_ALL_FLOATS");
  const bool exhaustive = all && *all && *all != '0';
  const uint64_t total = exhaustive ? uint64_t(1) << 32 : uint64_t(1) << 24;
  constexpr uint64_t batch = 1 << 16;
  std::atomic<uint64_t> next(0);
  std::atomic<bool> failed(false);
  auto work = [&] {
    std::vector<uint32_t> inputs(batch);
    for (uint64_t begin; !failed && (begin = next.fetch_add(batch)) < total;) {
      // An odd factor permutes the 2^32 inputs.
      for (uint64_t i = 0; i < batch; ++i)
        inputs[i] = static_cast<uint32_t>((begin + i) * 0x9e3779b1u);
      if (!check(inputs, true) || !check(inputs, false))
        failed = true;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = std::max(1u, std::thread::hardware_concurrency()); i--;)
    threads.emplace_back(work);
  for (std::thread &thread : threads)
    thread.join();
}

#if defined(__x86_64__)
TEST(FloatRoundingTest, FloatingPointEnvironmentDoesNotMatter) {
  std::vector<uint32_t> inputs = boundaries<uint32_t>(8, 23);
  std::vector<uint64_t> doubles = ties<uint64_t>(bfloat());
  std::vector<uint16_t> narrow(inputs.size()), narrowThere(inputs.size());
  std::vector<uint16_t> fromDouble(doubles.size()), fromDoubleThere(fromDouble);
  std::vector<uint32_t> wide(1 << 16), wideThere(1 << 16);
  std::vector<uint16_t> halves(1 << 16);
  for (size_t i = 0; i < halves.size(); ++i)
    halves[i] = static_cast<uint16_t>(i);
  for (const FloatRoundingKernels *kernels : allKernels()) {
    SCOPED_TRACE(kernels->name);
    for (auto round : {kernels->float32ToFloat16, kernels->float32ToBFloat16}) {
      round(bytesOf(inputs), bytesOf(narrow), inputs.size(), false);
      unsigned saved = _mm_getcsr();
      // Flush to zero, denormals are zero, round up.
      _mm_setcsr(saved | 0x8040 | 0x4000);
      round(bytesOf(inputs), bytesOf(narrowThere), inputs.size(), false);
      _mm_setcsr(saved);
      EXPECT_EQ(narrow, narrowThere);
    }
    kernels->float64ToBFloat16(bytesOf(doubles), bytesOf(fromDouble),
                               doubles.size(), true);
    kernels->float16ToFloat32(bytesOf(halves), bytesOf(wide), halves.size());
    RoundingCounts counts = kernels->measureFloat32ToFloat16(
        bytesOf(inputs), std::min(inputs.size(), blockSize));
    unsigned saved = _mm_getcsr();
    _mm_setcsr(saved | 0x8040 | 0x4000);
    kernels->float64ToBFloat16(bytesOf(doubles), bytesOf(fromDoubleThere),
                               doubles.size(), true);
    kernels->float16ToFloat32(bytesOf(halves), bytesOf(wideThere),
                              halves.size());
    RoundingCounts countsThere = kernels->measureFloat32ToFloat16(
        bytesOf(inputs), std::min(inputs.size(), blockSize));
    _mm_setcsr(saved);
    EXPECT_EQ(fromDouble, fromDoubleThere);
    EXPECT_EQ(wide, wideThere);
    EXPECT_EQ(counts.subnormal, countsThere.subnormal);
    EXPECT_EQ(counts.absmaxBits, countsThere.absmaxBits);
  }
}
#endif

//===----------------------------------------------------------------------===//
// Lengths, alignments, limits of arrays
//===----------------------------------------------------------------------===//

/// Bits that meet every branch: random values, most of them near the range of
/// the 16-bit formats, with some special ones.
template <typename Bits> Bits interesting(std::mt19937_64 &generator) {
  constexpr unsigned mantissaBits = sizeof(Bits) == 4 ? 23 : 52;
  constexpr unsigned bias = sizeof(Bits) == 4 ? 127 : 1023;
  Bits bits = static_cast<Bits>(generator());
  Bits sign = bits & (Bits(1) << (8 * sizeof(Bits) - 1));
  Bits mantissa = bits & ((Bits(1) << mantissaBits) - 1);
  Bits infinity = Bits(2 * bias + 1) << mantissaBits;
  switch (generator() % 16) {
  case 0:
    return sign; // zero
  case 1:
    return sign | infinity;
  case 2:
    return sign | infinity | mantissa; // NaN, all but always
  case 3:
    return sign | mantissa; // subnormal
  case 4:
    return bits;
  default: {
    Bits exponent = bias - 30 + generator() % 50;
    return sign | (exponent << mantissaBits) | mantissa;
  }
  }
}

struct Operation {
  const char *name;
  size_t sourceSize, destinationSize;
  void (*run)(const FloatRoundingKernels &, const char *, char *, size_t);
};

const Operation operations[] = {
    {"float32 to fp16", 4, 2,
     [](const FloatRoundingKernels &k, const char *s, char *d, size_t n) {
       k.float32ToFloat16(s, d, n, false);
     }},
    {"float32 to fp16, saturated", 4, 2,
     [](const FloatRoundingKernels &k, const char *s, char *d, size_t n) {
       k.float32ToFloat16(s, d, n, true);
     }},
    {"float32 to bf16", 4, 2,
     [](const FloatRoundingKernels &k, const char *s, char *d, size_t n) {
       k.float32ToBFloat16(s, d, n, false);
     }},
    {"float32 to bf16, saturated", 4, 2,
     [](const FloatRoundingKernels &k, const char *s, char *d, size_t n) {
       k.float32ToBFloat16(s, d, n, true);
     }},
    {"float64 to fp16", 8, 2,
     [](const FloatRoundingKernels &k, const char *s, char *d, size_t n) {
       k.float64ToFloat16(s, d, n, true);
     }},
    {"float64 to bf16", 8, 2,
     [](const FloatRoundingKernels &k, const char *s, char *d, size_t n) {
       k.float64ToBFloat16(s, d, n, false);
     }},
    {"fp16 to float32", 2, 4,
     [](const FloatRoundingKernels &k, const char *s, char *d, size_t n) {
       k.float16ToFloat32(s, d, n);
     }},
    {"bf16 to float32", 2, 4,
     [](const FloatRoundingKernels &k, const char *s, char *d, size_t n) {
       k.bfloat16ToFloat32(s, d, n);
     }},
};

constexpr size_t longest = 70;

TEST(FloatRoundingTest, AllLengthsAndMisalignments) {
  constexpr size_t margin = 64;
  std::mt19937_64 generator(2);
  std::vector<char> source(8 * longest + 16);
  for (const Operation &operation : operations) {
    for (size_t i = 0; i + 8 <= source.size(); i += 8) {
      uint64_t bits = operation.sourceSize == 4
                          ? interesting<uint32_t>(generator) |
                                uint64_t(interesting<uint32_t>(generator)) << 32
                          : interesting<uint64_t>(generator);
      std::memcpy(&source[i], &bits, 8);
    }
    for (size_t count = 0; count <= longest; ++count)
      for (size_t from = 0; from < 8; ++from) {
        std::vector<char> wanted(count * operation.destinationSize);
        // The source read from `from` on, by the plainest loops.
        std::vector<char> aligned(source.begin() + from,
                                  source.begin() + from +
                                      count * operation.sourceSize);
        operation.run(portableKernels, aligned.data(), wanted.data(), count);
        for (const FloatRoundingKernels *kernels : allKernels())
          for (size_t to = 0; to < 8; ++to) {
            std::vector<char> got(to + wanted.size() + margin, 0x55);
            operation.run(*kernels, source.data() + from, got.data() + to,
                          count);
            std::vector<char> whole(got.size(), 0x55);
            std::copy(wanted.begin(), wanted.end(), whole.begin() + to);
            ASSERT_EQ(got, whole)
                << kernels->name << ": " << operation.name << ", " << count
                << " elements from offset " << from << " to offset " << to;
          }
      }
  }
}

/// A page of memory between two that may not be touched.
class GuardedPage {
public:
  GuardedPage() : size(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    void *mapped =
        mmap(nullptr, 3 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
      return;
    base = static_cast<char *>(mapped);
    if (mprotect(base + size, size, PROT_READ | PROT_WRITE) != 0)
      size = 0;
  }
  ~GuardedPage() {
    if (base)
      munmap(base, 3 * size);
  }
  GuardedPage(const GuardedPage &) = delete;
  GuardedPage &operator=(const GuardedPage &) = delete;

  bool valid() const { return base && size; }
  char *begin() { return base + size; }
  char *end() { return base + 2 * size; }

private:
  size_t size;
  char *base = nullptr;
};

TEST(FloatRoundingTest, NothingOutsideTheArrays) {
  GuardedPage source, destination;
  ASSERT_TRUE(source.valid() && destination.valid());
  std::fill(source.begin(), source.end(), 0x3e);
  for (const FloatRoundingKernels *kernels : allKernels())
    for (size_t count = 0; count <= longest; ++count) {
      for (const Operation &operation : operations) {
        size_t read = count * operation.sourceSize;
        size_t written = count * operation.destinationSize;
        operation.run(*kernels, source.begin(), destination.begin(), count);
        operation.run(*kernels, source.end() - read,
                      destination.end() - written, count);
      }
      for (auto measure : {kernels->measureFloat32ToFloat16,
                           kernels->measureFloat32ToBFloat16}) {
        measure(source.begin(), count);
        measure(source.end() - 4 * count, count);
      }
      for (auto measure : {kernels->measureFloat64ToFloat16,
                           kernels->measureFloat64ToBFloat16}) {
        measure(source.begin(), count);
        measure(source.end() - 8 * count, count);
      }
      kernels->scanFloat32(source.begin(), count);
      kernels->scanFloat32(source.end() - 4 * count, count);
      kernels->scanFloat64(source.begin(), count);
      kernels->scanFloat64(source.end() - 8 * count, count);
    }
}

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

/// What RoundingStats says in words, element by element.
template <typename Bits>
RoundingStats countedByHand(const std::vector<Bits> &inputs, bool toHalf) {
  const llvm::fltSemantics &to = toHalf ? half() : bfloat();
  using Float = std::conditional_t<sizeof(Bits) == 4, float, double>;
  double smallestNormal =
      llvm::APFloat::getSmallestNormalized(to).convertToDouble();
  RoundingStats stats;
  for (Bits bits : inputs) {
    Float value = llvm::bit_cast<Float>(bits);
    llvm::APFloat result(to, llvm::APInt(16, expected(bits, to)));
    ++stats.count;
    stats.nan += std::isnan(value);
    stats.infinite += std::isinf(value);
    if (!std::isfinite(value))
      continue;
    stats.absmax = std::max(stats.absmax, double(std::abs(value)));
    stats.overflowed += result.isInfinity();
    stats.underflowed += result.isZero() && value != 0;
    stats.subnormal += result.isDenormal();
    if (!result.isInfinity() && std::abs(value) >= smallestNormal) {
      bool losesInfo;
      result.convert(llvm::APFloat::IEEEdouble(),
                     llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      double error = std::abs(result.convertToDouble() - double(value)) /
                     std::abs(double(value));
      stats.largestRelativeError =
          std::max(stats.largestRelativeError, double(Float(error)));
    }
  }
  return stats;
}

void expectEqual(const RoundingStats &got, const RoundingStats &wanted) {
  EXPECT_EQ(got.count, wanted.count);
  EXPECT_EQ(got.overflowed, wanted.overflowed);
  EXPECT_EQ(got.underflowed, wanted.underflowed);
  EXPECT_EQ(got.subnormal, wanted.subnormal);
  EXPECT_EQ(got.nan, wanted.nan);
  EXPECT_EQ(got.infinite, wanted.infinite);
  EXPECT_EQ(got.largestRelativeError, wanted.largestRelativeError);
  EXPECT_EQ(got.absmax, wanted.absmax);
}

template <typename Bits> RoundingStats statsOf(const RoundingCounts &counts) {
  using Float = std::conditional_t<sizeof(Bits) == 4, float, double>;
  RoundingStats stats;
  stats.overflowed = counts.overflowed;
  stats.underflowed = counts.underflowed;
  stats.subnormal = counts.subnormal;
  stats.nan = counts.nan;
  stats.infinite = counts.infinite;
  stats.absmax = llvm::bit_cast<Float>(static_cast<Bits>(counts.absmaxBits));
  stats.largestRelativeError =
      llvm::bit_cast<Float>(static_cast<Bits>(counts.errorBits));
  return stats;
}

/// Arrays of all kinds: with and without values that need a second look.
template <typename Bits> std::vector<std::vector<Bits>> arraysForStatistics() {
  constexpr unsigned mantissaBits = sizeof(Bits) == 4 ? 23 : 52;
  constexpr unsigned bias = sizeof(Bits) == 4 ? 127 : 1023;
  std::mt19937_64 generator(3);
  std::vector<std::vector<Bits>> arrays;
  for (size_t length : {0, 1, 7, 33, 500, 2048})
    for (unsigned exponentLow : {0u, bias - 140, bias - 20, bias - 3})
      for (unsigned exponentCount : {4u, 18u, 30u, 300u}) {
        std::vector<Bits> array(length);
        for (Bits &bits : array) {
          Bits exponent = exponentLow + generator() % exponentCount;
          exponent = std::min<Bits>(exponent, 2 * bias + 1);
          Bits random = static_cast<Bits>(generator());
          bits = (random & ~(Bits(2 * bias + 1) << mantissaBits)) |
                 exponent << mantissaBits;
          if (random % 64 == 0)
            bits &= ~((Bits(1) << mantissaBits) - 1); // powers of two, inf
          if (random % 64 == 1)
            bits = 0;
        }
        arrays.push_back(array);
      }
  // Alone, a value at a limit decides whether there is a second look.
  using Float = std::conditional_t<sizeof(Bits) == 4, float, double>;
  for (double limit : {65520.0, 0x1p-14, 0x1p-14 - 0x1p-25, 0x1p-25, 0x1.ffp127,
                       0x1p-126, 0x1p-126 - 0x1p-134, 0x1p-134})
    for (int offset : {-1, 0, 1})
      arrays.push_back(
          {llvm::bit_cast<Bits>(static_cast<Float>(limit)) + Bits(offset)});
  for (const auto &all :
       {boundaries<Bits>(sizeof(Bits) == 4 ? 8 : 11, mantissaBits),
        ties<Bits>(half()), ties<Bits>(bfloat())})
    for (size_t i = 0; i < all.size(); i += all.size() / 20 + 1)
      arrays.emplace_back(all.begin() + i,
                          all.begin() + std::min(all.size(), i + blockSize));
  return arrays;
}

template <typename Bits> void checkStatistics() {
  for (const std::vector<Bits> &array : arraysForStatistics<Bits>())
    for (bool toHalf : {true, false}) {
      RoundingStats wanted = countedByHand(array, toHalf);
      for (const FloatRoundingKernels *kernels : allKernels()) {
        SCOPED_TRACE(kernels->name);
        FloatRoundingKernels::Measure measure =
            sizeof(Bits) == 4 ? (toHalf ? kernels->measureFloat32ToFloat16
                                        : kernels->measureFloat32ToBFloat16)
                              : (toHalf ? kernels->measureFloat64ToFloat16
                                        : kernels->measureFloat64ToBFloat16);
        RoundingStats got =
            statsOf<Bits>(measure(bytesOf(array), array.size()));
        got.count = array.size();
        expectEqual(got, wanted);
      }
    }
}

TEST(FloatRoundingTest, StatisticsAreWhatTheySay) {
  checkStatistics<uint32_t>();
  checkStatistics<uint64_t>();
}

TEST(FloatRoundingTest, PartsMergeToTheWhole) {
  std::mt19937_64 generator(4);
  std::vector<uint32_t> inputs(10000);
  for (uint32_t &bits : inputs)
    bits = interesting<uint32_t>(generator);
  std::vector<uint16_t> whole(inputs.size()), parts(inputs.size());
  RoundingStats wholeStats;
  roundToFloat16(bytesOf(inputs), bytesOf(whole), inputs.size(),
                 Overflow::Saturate, &wholeStats);
  expectEqual(wholeStats, countedByHand(inputs, true));
  FloatRange wholeRange = scanRange(bytesOf(inputs), inputs.size());
  for (int round = 0; round < 20; ++round) {
    RoundingStats merged;
    FloatRange range;
    for (size_t begin = 0; begin < inputs.size();) {
      size_t n = std::min<size_t>(inputs.size() - begin, generator() % 3000);
      roundToFloat16(bytesOf(inputs) + 4 * begin, bytesOf(parts) + 2 * begin, n,
                     Overflow::Saturate, &merged);
      range.merge(scanRange(bytesOf(inputs) + 4 * begin, n));
      begin += n;
    }
    EXPECT_EQ(parts, whole);
    expectEqual(merged, wholeStats);
    EXPECT_EQ(range.count, wholeRange.count);
    EXPECT_EQ(range.nan, wholeRange.nan);
    EXPECT_EQ(range.positiveInfinity, wholeRange.positiveInfinity);
    EXPECT_EQ(range.negativeInfinity, wholeRange.negativeInfinity);
    EXPECT_EQ(range.absmax, wholeRange.absmax);
    EXPECT_EQ(range.smallestNonzero, wholeRange.smallestNonzero);
  }
  // Without statistics the result is the same.
  roundToFloat16(bytesOf(inputs), bytesOf(parts), inputs.size(),
                 Overflow::Saturate);
  EXPECT_EQ(parts, whole);
}

template <typename Float> FloatRange scanned(const std::vector<Float> &values) {
  if constexpr (sizeof(Float) == 4)
    return scanRange(bytesOf(values), values.size());
  else
    return scanRangeFloat64(bytesOf(values), values.size());
}

template <typename Float> void checkRanges() {
  using Limits = std::numeric_limits<Float>;
  const Float infinity = Limits::infinity();
  FloatRange empty = scanned(std::vector<Float>{});
  EXPECT_EQ(empty.count, 0u);
  EXPECT_EQ(empty.absmax, 0);
  EXPECT_EQ(empty.smallestNonzero, infinity);

  FloatRange zeros = scanned(std::vector<Float>(100, Float(-0.0)));
  EXPECT_EQ(zeros.absmax, 0);
  EXPECT_EQ(zeros.smallestNonzero, infinity);

  FloatRange odd = scanned(std::vector<Float>{Limits::quiet_NaN(), infinity,
                                              -infinity, -infinity, 0});
  EXPECT_EQ(odd.nan, 1u);
  EXPECT_EQ(odd.positiveInfinity, 1u);
  EXPECT_EQ(odd.negativeInfinity, 2u);
  EXPECT_EQ(odd.absmax, 0);
  EXPECT_EQ(odd.smallestNonzero, infinity);

  FloatRange mixed =
      scanned(std::vector<Float>{-3, Limits::denorm_min(), infinity, 0, 2});
  EXPECT_EQ(mixed.count, 5u);
  EXPECT_EQ(mixed.absmax, 3);
  EXPECT_EQ(mixed.smallestNonzero, Limits::denorm_min());

  FloatRange ends = scanned(std::vector<Float>{Limits::max(), Limits::min()});
  EXPECT_EQ(ends.absmax, Limits::max());
  EXPECT_EQ(ends.smallestNonzero, Limits::min());
}

TEST(FloatRoundingTest, Ranges) {
  checkRanges<float>();
  checkRanges<double>();
}

TEST(FloatRoundingTest, RangesOfAllKernels) {
  std::mt19937_64 generator(5);
  for (size_t length = 0; length <= longest; ++length)
    for (int round = 0; round < 20; ++round) {
      std::vector<float> values(length);
      for (float &value : values)
        value = llvm::bit_cast<float>(interesting<uint32_t>(generator));
      uint32_t nan = 0, positive = 0, negative = 0;
      float absmax = 0, smallest = std::numeric_limits<float>::infinity();
      for (float value : values) {
        nan += std::isnan(value);
        positive += std::isinf(value) && value > 0;
        negative += std::isinf(value) && value < 0;
        if (!std::isfinite(value))
          continue;
        absmax = std::max(absmax, std::abs(value));
        if (value != 0)
          smallest = std::min(smallest, std::abs(value));
      }
      for (const FloatRoundingKernels *kernels : allKernels()) {
        SCOPED_TRACE(kernels->name);
        RangeCounts counts = kernels->scanFloat32(bytesOf(values), length);
        EXPECT_EQ(counts.nan, nan);
        EXPECT_EQ(counts.positiveInfinity, positive);
        EXPECT_EQ(counts.negativeInfinity, negative);
        EXPECT_EQ(counts.absmaxBits, llvm::bit_cast<uint32_t>(absmax));
        if (absmax != 0)
          EXPECT_EQ(counts.smallestBits, llvm::bit_cast<uint32_t>(smallest));
      }
    }
}

} // namespace
