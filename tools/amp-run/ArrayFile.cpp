//===- ArrayFile.cpp - arrays by name, from and to .npz files -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArrayFile.h"

#include "Quote.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <minizip/unzip.h>
#include <minizip/zip.h>
#include <unistd.h>

using namespace amp::run;
using namespace amp::runtime;

static constexpr std::string_view suffix = ".npy";

/// np.savez without arrays writes the end of a list alone, which minizip takes
/// for none.
static bool isEmptyArchive(const MappedFile &file) {
  constexpr std::string_view magic = "PK\5\6";
  constexpr size_t size = 22;
  return file.getSize() == size &&
         std::memcmp(file.getData(), magic.data(), magic.size()) == 0;
}

Result<ArrayFile> ArrayFile::read(const std::string &path,
                                  const ArrayFileOptions &options) {
  Result<MappedFile> mapped = MappedFile::open(path);
  if (!mapped.ok())
    return mapped.getStatus();
  ArrayFile arrays;
  arrays.file = std::move(*mapped);
  auto fail = [&](const std::string &what) {
    return Status::error(quote(path) + ": " + what);
  };
  if (isEmptyArchive(*arrays.file))
    return arrays;
  unzFile zip = unzOpen64(path.c_str());
  if (!zip)
    return fail("not a .npz file; write it by np.savez");
  Status status;
  for (int found = unzGoToFirstFile(zip); found != UNZ_END_OF_LIST_OF_FILE;
       found = unzGoToNextFile(zip)) {
    if (found != UNZ_OK)
      status = Status::error("its list of arrays is damaged");
    else
      status = arrays.readMember(zip, options);
    if (!status.ok())
      break;
  }
  unzClose(zip);
  if (!status.ok())
    return fail(status.getMessage());
  return arrays;
}

Status ArrayFile::readMember(void *zip, const ArrayFileOptions &options) {
  unz_file_info64 info;
  char nameBuffer[4096];
  if (unzGetCurrentFileInfo64(zip, &info, nameBuffer, sizeof(nameBuffer),
                              nullptr, 0, nullptr, 0) != UNZ_OK ||
      info.size_filename >= sizeof(nameBuffer))
    return Status::error("its list of arrays is damaged");
  std::string name(nameBuffer, info.size_filename);
  if (name.size() > suffix.size() &&
      name.substr(name.size() - suffix.size()) == suffix)
    name.resize(name.size() - suffix.size());
  names.push_back(name);
  if (options.isWanted && !options.isWanted(name))
    return {};
  auto fail = [&](const std::string &what) {
    return Status::error("array " + quote(name) + ": " + what);
  };
  if (unzOpenCurrentFile(zip) != UNZ_OK)
    return fail("it is damaged, or encrypted");

  std::string_view bytes;
  uint64_t position = unzGetCurrentFileZStreamPos64(zip);
  bool isMapped = info.compression_method == 0 &&
                  info.compressed_size == info.uncompressed_size &&
                  position <= file->getSize() &&
                  info.uncompressed_size <= file->getSize() - position;
  if (isMapped)
    bytes = {reinterpret_cast<const char *>(file->getData()) + position,
             info.uncompressed_size};
  Status status;
  auto inflate = [&]() -> Status {
    if (info.uncompressed_size > options.maxInflated - inflatedBytes)
      return fail("it is compressed and takes " +
                  std::to_string(info.uncompressed_size) +
                  " bytes in memory, where " +
                  std::to_string(options.maxInflated - inflatedBytes) +
                  " may be used; save it with np.savez or np.save, whose files "
                  "are read in place");
    inflatedBytes += info.uncompressed_size;
    Buffer buffer;
    if (Status reserved =
            buffer.reserve(info.uncompressed_size, "array " + quote(name));
        !reserved.ok())
      return reserved;
    auto *next = static_cast<char *>(buffer.getData());
    uint64_t rest = info.uncompressed_size;
    while (rest > 0) {
      auto part = static_cast<unsigned>(std::min<uint64_t>(rest, 1u << 30));
      int got = unzReadCurrentFile(zip, next, part);
      if (got <= 0)
        return fail("it is damaged");
      next += got;
      rest -= static_cast<uint64_t>(got);
    }
    bytes = {static_cast<const char *>(buffer.getData()),
             info.uncompressed_size};
    copies.push_back(std::move(buffer));
    return {};
  };
  if (!isMapped)
    status = inflate();
  // This compares the checksum of what was decompressed.
  bool isWhole = unzCloseCurrentFile(zip) == UNZ_OK;
  if (!status.ok())
    return status;
  if (!isWhole)
    return fail("it is damaged: its checksum does not match");

  Result<NpyHeader> header = parseNpyHeader(bytes);
  if (!header.ok())
    return fail(header.getMessage());
  TensorView tensor;
  tensor.type = header->type;
  tensor.shape = header->shape;
  size_t size = tensor.getByteCount();
  if (bytes.size() - header->dataOffset < size)
    return fail("it is cut: " + toString(tensor.shape) + " of " +
                std::string(getName(tensor.type)) + " takes " +
                std::to_string(size) + " bytes, but there are " +
                std::to_string(bytes.size() - header->dataOffset));
  const char *data = bytes.data() + header->dataOffset;
  // Members begin anywhere in a file.
  if (options.mustAlign &&
      reinterpret_cast<uintptr_t>(data) % getByteSize(tensor.type) != 0) {
    Buffer buffer;
    if (Status reserved = buffer.reserve(size, "array " + quote(name));
        !reserved.ok())
      return reserved;
    if (size > 0)
      std::memcpy(buffer.getData(), data, size);
    data = static_cast<const char *>(buffer.getData());
    copies.push_back(std::move(buffer));
  }
  tensor.data = const_cast<char *>(data); // Nothing writes inputs.
  tensors.push_back({name, tensor});
  return {};
}

