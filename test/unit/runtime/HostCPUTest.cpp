//===- HostCPUTest.cpp - what code this machine can run -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/HostCPU.h"

#include "gtest/gtest.h"

using namespace amp::runtime;

namespace {

TEST(HostCPU, RatesWhatItIsItself) {
  std::string host = describeHost();
  EXPECT_TRUE(rateCode(host)) << host;
  EXPECT_TRUE(rateCode("x86-64"));
  EXPECT_FALSE(rateCode(""));
  EXPECT_FALSE(rateCode("x86-64-v5"));
  EXPECT_FALSE(rateCode("armv9"));
  EXPECT_FALSE(rateCode("x86-64+warp-drive"));
  EXPECT_FALSE(rateCode(host + "+warp-drive"));
}

TEST(HostCPU, PrefersHigherLevelsThenMoreFeatures) {
  if (!rateCode("x86-64-v3"))
    GTEST_SKIP() << "needs AVX2";
  EXPECT_LT(*rateCode("x86-64-v2"), *rateCode("x86-64-v3"));
  EXPECT_LT(*rateCode("x86-64-v2"), *rateCode("x86-64-v2+avx2"));
  EXPECT_LT(*rateCode("x86-64-v2+avx2+fma"), *rateCode("x86-64-v3"));
}

TEST(HostCPU, AgreesWithTheCompiler) {
  EXPECT_EQ(rateCode("x86-64-v2+avx2").has_value(),
            static_cast<bool>(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(rateCode("x86-64-v2+avx512f").has_value(),
            static_cast<bool>(__builtin_cpu_supports("avx512f")));
}

} // namespace
