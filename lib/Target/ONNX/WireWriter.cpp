//===- WireWriter.cpp - Lengths and segments of a message -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Target/ONNX/WireWriter.h"

#include <algorithm>

using namespace llvm;
using namespace amp;

LazyBytes::~LazyBytes() = default;

void WireWriter::rawView(StringRef value) {
  if (value.size() < minSegmentSize)
    return raw(value);
  segmentBytes += value.size();
  if (!segmentList.empty()) {
    WireSegment &last = segmentList.back();
    if (last.data && last.bufferOffset == buffer.size() &&
        last.data + last.size == value.data()) {
      last.size += value.size();
      return;
    }
  }
  segmentList.push_back({buffer.size(), value.size(), value.data(), nullptr});
}

void WireWriter::rawLazy(uint64_t size,
                         std::shared_ptr<const LazyBytes> producer) {
  if (size < minSegmentSize) {
    size_t before = buffer.size();
    buffer.resize(before + size);
    if (size)
      producer->fill(0, MutableArrayRef<char>(buffer.data() + before, size));
    return;
  }
  segmentBytes += size;
  segmentList.push_back({buffer.size(), size, nullptr, std::move(producer)});
}

void WireWriter::align(uint64_t alignment) {
  static const char zeros[64 << 10] = {};
  uint64_t missing = (alignment - size() % alignment) % alignment;
  while (missing) {
    uint64_t piece = std::min<uint64_t>(missing, sizeof(zeros));
    rawView(StringRef(zeros, piece));
    missing -= piece;
  }
}

void WireWriter::begin(uint32_t field) {
  tag(field, 2);
  // Most messages are shorter than 128 bytes: their length fits here, and
  // nothing has to move when they end.
  open.push_back({buffer.size(), segmentBytes, segmentList.size()});
  buffer.push_back(0);
}

void WireWriter::end() {
  assert(!open.empty() && "no message has begun");
  OpenMessage message = open.pop_back_val();
  uint64_t contentsAt = message.lengthAt + 1;
  uint64_t inBuffer = buffer.size() - contentsAt;
  uint64_t length = inBuffer + (segmentBytes - message.segmentBytes);
  if (unsigned extra = varintSize(length) - 1) {
    buffer.resize_for_overwrite(buffer.size() + extra);
    char *contents = buffer.data() + contentsAt;
    std::memmove(contents + extra, contents, inBuffer);
    for (WireSegment &segment : MutableArrayRef<WireSegment>(segmentList)
                                    .drop_front(message.firstSegment))
      segment.bufferOffset += extra;
  }
  char *out = buffer.data() + message.lengthAt;
  for (; length >= 128; length >>= 7)
    *out++ = static_cast<char>(length | 128);
  *out = static_cast<char>(length);
}

template <typename T>
void WireWriter::appendPackedVarints(uint32_t field, ArrayRef<T> values) {
  if (values.empty())
    return;
  // Sign extended, as protobuf writes int32.
  uint64_t size = 0;
  for (T value : values)
    size += varintSize(static_cast<uint64_t>(value));
  tag(field, 2);
  appendVarint(size);
  buffer.reserve(buffer.size() + size);
  for (T value : values)
    appendVarint(static_cast<uint64_t>(value));
}

template <typename T>
void WireWriter::appendPackedFixed(uint32_t field, ArrayRef<T> values) {
  if (values.empty())
    return;
  tag(field, 2);
  appendVarint(values.size() * sizeof(T));
  // The host is little endian, as the format is.
  raw(StringRef(reinterpret_cast<const char *>(values.data()),
                values.size() * sizeof(T)));
}

void WireWriter::packedVarints(uint32_t field, ArrayRef<int64_t> values) {
  appendPackedVarints(field, values);
}
void WireWriter::packedVarints(uint32_t field, ArrayRef<uint64_t> values) {
  appendPackedVarints(field, values);
}
void WireWriter::packedVarints(uint32_t field, ArrayRef<int32_t> values) {
  appendPackedVarints(field, values);
}
void WireWriter::packedFloats(uint32_t field, ArrayRef<float> values) {
  appendPackedFixed(field, values);
}
void WireWriter::packedDoubles(uint32_t field, ArrayRef<double> values) {
  appendPackedFixed(field, values);
}