static bool writeMember(zipFile zip, const NamedTensor &named,
                        const std::string &header) {
  const TensorView &tensor = named.tensor;
  constexpr int isLarge = 1; // Sizes of 64 bits.
  zip_fileinfo info = {};
  info.tmz_date = {0, 0, 0, 1, 0, 1980}; // The same bytes for the same arrays.
  if (zipOpenNewFileInZip64(zip, (named.name + std::string(suffix)).c_str(),
                            &info, nullptr, 0, nullptr, 0, nullptr, 0, 0,
                            isLarge) != ZIP_OK)
    return false;
  bool isOk =
      zipWriteInFileInZip(zip, header.data(),
                          static_cast<unsigned>(header.size())) == ZIP_OK;
  const char *next = tensor.as<char>();
  uint64_t rest = tensor.getByteCount();
  while (isOk && rest > 0) {
    auto part = static_cast<unsigned>(std::min<uint64_t>(rest, 1u << 30));
    isOk = zipWriteInFileInZip(zip, next, part) == ZIP_OK;
    next += part;
    rest -= part;
  }
  return zipCloseFileInZip(zip) == ZIP_OK && isOk;
}

Status amp::run::writeArrays(const std::string &path,
                             const std::vector<NamedTensor> &tensors) {
  std::vector<std::string> headers;
  for (const NamedTensor &named : tensors) {
    Result<std::string> header = formatNpyHeader(named.tensor);
    if (!header.ok())
      return Status::error("output " + quote(named.name) + ": " +
                           header.getMessage());
    headers.push_back(*header);
  }
  std::string temporary = path + ".partial";
  auto fail = [&] {
    std::string why = std::strerror(errno);
    unlink(temporary.c_str());
    return Status::error("cannot write " + quote(path) + ": " + why);
  };
  errno = 0;
  zipFile zip = zipOpen64(temporary.c_str(), APPEND_STATUS_CREATE);
  if (!zip)
    return fail();
  bool isOk = true;
  for (size_t i = 0; isOk && i < tensors.size(); ++i)
    isOk = writeMember(zip, tensors[i], headers[i]);
  isOk &= zipClose(zip, nullptr) == ZIP_OK;
  if (!isOk || std::rename(temporary.c_str(), path.c_str()) != 0)
    return fail();
  return {};
}
