//===- WireWriter.h - Writer of protobuf's wire format ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds a message of any size, over 2 GiB too. What is small is encoded into
// one buffer; what is big (weights) is only recorded as a segment that says
// where its bytes live or who computes them. OutputFile puts both into a file.
//
//   WireWriter writer;
//   writer.int64(1, irVersion);
//   writer.message(7, [&] {
//     writer.message(5, [&] { writer.view(9, weights); });
//   });
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TARGET_ONNX_WIREWRITER_H
#define AMP_TARGET_ONNX_WIREWRITER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cassert>
#include <cstdint>
#include <cstring>
#include <memory>

namespace amp {

/// Bytes that are computed only while they are written, piece by piece, such
/// as weights rounded to a narrower type.
class LazyBytes {
public:
  virtual ~LazyBytes();

  /// Computes the bytes [offset, offset + out.size()) into `out`. `offset` is a
  /// multiple of `granularity`; `out.size()` is one too, except where the bytes
  /// end. Called from several threads at once, in any order, more than once for
  /// some pieces; must not fail.
  virtual void fill(uint64_t offset, llvm::MutableArrayRef<char> out) const = 0;

  static constexpr uint64_t granularity = 4096;
};

/// A stretch of the output that is not in the writer's buffer.
struct WireSegment {
  /// How many bytes of the buffer come before it.
  uint64_t bufferOffset;
  /// In bytes, never 0.
  uint64_t size;
  /// Where the bytes are, or null if `producer` computes them.
  const char *data;
  std::shared_ptr<const LazyBytes> producer;
};

/// See the head of this file. Fields are written in the order of the calls;
/// nested messages get their length, a minimal varint, when they end.
class WireWriter {
public:
  /// Payloads below this many bytes are copied into the buffer: a segment costs
  /// more than they do.
  static constexpr size_t minSegmentSize = 4096;

  /// A varint field: uint64, bool, or an enum.
  void varint(uint32_t field, uint64_t value) {
    tag(field, 0);
    appendVarint(value);
  }
  /// An int64, int32 or enum field: negative values take 10 bytes.
  void int64(uint32_t field, int64_t value) {
    varint(field, static_cast<uint64_t>(value));
  }
  void fixed32(uint32_t field, uint32_t value) {
    tag(field, 5);
    appendFixed(value);
  }
  void fixed64(uint32_t field, uint64_t value) {
    tag(field, 1);
    appendFixed(value);
  }
  void float32(uint32_t field, float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    fixed32(field, bits);
  }
  void float64(uint32_t field, double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    fixed64(field, bits);
  }

  /// A string or bytes field; copies.
  void bytes(uint32_t field, llvm::StringRef value) {
    tag(field, 2);
    appendVarint(value.size());
    raw(value);
  }

  /// A bytes field whose bytes must stay where they are until the output is
  /// written; they are not copied unless they are few.
  void view(uint32_t field, llvm::StringRef value) {
    tag(field, 2);
    appendVarint(value.size());
    rawView(value);
  }

  /// A bytes field of `size` bytes that `producer` computes, at once if they
  /// are few.
  void lazy(uint32_t field, uint64_t size,
            std::shared_ptr<const LazyBytes> producer) {
    tag(field, 2);
    appendVarint(size);
    rawLazy(size, std::move(producer));
  }

  /// Packed repeated fields. Protobuf omits an empty one; so do these.
  void packedVarints(uint32_t field, llvm::ArrayRef<int64_t> values);
  void packedVarints(uint32_t field, llvm::ArrayRef<uint64_t> values);
  void packedVarints(uint32_t field, llvm::ArrayRef<int32_t> values);
  void packedFloats(uint32_t field, llvm::ArrayRef<float> values);
  void packedDoubles(uint32_t field, llvm::ArrayRef<double> values);

  /// Bytes as they are, without a tag: whole fields that were kept, or the
  /// contents of a data file. The second and third do not copy; see view() and
  /// lazy().
  void raw(llvm::StringRef value) { buffer.append(value.begin(), value.end()); }
  void rawView(llvm::StringRef value);
  void rawLazy(uint64_t size, std::shared_ptr<const LazyBytes> producer);

  /// Zeros up to the next multiple of `alignment`, not 0, of size().
  void align(uint64_t alignment);

  /// Begins a nested message; all that is written until the matching end() is
  /// its contents. To any depth.
  void begin(uint32_t field);
  void end();

  /// Writes a nested message, whose contents `contents()` writes.
  template <typename Contents>
  void message(uint32_t field, Contents &&contents) {
    begin(field);
    contents();
    end();
  }

  /// How many messages have begun and not ended.
  size_t depth() const { return open.size(); }

  /// Bytes written so far, segments included, lengths of open messages not.
  uint64_t size() const { return buffer.size() + segmentBytes; }

  /// The encoded bytes without the segments, and the segments in order.
  llvm::StringRef bufferBytes() const {
    return llvm::StringRef(buffer.data(), buffer.size());
  }
  llvm::ArrayRef<WireSegment> segments() const { return segmentList; }

  /// Makes room for about this many bytes of small fields.
  void reserve(size_t size) { buffer.reserve(size); }

  /// Bytes that a varint takes.
  static unsigned varintSize(uint64_t value) {
    unsigned size = 1;
    for (; value >= 128; value >>= 7)
      ++size;
    return size;
  }

private:
  void tag(uint32_t field, unsigned wireType) {
    assert(field > 0 && field < (1u << 29) && "no such field number");
    appendVarint(static_cast<uint64_t>(field) << 3 | wireType);
  }
  void appendVarint(uint64_t value) {
    for (; value >= 128; value >>= 7)
      buffer.push_back(static_cast<char>(value | 128));
    buffer.push_back(static_cast<char>(value));
  }
  template <typename T> void appendFixed(T value) {
    for (unsigned i = 0; i < sizeof(T); ++i)
      buffer.push_back(static_cast<char>(value >> (8 * i)));
  }
  template <typename T>
  void appendPackedVarints(uint32_t field, llvm::ArrayRef<T> values);
  template <typename T>
  void appendPackedFixed(uint32_t field, llvm::ArrayRef<T> values);

  /// A message that has begun: where its length goes, and what was there then.
  struct OpenMessage {
    uint64_t lengthAt;
    uint64_t segmentBytes;
    size_t firstSegment;
  };

  llvm::SmallVector<char, 0> buffer;
  llvm::SmallVector<WireSegment, 0> segmentList;
  llvm::SmallVector<OpenMessage, 8> open;
  uint64_t segmentBytes = 0;
};

} // namespace amp

#endif // AMP_TARGET_ONNX_WIREWRITER_H
