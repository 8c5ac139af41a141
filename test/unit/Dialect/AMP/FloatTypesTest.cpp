//===- FloatTypesTest.cpp - float formats as element types ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMP/FloatTypes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace amp;
using namespace mlir;

namespace {

class FloatTypesTest : public ::testing::Test {
protected:
  MLIRContext context;
  Builder builder{&context};
};

TEST_F(FloatTypesTest, FormatsAndTypesAreInverse) {
  for (FloatFormat format :
       {FloatFormat::e4m3(), FloatFormat::e5m2(), FloatFormat::fp16(),
        FloatFormat::bf16(), FloatFormat::fp32(), FloatFormat::fp64()}) {
    FloatType type = getFloatType(&context, format);
    ASSERT_TRUE(type) << format.name();
    EXPECT_EQ(getFloatFormat(type), format) << format.name();
  }
}

TEST_F(FloatTypesTest, SomeFormatsAreNotStored) {
  EXPECT_FALSE(getFloatType(&context, FloatFormat::tf32()));
  EXPECT_FALSE(getFloatType(&context, FloatFormat::bottom()));
  EXPECT_FALSE(getFloatType(&context, FloatFormat{5, 7}));
}

TEST_F(FloatTypesTest, SomeTypesAreNoFormats) {
  EXPECT_FALSE(getFloatFormat(Float8E4M3FNUZType::get(&context)));
  EXPECT_FALSE(getFloatFormat(Float8E5M2FNUZType::get(&context)));
  EXPECT_FALSE(getFloatFormat(Float80Type::get(&context)));
}

TEST_F(FloatTypesTest, ExactCasts) {
  Type f16 = builder.getF16Type(), bf16 = builder.getBF16Type();
  Type f32 = builder.getF32Type(), f64 = builder.getF64Type();
  auto isExact = [](Type from, Type to) {
    return isExactCast(cast<FloatType>(from), cast<FloatType>(to));
  };
  EXPECT_TRUE(isExact(f16, f32));
  EXPECT_TRUE(isExact(bf16, f32));
  EXPECT_TRUE(isExact(f32, f64));
  EXPECT_TRUE(isExact(f16, f16));
  EXPECT_FALSE(isExact(f16, bf16));
  EXPECT_FALSE(isExact(bf16, f16));
  EXPECT_FALSE(isExact(f32, f16));
  Type other = Float8E4M3FNUZType::get(&context);
  EXPECT_TRUE(isExact(other, other));
  EXPECT_FALSE(isExact(other, f32));
}

} // namespace
