//===- WireReaderTest.cpp - The reader against a slow one and bad bytes ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Target/ONNX/WireReader.h"

#include "Scratch.h"
#include "amp/Target/ONNX/WireWriter.h"
#include "gtest/gtest.h"
#include <optional>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;
using namespace amp;
using namespace amp::test;

namespace {

/// A field as the slow reader sees it.
struct SlowField {
  uint32_t number;
  unsigned type;
  uint64_t value = 0;
  std::string bytes, raw;

  bool operator==(const SlowField &other) const {
    return number == other.number && type == other.type &&
           value == other.value && bytes == other.bytes && raw == other.raw;
  }
};

/// The wire format by the letter: one byte at a time, recursive, copying.
class SlowReader {
public:
  explicit SlowReader(StringRef text) : text(text) {}

  std::optional<std::vector<SlowField>> message() {
    std::vector<SlowField> fields;
    while (at < text.size()) {
      std::optional<SlowField> field = one(0);
      if (!field || field->type == 4)
        return std::nullopt;
      fields.push_back(*field);
    }
    return fields;
  }

private:
  std::optional<unsigned> byte() {
    if (at >= text.size())
      return std::nullopt;
    return static_cast<unsigned char>(text[at++]);
  }
  std::optional<uint64_t> varint(unsigned most) {
    unsigned __int128 value = 0;
    for (unsigned i = 0; i < most; ++i) {
      auto b = byte();
      if (!b)
        return std::nullopt;
      value += static_cast<unsigned __int128>(*b % 128) << (7 * i);
      if (*b < 128) {
        if (most == 5 && value >> 32)
          return std::nullopt;
        return static_cast<uint64_t>(value);
      }
    }
    return std::nullopt;
  }
  std::optional<uint64_t> fixed(unsigned size) {
    uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) {
      auto b = byte();
      if (!b)
        return std::nullopt;
      value += static_cast<uint64_t>(*b) << (8 * i);
    }
    return value;
  }
  std::optional<SlowField> one(unsigned depth) {
    size_t start = at;
    auto tag = varint(5);
    if (!tag || *tag / 8 == 0)
      return std::nullopt;
    SlowField field{static_cast<uint32_t>(*tag / 8),
                    static_cast<unsigned>(*tag % 8),
                    0,
                    {},
                    {}};
    switch (field.type) {
    case 0:
    case 1:
    case 5: {
      auto value = field.type == 0   ? varint(10)
                   : field.type == 1 ? fixed(8)
                                     : fixed(4);
      if (!value)
        return std::nullopt;
      field.value = *value;
      break;
    }
    case 2: {
      auto size = varint(10);
      if (!size || *size > text.size() - at)
        return std::nullopt;
      field.bytes = text.substr(at, *size).str();
      at += *size;
      break;
    }
    case 3: {
      if (depth == WireReader::maxGroupDepth)
        return std::nullopt;
      size_t inside = at;
      while (true) {
        size_t here = at;
        if (at >= text.size())
          return std::nullopt;
        auto inner = one(depth + 1);
        if (!inner)
          return std::nullopt;
        if (inner->type == 4) {
          if (inner->number != field.number)
            return std::nullopt;
          field.bytes = text.slice(inside, here).str();
          break;
        }
      }
      break;
    }
    case 4:
      break;
    default:
      return std::nullopt;
    }
    field.raw = text.slice(start, at).str();
    return field;
  }

  StringRef text;
  size_t at = 0;
};

std::optional<std::vector<SlowField>> readFast(StringRef text) {
  WireInput input(text);
  WireReader reader(input);
  std::vector<SlowField> fields;
  for (WireField field; reader.next(field);) {
    SlowField copy{field.number,
                   static_cast<unsigned>(field.type),
                   0,
                   {},
                   field.raw.str()};
    if (field.isVarint() || field.isFixed32() || field.isFixed64())
      copy.value = field.value;
    else
      copy.bytes = field.bytes.str();
    fields.push_back(std::move(copy));
  }
  EXPECT_EQ(input.failed(), static_cast<bool>(input.takeError()));
  if (input.failed())
    return std::nullopt;
  return fields;
}

/// A message with every wire type, nested twice.
std::string sample() {
  WireWriter writer;
  writer.varint(1, 8);
  writer.varint(100000, UINT64_MAX);
  writer.fixed32(3, 0xdeadbeef);
  writer.fixed64(536870911, 0x0123456789abcdef);
  writer.bytes(5, std::string(200, 'x'));
  writer.message(7, [&] {
    writer.bytes(1, "node");
    writer.message(
        5, [&] { writer.packedVarints(1, ArrayRef<int64_t>{-1, 300}); });
  });
  writer.raw("\x4b\x08\x01\x53\x12\x02hi\x54\x4c"); // groups 9 and 10 in it
  writer.bytes(6, "");
  return writer.bufferBytes().str();
}

std::string faultOf(StringRef text) {
  WireInput input(text);
  WireReader reader(input);
  for (WireField field; reader.next(field);) {
  }
  return toString(input.takeError());
}

} // namespace

