//===- WireWriterTest.cpp - Lengths, segments and sizes -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Target/ONNX/WireWriter.h"

#include "Scratch.h"
#include "amp/Target/ONNX/WireReader.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace amp;
using namespace amp::test;

static std::string hex(StringRef bytes) {
  std::string out;
  for (char c : bytes) {
    out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    out += "0123456789abcdef"[c & 15];
  }
  return out;
}

TEST(WireWriter, EncodesAsTheSpecificationSays) {
  WireWriter writer;
  writer.varint(1, 150);
  writer.int64(2, -1);
  writer.bytes(2, "testing");
  writer.fixed32(3, 1);
  writer.float64(16, 1.0);
  EXPECT_EQ(hex(writer.bufferBytes()), "089601"
                                       "10ffffffffffffffffff01"
                                       "120774657374696e67"
                                       "1d01000000"
                                       "8101000000000000f03f");
  EXPECT_EQ(writer.size(), writer.bufferBytes().size());
  EXPECT_TRUE(writer.segments().empty());
}

TEST(WireWriter, OmitsEmptyPackedFields) {
  WireWriter writer;
  writer.packedVarints(1, ArrayRef<int64_t>());
  writer.packedFloats(4, {});
  EXPECT_EQ(writer.size(), 0u);
  writer.packedVarints(5, ArrayRef<int32_t>{-1, 3});
  EXPECT_EQ(hex(writer.bufferBytes()), "2a0bffffffffffffffffff0103");
}

TEST(WireWriter, GivesNestedMessagesMinimalLengths) {
  for (size_t size : {0, 1, 125, 126, 127, 128, 16381, 16382, 16383, 16384,
                      2097148, 2097149, 2097150, 2097151, 2097152}) {
    std::string payload(size, 'p');
    WireWriter nested, flat;
    nested.message(7, [&] {
      nested.message(1, [&] { nested.raw(payload); });
      nested.bytes(2, "after");
    });
    // The same from the inside out.
    WireWriter inner;
    inner.bytes(1, payload);
    inner.bytes(2, "after");
    flat.bytes(7, inner.bufferBytes());
    ASSERT_EQ(nested.bufferBytes(), flat.bufferBytes()) << size;
    ASSERT_EQ(nested.depth(), 0u);
  }
}

TEST(WireWriter, CopiesSmallPayloadsAndRefersToBigOnes) {
  std::string small(WireWriter::minSegmentSize - 1, 's');
  std::string big(WireWriter::minSegmentSize, 'b');
  auto lazy = std::make_shared<NumberedBytes>();
  WireWriter writer, flat;
  writer.view(9, small);
  writer.view(9, big);
  writer.lazy(9, 5, lazy);
  writer.lazy(9, 70000, lazy);
  writer.rawView("");
  ASSERT_EQ(writer.segments().size(), 2u);
  EXPECT_EQ(writer.segments()[0].data, big.data());
  EXPECT_EQ(writer.segments()[1].producer, lazy);

  std::string computed(70000, '\0');
  lazy->fill(0, MutableArrayRef<char>(computed.data(), computed.size()));
  flat.bytes(9, small);
  flat.bytes(9, big);
  flat.bytes(9, StringRef(computed).take_front(5));
  flat.bytes(9, computed);
  EXPECT_EQ(flatten(writer), flatten(flat));
  EXPECT_EQ(writer.size(), flat.size());
}

TEST(WireWriter, MovesSegmentsWhenLengthsGrow) {
  std::string weights(100000, 'w');
  WireWriter writer, flat, graph;
  writer.message(7, [&] {
    for (int i = 0; i < 3; ++i)
      writer.message(5, [&] {
        writer.bytes(8, "name " + std::to_string(i));
        writer.view(9, weights);
      });
    writer.bytes(2, std::string(300, 'n'));
  });
  writer.varint(1, 8);
  for (int i = 0; i < 3; ++i) {
    WireWriter tensor;
    tensor.bytes(8, "name " + std::to_string(i));
    tensor.bytes(9, weights);
    graph.bytes(5, flatten(tensor));
  }
  graph.bytes(2, std::string(300, 'n'));
  flat.bytes(7, flatten(graph));
  flat.varint(1, 8);
  EXPECT_EQ(flatten(writer), flatten(flat));
  EXPECT_EQ(writer.segments().size(), 3u);
  EXPECT_LT(writer.bufferBytes().size(), 1000u);
}

TEST(WireWriter, JoinsSegmentsThatTouch) {
  std::string data(20000, 'd');
  WireWriter writer;
  writer.rawView(StringRef(data).slice(0, 8000));
  writer.rawView(StringRef(data).slice(8000, 20000));
  ASSERT_EQ(writer.segments().size(), 1u);
  EXPECT_EQ(writer.segments()[0].size, 20000u);
  writer.rawView(data);
  EXPECT_EQ(writer.segments().size(), 2u);
}

TEST(WireWriter, AlignsWithZeros) {
  WireWriter writer;
  writer.align(64);
  EXPECT_EQ(writer.size(), 0u);
  writer.raw("x");
  writer.align(64);
  EXPECT_EQ(writer.size(), 64u);
  writer.align(1 << 20);
  EXPECT_EQ(flatten(writer), "x" + std::string((1 << 20) - 1, '\0'));
  EXPECT_LT(writer.bufferBytes().size(), 4096u);
}

/// Nothing of this size is written or computed.
TEST(WireWriter, CountsBeyondFourGiB) {
  auto lazy = std::make_shared<NumberedBytes>();
  uint64_t size = (5ull << 30) + 3;
  WireWriter writer;
  writer.message(7, [&] {
    for (int i = 0; i < 2; ++i)
      writer.message(5, [&] { writer.lazy(9, size, lazy); });
  });
  uint64_t tensor = 1 + WireWriter::varintSize(size) + size;
  uint64_t graph = 2 * (1 + WireWriter::varintSize(tensor) + tensor);
  EXPECT_EQ(writer.size(), 1 + WireWriter::varintSize(graph) + graph);

  // The lengths stand in front of the first segment.
  StringRef head =
      writer.bufferBytes().take_front(writer.segments()[0].bufferOffset);
  WireInput input(head);
  WireReader lengths(input, head);
  uint64_t value;
  for (uint64_t expected : {uint64_t(7 << 3 | 2), graph, uint64_t(5 << 3 | 2),
                            tensor, uint64_t(9 << 3 | 2), size}) {
    ASSERT_TRUE(lengths.nextVarint(value));
    EXPECT_EQ(value, expected);
  }
  EXPECT_FALSE(lengths.nextVarint(value));
}

TEST(WireWriter, NestsDeeply) {
  constexpr unsigned depth = 10000;
  WireWriter writer;
  for (unsigned i = 0; i < depth; ++i)
    writer.begin(1);
  EXPECT_EQ(writer.depth(), depth);
  for (unsigned i = 0; i < depth; ++i)
    writer.end();
  StringRef rest = writer.bufferBytes();
  unsigned found = 0;
  WireInput input(rest);
  for (WireField field; WireReader(input, rest).next(field); ++found)
    rest = field.bytes;
  EXPECT_EQ(found, depth);
}
