//===- NpyHeader.cpp - how an array of NumPy begins -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NpyHeader.h"

#include "Memory.h"
#include "Quote.h"

#include <cstdint>
#include <optional>

using namespace amp::run;
using namespace amp::runtime;

static constexpr std::string_view magic = "\x93NUMPY";

namespace {

struct NamedType {
  std::string_view name;
  DataType type;
};

/// Reads what Python's repr makes of the header's dictionary.
class Scanner {
public:
  explicit Scanner(std::string_view text) : text(text) {}

  bool take(char c) {
    skipSpace();
    if (text.empty() || text[0] != c)
      return false;
    text.remove_prefix(1);
    return true;
  }

  std::optional<std::string_view> takeString() {
    skipSpace();
    if (text.empty() || (text[0] != '\'' && text[0] != '"'))
      return std::nullopt;
    size_t end = text.find(text[0], 1);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string_view content = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    return content;
  }

  bool takeWord(std::string_view word) {
    skipSpace();
    if (text.substr(0, word.size()) != word)
      return false;
    text.remove_prefix(word.size());
    return true;
  }

  std::optional<int64_t> takeNumber() {
    skipSpace();
    int64_t number = 0;
    size_t digits = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9';
         ++digits)
      if (__builtin_mul_overflow(number, 10, &number) ||
          __builtin_add_overflow(number, text[digits] - '0', &number))
        return std::nullopt;
    text.remove_prefix(digits);
    if (digits == 0)
      return std::nullopt;
    takeWord("L"); // Python 2.
    return number;
  }

private:
  void skipSpace() {
    while (!text.empty() && (text[0] == ' ' || text[0] == '\n'))
      text.remove_prefix(1);
  }

  std::string_view text;
};

} // namespace

// By what follows the byte order; the first of a type is written.
static constexpr NamedType namedTypes[] = {
    {"f4", DataType::Float},     {"f8", DataType::Double},
    {"f2", DataType::Float16},   {"V2", DataType::BFloat16},
    {"i1", DataType::Int8},      {"i2", DataType::Int16},
    {"i4", DataType::Int32},     {"i8", DataType::Int64},
    {"u1", DataType::UInt8},     {"V1", DataType::UInt8},
    {"u2", DataType::UInt16},    {"u4", DataType::UInt32},
    {"u8", DataType::UInt64},    {"b1", DataType::Bool},
    {"c8", DataType::Complex64}, {"c16", DataType::Complex128},
};

static Status fail(const std::string &what) {
  return Status::error("not an array of NumPy: " + what);
}

static Result<DataType> parseType(std::string_view descr) {
  bool isBigEndian = !descr.empty() && descr[0] == '>';
  if (descr.size() > 1 && !isBigEndian)
    for (const NamedType &named : namedTypes)
      if (named.name == descr.substr(1))
        return named.type;
  return Status::error("arrays of dtype " + quote(descr) +
                       " are not supported" +
                       (isBigEndian ? ": bytes must be little-endian" : ""));
}

static Result<Shape> parseShape(Scanner &scanner) {
  Shape shape;
  if (!scanner.take('('))
    return fail("its shape is no tuple");
  while (!scanner.take(')')) {
    std::optional<int64_t> dim = scanner.takeNumber();
    if (!dim)
      return fail("its shape is no tuple of numbers");
    if (shape.getRank() == Shape::maxRank)
      return Status::error("arrays of a rank above " +
                           std::to_string(Shape::maxRank) +
                           " are not supported");
    shape.push_back(*dim);
    scanner.take(',');
  }
  return shape;
}

Result<NpyHeader> amp::run::parseNpyHeader(std::string_view bytes) {
  if (bytes.substr(0, magic.size()) != magic || bytes.size() < 12)
    return fail("it does not begin as one");
  auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  unsigned version = byte(6);
  size_t begin = version == 1 ? 10 : 12;
  size_t length = byte(8) + 256u * byte(9);
  if (version > 1)
    length += (size_t{byte(10)} << 16) + (size_t{byte(11)} << 24);
  if (version < 1 || version > 3 || length > bytes.size() - begin)
    return fail("its header is cut, or of another version");

  NpyHeader header;
  header.dataOffset = begin + length;
  bool hasShape = false, isColumnMajor = false;
  Scanner scanner(bytes.substr(begin, length));
  if (!scanner.take('{'))
    return fail("its header is no dictionary");
  while (!scanner.take('}')) {
    std::optional<std::string_view> key = scanner.takeString();
    if (!key || !scanner.take(':'))
      return fail("its header is no dictionary");
    if (*key == "descr") {
      std::optional<std::string_view> descr = scanner.takeString();
      if (!descr)
        return Status::error("arrays of records are not supported");
      Result<DataType> type = parseType(*descr);
      if (!type.ok())
        return type.getStatus();
      header.type = *type;
    } else if (*key == "shape") {
      Result<Shape> shape = parseShape(scanner);
      if (!shape.ok())
        return shape.getStatus();
      header.shape = *shape;
      hasShape = true;
    } else if (*key == "fortran_order") {
      isColumnMajor = scanner.takeWord("True");
      if (!isColumnMajor && !scanner.takeWord("False"))
        return fail("its order is neither True nor False");
    } else {
      return fail("its header has a key " + quote(*key));
    }
    scanner.take(',');
  }
  if (header.type == DataType::Undefined || !hasShape)
    return fail("its header lacks descr or shape");
  if (isColumnMajor && header.shape.getRank() > 1)
    return Status::error("arrays in column-major order are not supported; "
                         "save np.ascontiguousarray(array)");
  if (!computeByteCount(header.type, header.shape))
    return Status::error("the array is " + toString(header.shape) +
                         ", which no memory can hold");
  return header;
}

DataType amp::run::adaptType(DataType got, DataType wanted) {
  bool isRaw = got == DataType::UInt8 || got == DataType::UInt16 ||
               got == DataType::BFloat16 || got == DataType::Int8;
  bool isNameless = false;
  switch (wanted) {
  case DataType::BFloat16:
  case DataType::Float8E4M3FN:
  case DataType::Float8E4M3FNUZ:
  case DataType::Float8E5M2:
  case DataType::Float8E5M2FNUZ:
  case DataType::Float8E8M0:
  case DataType::Float4E2M1:
  case DataType::UInt4:
  case DataType::Int4:
  case DataType::UInt2:
  case DataType::Int2:
    isNameless = true;
    break;
  default:
    break;
  }
  return isRaw && isNameless && getByteSize(got) == getByteSize(wanted) ? wanted
                                                                        : got;
}

Result<std::string> amp::run::formatNpyHeader(const TensorView &tensor) {
  std::string_view name;
  for (const NamedType &named : namedTypes)
    if (named.type == tensor.type && name.empty())
      name = named.name;
  if (name.empty() && getByteSize(tensor.type) == 1)
    name = "V1";
  if (name.empty())
    return Status::error("NumPy's files cannot hold " +
                         std::string(getName(tensor.type)));
  std::string text = "{'descr': '";
  text += getByteSize(tensor.type) == 1 ? '|' : '<';
  text += name;
  text += "', 'fortran_order': False, 'shape': (";
  for (int64_t dim : tensor.shape)
    text += std::to_string(dim) + ",";
  text += "), }";
  constexpr size_t begin = 10, alignment = 64;
  size_t length =
      (begin + text.size() + 1 + alignment - 1) / alignment * alignment - begin;
  text.resize(length - 1, ' ');
  text += '\n';
  std::string header(magic);
  header += {'\1', '\0', static_cast<char>(length & 255),
             static_cast<char>(length >> 8)};
  return header + text;
}
