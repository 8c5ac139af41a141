//===- ExecutableFile.cpp - an .ampx file, mapped -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExecutableFile.h"

#include "Checksum.h"
#include "amp/Runtime/ExecutableFormat.h"

#include "Executable.pb.h"

#include <climits>
#include <cstring>

using namespace amp;
using namespace amp::runtime;

static Status damaged(std::string what) {
  return Status::error(std::move(what) +
                       "; the file is damaged, copy or compile it again");
}

ExecutableFile::ExecutableFile(MappedFile file)
    : file(std::move(file)), header(std::make_unique<executable::Header>()) {}
ExecutableFile::~ExecutableFile() = default;
ExecutableFile::ExecutableFile(ExecutableFile &&) noexcept = default;
ExecutableFile &ExecutableFile::operator=(ExecutableFile &&) noexcept = default;

Result<ExecutableFile> ExecutableFile::open(const std::string &path) {
  Result<MappedFile> mapped = MappedFile::open(path);
  if (!mapped.ok())
    return mapped.getStatus();
  ExecutableFile file(std::move(*mapped));
  if (Status status = file.readPrelude(); !status.ok())
    return status;
  return file;
}

static std::string toString(uint16_t major, uint16_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

static bool parse(executable::Header &header, const void *data, uint64_t size) {
#if GOOGLE_PROTOBUF_VERSION < 3022000
  // It would write to stderr what becomes a message here.
  google::protobuf::LogSilencer silencer;
#endif
  return header.ParseFromArray(data, static_cast<int>(size));
}

Status ExecutableFile::readPrelude() {
  ExecutablePrelude prelude;
  uint64_t size = file.getSize();
  size_t magicSize = sizeof(prelude.magic);
  if (size < magicSize ||
      std::memcmp(file.getData(), executableMagic, magicSize) != 0)
    return Status::error("not an executable: it does not begin as .ampx files "
                         "do; compile the model with `onnx-amp compile`");
  if (size < sizeof(prelude))
    return damaged("the file has " + std::to_string(size) +
                   " bytes, too few for an executable");
  std::memcpy(&prelude, file.getData(), sizeof(prelude));
  if (prelude.majorVersion != executableMajorVersion ||
      prelude.minorVersion > executableMinorVersion)
    return Status::error(
        "the executable has version " +
        toString(prelude.majorVersion, prelude.minorVersion) +
        " of the format, but this runtime reads " +
        toString(executableMajorVersion, 0) + " to " +
        toString(executableMajorVersion, executableMinorVersion) +
        "; compile the model again, or use the runtime of its compiler");
  if (prelude.fileSize != size)
    return damaged("the file has " + std::to_string(size) +
                   " bytes, but was "
                   "written with " +
                   std::to_string(prelude.fileSize));
  if (prelude.headerSize > size - sizeof(prelude) ||
      prelude.headerSize > INT_MAX)
    return damaged("the header takes " + std::to_string(prelude.headerSize) +
                   " bytes, but the file has " + std::to_string(size));
  headerEnd = sizeof(prelude) + prelude.headerSize;
  constexpr size_t begin = offsetof(ExecutablePrelude, majorVersion);
  if (computeChecksum(file.getData() + begin, headerEnd - begin) !=
      prelude.checksum)
    return damaged("the checksum of the header does not match");
  if (prelude.reserved != 0 ||
      !parse(*header, file.getData() + sizeof(prelude), prelude.headerSize))
    return damaged("the header cannot be parsed");
  return {};
}

Status ExecutableFile::checkBounds(const executable::Blob &blob,
                                   uint64_t alignment,
                                   std::string_view what) const {
  std::string name(what);
  std::string place = " (" + std::to_string(blob.size()) + " bytes at " +
                      std::to_string(blob.offset()) + ")";
  if (blob.offset() > file.getSize() ||
      blob.size() > file.getSize() - blob.offset())
    return damaged(name + place + " lies beyond the end of the file");
  if (blob.offset() < headerEnd)
    return damaged(name + place + " overlaps the header");
  if (blob.offset() % alignment != 0)
    return damaged(name + place + " does not begin at a multiple of " +
                   std::to_string(alignment));
  return {};
}

Status ExecutableFile::checkBytes(const executable::Blob &blob,
                                  std::string_view what) const {
  if (computeChecksum(file.getData() + blob.offset(), blob.size()) !=
      blob.checksum())
    return damaged("the checksum of " + std::string(what) + " does not match");
  return {};
}
