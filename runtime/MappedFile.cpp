//===- MappedFile.cpp - a file as memory ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MappedFile.h"

#include "Quote.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace amp::runtime;

MappedFile::~MappedFile() {
  if (data)
    munmap(const_cast<unsigned char *>(data), size);
  if (descriptor >= 0)
    close(descriptor);
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : data(std::exchange(other.data, nullptr)),
      size(std::exchange(other.size, 0)),
      descriptor(std::exchange(other.descriptor, -1)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(data, other.data);
  std::swap(size, other.size);
  std::swap(descriptor, other.descriptor);
  return *this;
}

Result<MappedFile> MappedFile::open(const std::string &path) {
  auto fail = [&](const char *why) {
    return Status::error("cannot read " + quote(path) + ": " + why);
  };
  MappedFile file;
  // A pipe that nobody writes to must not block.
  file.descriptor =
      ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  struct stat status;
  if (file.descriptor < 0 || fstat(file.descriptor, &status) != 0)
    return fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    return fail("it is no regular file");
  if (status.st_size == 0)
    return fail("it is empty");
  void *mapped = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ,
                      MAP_SHARED, file.descriptor, 0);
  if (mapped == MAP_FAILED)
    return fail(std::strerror(errno));
  file.data = static_cast<const unsigned char *>(mapped);
  file.size = static_cast<uint64_t>(status.st_size);
  return file;
}
