//===- WireReader.h - Zero-copy reader of protobuf's wire format -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the fields of a protobuf message one after the other, as views into
// the bytes of the file. It knows no message types: what field 7 of a message
// means, and that the last of several scalars wins, is for the caller.
//
//   WireInput input(file->bytes());
//   WireReader model(input);
//   for (WireField field; model.next(field);)
//     if (field.number == 7 && field.isBytes())
//       readGraph(input, WireReader(input, field.bytes));
//   if (llvm::Error error = input.takeError())
//     return error;
//
// Everything is strict where protobuf is: a message consumes exactly its bytes,
// and no length is trusted beyond the end of the message that holds it.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TARGET_ONNX_WIREREADER_H
#define AMP_TARGET_ONNX_WIREREADER_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace amp {

/// How the value of a field is encoded.
enum class WireType : uint8_t {
  Varint = 0,
  Fixed64 = 1,
  Bytes = 2,
  Group = 3,
  EndGroup = 4,
  Fixed32 = 5
};

/// One field of a message. All views point into the input.
struct WireField {
  /// 1 to 2^29-1.
  uint32_t number = 0;
  /// Never EndGroup.
  WireType type = WireType::Varint;
  /// The value of a Varint, Fixed32 (zero extended) or Fixed64 field.
  uint64_t value = 0;
  /// The payload of a Bytes field; the fields inside a Group, without its end.
  llvm::StringRef bytes;
  /// The whole field with its tag: what to keep of a field that is not known.
  llvm::StringRef raw;

  bool isVarint() const { return type == WireType::Varint; }
  bool isBytes() const { return type == WireType::Bytes; }
  bool isFixed32() const { return type == WireType::Fixed32; }
  bool isFixed64() const { return type == WireType::Fixed64; }

  /// The value as protobuf reads it for each declared type: int32 and enum
  /// fields take the low 32 bits.
  int64_t asInt64() const { return static_cast<int64_t>(value); }
  int32_t asInt32() const {
    return static_cast<int32_t>(static_cast<uint32_t>(value));
  }
  bool asBool() const { return value != 0; }
  float asFloat() const {
    uint32_t bits = static_cast<uint32_t>(value);
    float result;
    std::memcpy(&result, &bits, sizeof(result));
    return result;
  }
  double asDouble() const {
    double result;
    std::memcpy(&result, &value, sizeof(result));
    return result;
  }
};

/// The bytes that are read, and the first fault found in them. All readers of
/// one input share it: after a fault every one of them is at its end, so a
/// caller may check once, but before it acts on a message that was read.
///
/// It does not own the bytes. One thread at a time; several inputs may look at
/// the same bytes.
class WireInput {
public:
  explicit WireInput(llvm::StringRef bytes) : input(bytes) {}

  /// A part of a bigger input, whose offsets count from `origin`.
  WireInput(llvm::StringRef bytes, uint64_t origin)
      : input(bytes), origin(origin) {}

  llvm::StringRef bytes() const { return input; }
  bool failed() const { return fault; }

  /// Where `position`, a pointer into the input, is in the file.
  uint64_t offsetOf(const char *position) const {
    return origin + static_cast<uint64_t>(position - input.data());
  }

  /// Records a fault at `position` unless there is one already. `what` is a
  /// clause that completes "malformed protobuf at byte N: ".
  LLVM_ATTRIBUTE_NOINLINE void fail(const char *position, std::string what);

  /// The first fault as one line, "malformed protobuf at byte 17: length 65 of
  /// field 9 is beyond the end of its message, which has 64 bytes left", or
  /// success. The input stays failed.
  llvm::Error takeError() const;

private:
  llvm::StringRef input;
  uint64_t origin = 0;
  bool fault = false;
  uint64_t faultOffset = 0;
  std::string faultText;
};

/// A cursor over the fields of one message, or over the elements of one packed
/// field. Cheap to make and to copy; allocates nothing unless it fails.
class WireReader {
public:
  /// How deep groups may nest, protobuf's own limit.
  static constexpr unsigned maxGroupDepth = 100;

  /// Reads the whole input as one message.
  explicit WireReader(WireInput &input) : WireReader(input, input.bytes()) {}

  /// Reads `message`, a part of the input's bytes.
  WireReader(WireInput &input, llvm::StringRef message)
      : input(&input), cursor(message.begin()), end(message.end()) {}

  /// Reads the next field. Returns false at the end of the message and after a
  /// fault in any message of the input.
  bool next(WireField &field) {
    if (cursor == end || LLVM_UNLIKELY(input->failed()))
      return false;
    const char *start = cursor;
    uint32_t tag = 0;
    if (!readTag(tag))
      return false;
    field.number = tag >> 3;
    field.type = static_cast<WireType>(tag & 7);
    switch (tag & 7) {
    case 0:
      if (!readVarint(field.value))
        return false;
      break;
    case 1:
      if (!readFixed(field.value))
        return false;
      break;
    case 2: {
      uint64_t length = 0;
      const char *lengthAt = cursor;
      if (!readVarint(length))
        return false;
      if (LLVM_UNLIKELY(length > static_cast<uint64_t>(end - cursor)))
        return failLength(lengthAt, field.number, length);
      field.bytes = llvm::StringRef(cursor, length);
      cursor += length;
      break;
    }
    case 3: {
      const char *first = cursor;
      const char *last = skipGroup(start, field.number);
      if (!last)
        return false;
      field.bytes = llvm::StringRef(first, last - first);
      break;
    }
    case 5: {
      uint32_t value = 0;
      if (!readFixed(value))
        return false;
      field.value = value;
      break;
    }
    default:
      return failTag(start, tag);
    }
    field.raw = llvm::StringRef(start, cursor - start);
    return true;
  }

