//===- WireReader.cpp - What the reader does off its fast path ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Target/ONNX/WireReader.h"

#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace amp;

void WireInput::fail(const char *position, std::string what) {
  if (fault)
    return;
  fault = true;
  faultOffset = offsetOf(position);
  faultText = std::move(what);
}

Error WireInput::takeError() const {
  if (!fault)
    return Error::success();
  return createStringError("malformed protobuf at byte " + Twine(faultOffset) +
                           ": " + faultText);
}

bool WireReader::failVarint(const char *position) {
  input->fail(position, cursor - position >= 10
                            ? "varint of more than 10 bytes"
                            : "varint is cut by the end of its message");
  return false;
}

bool WireReader::failFixed(size_t size) {
  input->fail(cursor, "value of " + std::to_string(size) +
                          " bytes is cut by the end of its message, " +
                          std::to_string(end - cursor) + " bytes on");
  return false;
}

bool WireReader::failLength(const char *position, uint32_t number,
                            uint64_t length) {
  input->fail(position, "length " + std::to_string(length) + " of field " +
                            std::to_string(number) +
                            " is beyond the end of its message, which has " +
                            std::to_string(end - cursor) + " bytes left");
  return false;
}

bool WireReader::failTag(const char *position, uint32_t tag) {
  std::string number = std::to_string(tag >> 3);
  if (tag >> 3 == 0)
    input->fail(position, "field number 0 is invalid");
  else if ((tag & 7) == static_cast<uint32_t>(WireType::EndGroup))
    input->fail(position, "end of group " + number + " without its beginning");
  else
    input->fail(position, "field " + number + " has wire type " +
                              std::to_string(tag & 7) +
                              ", which does not exist");
  return false;
}

bool WireReader::failTagSize(const char *position) {
  input->fail(position, "tag of more than 32 bits");
  return false;
}

const char *WireReader::skipGroup(const char *start, uint32_t number) {
  uint32_t open[maxGroupDepth];
  unsigned depth = 0;
  open[depth++] = number;
  while (cursor != end) {
    const char *tagAt = cursor;
    uint32_t tag;
    if (!readTag(tag))
      return nullptr;
    uint64_t value;
    uint32_t value32;
    switch (tag & 7) {
    case 0:
      if (!readVarint(value))
        return nullptr;
      break;
    case 1:
      if (!readFixed(value))
        return nullptr;
      break;
    case 2: {
      const char *lengthAt = cursor;
      if (!readVarint(value))
        return nullptr;
      if (value > static_cast<uint64_t>(end - cursor)) {
        failLength(lengthAt, tag >> 3, value);
        return nullptr;
      }
      cursor += value;
      break;
    }
    case 3:
      if (depth == maxGroupDepth) {
        input->fail(tagAt, "groups are nested more than " +
                               std::to_string(maxGroupDepth) + " deep");
        return nullptr;
      }
      open[depth++] = tag >> 3;
      break;
    case 4:
      if (open[depth - 1] != tag >> 3) {
        input->fail(tagAt, "group " + std::to_string(open[depth - 1]) +
                               " is ended as group " +
                               std::to_string(tag >> 3));
        return nullptr;
      }
      if (--depth == 0)
        return tagAt;
      break;
    case 5:
      if (!readFixed(value32))
        return nullptr;
      break;
    default:
      failTag(tagAt, tag);
      return nullptr;
    }
  }
  input->fail(start, "group " + std::to_string(number) +
                         " is not ended before the end of its message");
  return nullptr;
}

size_t amp::countPackedVarints(StringRef packed) {
  size_t count = 0;
  for (char c : packed)
    count += static_cast<signed char>(c) >= 0;
  return count;
}