TEST(WireReader, ReadsEveryWireType) {
  std::string text = sample();
  auto fields = readFast(text);
  ASSERT_TRUE(fields);
  ASSERT_EQ(fields->size(), 8u);
  EXPECT_EQ((*fields)[1].value, UINT64_MAX);
  EXPECT_EQ((*fields)[2].value, 0xdeadbeefu);
  EXPECT_EQ((*fields)[3].number, 536870911u);
  EXPECT_EQ((*fields)[6].type, 3u);
  EXPECT_EQ((*fields)[6].bytes, "\x08\x01\x53\x12\x02hi\x54");
  std::string again;
  for (const SlowField &field : *fields)
    again += field.raw;
  EXPECT_EQ(again, text);
}

TEST(WireReader, ConvertsAsProtobufDoes) {
  WireField field;
  field.value = 0x100000001;
  EXPECT_EQ(field.asInt32(), 1);
  field.value = UINT64_MAX;
  EXPECT_EQ(field.asInt32(), -1);
  EXPECT_EQ(field.asInt64(), -1);
  field.value = 0x3f800000;
  EXPECT_EQ(field.asFloat(), 1.0f);
  field.value = 0x3ff0000000000000;
  EXPECT_EQ(field.asDouble(), 1.0);
}

TEST(WireReader, TakesPaddedVarintsAndTags) {
  // Field 1 in 5 bytes, 3 in 3.
  auto fields = readFast(StringRef("\x88\x80\x80\x80\x00\x83\x80\x00", 8));
  ASSERT_TRUE(fields);
  EXPECT_EQ(fields->front().number, 1u);
  EXPECT_EQ(fields->front().value, 3u);
  // The tenth byte's upper bits are dropped.
  fields = readFast("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
  ASSERT_TRUE(fields);
  EXPECT_EQ(fields->front().value, UINT64_MAX);
}

TEST(WireReader, SaysWhatIsWrongAndWhere) {
  auto faultOfBytes = [](const char *bytes, size_t size) {
    return faultOf(StringRef(bytes, size));
  };
#define FAULT(bytes) faultOfBytes(bytes, sizeof(bytes) - 1)
  EXPECT_EQ(FAULT("\x08\x01\x4a\x41zzz"),
            "malformed protobuf at byte 3: length 65 of field 9 is beyond the "
            "end of its message, which has 3 bytes left");
  EXPECT_EQ(FAULT("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01zz"),
            "malformed protobuf at byte 1: length 18446744073709551615 of "
            "field 2 is beyond the end of its message, which has 2 bytes left");
  EXPECT_EQ(FAULT("\x00\x01"),
            "malformed protobuf at byte 0: field number 0 is invalid");
  EXPECT_EQ(FAULT("\x0e"), "malformed protobuf at byte 0: field 1 has wire "
                           "type 6, which does not exist");
  EXPECT_EQ(FAULT("\x0c"), "malformed protobuf at byte 0: end of group 1 "
                           "without its beginning");
  EXPECT_EQ(FAULT("\x0b\x08\x01"), "malformed protobuf at byte 0: group 1 is "
                                   "not ended before the end of its message");
  EXPECT_EQ(FAULT("\x0b\x14"),
            "malformed protobuf at byte 1: group 1 is ended as group 2");
  EXPECT_EQ(FAULT("\x08\x80"), "malformed protobuf at byte 1: varint is cut by "
                               "the end of its message");
  EXPECT_EQ(FAULT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            "malformed protobuf at byte 1: varint of more than 10 bytes");
  EXPECT_EQ(FAULT("\xf8\xff\xff\xff\x1f\x01"),
            "malformed protobuf at byte 0: tag of more than 32 bits");
  EXPECT_EQ(FAULT("\x09\x01\x02\x03\x04"),
            "malformed protobuf at byte 1: value of 8 bytes is cut by the end "
            "of its message, 4 bytes on");
#undef FAULT
}

TEST(WireReader, CountsOffsetsFromTheFile) {
  std::string file = sample() + "\x3a\x02\x08\x80";
  WireInput input(file);
  WireReader model(input);
  for (WireField field; model.next(field);)
    if (field.number == 7 && field.isBytes())
      for (WireReader graph(input, field.bytes); graph.next(field);) {
      }
  EXPECT_EQ(toString(input.takeError()),
            "malformed protobuf at byte " + std::to_string(file.size() - 1) +
                ": varint is cut by the end of its message");
}

TEST(WireReader, StaysFailed) {
  WireInput input(StringRef("\x3a\x01\x08\x08\x01", 5));
  WireReader model(input);
  WireField field;
  ASSERT_TRUE(model.next(field));
  WireReader inner(input, field.bytes);
  EXPECT_FALSE(inner.next(field));
  EXPECT_FALSE(model.next(field)) << "although the outer message goes on";
  EXPECT_FALSE(inner.next(field));
  uint64_t value;
  EXPECT_FALSE(WireReader(input, "\x01").nextVarint(value));
}

TEST(WireReader, LimitsTheDepthOfGroups) {
  auto nested = [](unsigned depth) {
    return std::string(depth, '\x0b') + std::string(depth, '\x0c');
  };
  EXPECT_EQ(faultOf(nested(100)), "");
  EXPECT_EQ(faultOf(nested(101)), "malformed protobuf at byte 100: groups are "
                                  "nested more than 100 deep");
  EXPECT_NE(faultOf(nested(10000)), "");
}

TEST(WireReader, ReadsPackedAndUnpackedAlike) {
  WireWriter writer;
  writer.varint(1, 5);
  writer.packedVarints(1, ArrayRef<int64_t>{-1, 1 << 20});
  writer.varint(1, 0x100000002);
  writer.float32(4, 1.5f);
  writer.packedFloats(4, {2.5f, -0.0f});
  writer.packedDoubles(10, {0.5});
  writer.float64(10, 0.25);
  WireInput input(writer.bufferBytes());
  WireReader reader(input);
  SmallVector<int64_t> wide;
  SmallVector<int32_t> narrow;
  SmallVector<float> floats;
  SmallVector<uint32_t> patterns;
  SmallVector<double> doubles;
  for (WireField field; reader.next(field);) {
    if (field.number == 1) {
      EXPECT_TRUE(appendVarints(input, field, wide));
      EXPECT_TRUE(appendVarints(input, field, narrow));
      if (field.isVarint()) {
        EXPECT_FALSE(appendFixed(input, field, floats));
      }
    } else if (field.number == 4) {
      EXPECT_TRUE(appendFixed(input, field, floats));
      EXPECT_TRUE(appendFixed(input, field, patterns));
    } else {
      EXPECT_TRUE(appendFixed(input, field, doubles));
    }
  }
  EXPECT_EQ(toString(input.takeError()), "");
  EXPECT_EQ(wide, (SmallVector<int64_t>{5, -1, 1 << 20, 0x100000002}));
  EXPECT_EQ(narrow, (SmallVector<int32_t>{5, -1, 1 << 20, 2}));
  EXPECT_EQ(floats, (SmallVector<float>{1.5f, 2.5f, -0.0f}));
  EXPECT_EQ(patterns.back(), 0x80000000u);
  EXPECT_EQ(doubles, (SmallVector<double>{0.5, 0.25}));
}

TEST(WireReader, RefusesBrokenPackedFields) {
  WireField field;
  field.number = 4;
  field.type = WireType::Bytes;
  field.bytes = "1234567";
  WireInput floats(field.bytes);
  SmallVector<float> values;
  EXPECT_TRUE(appendFixed(floats, field, values));
  EXPECT_EQ(toString(floats.takeError()),
            "malformed protobuf at byte 0: packed field 4 has 7 bytes, not a "
            "multiple of 4");
  EXPECT_TRUE(values.empty());

  field.bytes = "\x01\x80";
  WireInput dims(field.bytes);
  SmallVector<int64_t> integers;
  EXPECT_TRUE(appendVarints(dims, field, integers));
  EXPECT_TRUE(dims.failed());
  EXPECT_EQ(countPackedVarints(StringRef("\x01\x80\x01\x00", 4)), 3u);
}

/// Every prefix ends at an unreadable page: one byte too far is a crash. And
/// every prefix that is not a message is refused.
TEST(WireReader, NeverReadsPastTheEnd) {
  size_t page = ::sysconf(_SC_PAGESIZE);
  char *pages =
      static_cast<char *>(::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(::mprotect(pages + page, page, PROT_NONE), 0);
  std::string text = sample();
  for (size_t size = 0; size <= text.size(); ++size) {
    char *at = pages + page - size;
    std::copy_n(text.data(), size, at);
    StringRef prefix(at, size);
    auto fast = readFast(prefix);
    auto slow = SlowReader(prefix).message();
    ASSERT_EQ(fast.has_value(), slow.has_value()) << "cut at " << size;
    if (fast) {
      EXPECT_EQ(*fast, *slow);
    }
    // The packed readers as well.
    WireInput input(prefix);
    WireReader reader(input);
    uint32_t value;
    while (reader.nextFixed32(value)) {
    }
    EXPECT_EQ(input.failed(), size % 4 != 0);
  }
  ::munmap(pages, 2 * page);
}

TEST(WireReader, AgreesWithASlowReaderOnDamagedMessages) {
  std::mt19937 random(3);
  std::string good = sample();
  unsigned accepted = 0;
  for (int round = 0; round < 200000; ++round) {
    std::string text;
    if (round % 2) {
      text = good;
      for (int hits = 1 + random() % 3; hits-- > 0;)
        text[random() % text.size()] = static_cast<char>(random());
    } else {
      // Small bytes make short tags and lengths, which are often right.
      text.resize(random() % 24);
      for (char &c : text)
        c = static_cast<char>(random() % 8 ? random() % 32 : random());
    }
    auto fast = readFast(text), slow = SlowReader(text).message();
    ASSERT_EQ(fast.has_value(), slow.has_value()) << "round " << round;
    if (!fast)
      continue;
    ++accepted;
    ASSERT_EQ(*fast, *slow) << "round " << round;
  }
  EXPECT_GT(accepted, 10000u);
}