  /// Reads the next element of a packed varint, fixed32 or fixed64 field.
  /// Returns false at the end and after a fault.
  bool nextVarint(uint64_t &value) {
    return cursor != end && !input->failed() && readVarint(value);
  }
  bool nextFixed32(uint32_t &value) {
    return cursor != end && !input->failed() && readFixed(value);
  }
  bool nextFixed64(uint64_t &value) {
    return cursor != end && !input->failed() && readFixed(value);
  }

private:
  /// At most 10 bytes; of the tenth only the lowest bit counts, as in
  /// protobuf.
  bool readVarint(uint64_t &value) {
    if (LLVM_LIKELY(cursor != end && static_cast<signed char>(*cursor) >= 0)) {
      value = static_cast<uint8_t>(*cursor++);
      return true;
    }
    uint64_t result = 0;
    const char *start = cursor;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (LLVM_UNLIKELY(cursor == end))
        return failVarint(start);
      uint64_t byte = static_cast<uint8_t>(*cursor++);
      result |= (byte & 127) << (shift & 63);
      if (byte < 128) {
        value = result;
        return true;
      }
    }
    return failVarint(start);
  }

  /// At most 5 bytes and 32 bits, and the field number is not 0.
  bool readTag(uint32_t &tag) {
    const char *start = cursor;
    uint32_t byte = static_cast<uint8_t>(*cursor++);
    uint32_t result = byte;
    if (LLVM_UNLIKELY(byte >= 128)) {
      result = byte & 127;
      for (unsigned shift = 7;; shift += 7) {
        if (cursor == end)
          return failVarint(start);
        byte = static_cast<uint8_t>(*cursor++);
        if (shift == 28 && byte > 15)
          return failTagSize(start);
        result |= (byte & 127) << shift;
        if (byte < 128)
          break;
      }
    }
    if (LLVM_UNLIKELY(result < 8))
      return failTag(start, result);
    tag = result;
    return true;
  }

  /// Little endian, at any alignment.
  template <typename T> bool readFixed(T &value) {
    static_assert(std::is_unsigned<T>::value, "fixed fields are bit patterns");
    if (LLVM_UNLIKELY(sizeof(T) > static_cast<size_t>(end - cursor)))
      return failFixed(sizeof(T));
    T result = 0;
    for (unsigned i = 0; i < sizeof(T); ++i)
      result |= static_cast<T>(static_cast<uint8_t>(cursor[i])) << (8 * i);
    value = result;
    cursor += sizeof(T);
    return true;
  }

  /// Skips to after the end of the group that begins at `start`; returns where
  /// its end tag begins, or null after a fault.
  const char *skipGroup(const char *start, uint32_t number);

  /// All record the fault and return false.
  bool failVarint(const char *position);
  bool failFixed(size_t size);
  bool failLength(const char *position, uint32_t number, uint64_t length);
  bool failTag(const char *position, uint32_t tag);
  bool failTagSize(const char *position);

  WireInput *input;
  const char *cursor;
  const char *end;
};

/// Appends the integers of a repeated field, packed or not, truncated to T as
/// protobuf does. Returns false, and appends nothing, if the field's wire type
/// is neither form: protobuf takes such a field for an unknown one. A malformed
/// packed field fails the input.
template <typename T>
bool appendVarints(WireInput &input, const WireField &field,
                   llvm::SmallVectorImpl<T> &values) {
  static_assert(std::is_integral<T>::value, "varints are integers");
  if (field.isVarint()) {
    values.push_back(static_cast<T>(field.value));
    return true;
  }
  if (!field.isBytes())
    return false;
  WireReader packed(input, field.bytes);
  for (uint64_t value = 0; packed.nextVarint(value);)
    values.push_back(static_cast<T>(value));
  return true;
}

/// The same for float (T = float, uint32_t) and double (T = double, uint64_t)
/// fields.
template <typename T>
bool appendFixed(WireInput &input, const WireField &field,
                 llvm::SmallVectorImpl<T> &values) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "fixed32 or fixed64");
  if (field.type == (sizeof(T) == 4 ? WireType::Fixed32 : WireType::Fixed64)) {
    T value;
    if constexpr (std::is_same_v<T, float>)
      value = field.asFloat();
    else if constexpr (std::is_same_v<T, double>)
      value = field.asDouble();
    else
      value = static_cast<T>(field.value);
    values.push_back(value);
    return true;
  }
  if (!field.isBytes())
    return false;
  if (field.bytes.size() % sizeof(T) != 0) {
    input.fail(field.bytes.begin(),
               "packed field " + std::to_string(field.number) + " has " +
                   std::to_string(field.bytes.size()) +
                   " bytes, not a multiple of " + std::to_string(sizeof(T)));
    return true;
  }
  size_t before = values.size();
  values.resize(before + field.bytes.size() / sizeof(T));
  // The format is little endian, as is every host that MLIR 22 is built for
  // here; StringRef data may be null when there is nothing to copy.
  if (!field.bytes.empty())
    std::memcpy(values.data() + before, field.bytes.data(), field.bytes.size());
  return true;
}

/// How many varints a packed field holds, at memory speed and without a check:
/// the bytes that end one. For sizes that must be known before the values.
size_t countPackedVarints(llvm::StringRef packed);

} // namespace amp

#endif // AMP_TARGET_ONNX_WIREREADER_H
