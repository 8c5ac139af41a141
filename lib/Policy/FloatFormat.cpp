//===- FloatFormat.cpp - the lattice of floating point formats ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "amp/Policy/FloatFormat.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace amp;

namespace {
struct NamedFormat {
  FloatFormat format;
  llvm::StringLiteral name;
  bool inMemory; // memory can hold it: tf32 exists in registers only
};
} // namespace

// Narrow before wide: the first that contains a format is what stores it.
static constexpr NamedFormat namedFormats[] = {
    {FloatFormat::e4m3(), "e4m3", true},  {FloatFormat::e5m2(), "e5m2", true},
    {FloatFormat::fp16(), "fp16", true},  {FloatFormat::bf16(), "bf16", true},
    {FloatFormat::tf32(), "tf32", false}, {FloatFormat::fp32(), "fp32", true},
    {FloatFormat::fp64(), "fp64", true},
};

static constexpr struct {
  llvm::StringLiteral alias, name;
} aliases[] = {
    {"float16", "fp16"},  {"f16", "fp16"},     {"half", "fp16"},
    {"bfloat16", "bf16"}, {"float32", "fp32"}, {"f32", "fp32"},
    {"float", "fp32"},    {"float64", "fp64"}, {"f64", "fp64"},
    {"double", "fp64"},
};

/// Whether the largest exponent holds finite values (and one NaN).
static bool isFiniteOnly(FloatFormat format) { return format.exponentBits < 5; }

static int bias(FloatFormat format) {
  return ((1 << format.exponentBits) >> 1) - 1;
}

FloatFormat FloatFormat::storageFormat() const {
  if (isBottom())
    return *this;
  for (const NamedFormat &entry : namedFormats)
    if (entry.inMemory && entry.format.contains(*this))
      return entry.format;
  return *this;
}

unsigned FloatFormat::storageBits() const {
  if (isBottom())
    return 0;
  FloatFormat stored = storageFormat();
  return static_cast<unsigned>(
      llvm::PowerOf2Ceil(1 + stored.exponentBits + stored.mantissaBits));
}

double FloatFormat::maxFinite() const {
  if (isBottom())
    return 0;
  int topExponent = (1 << exponentBits) - 1 - bias(*this);
  double ulp = std::ldexp(1.0, -static_cast<int>(mantissaBits));
  if (!isFiniteOnly(*this))
    return std::ldexp(2 - ulp, topExponent - 1);
  // The all-ones mantissa of the top exponent is NaN.
  return mantissaBits == 0 ? std::ldexp(1.0, topExponent - 1)
                           : std::ldexp(2 - 2 * ulp, topExponent);
}

double FloatFormat::smallestNormal() const {
  return isBottom() ? 0 : std::ldexp(1.0, 1 - bias(*this));
}

double FloatFormat::smallestSubnormal() const {
  return isBottom() ? 0
                    : std::ldexp(1.0, 1 - bias(*this) -
                                          static_cast<int>(mantissaBits));
}

std::optional<FloatFormat> FloatFormat::parse(llvm::StringRef name) {
  for (const auto &entry : aliases)
    if (entry.alias == name)
      name = entry.name;
  for (const NamedFormat &entry : namedFormats)
    if (entry.name == name)
      return entry.format;
  FloatFormat format;
  if (!name.consume_front("e") || name.consumeInteger(10, format.exponentBits))
    return std::nullopt;
  if (!name.consume_front("m") || name.getAsInteger(10, format.mantissaBits))
    return std::nullopt;
  if (format.exponentBits < 1 || !fp64().contains(format))
    return std::nullopt;
  return format;
}

std::string FloatFormat::name() const {
  if (isBottom())
    return "none";
  for (const NamedFormat &entry : namedFormats)
    if (entry.format == *this)
      return entry.name.str();
  return "e" + llvm::utostr(exponentBits) + "m" + llvm::utostr(mantissaBits);
}

void FloatFormat::print(llvm::raw_ostream &os) const { os << name(); }

llvm::raw_ostream &amp::operator<<(llvm::raw_ostream &os, FloatFormat format) {
  format.print(os);
  return os;
}
