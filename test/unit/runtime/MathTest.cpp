//===- MathTest.cpp - errors of elementary functions ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the vectors that this file is compiled for; GemmTest has the others'
// activations.
//
//===----------------------------------------------------------------------===//

#include "kernels/Math.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace amp::runtime;

namespace {

/// The largest error in units in the last place of the result, over every 1,013
/// th float; checks NaN and infinite results on the way.
template <typename Function, typename Reference>
double findWorst(const Function &function, const Reference &reference) {
  double worst = 0;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 1013) {
    auto low = static_cast<uint32_t>(bits);
    float x;
    std::memcpy(&x, &low, sizeof(x));
    float result = function(broadcast(x))[0];
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(result));
      continue;
    }
    double exact = reference(static_cast<double>(x));
    if (std::isinf(static_cast<float>(exact))) {
      EXPECT_EQ(result, static_cast<float>(exact)) << x;
      continue;
    }
    int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
    worst = std::max(worst, std::fabs(result - exact) /
                                std::ldexp(1.0, exponent - 23));
  }
  return worst;
}

TEST(MathTest, isWithinItsBounds) {
  EXPECT_LT(findWorst([](FloatVector x) { return exponential(x); },
                      [](double x) { return std::exp(x); }),
            1.1);
  EXPECT_LT(findWorst([](FloatVector x) { return logistic(x); },
                      [](double x) {
                        return x < 0 ? std::exp(x) / (1 + std::exp(x))
                                     : 1 / (1 + std::exp(-x));
                      }),
            2.5);
  EXPECT_LT(findWorst([](FloatVector x) { return hyperbolicTangent(x); },
                      [](double x) { return std::tanh(x); }),
            1.5);
  EXPECT_LT(findWorst([](FloatVector x) { return errorFunction(x); },
                      [](double x) { return std::erf(x); }),
            1.5);
}

TEST(MathTest, hasTheLimits) {
  const float infinity = INFINITY;
  EXPECT_EQ(exponential(broadcast(-infinity))[0], 0.0f);
  EXPECT_EQ(exponential(broadcast(infinity))[0], infinity);
  EXPECT_EQ(logistic(broadcast(-infinity))[0], 0.0f);
  EXPECT_EQ(logistic(broadcast(infinity))[0], 1.0f);
  EXPECT_EQ(hyperbolicTangent(broadcast(-infinity))[0], -1.0f);
  EXPECT_EQ(errorFunction(broadcast(infinity))[0], 1.0f);
  EXPECT_TRUE(std::signbit(hyperbolicTangent(broadcast(-0.0f))[0]));
}

} // namespace
