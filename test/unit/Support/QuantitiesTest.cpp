//===- QuantitiesTest.cpp - numbers for people ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Support/Quantities.h"

#include "gtest/gtest.h"

using namespace amp;

namespace {

int64_t parse(llvm::StringRef text) {
  llvm::Expected<int64_t> bytes = parseBytes(text);
  if (bytes)
    return *bytes;
  EXPECT_NE(llvm::toString(bytes.takeError()).find("but got '"),
            std::string::npos);
  return -1;
}

TEST(Quantities, ParsesBytes) {
  EXPECT_EQ(parse("1048576"), 1048576);
  EXPECT_EQ(parse("64B"), 64);
  EXPECT_EQ(parse("100MB"), 100'000'000);
  EXPECT_EQ(parse("100 kB"), 100'000);
  EXPECT_EQ(parse("2KB"), 2'000);
  EXPECT_EQ(parse("256MiB"), 256 << 20);
  EXPECT_EQ(parse("1.5GiB"), 3ll << 29);
  EXPECT_EQ(parse("1TiB"), 1ll << 40);
}

TEST(Quantities, RefusesWhatAreNoBytes) {
  for (const char *text :
       {"", "B", "MB", "-1", "0", "0.1", "1e3", "12X", "12XB", "12iB", "12M",
        "1.2.3MB", "99999999TB", "nan", "2MMB"})
    EXPECT_EQ(parse(text), -1) << text;
}

TEST(Quantities, FormatsWhatItParses) {
  EXPECT_EQ(formatBytes(parse("12.3MB")), "12.3 MB");
}

} // namespace
