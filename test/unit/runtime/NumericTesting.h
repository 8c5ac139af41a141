//===- NumericTesting.h - tensors of any float type for tests ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TEST_UNIT_RUNTIME_NUMERICTESTING_H
#define AMP_TEST_UNIT_RUNTIME_NUMERICTESTING_H

#include "CPU/Isa.h"
#include "amp/Runtime/DataType.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace amp::runtime {

/// Scalar and slow, to be compared with.
inline double toDouble(uint16_t bits, DataType type) {
  if (type == DataType::BFloat16) {
    uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  }
  int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  double value = exponent == 31  ? (mantissa ? NAN : INFINITY)
                 : exponent == 0 ? std::ldexp(mantissa, -24)
                                 : std::ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

/// The distance from |value| to the next number of the type.
inline double getUnit(double value, DataType type) {
  int bits = type == DataType::Float ? 23 : type == DataType::Float16 ? 10 : 7;
  int least = type == DataType::Float16 ? -14 : -126;
  int exponent = value == 0 ? least : std::max(std::ilogb(value), least);
  return std::ldexp(1.0, exponent - bits);
}

/// To nearest even, of finite values within the range.
inline uint16_t toBits(double value, DataType type) {
  double unit = getUnit(value, type);
  auto steps = static_cast<int64_t>(std::nearbyint(std::fabs(value) / unit));
  int mantissa = type == DataType::Float16 ? 10 : 7;
  int bias = type == DataType::Float16 ? 15 : 127;
  int exponent = std::ilogb(unit) + mantissa + bias;
  // Steps of a normal number have the hidden bit; of a subnormal one they
  // don't.
  auto bits = static_cast<uint16_t>(((exponent - 1) << mantissa) + steps);
  return bits | (std::signbit(value) ? 0x8000 : 0);
}

/// Elements of a float type, some room before and after them filled with a
/// pattern that says whether anybody wrote there.
class Elements {
public:
  Elements(DataType type, int64_t count) : type(type), count(count) {
    bytes.assign(count * size() + 2 * room, static_cast<char>(0xa5));
  }

  DataType getType() const { return type; }
  int64_t getCount() const { return count; }
  void *data() { return bytes.data() + room; }
  size_t size() const { return getByteSize(type); }

  double get(int64_t i) const {
    const char *at = bytes.data() + room + i * size();
    if (type == DataType::Float) {
      float value;
      std::memcpy(&value, at, sizeof(value));
      return value;
    }
    uint16_t bits;
    std::memcpy(&bits, at, sizeof(bits));
    return toDouble(bits, type);
  }
  void set(int64_t i, double value) {
    char *at = bytes.data() + room + i * size();
    if (type == DataType::Float) {
      auto narrow = static_cast<float>(value);
      std::memcpy(at, &narrow, sizeof(narrow));
      return;
    }
    uint16_t bits = toBits(value, type);
    std::memcpy(at, &bits, sizeof(bits));
  }

  template <typename Random> void fill(Random &random) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int64_t i = 0; i < count; ++i)
      set(i, uniform(random));
  }

  bool isRoomUntouched() const {
    for (size_t i = 0; i < room; ++i)
      if (bytes[i] != static_cast<char>(0xa5) ||
          bytes[bytes.size() - 1 - i] != static_cast<char>(0xa5))
        return false;
    return true;
  }
  bool operator==(const Elements &other) const { return bytes == other.bytes; }

private:
  static constexpr size_t room = 256;
  DataType type;
  int64_t count;
  std::vector<char> bytes;
};

/// Memory aligned as a session's is; its end is the allocation's, so that
/// sanitizers see what reaches beyond.
class Scratch {
public:
  explicit Scratch(size_t bytes)
      : memory(static_cast<char *>(
                   std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 64)),
               &std::free) {
    // Whatever was there must not matter: NaN.
    std::memset(memory.get(), 0xff, (bytes + 63) / 64 * 64 + 64);
    end = memory.get() + (bytes + 63) / 64 * 64;
    std::memset(end, 0xa5, 64);
  }
  void *get() { return memory.get(); }
  bool isEndUntouched() const {
    for (int i = 0; i < 64; ++i)
      if (end[i] != static_cast<char>(0xa5))
        return false;
    return true;
  }

private:
  std::unique_ptr<char, decltype(&std::free)> memory;
  char *end;
};

/// Those that the host has.
inline std::vector<Isa> getTestedIsas() {
  std::vector<Isa> isas;
  for (int i = 0; i <= static_cast<int>(getHostIsa()); ++i)
    isas.push_back(static_cast<Isa>(i));
  return isas;
}

constexpr DataType floatTypes[] = {DataType::Float, DataType::Float16,
                                   DataType::BFloat16};

} // namespace amp::runtime

#endif // AMP_TEST_UNIT_RUNTIME_NUMERICTESTING_H
