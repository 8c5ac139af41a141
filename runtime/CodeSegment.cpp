//===- CodeSegment.cpp - machine code that can run ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodeSegment.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

using namespace amp::runtime;

CodeSegment::~CodeSegment() {
  if (data)
    munmap(const_cast<unsigned char *>(data), size);
}

CodeSegment::CodeSegment(CodeSegment &&other) noexcept
    : data(std::exchange(other.data, nullptr)),
      size(std::exchange(other.size, 0)) {}

CodeSegment &CodeSegment::operator=(CodeSegment &&other) noexcept {
  std::swap(data, other.data);
  std::swap(size, other.size);
  return *this;
}

Result<CodeSegment> CodeSegment::map(const MappedFile &file, uint64_t offset,
                                     uint64_t size) {
  CodeSegment segment;
  if (size == 0)
    return segment;
  void *mapped = mmap(nullptr, size, PROT_READ | PROT_EXEC, MAP_PRIVATE,
                      file.getDescriptor(), static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) {
    // A file system may be mounted without the right to run what is there, or
    // have larger pages.
    mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped != MAP_FAILED) {
      std::memcpy(mapped, file.getData() + offset, size);
      if (mprotect(mapped, size, PROT_READ | PROT_EXEC) != 0) {
        munmap(mapped, size);
        mapped = MAP_FAILED;
      }
    }
  }
  if (mapped == MAP_FAILED)
    return Status::error("the system does not let " + std::to_string(size) +
                         " bytes of code run: " + std::strerror(errno));
  segment.data = static_cast<const unsigned char *>(mapped);
  segment.size = size;
  return segment;
}
