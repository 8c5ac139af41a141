//===- Checkpoint.cpp - tensors in a safetensors file ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 8 bytes: the length of the JSON that follows; then the tensors, one behind
// the other. https://github.com/huggingface/safetensors#format
//
//===----------------------------------------------------------------------===//

#include "Checkpoint.h"

#include "AtomicFile.h"
#include "MappedFile.h"
#include "NearestName.h"
#include "Quote.h"
#include "amp/Runtime/ExecutableFormat.h"

#include <cstring>
#include <nlohmann/json.hpp>

using namespace amp::runtime;
using Json = nlohmann::ordered_json;

static constexpr char metadataKey[] = "__metadata__";

/// Empty if the format has no name for the type.
static std::string_view getCheckpointName(DataType type) {
  switch (type) {
  case DataType::Float:
    return "F32";
  case DataType::UInt8:
    return "U8";
  case DataType::Int8:
    return "I8";
  case DataType::UInt16:
    return "U16";
  case DataType::Int16:
    return "I16";
  case DataType::Int32:
    return "I32";
  case DataType::Int64:
    return "I64";
  case DataType::Bool:
    return "BOOL";
  case DataType::Float16:
    return "F16";
  case DataType::Double:
    return "F64";
  case DataType::UInt32:
    return "U32";
  case DataType::UInt64:
    return "U64";
  case DataType::Complex64:
    return "C64";
  case DataType::BFloat16:
    return "BF16";
  case DataType::Float8E4M3FN:
    return "F8_E4M3";
  case DataType::Float8E5M2:
    return "F8_E5M2";
  case DataType::Float8E8M0:
    return "F8_E8M0";
  default:
    return "";
  }
}

Status amp::runtime::saveCheckpoint(
    const std::string &path, const std::vector<NamedTensor> &tensors,
    const std::map<std::string, std::string> &metadata) {
  Json header = Json::object();
  if (!metadata.empty())
    header[metadataKey] = metadata;
  uint64_t end = 0;
  for (const NamedTensor &named : tensors) {
    const TensorView &tensor = named.tensor;
    std::string_view type = getCheckpointName(tensor.type);
    if (type.empty())
      return Status::error("a checkpoint cannot hold " + quote(named.name) +
                           ": the format has no type " +
                           std::string(getName(tensor.type)));
    uint64_t begin = end;
    end += tensor.getByteCount();
    header[named.name] = {{"dtype", type},
                          {"shape", std::vector<int64_t>(tensor.shape.begin(),
                                                         tensor.shape.end())},
                          {"data_offsets", {begin, end}}};
  }
  std::string text =
      header.dump(-1, ' ', false, Json::error_handler_t::replace);
  // Spaces, so that tensors are aligned when the file is mapped.
  uint64_t length = sizeof(uint64_t) + text.size();
  text.append((blobAlignment - length % blobAlignment) % blobAlignment, ' ');
  length = text.size();

  AtomicFile file(path);
  if (Status status = file.open(); !status.ok())
    return status;
  if (Status status = file.write(&length, sizeof(length)); !status.ok())
    return status;
  if (Status status = file.write(text.data(), text.size()); !status.ok())
    return status;
  for (const NamedTensor &named : tensors)
    if (Status status =
            file.write(named.tensor.data, named.tensor.getByteCount());
        !status.ok())
      return status;
  return file.commit();
}

/// The numbers of an array of JSON.
template <typename T>
static std::optional<std::vector<T>> readNumbers(const Json &object,
                                                 const char *key) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_array())
    return std::nullopt;
  std::vector<T> numbers;
  for (const Json &element : *found) {
    if (!element.is_number_unsigned())
      return std::nullopt;
    numbers.push_back(static_cast<T>(element.get<uint64_t>()));
  }
  return numbers;
}

/// Where the bytes of a tensor are, which is as it must be.
static Result<const unsigned char *> findTensor(const Json &header,
                                                const NamedTensor &named,
                                                const unsigned char *data,
                                                uint64_t size) {
  const TensorView &tensor = named.tensor;
  auto entry = header.find(named.name);
  if (entry == header.end() || !entry->is_object()) {
    std::vector<std::string_view> names;
    for (const auto &item : header.items())
      if (item.key() != metadataKey)
        names.push_back(item.key());
    return Status::error("it has no tensor " + quote(named.name) +
                         suggestName(named.name, names));
  }
  auto dtype = entry->find("dtype");
  auto dims = readNumbers<int64_t>(*entry, "shape");
  auto offsets = readNumbers<uint64_t>(*entry, "data_offsets");
  if (dtype == entry->end() || !dtype->is_string() || !dims || !offsets ||
      offsets->size() != 2)
    return Status::error("what it says of tensor " + quote(named.name) +
                         " is no safetensors header");
  const auto &type = dtype->get_ref<const std::string &>();
  if (type != getCheckpointName(tensor.type))
    return Status::error("tensor " + quote(named.name) + " has type " +
                         quote(type) + ", but the model's has " +
                         quote(getCheckpointName(tensor.type)));
  Shape shape;
  if (dims->size() <= Shape::maxRank)
    for (int64_t dim : *dims)
      shape.push_back(dim);
  if (dims->size() > Shape::maxRank || shape != tensor.shape)
    return Status::error("tensor " + quote(named.name) + " is " +
                         (dims->size() > Shape::maxRank
                              ? "of rank " + std::to_string(dims->size())
                              : toString(shape)) +
                         ", but the model's is " + toString(tensor.shape));
  uint64_t begin = (*offsets)[0], end = (*offsets)[1];
  if (begin > end || end > size || end - begin != tensor.getByteCount())
    return Status::error("the bytes of tensor " + quote(named.name) +
                         " are not where they should be; the file is damaged");
  return data + begin;
}

Status
amp::runtime::loadCheckpoint(const std::string &path,
                             const std::vector<NamedTensor> &tensors,
                             std::map<std::string, std::string> *metadata) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file.ok())
    return file.getStatus();
  auto fail = [&](const std::string &what) {
    return Status::error("checkpoint " + quote(path) + ": " + what);
  };
  uint64_t length = 0;
  if (file->getSize() >= sizeof(length))
    std::memcpy(&length, file->getData(), sizeof(length));
  if (length == 0 || length > file->getSize() - sizeof(length))
    return fail("not a safetensors file, or a truncated one");
  const unsigned char *text = file->getData() + sizeof(length);
  Json header = Json::parse(text, text + length, nullptr,
                            /*allow_exceptions=*/false);
  if (!header.is_object())
    return fail("not a safetensors file: its header is no JSON object");

  const unsigned char *data = text + length;
  uint64_t size = file->getSize() - sizeof(length) - length;
  std::vector<const unsigned char *> sources;
  for (const NamedTensor &named : tensors) {
    Result<const unsigned char *> source =
        findTensor(header, named, data, size);
    if (!source.ok())
      return fail(source.getMessage());
    sources.push_back(*source);
  }
  for (size_t i = 0; i < tensors.size(); ++i)
    if (size_t bytes = tensors[i].tensor.getByteCount())
      std::memcpy(tensors[i].tensor.data, sources[i], bytes);
  if (!metadata)
    return {};
  metadata->clear();
  auto found = header.find(metadataKey);
  if (found != header.end() && found->is_object())
    for (const auto &item : found->items())
      if (item.value().is_string())
        metadata->emplace(item.key(), item.value().get<std::string>());
  return {};
}
