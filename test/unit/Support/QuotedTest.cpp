//===- QuotedTest.cpp - Foreign text made safe for a message --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Support/Quoted.h"

#include "llvm/Support/ConvertUTF.h"
#include "gtest/gtest.h"
#include <random>

// Qualified calls: for a std::string, std::quoted would be found as well.
using llvm::StringRef;

TEST(Quoted, LeavesPlainTextAlone) {
  EXPECT_EQ(amp::quoted(""), "''");
  EXPECT_EQ(amp::quoted("/model/layers.0/MatMul_output_0"),
            "'/model/layers.0/MatMul_output_0'");
  EXPECT_EQ(amp::quoted("größe 日本 😀"), "'größe 日本 😀'");
}

TEST(Quoted, EscapesWhatBreaksTheLine) {
  EXPECT_EQ(amp::quoted("a\nb\r\tc"), "'a\\nb\\r\\tc'");
  EXPECT_EQ(amp::quoted(StringRef("\x1b[2J\0\x7f", 6)), "'\\x1b[2J\\x00\\x7f'");
  EXPECT_EQ(amp::quoted("it's C:\\w"), "'it\\'s C:\\\\w'");
  EXPECT_EQ(amp::quoted("\xc2\x85|\xe2\x80\xa8"), "'\\u{85}|\\u{2028}'");
}

TEST(Quoted, EscapesWhatReordersOrHidesText) {
  EXPECT_EQ(amp::quoted("\xe2\x80\xae|\xe2\x81\xa6|\xef\xbb\xbf"),
            "'\\u{202e}|\\u{2066}|\\u{feff}'");
  EXPECT_EQ(amp::quoted("\xf3\xa0\x80\xa0"), "'\\u{e0020}'");
}

TEST(Quoted, ShowsBytesThatAreNotUTF8) {
  EXPECT_EQ(amp::quoted("a\xff"), "'a\\xff'");
  EXPECT_EQ(amp::quoted("\xc3"), "'\\xc3'");                   // cut
  EXPECT_EQ(amp::quoted("\xc0\x80"), "'\\xc0\\x80'");          // overlong
  EXPECT_EQ(amp::quoted("\xed\xa0\x80"), "'\\xed\\xa0\\x80'"); // surrogate
  EXPECT_EQ(amp::quoted("\xf4\x90\x80\x80"), "'\\xf4\\x90\\x80\\x80'");
}

TEST(Quoted, CutsTheMiddleOfLongText) {
  std::string name = "begin" + std::string(1 << 20, 'x') + "end";
  std::string shown = amp::quoted(name);
  EXPECT_EQ(shown.size(), 82u);
  EXPECT_EQ(shown.substr(0, 6), "'begin");
  EXPECT_EQ(shown.substr(shown.size() - 4), "end'");
  EXPECT_NE(shown.find("…"), std::string::npos);

  EXPECT_EQ(amp::quoted(std::string(80, 'x')).find("…"), std::string::npos);
  EXPECT_NE(amp::quoted(std::string(81, 'x')).find("…"), std::string::npos);
  // What is shown counts, not what is there.
  EXPECT_LE(amp::quoted(std::string(80, '\xff')).size(), 82u);
  EXPECT_EQ(amp::quoted("abc", 0), "'…'");
}

TEST(Quoted, IsShortValidUTF8OnOneLineWhateverComesIn) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 200, '\0');
    for (char &c : text)
      c = static_cast<char>(random() % 4 ? random() : 0xe2);
    std::string shown = amp::quoted(text);
    ASSERT_LE(shown.size(), 82u);
    const auto *begin = reinterpret_cast<const llvm::UTF8 *>(shown.data());
    ASSERT_TRUE(llvm::isLegalUTF8String(&begin, begin + shown.size()));
    for (char c : shown)
      ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  }
}
