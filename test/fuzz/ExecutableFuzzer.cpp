//===- ExecutableFuzzer.cpp - executables of any content ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The input is the message: a prelude with the right checksum comes before it
// and bytes for blobs behind it, so that all that is behind the checksum is
// reached. An input of an odd length is the whole file.
//
//===----------------------------------------------------------------------===//

#include "Checksum.h"
#include "amp/Runtime/ExecutableFormat.h"
#include "unit/runtime/ExecutableBuilder.h"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace amp::runtime;

static std::string makeFile(const uint8_t *data, size_t size) {
  if (size % 2 == 1)
    return {reinterpret_cast<const char *>(data), size};
  constexpr size_t blobs = 8192;
  ExecutablePrelude prelude = {};
  std::memcpy(prelude.magic, executableMagic, sizeof(executableMagic));
  prelude.majorVersion = executableMajorVersion;
  prelude.minorVersion = executableMinorVersion;
  prelude.headerSize = size;
  std::string bytes(sizeof(prelude), '\0');
  bytes.append(reinterpret_cast<const char *>(data), size);
  prelude.fileSize = (bytes.size() + 4095) / 4096 * 4096 + blobs;
  std::memcpy(bytes.data(), &prelude, sizeof(prelude));
  prelude.checksum = computeChecksum(bytes.data() + 16, bytes.size() - 16);
  std::memcpy(bytes.data(), &prelude, sizeof(prelude));
  bytes.resize(prelude.fileSize);
  return bytes;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes = makeFile(data, size);
  int file = memfd_create("ampx", MFD_CLOEXEC);
  if (file < 0 || write(file, bytes.data(), bytes.size()) !=
                      static_cast<ssize_t>(bytes.size()))
    std::abort();
  LoadOptions options;
  options.verifyConstants = size % 4 == 0;
  auto executable = ExecutableLoader::load(
      "/proc/self/fd/" + std::to_string(file), options, test::findTestKernel);
  // States are copied from constants of the file.
  if (executable.ok())
    (void)Session::create(*executable, {1});
  else if (executable.getMessage().find('\n') != std::string::npos)
    std::abort();
  close(file);
  return 0;
}
