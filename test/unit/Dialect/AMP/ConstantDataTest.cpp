//===- ConstantDataTest.cpp - the values of float constants ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMP/ConstantData.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <cstring>
#include <limits>
#include <vector>

using namespace amp;
using namespace mlir;

namespace {

class ConstantDataTest : public ::testing::Test {
protected:
  ConstantDataTest() { context.loadDialect<AMPDialect>(); }

  RankedTensorType getType(int64_t count, Type elementType) {
    return RankedTensorType::get({count}, elementType);
  }

  DenseElementsAttr getDense(ArrayRef<float> values) {
    return DenseElementsAttr::get(getType(values.size(), builder.getF32Type()),
                                  values);
  }

  DenseResourceElementsAttr getResource(ArrayRef<char> bytes, int64_t count) {
    return DenseResourceElementsAttr::get(
        getType(count, builder.getF32Type()), "weights",
        UnmanagedAsmResourceBlob::allocateWithAlign(bytes, 1));
  }

  /// Elements [first, first + count) as bits; empty if they can't be read.
  std::vector<uint16_t> read(RoundedAttr constant, uint64_t first,
                             uint64_t count, RoundingStats *stats = nullptr) {
    std::vector<uint16_t> bits(count);
    if (failed(readRounded(constant, first, count,
                           reinterpret_cast<char *>(bits.data()), stats)))
      return {};
    return bits;
  }

  MLIRContext context;
  Builder builder{&context};
  FloatType f16 = builder.getF16Type();
  FloatType bf16 = builder.getBF16Type();
};

using Bits = std::vector<uint16_t>;

TEST_F(ConstantDataTest, DataOfElements) {
  std::optional<ConstantData> data = getConstantData(getDense({1, 2, 3}));
  ASSERT_TRUE(data);
  EXPECT_EQ(data->count, 3u);
  EXPECT_EQ(data->bytes.size(), 12u);
  EXPECT_FALSE(data->splat);
}

TEST_F(ConstantDataTest, DataOfSplat) {
  std::optional<ConstantData> data = getConstantData(getDense({2, 2, 2}));
  ASSERT_TRUE(data);
  EXPECT_EQ(data->count, 3u);
  EXPECT_EQ(data->bytes.size(), 4u);
  EXPECT_TRUE(data->splat);
}

TEST_F(ConstantDataTest, DataOfResourceIsNotCopied) {
  std::vector<char> bytes(9);
  auto resource = getResource(ArrayRef<char>(bytes).drop_front(), 2);
  std::optional<ConstantData> data = getConstantData(resource);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->bytes.data(), bytes.data() + 1);
}

TEST_F(ConstantDataTest, NoData) {
  std::vector<char> bytes(8);
  EXPECT_FALSE(getConstantData({}));
  EXPECT_FALSE(getConstantData(builder.getI64IntegerAttr(1)));
  EXPECT_FALSE(getConstantData(builder.getF32FloatAttr(1)));
  // A resource of another size than its type's, and one whose data is gone.
  EXPECT_FALSE(getConstantData(getResource(bytes, 3)));
  auto resource = getResource(bytes, 2);
  resource.getRawHandle().getResource()->setBlob(AsmResourceBlob());
  EXPECT_FALSE(getConstantData(resource));
}

TEST_F(ConstantDataTest, RoundsParts) {
  auto constant =
      RoundedAttr::get(getDense({1, -2, 0.5f, 65504}), Overflow::Saturate, f16);
  EXPECT_EQ(read(constant, 0, 4), (Bits{0x3c00, 0xc000, 0x3800, 0x7bff}));
  EXPECT_EQ(read(constant, 1, 2), (Bits{0xc000, 0x3800}));
  EXPECT_EQ(read(constant, 3, 1), (Bits{0x7bff}));
}

TEST_F(ConstantDataTest, FailsBeyondTheEnd) {
  auto constant =
      RoundedAttr::get(getDense({1, 2, 3, 4}), Overflow::Saturate, f16);
  char byte;
  EXPECT_TRUE(succeeded(readRounded(constant, 4, 0, &byte)));
  EXPECT_TRUE(failed(readRounded(constant, 5, 0, &byte)));
  EXPECT_TRUE(failed(readRounded(constant, 2, 3, &byte)));
  EXPECT_TRUE(failed(
      readRounded(constant, 1, std::numeric_limits<uint64_t>::max(), &byte)));
}

