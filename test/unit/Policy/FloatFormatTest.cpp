//===- FloatFormatTest.cpp - the lattice and its values -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "amp/Policy/FloatFormat.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>
#include <vector>

using namespace amp;

namespace amp {
// For GoogleTest's messages.
static void PrintTo(FloatFormat format, std::ostream *os) {
  *os << format.name();
}
} // namespace amp

namespace {

const FloatFormat named[] = {FloatFormat::e4m3(), FloatFormat::e5m2(),
                             FloatFormat::fp16(), FloatFormat::bf16(),
                             FloatFormat::tf32(), FloatFormat::fp32(),
                             FloatFormat::fp64()};

/// The named formats, bottom, and everything that joins and meets make of them.
std::vector<FloatFormat> allFormats() {
  std::vector<FloatFormat> formats(std::begin(named), std::end(named));
  formats.push_back(FloatFormat::bottom());
  for (size_t before = 0; before != formats.size();) {
    before = formats.size();
    for (size_t i = 0; i < before; ++i)
      for (size_t j = 0; j < before; ++j)
        for (FloatFormat made : {FloatFormat::join(formats[i], formats[j]),
                                 FloatFormat::meet(formats[i], formats[j])})
          if (std::find(formats.begin(), formats.end(), made) == formats.end())
            formats.push_back(made);
  }
  return formats;
}

TEST(FloatFormatTest, JoinAndMeetMakeALattice) {
  std::vector<FloatFormat> formats = allFormats();
  EXPECT_EQ(formats.size(), 11u); // those of the header's drawing
  for (FloatFormat a : formats) {
    EXPECT_EQ(FloatFormat::join(a, a), a);
    EXPECT_EQ(FloatFormat::meet(a, a), a);
    EXPECT_EQ(FloatFormat::join(a, FloatFormat::bottom()), a);
    for (FloatFormat b : formats) {
      EXPECT_EQ(FloatFormat::join(a, b), FloatFormat::join(b, a));
      EXPECT_EQ(FloatFormat::meet(a, b), FloatFormat::meet(b, a));
      EXPECT_EQ(FloatFormat::join(a, FloatFormat::meet(a, b)), a);
      EXPECT_EQ(FloatFormat::meet(a, FloatFormat::join(a, b)), a);
      EXPECT_EQ(b.contains(a), FloatFormat::join(a, b) == b);
      EXPECT_EQ(b.contains(a), FloatFormat::meet(a, b) == a);
      for (FloatFormat c : formats) {
        EXPECT_EQ(FloatFormat::join(FloatFormat::join(a, b), c),
                  FloatFormat::join(a, FloatFormat::join(b, c)));
        EXPECT_EQ(FloatFormat::meet(FloatFormat::meet(a, b), c),
                  FloatFormat::meet(a, FloatFormat::meet(b, c)));
      }
    }
  }
}

TEST(FloatFormatTest, TheDrawing) {
  auto below = [](FloatFormat a, FloatFormat b) {
    return b.contains(a) && !a.contains(b);
  };
  EXPECT_TRUE(below(FloatFormat::e4m3(), FloatFormat::fp16()));
  EXPECT_TRUE(below(FloatFormat::e5m2(), FloatFormat::fp16()));
  EXPECT_TRUE(below(FloatFormat::e4m3(), FloatFormat::bf16()));
  EXPECT_TRUE(below(FloatFormat::e5m2(), FloatFormat::bf16()));
  EXPECT_TRUE(below(FloatFormat::fp16(), FloatFormat::tf32()));
  EXPECT_TRUE(below(FloatFormat::bf16(), FloatFormat::tf32()));
  EXPECT_TRUE(below(FloatFormat::tf32(), FloatFormat::fp32()));
  EXPECT_TRUE(below(FloatFormat::fp32(), FloatFormat::fp64()));
  EXPECT_FALSE(FloatFormat::fp16().contains(FloatFormat::bf16()));
  EXPECT_FALSE(FloatFormat::bf16().contains(FloatFormat::fp16()));
  EXPECT_FALSE(FloatFormat::e4m3().contains(FloatFormat::e5m2()));
  EXPECT_FALSE(FloatFormat::e5m2().contains(FloatFormat::e4m3()));
  EXPECT_EQ(FloatFormat::join(FloatFormat::fp16(), FloatFormat::bf16()),
            FloatFormat::tf32());
}

/// Every finite value, decoded from the definition of the format.
std::set<double> valuesOf(unsigned exponentBits, unsigned mantissaBits) {
  std::set<double> values;
  bool finiteOnly = exponentBits < 5;
  int bias = (1 << (exponentBits - 1)) - 1;
  int top = (1 << exponentBits) - 1;
  for (int exponent = 0; exponent <= top; ++exponent)
    for (int mantissa = 0; mantissa < 1 << mantissaBits; ++mantissa) {
      if (exponent == top &&
          (!finiteOnly || mantissa == (1 << mantissaBits) - 1))
        continue;
      double significand =
          std::ldexp(mantissa, -int(mantissaBits)) + (exponent == 0 ? 0 : 1);
      values.insert(std::ldexp(significand, std::max(exponent, 1) - bias));
    }
  return values;
}

TEST(FloatFormatTest, ContainmentIsThatOfValues) {
  struct Entry {
    FloatFormat format;
    std::set<double> values;
  };
  std::vector<Entry> entries;
  for (unsigned exponentBits = 2; exponentBits <= 7; ++exponentBits)
    for (unsigned mantissaBits = 1; mantissaBits <= 6; ++mantissaBits)
      entries.push_back(
          {{exponentBits, mantissaBits}, valuesOf(exponentBits, mantissaBits)});
  for (FloatFormat format :
       {FloatFormat::fp16(), FloatFormat::bf16(), FloatFormat::tf32()})
    entries.push_back(
        {format, valuesOf(format.exponentBits, format.mantissaBits)});
  for (const Entry &a : entries) {
    EXPECT_EQ(a.format.maxFinite(), *a.values.rbegin());
    EXPECT_EQ(a.format.smallestSubnormal(), *std::next(a.values.begin()));
    for (const Entry &b : entries)
      EXPECT_EQ(b.format.contains(a.format),
                std::includes(b.values.begin(), b.values.end(),
                              a.values.begin(), a.values.end()))
          << a.format.name() << " in " << b.format.name();
  }
}

TEST(FloatFormatTest, NamedFormatsAreLLVMs) {
  const llvm::fltSemantics *semantics[] = {
      &llvm::APFloat::Float8E4M3FN(), &llvm::APFloat::Float8E5M2(),
      &llvm::APFloat::IEEEhalf(),     &llvm::APFloat::BFloat(),
      &llvm::APFloat::FloatTF32(),    &llvm::APFloat::IEEEsingle(),
      &llvm::APFloat::IEEEdouble()};
  auto toDouble = [](llvm::APFloat value) {
    bool losesInfo = false;
    value.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    EXPECT_FALSE(losesInfo);
    return value.convertToDouble();
  };
  for (size_t i = 0; i < std::size(named); ++i) {
    SCOPED_TRACE(named[i].name());
    EXPECT_EQ(named[i].maxFinite(),
              toDouble(llvm::APFloat::getLargest(*semantics[i])));
    EXPECT_EQ(named[i].smallestNormal(),
              toDouble(llvm::APFloat::getSmallestNormalized(*semantics[i])));
    EXPECT_EQ(named[i].smallestSubnormal(),
              toDouble(llvm::APFloat::getSmallest(*semantics[i])));
  }
}

TEST(FloatFormatTest, Storage) {
  EXPECT_EQ(FloatFormat::tf32().storageFormat(), FloatFormat::fp32());
  for (FloatFormat format : named)
    if (format != FloatFormat::tf32())
      EXPECT_EQ(format.storageFormat(), format);
  EXPECT_EQ(FloatFormat::e4m3().storageBits(), 8u);
  EXPECT_EQ(FloatFormat::e5m2().storageBits(), 8u);
  EXPECT_EQ(FloatFormat::fp16().storageBits(), 16u);
  EXPECT_EQ(FloatFormat::bf16().storageBits(), 16u);
  EXPECT_EQ(FloatFormat::tf32().storageBits(), 32u);
  EXPECT_EQ(FloatFormat::fp64().storageBits(), 64u);
  EXPECT_EQ(FloatFormat::bottom().storageBits(), 0u);
  // A join of two fp8 formats fits fp16 only.
  FloatFormat joined =
      FloatFormat::join(FloatFormat::e4m3(), FloatFormat::e5m2());
  EXPECT_EQ(joined.storageFormat(), FloatFormat::fp16());
}

TEST(FloatFormatTest, Names) {
  for (FloatFormat format : allFormats()) {
    std::string printed;
    llvm::raw_string_ostream(printed) << format;
    EXPECT_EQ(printed, format.name());
    if (!format.isBottom())
      EXPECT_EQ(FloatFormat::parse(format.name()), format);
  }
  EXPECT_EQ(FloatFormat::bottom().name(), "none");
  EXPECT_EQ(FloatFormat::parse("half"), FloatFormat::fp16());
  EXPECT_EQ(FloatFormat::parse("bfloat16"), FloatFormat::bf16());
  EXPECT_EQ(FloatFormat::parse("float"), FloatFormat::fp32());
  EXPECT_EQ(FloatFormat::parse("e8m10"), FloatFormat::tf32());
  for (const char *wrong :
       {"", "none", "fp17", "e", "e0m3", "e4", "e4m", "e4m3x", "e12m3",
        "e11m53", "e-4m3", "e4294967300m3", "m3e4", "FP16"})
    EXPECT_FALSE(FloatFormat::parse(wrong)) << wrong;
}

} // namespace
