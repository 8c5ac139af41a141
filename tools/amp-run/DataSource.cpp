//===- DataSource.cpp - arrays of samples, in place -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataSource.h"

#include "NpyHeader.h"
#include "Quote.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace amp::run;
using namespace amp::runtime;

static constexpr std::string_view suffix = ".npy";

static bool endsWith(std::string_view text, std::string_view end) {
  return text.size() > end.size() &&
         text.substr(text.size() - end.size()) == end;
}

/// "images" of "data/images.npy".
static std::string getStem(std::string_view path) {
  size_t slash = path.rfind('/');
  if (slash != std::string_view::npos)
    path.remove_prefix(slash + 1);
  if (endsWith(path, suffix))
    path.remove_suffix(suffix.size());
  return std::string(path);
}

Result<DataSource>
DataSource::open(const std::vector<std::string> &places,
                 const std::function<bool(std::string_view name)> &isWanted) {
  ArrayFileOptions options;
  options.isWanted = isWanted;
  options.mustAlign = false;
  options.maxInflated = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                        static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 2;
  DataSource source;
  for (const std::string &place : places)
    if (Status status = source.add(place, options); !status.ok())
      return status;
  return source;
}

Status DataSource::add(const std::string &place,
                       const ArrayFileOptions &options) {
  struct stat info;
  bool exists = stat(place.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    return addFolder(place, options);
  size_t equals = place.find('=');
  if (exists || equals == std::string::npos)
    return addFile(place, "", options);
  return addFile(place.substr(equals + 1), place.substr(0, equals), options);
}

Status DataSource::addFolder(const std::string &path,
                             const ArrayFileOptions &options) {
  DIR *folder = opendir(path.c_str());
  if (!folder)
    return Status::error("cannot read the folder " + quote(path) + ": " +
                         std::strerror(errno));
  std::vector<std::string> found;
  while (const dirent *entry = readdir(folder))
    if (endsWith(entry->d_name, suffix))
      found.push_back(path + "/" + entry->d_name);
  closedir(folder);
  if (found.empty())
    return Status::error("the folder " + quote(path) + " has no .npy files");
  std::sort(found.begin(), found.end());
  for (const std::string &file : found)
    if (Status status = addFile(file, "", options); !status.ok())
      return status;
  return {};
}

Status DataSource::addFile(const std::string &path, const std::string &name,
                           const ArrayFileOptions &options) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file.ok())
    return file.getStatus();
  std::string_view bytes(reinterpret_cast<const char *>(file->getData()),
                         file->getSize());
  if (bytes.substr(0, 2) != "PK")
    return addNpy(path, name, std::move(*file), options);
  if (!name.empty())
    return Status::error(quote(path) +
                         " is a .npz file, whose arrays have names; give the "
                         "file by --data " +
                         quote(path) + ", and --array " + name + "=ARRAY");
  Result<ArrayFile> archive = ArrayFile::read(path, options);
  if (!archive.ok())
    return archive.getStatus();
  for (const std::string &each : archive->getNames())
    if (Status status = addName(each, path); !status.ok())
      return status;
  for (const NamedTensor &array : archive->getTensors())
    arrays.push_back(array);
  archives.push_back(std::move(*archive));
  return {};
}

Status DataSource::addNpy(const std::string &path, const std::string &name,
                          MappedFile file, const ArrayFileOptions &options) {
  std::string_view bytes(reinterpret_cast<const char *>(file.getData()),
                         file.getSize());
  auto fail = [&](const std::string &what) {
    return Status::error(quote(path) + ": " + what);
  };
  if (bytes.substr(0, 6) != "\x93NUMPY")
    return fail("neither a .npz nor a .npy file");
  NamedTensor array;
  array.name = name.empty() ? getStem(path) : name;
  if (Status status = addName(array.name, path); !status.ok())
    return status;
  if (!options.isWanted(array.name))
    return {};
  Result<NpyHeader> header = parseNpyHeader(bytes);
  if (!header.ok())
    return fail(header.getMessage());
  array.tensor.type = header->type;
  array.tensor.shape = header->shape;
  // Nothing writes it.
  array.tensor.data = const_cast<char *>(bytes.data()) + header->dataOffset;
  size_t size = array.tensor.getByteCount();
  if (bytes.size() - header->dataOffset < size)
    return fail("it is cut: " + toString(header->shape) + " of " +
                std::string(getName(header->type)) + " takes " +
                std::to_string(size) + " bytes, but there are " +
                std::to_string(bytes.size() - header->dataOffset));
  arrays.push_back(array);
  files.push_back(std::move(file));
  return {};
}

Status DataSource::addName(const std::string &name, const std::string &path) {
  for (const Name &other : names)
    if (other.name == name)
      return Status::error("array " + quote(name) + " is in " +
                           quote(other.path) + " and in " + quote(path));
  names.push_back({name, path});
  return {};
}

const TensorView *DataSource::find(std::string_view name) const {
  for (const NamedTensor &array : arrays)
    if (array.name == name)
      return &array.tensor;
  return nullptr;
}

std::vector<std::string_view> DataSource::getNames() const {
  std::vector<std::string_view> all;
  for (const Name &name : names)
    all.push_back(name.name);
  return all;
}
