//===- MessagesTest.cpp - what messages are made of -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NearestName.h"
#include "Quote.h"
#include "amp/Runtime/Tensor.h"

#include "gtest/gtest.h"

using namespace amp::runtime;

namespace {

TEST(Quote, IsOneShortLine) {
  EXPECT_EQ(quote("/layer.0/MatMul"), "'/layer.0/MatMul'");
  EXPECT_EQ(quote("größe"), "'größe'");
  EXPECT_EQ(quote("a\nb\x1b[2J'\\"), "'a\\nb\\x1b[2J\\'\\\\'");
  std::string shown = quote("begin" + std::string(1000, 'x') + "end");
  EXPECT_EQ(shown.substr(0, 6), "'begin");
  EXPECT_EQ(shown.substr(shown.size() - 4), "end'");
  EXPECT_LE(shown.size(), 84u);
}

TEST(NearestName, SuggestsWhatWasMeant) {
  EXPECT_EQ(suggestName("inptu", {"input", "output"}),
            "; did you mean 'input'?");
  EXPECT_EQ(suggestName("INPUT_IDS", {"input_ids", "mask"}),
            "; did you mean 'input_ids'?");
  EXPECT_EQ(suggestName("foo", {"input_ids", "mask"}),
            "; there are 'input_ids', 'mask'");
  EXPECT_EQ(suggestName("z", {"a", "b"}), "; there are 'a', 'b'");
  EXPECT_EQ(suggestName("x", {}), "");
}

TEST(DataType, HasNamesAndSizes) {
  for (uint32_t number = 1; number <= 26; ++number) {
    DataType type = *getDataType(number);
    EXPECT_EQ(getDataType(getName(type)), type);
    EXPECT_EQ(getByteSize(type) == 0, type == DataType::String);
  }
  EXPECT_EQ(getName(DataType::BFloat16), "bfloat16");
  EXPECT_EQ(getByteSize(DataType::BFloat16), 2u);
  EXPECT_EQ(getByteSize(DataType::Complex128), 16u);
  EXPECT_FALSE(getDataType(0u));
  EXPECT_FALSE(getDataType(27u));
  EXPECT_FALSE(getDataType("undefined"));
}

TEST(Shape, IsWrittenWithCrosses) {
  EXPECT_EQ(toString(Shape{2, 3}), "2x3");
  EXPECT_EQ(toString(Shape{}), "scalar");
}

} // namespace
