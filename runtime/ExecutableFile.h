//===- ExecutableFile.h - an .ampx file, mapped -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_EXECUTABLEFILE_H
#define AMP_RUNTIME_EXECUTABLEFILE_H

#include "MappedFile.h"
#include "amp/Runtime/Status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace amp::executable {
class Blob;
class Header;
} // namespace amp::executable

namespace amp::runtime {

/// Maps a file and parses its header: magic, version, length and checksum are
/// right, what the header says is not judged.
class ExecutableFile {
public:
  static Result<ExecutableFile> open(const std::string &path);
  ~ExecutableFile();
  ExecutableFile(ExecutableFile &&) noexcept;
  ExecutableFile &operator=(ExecutableFile &&) noexcept;

  const executable::Header &getHeader() const { return *header; }
  const MappedFile &getMappedFile() const { return file; }
  /// The last thing to do with it.
  MappedFile takeMappedFile() { return std::move(file); }

  /// Whether the blob lies behind the header, aligned and inside the file.
  Status checkBounds(const executable::Blob &blob, uint64_t alignment,
                     std::string_view what) const;
  /// Whether its bytes are what was written; its bounds are right.
  Status checkBytes(const executable::Blob &blob, std::string_view what) const;

private:
  explicit ExecutableFile(MappedFile file);
  Status readPrelude();

  MappedFile file;
  uint64_t headerEnd = 0;
  std::unique_ptr<executable::Header> header;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_EXECUTABLEFILE_H
