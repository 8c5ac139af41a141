//===- ExecutableWriter.cpp - writes an .ampx file ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExecutableWriter.h"

#include "AtomicFile.h"
#include "Checksum.h"
#include "amp/Runtime/ExecutableFormat.h"

#include "Executable.pb.h"

#include <cstring>

using namespace amp;
using namespace amp::runtime;

static uint64_t alignTo(uint64_t position, uint64_t alignment) {
  return (position + alignment - 1) / alignment * alignment;
}

/// Where each blob goes when the first may begin at `position`; the end.
static uint64_t layOut(executable::Header &header, uint64_t position) {
  auto place = [&](executable::Blob &blob, uint64_t alignment) {
    position = alignTo(position, alignment);
    blob.set_offset(position);
    position += blob.size();
  };
  for (executable::Blob &blob : *header.mutable_constants())
    place(blob, blobAlignment);
  for (executable::Code &code : *header.mutable_codes())
    place(*code.mutable_blob(), codeAlignment);
  return position;
}

static void describe(executable::Blob &blob, const BlobContent &content) {
  blob.set_size(content.size);
  blob.set_checksum(computeChecksum(content.data, content.size));
  // The longest that it can be: what is found later fits.
  blob.set_offset(~uint64_t{0});
}

static Status writeBlob(AtomicFile &file, const executable::Blob &blob,
                        const BlobContent &content) {
  Status status = file.padTo(blob.offset());
  if (status.ok() && content.size > 0)
    status = file.write(content.data, content.size);
  return status;
}

Status amp::runtime::writeExecutable(const std::string &path,
                                     executable::Header &header,
                                     const std::vector<BlobContent> &constants,
                                     const std::vector<BlobContent> &codes) {
  if (codes.size() != static_cast<size_t>(header.codes_size()))
    return Status::error(
        "an executable with " + std::to_string(header.codes_size()) +
        " kinds of code needs as many blobs of code, but got " +
        std::to_string(codes.size()));
  header.clear_constants();
  for (const BlobContent &content : constants)
    describe(*header.add_constants(), content);
  for (size_t i = 0; i < codes.size(); ++i)
    describe(*header.mutable_codes(static_cast<int>(i))->mutable_blob(),
             codes[i]);

  // What is known of the message's size before it is written is a bound.
  uint64_t bound = sizeof(ExecutablePrelude) + header.ByteSizeLong();
  uint64_t fileSize = layOut(header, bound);
  std::string bytes(sizeof(ExecutablePrelude), '\0');
  if (!header.AppendToString(&bytes))
    return Status::error("the header of the executable would be larger than 2 "
                         "GiB; split the model");
  ExecutablePrelude prelude = {};
  std::memcpy(prelude.magic, executableMagic, sizeof(executableMagic));
  prelude.majorVersion = executableMajorVersion;
  prelude.minorVersion = executableMinorVersion;
  prelude.headerSize = bytes.size() - sizeof(prelude);
  // Without blobs the bound is not reached.
  bool hasBlobs = !constants.empty() || !codes.empty();
  prelude.fileSize = hasBlobs ? fileSize : bytes.size();
  std::memcpy(bytes.data(), &prelude, sizeof(prelude));
  constexpr size_t begin = offsetof(ExecutablePrelude, majorVersion);
  prelude.checksum =
      computeChecksum(bytes.data() + begin, bytes.size() - begin);
  std::memcpy(bytes.data(), &prelude, sizeof(prelude));

  AtomicFile file(path);
  if (Status status = file.open(); !status.ok())
    return status;
  if (Status status = file.write(bytes.data(), bytes.size()); !status.ok())
    return status;
  for (size_t i = 0; i < constants.size(); ++i)
    if (Status status = writeBlob(file, header.constants(static_cast<int>(i)),
                                  constants[i]);
        !status.ok())
      return status;
  for (size_t i = 0; i < codes.size(); ++i)
    if (Status status =
            writeBlob(file, header.codes(static_cast<int>(i)).blob(), codes[i]);
        !status.ok())
      return status;
  return file.commit();
}
