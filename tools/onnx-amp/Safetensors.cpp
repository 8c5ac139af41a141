//===- Safetensors.cpp - checkpoints of training --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Safetensors.h"

#include "amp/Support/Quoted.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"

using namespace amp;
using onnx::ElementType;

static llvm::Error fail(const llvm::Twine &what) {
  return llvm::createStringError(what);
}

/// The names of safetensors for what ONNX has, too.
static std::optional<ElementType> parseType(llvm::StringRef name) {
  static constexpr struct {
    llvm::StringLiteral name;
    ElementType type;
  } types[] = {
      {"F64", ElementType::Double},  {"F32", ElementType::Float},
      {"F16", ElementType::Float16}, {"BF16", ElementType::BFloat16},
      {"I64", ElementType::Int64},   {"I32", ElementType::Int32},
      {"I16", ElementType::Int16},   {"I8", ElementType::Int8},
      {"U64", ElementType::UInt64},  {"U32", ElementType::UInt32},
      {"U16", ElementType::UInt16},  {"U8", ElementType::UInt8},
      {"BOOL", ElementType::Bool},
  };
  for (const auto &entry : types)
    if (entry.name == name)
      return entry.type;
  return std::nullopt;
}

static llvm::Expected<StoredTensor> readTensor(llvm::StringRef name,
                                               const llvm::json::Value &value,
                                               llvm::StringRef data) {
  auto wrong = [&](llvm::StringRef what) {
    return fail("tensor " + quoted(name) + " " + what);
  };
  const llvm::json::Object *entry = value.getAsObject();
  auto dtype = entry ? entry->getString("dtype") : std::nullopt;
  const llvm::json::Array *shape = entry ? entry->getArray("shape") : nullptr;
  const llvm::json::Array *offsets =
      entry ? entry->getArray("data_offsets") : nullptr;
  if (!dtype || !shape || !offsets || offsets->size() != 2)
    return wrong("lacks dtype, shape or data_offsets");
  StoredTensor tensor;
  std::optional<ElementType> type = parseType(*dtype);
  if (!type)
    return wrong("has the unknown dtype " + quoted(*dtype));
  tensor.type = *type;
  for (const llvm::json::Value &dim : *shape) {
    std::optional<int64_t> size = dim.getAsInteger();
    if (!size || *size < 0)
      return wrong("has a dimension that is no size");
    tensor.dims.push_back(*size);
  }
  std::optional<uint64_t> elements = onnx::numElements(tensor.dims);
  std::optional<uint64_t> bytes =
      elements ? onnx::byteSize(tensor.type, *elements) : std::nullopt;
  std::optional<int64_t> begin = (*offsets)[0].getAsInteger(),
                         end = (*offsets)[1].getAsInteger();
  if (!begin || !end || *begin < 0 || *end < *begin ||
      static_cast<uint64_t>(*end) > data.size())
    return wrong("lies beyond the end of the file");
  if (!bytes || *bytes != static_cast<uint64_t>(*end - *begin))
    return wrong("has not as many bytes as its shape needs");
  tensor.bytes = data.slice(*begin, *end);
  return tensor;
}

llvm::Error Safetensors::readHeader() {
  llvm::StringRef bytes = file->getBuffer();
  constexpr size_t kLength = sizeof(uint64_t);
  uint64_t length = bytes.size() < kLength
                        ? UINT64_MAX
                        : llvm::support::endian::read64le(bytes.data());
  if (bytes.size() < kLength || length > bytes.size() - kLength)
    return fail("not a .safetensors file: no header that ends within it");
  llvm::Expected<llvm::json::Value> header =
      llvm::json::parse(bytes.substr(kLength, length));
  if (!header)
    return fail("not a .safetensors file: its header is no JSON: " +
                llvm::toString(header.takeError()));
  const llvm::json::Object *entries = header->getAsObject();
  if (!entries)
    return fail("not a .safetensors file: its header is no object");
  for (const auto &[key, value] : *entries) {
    llvm::StringRef name = key;
    if (name == "__metadata__")
      continue;
    llvm::Expected<StoredTensor> tensor =
        readTensor(name, value, bytes.drop_front(kLength + length));
    if (!tensor)
      return tensor.takeError();
    tensors[name] = std::move(*tensor);
  }
  return llvm::Error::success();
}

llvm::Expected<Safetensors> Safetensors::open(llvm::StringRef path) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> file =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                  /*RequiresNullTerminator=*/false);
  if (!file)
    return fail("cannot open " + quoted(path) + ": " +
                file.getError().message());
  Safetensors result;
  result.file = std::move(*file);
  if (llvm::Error error = result.readHeader())
    return fail(quoted(path) + ": " + llvm::toString(std::move(error)));
  return result;
}
