//===- Conversion.cpp - elements of one type as another -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions go in two steps, block by block in the cache: exactly to one of
// four wide types, then with one rounding to the result.
//
//===----------------------------------------------------------------------===//

#include "CPU/Conversion.h"

#include "CPU/Elements.h"

#include <algorithm>
#include <cstring>

using namespace amp::runtime;

namespace {

constexpr FloatConversionLoops portable;

enum class Wide { Float, Double, Int64, UInt64 };

Wide getWide(DataType type) {
  switch (type) {
  case DataType::Double:
    return Wide::Double;
  case DataType::UInt64:
    return Wide::UInt64;
  case DataType::Float:
  case DataType::Float16:
  case DataType::BFloat16:
  case DataType::Float8E4M3FN:
  case DataType::Float8E4M3FNUZ:
  case DataType::Float8E5M2:
  case DataType::Float8E5M2FNUZ:
  case DataType::Float4E2M1:
  case DataType::Float8E8M0:
    return Wide::Float;
  default:
    return Wide::Int64;
  }
}

size_t getWideSize(Wide wide) { return wide == Wide::Float ? 4 : 8; }

constexpr size_t blockSize = 1024;

//===----------------------------------------------------------------------===//
// To the wide types
//===----------------------------------------------------------------------===//

template <typename T, typename To, typename Function>
void forEach(const void *source, void *destination, size_t count,
             const Function &function) {
  const T *from = static_cast<const T *>(source);
  To *to = static_cast<To *>(destination);
  for (size_t i = 0; i < count; ++i)
    to[i] = function(from[i]);
}

template <typename Format>
void widenFloats(const void *source, void *destination, size_t count) {
  forEach<uint8_t, float>(source, destination, count, widenSmallFloat<Format>);
}

template <typename T>
void widenIntegers(const void *source, void *destination, size_t count) {
  forEach<T, int64_t>(source, destination, count,
                      [](T value) { return static_cast<int64_t>(value); });
}

/// The lowest bits as a number; what is above them is not looked at.
template <unsigned bits>
void widenSigned(const void *source, void *destination, size_t count) {
  forEach<uint8_t, int64_t>(source, destination, count, [](uint8_t value) {
    return static_cast<int64_t>(static_cast<int8_t>(
               static_cast<uint8_t>(value << (8 - bits)))) >>
           (8 - bits);
  });
}
template <unsigned bits>
void widenUnsigned(const void *source, void *destination, size_t count) {
  forEach<uint8_t, int64_t>(source, destination, count, [](uint8_t value) {
    return static_cast<int64_t>(value & ((1u << bits) - 1));
  });
}

void widenElements(DataType type, const void *source, void *wide,
                   size_t count) {
  auto *bytes = static_cast<const char *>(source);
  auto *result = static_cast<char *>(wide);
  switch (type) {
  case DataType::Float:
    std::memcpy(wide, source, 4 * count);
    return;
  case DataType::Double:
  case DataType::Int64:
  case DataType::UInt64:
    std::memcpy(wide, source, 8 * count);
    return;
  case DataType::Float16:
    return getConversionLoops().float16ToFloat32(bytes, result, count);
  case DataType::BFloat16:
    return getConversionLoops().bfloat16ToFloat32(bytes, result, count);
  case DataType::Float8E4M3FN:
    return widenFloats<E4M3FN>(source, wide, count);
  case DataType::Float8E4M3FNUZ:
    return widenFloats<E4M3FNUZ>(source, wide, count);
  case DataType::Float8E5M2:
    return widenFloats<E5M2>(source, wide, count);
  case DataType::Float8E5M2FNUZ:
    return widenFloats<E5M2FNUZ>(source, wide, count);
  case DataType::Float4E2M1:
    return widenFloats<E2M1>(source, wide, count);
  case DataType::Float8E8M0:
    return forEach<uint8_t, float>(source, wide, count, widenE8M0);
  case DataType::Bool:
    return forEach<uint8_t, int64_t>(source, wide, count,
                                     [](uint8_t value) { return value != 0; });
  case DataType::Int8:
    return widenIntegers<int8_t>(source, wide, count);
  case DataType::Int16:
    return widenIntegers<int16_t>(source, wide, count);
  case DataType::Int32:
    return widenIntegers<int32_t>(source, wide, count);
  case DataType::UInt8:
    return widenIntegers<uint8_t>(source, wide, count);
  case DataType::UInt16:
    return widenIntegers<uint16_t>(source, wide, count);
  case DataType::UInt32:
    return widenIntegers<uint32_t>(source, wide, count);
  case DataType::Int4:
    return widenSigned<4>(source, wide, count);
  case DataType::Int2:
    return widenSigned<2>(source, wide, count);
  case DataType::UInt4:
    return widenUnsigned<4>(source, wide, count);
  case DataType::UInt2:
    return widenUnsigned<2>(source, wide, count);
  default:
    return;
  }
}

//===----------------------------------------------------------------------===//
// From the wide types
//===----------------------------------------------------------------------===//

template <typename T, typename From> T toInteger(From value) {
  if constexpr (std::is_integral_v<From>) {
    return static_cast<T>(value);
  } else if constexpr (sizeof(T) < 4 || std::is_same_v<T, int32_t>) {
    // NaN is not in range either.
    bool inRange = value >= From(-2147483648.0) && value < From(2147483648.0);
    return static_cast<T>(inRange ? static_cast<int32_t>(value) : INT32_MIN);
  } else {
    constexpr From limit = From(9223372036854775808.0);
    if (value >= -limit && value < limit)
      return static_cast<T>(static_cast<int64_t>(value));
    if (std::is_same_v<T, uint64_t> && value >= limit && value < 2 * limit)
      return static_cast<T>(static_cast<uint64_t>(value));
    return static_cast<T>(INT64_MIN);
  }
}

/// As a float64 that rounds to any narrower float as the value itself does:
/// bits that don't fit make the last one odd.
double toOddDouble(double value) { return value; }
double toOddDouble(float value) { return value; }
template <typename Integer> double toOddDouble(Integer value) {
  bool negative = std::is_signed_v<Integer> && value < 0;
  uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(value)
                                : static_cast<uint64_t>(value);
  if (magnitude >> 53)
    magnitude = (magnitude & ~uint64_t(0x7ff)) |
                (magnitude & 0x7ff ? uint64_t(0x800) : 0);
  double result = static_cast<double>(magnitude);
  return negative ? -result : result;
}

template <typename From, typename Format>
void roundFloats(const void *wide, void *destination, size_t count,
                 bool saturate) {
  forEach<From, uint8_t>(wide, destination, count, [saturate](From value) {
    return roundToSmallFloat<Format>(toOddDouble(value), saturate);
  });
}

template <typename From, typename T>
void narrowIntegers(const void *wide, void *destination, size_t count) {
  forEach<From, T>(wide, destination, count, toInteger<T, From>);
}

template <typename From, unsigned bits, bool isSigned>
void narrowToBits(const void *wide, void *destination, size_t count) {
  forEach<From, uint8_t>(wide, destination, count, [](From value) {
    auto shifted =
        static_cast<uint8_t>(toInteger<uint32_t, From>(value) << (8 - bits));
    return static_cast<uint8_t>(isSigned
                                    ? static_cast<int8_t>(shifted) >> (8 - bits)
                                    : shifted >> (8 - bits));
  });
}

template <typename From>
void roundTo16Bits(DataType type, const void *wide, void *destination,
                   size_t count) {
  const ConversionLoops &loops = getConversionLoops();
  bool isHalf = type == DataType::Float16;
  auto *to = static_cast<char *>(destination);
  if constexpr (std::is_same_v<From, float>) {
    (isHalf ? loops.float32ToFloat16 : loops.float32ToBFloat16)(
        static_cast<const char *>(wide), to, count, false);
  } else {
    double values[blockSize];
    const void *source = wide;
    if constexpr (std::is_integral_v<From>) {
      forEach<From, double>(wide, values, count,
                            [](From value) { return toOddDouble(value); });
      source = values;
    }
    (isHalf ? loops.float64ToFloat16 : loops.float64ToBFloat16)(
        static_cast<const char *>(source), to, count, false);
  }
}

/// `count` is at most blockSize.
template <typename From>
void narrowElements(const void *wide, DataType type, void *destination,
                    size_t count, const CastSettings &settings) {
  switch (type) {
  case DataType::Float:
    return forEach<From, float>(wide, destination, count, [](From value) {
      return static_cast<float>(value);
    });
  case DataType::Double:
    return forEach<From, double>(wide, destination, count, [](From value) {
      return static_cast<double>(value);
    });
  case DataType::Float16:
  case DataType::BFloat16:
    return roundTo16Bits<From>(type, wide, destination, count);
  case DataType::Float8E4M3FN:
    return roundFloats<From, E4M3FN>(wide, destination, count,
                                     settings.saturate);
  case DataType::Float8E4M3FNUZ:
    return roundFloats<From, E4M3FNUZ>(wide, destination, count,
                                       settings.saturate);
  case DataType::Float8E5M2:
    return roundFloats<From, E5M2>(wide, destination, count, settings.saturate);
  case DataType::Float8E5M2FNUZ:
    return roundFloats<From, E5M2FNUZ>(wide, destination, count,
                                       settings.saturate);
  case DataType::Float4E2M1:
    return roundFloats<From, E2M1>(wide, destination, count, true);
  case DataType::Float8E8M0:
    return forEach<From, uint8_t>(
        wide, destination, count, [&settings](From value) {
          return roundToE8M0(static_cast<float>(value), settings.saturate,
                             settings.rounding);
        });
  case DataType::Bool:
    return forEach<From, uint8_t>(wide, destination, count,
                                  [](From value) { return value != 0; });
  case DataType::Int8:
    return narrowIntegers<From, int8_t>(wide, destination, count);
  case DataType::Int16:
    return narrowIntegers<From, int16_t>(wide, destination, count);
  case DataType::Int32:
    return narrowIntegers<From, int32_t>(wide, destination, count);
  case DataType::Int64:
    return narrowIntegers<From, int64_t>(wide, destination, count);
  case DataType::UInt8:
    return narrowIntegers<From, uint8_t>(wide, destination, count);
  case DataType::UInt16:
    return narrowIntegers<From, uint16_t>(wide, destination, count);
  case DataType::UInt32:
    return narrowIntegers<From, uint32_t>(wide, destination, count);
  case DataType::UInt64:
    return narrowIntegers<From, uint64_t>(wide, destination, count);
  case DataType::Int4:
    return narrowToBits<From, 4, true>(wide, destination, count);
  case DataType::Int2:
    return narrowToBits<From, 2, true>(wide, destination, count);
  case DataType::UInt4:
    return narrowToBits<From, 4, false>(wide, destination, count);
  case DataType::UInt2:
    return narrowToBits<From, 2, false>(wide, destination, count);
  default:
    return;
  }
}

void narrowFrom(Wide wide, const void *values, DataType to, void *result,
                size_t count, const CastSettings &settings) {
  switch (wide) {
  case Wide::Float:
    return narrowElements<float>(values, to, result, count, settings);
  case Wide::Double:
    return narrowElements<double>(values, to, result, count, settings);
  case Wide::Int64:
    return narrowElements<int64_t>(values, to, result, count, settings);
  case Wide::UInt64:
    return narrowElements<uint64_t>(values, to, result, count, settings);
  }
}

} // namespace

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