TEST_F(ConstantDataTest, Overflow) {
  float infinity = std::numeric_limits<float>::infinity();
  DenseElementsAttr values = getDense({1e9f, -1e9f, infinity, -infinity});
  EXPECT_EQ(read(RoundedAttr::get(values, Overflow::Saturate, f16), 0, 4),
            (Bits{0x7bff, 0xfbff, 0x7c00, 0xfc00}));
  EXPECT_EQ(read(RoundedAttr::get(values, Overflow::Infinity, f16), 0, 4),
            (Bits{0x7c00, 0xfc00, 0x7c00, 0xfc00}));
}

TEST_F(ConstantDataTest, SplatOfManyElements) {
  std::vector<float> values(2000, 1.0f);
  auto constant = RoundedAttr::get(getDense(values), Overflow::Saturate, bf16);
  RoundingStats stats;
  EXPECT_EQ(read(constant, 100, 1500, &stats), Bits(1500, 0x3f80));
  EXPECT_EQ(stats.count, 1500u);
}

TEST_F(ConstantDataTest, DoubleRoundsOnce) {
  // Just above the midpoint between 1 and the next float16: float32 would drop
  // what makes it round up.
  double value = 1 + 0x1p-11 + 0x1p-40;
  auto values =
      DenseElementsAttr::get(RankedTensorType::get({2}, builder.getF64Type()),
                             ArrayRef<double>{value, 1.0});
  EXPECT_EQ(read(RoundedAttr::get(values, Overflow::Saturate, f16), 0, 2),
            (Bits{0x3c01, 0x3c00}));
}

TEST_F(ConstantDataTest, UnalignedResource) {
  std::vector<char> bytes(1 + 2 * sizeof(float));
  float values[] = {1.0f, 1e9f};
  std::memcpy(bytes.data() + 1, values, sizeof(values));
  auto constant =
      RoundedAttr::get(getResource(ArrayRef<char>(bytes).drop_front(), 2),
                       Overflow::Saturate, f16);
  RoundingStats stats;
  EXPECT_EQ(read(constant, 0, 2, &stats), (Bits{0x3c00, 0x7bff}));
  EXPECT_EQ(stats.overflowed, 1u);
}

TEST_F(ConstantDataTest, NothingToRead) {
  std::vector<char> bytes(8);
  auto resource = getResource(bytes, 2);
  auto constant = RoundedAttr::get(resource, Overflow::Saturate, f16);
  resource.getRawHandle().getResource()->setBlob(AsmResourceBlob());
  EXPECT_TRUE(read(constant, 0, 2).empty());
}

TEST_F(ConstantDataTest, EvaluatesDense) {
  auto rounded = RoundedAttr::get(getDense({1, -2, 1e10f}), Overflow::Saturate,
                                  builder.getF16Type());
  auto values = dyn_cast_or_null<DenseElementsAttr>(evaluate(rounded));
  ASSERT_TRUE(values);
  EXPECT_EQ(values.getType(), rounded.getType());
  std::vector<double> numbers;
  for (APFloat value : values.getValues<APFloat>())
    numbers.push_back(value.convertToDouble());
  EXPECT_EQ(numbers, (std::vector<double>{1, -2, 65504}));
}

TEST_F(ConstantDataTest, EvaluatesSplatAsSplat) {
  auto splat =
      DenseElementsAttr::get(getType(1000, builder.getF32Type()), 0.5f);
  auto values = dyn_cast_or_null<DenseElementsAttr>(evaluate(RoundedAttr::get(
      splat, Overflow::Infinity, BFloat16Type::get(&context))));
  ASSERT_TRUE(values && values.isSplat());
  EXPECT_EQ(values.getNumElements(), 1000);
  EXPECT_EQ(values.getSplatValue<APFloat>().convertToDouble(), 0.5);
}

TEST_F(ConstantDataTest, EvaluatesResourceAsResource) {
  const float numbers[] = {1, 2};
  ArrayRef<char> bytes(reinterpret_cast<const char *>(numbers),
                       sizeof(numbers));
  auto rounded = RoundedAttr::get(getResource(bytes, 2), Overflow::Infinity,
                                  builder.getF16Type());
  auto values = dyn_cast_or_null<DenseResourceElementsAttr>(evaluate(rounded));
  ASSERT_TRUE(values);
  EXPECT_EQ(values.getType(), rounded.getType());
  std::optional<ConstantData> data = getConstantData(values);
  ASSERT_TRUE(data);
  const uint16_t expected[] = {0x3C00, 0x4000};
  EXPECT_EQ(std::memcmp(data->bytes.data(), expected, sizeof(expected)), 0);
}

TEST_F(ConstantDataTest, EvaluatesNothingWithoutData) {
  EXPECT_FALSE(evaluate(RoundedAttr::get(getResource({}, 2), Overflow::Infinity,
                                         builder.getF16Type())));
}

} // namespace