constexpr ConversionLoops amp::runtime::portableConversionLoops = {
    portable.float32ToFloat16, portable.float32ToBFloat16,
    portable.float64ToFloat16, portable.float64ToBFloat16,
    portable.float16ToFloat32, portable.bfloat16ToFloat32};

static const ConversionLoops &findConversionLoops() {
#ifdef AMP_X86_KERNELS
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  if (avx2 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return avx512ConversionLoops;
  if (avx2)
    return avx2ConversionLoops;
#endif
  return portableConversionLoops;
}

const ConversionLoops &amp::runtime::getConversionLoops() {
  static const ConversionLoops &loops = findConversionLoops();
  return loops;
}

bool amp::runtime::isNumeric(DataType type) {
  return type != DataType::Undefined && type != DataType::String &&
         type != DataType::Complex64 && type != DataType::Complex128;
}

void amp::runtime::convertElements(DataType from, const void *source,
                                   DataType to, void *destination,
                                   int64_t count,
                                   const CastSettings &settings) {
  if (from == to)
    return copyElements(from, source, destination, count);
  auto *bytes = static_cast<const char *>(source);
  auto *result = static_cast<char *>(destination);
  size_t size = getByteSize(from), resultSize = getByteSize(to);
  Wide wide = getWide(from);
  // These are wide already, or become wide: one step is enough.
  bool isWide = size == getWideSize(wide) &&
                (wide != Wide::Int64 || from == DataType::Int64);
  bool becomesWide = to == DataType::Float && wide == Wide::Float;
  alignas(64) char block[blockSize * 8];
  auto rest = static_cast<size_t>(count);
  while (rest != 0) {
    size_t n = std::min(rest, blockSize);
    const void *values = isWide ? bytes : block;
    if (!isWide)
      widenElements(from, bytes, becomesWide ? result : block, n);
    if (!becomesWide)
      narrowFrom(wide, values, to, result, n, settings);
    bytes += n * size;
    result += n * resultSize;
    rest -= n;
  }
}
