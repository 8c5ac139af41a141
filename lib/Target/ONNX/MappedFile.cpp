//===- MappedFile.cpp - An input file as bytes in memory ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Target/ONNX/MappedFile.h"

#include "FileDescriptor.h"
#include "LiveMappings.h"
#include "amp/Support/Quoted.h"
#include "llvm/ADT/SmallString.h"
#include <algorithm>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>

using namespace llvm;
using namespace amp;

static Error reason(const Twine &text) { return createStringError(text); }
static Error systemError(const Twine &doing, int error) {
  return reason(doing + ": " + systemReason(error));
}

/// Reads a file of `size` bytes that is open at its beginning.
static Error readWhole(int descriptor, char *out, uint64_t size) {
  for (uint64_t done = 0; done < size;) {
    ssize_t count = retryInterrupted([&] {
      return ::pread(descriptor, out + done, size - done,
                     static_cast<off_t>(done));
    });
    if (count < 0)
      return systemError("cannot be read", errno);
    if (count == 0)
      return reason("changed while it was read");
    done += count;
  }
  return Error::success();
}

Expected<std::shared_ptr<MappedFile>>
MappedFile::fromDescriptor(int taken, StringRef name, bool keepDescriptor,
                           uint64_t copyUpTo) {
  FileDescriptor descriptor(taken);
  struct stat status;
  if (::fstat(descriptor.get(), &status) != 0)
    return systemError("cannot be looked at", errno);
  if (!S_ISREG(status.st_mode))
    return reason(describeSpecialFile(status.st_mode));
  if (status.st_size <= 0)
    return reason("is empty");

  std::shared_ptr<MappedFile> file(new MappedFile);
  uint64_t size = status.st_size;
  file->quotedName = name.str();
  file->fileIdentity = {status.st_dev, status.st_ino};
  if (size <= copyUpTo) {
    file->copy.reset(new (std::nothrow) char[size]);
    if (!file->copy)
      return systemError("cannot be read", ENOMEM);
    if (Error error = readWhole(descriptor.get(), file->copy.get(), size))
      return std::move(error);
    file->contents = StringRef(file->copy.get(), size);
    return file;
  }

  if (size > SIZE_MAX)
    return systemError("cannot be mapped", ENOMEM);
  void *mapping =
      ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.get(), 0);
  if (mapping == MAP_FAILED)
    return systemError("cannot be mapped", errno);
  file->mapping = mapping;
  file->mappingSize = size;
  file->contents = StringRef(static_cast<const char *>(mapping), size);
  // Weights are looked at once, from the first to the last. A hint only.
  ::madvise(mapping, size, MADV_SEQUENTIAL);
  if (keepDescriptor)
    file->fileDescriptor = descriptor.release();
  file->liveMapping =
      addLiveMapping(file->contents, file->fileDescriptor, file->quotedName);
  return file;
}

Expected<std::shared_ptr<MappedFile>> MappedFile::fromStream(int stream,
                                                             StringRef name) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->quotedName = name.str();
  uint64_t size = 0;
  while (true) {
    if (size == file->mappingSize) {
      // Pages that are not reached cost nothing, so double freely.
      uint64_t bigger = std::max<uint64_t>(2 * size, 1 << 20);
      void *grown = file->mapping
                        ? ::mremap(file->mapping, size, bigger, MREMAP_MAYMOVE)
                        : ::mmap(nullptr, bigger, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (grown == MAP_FAILED)
        return systemError("cannot be read", errno);
      file->mapping = grown;
      file->mappingSize = bigger;
    }
    char *out = static_cast<char *>(file->mapping) + size;
    ssize_t count = retryInterrupted(
        [&] { return ::read(stream, out, file->mappingSize - size); });
    if (count < 0)
      return systemError("cannot be read", errno);
    if (count == 0)
      break;
    size += count;
  }
  if (size == 0)
    return reason("is empty");
  file->contents = StringRef(static_cast<const char *>(file->mapping), size);
  return file;
}

Expected<std::shared_ptr<MappedFile>> MappedFile::zeros(uint64_t size,
                                                        StringRef name) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->quotedName = name.str();
  void *mapping = ::mmap(nullptr, size, PROT_READ,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    return systemError("cannot be mapped", errno);
  file->mapping = mapping;
  file->mappingSize = size;
  file->contents = StringRef(static_cast<const char *>(mapping), size);
  return file;
}

Expected<std::shared_ptr<MappedFile>> MappedFile::open(StringRef path) {
  std::string name = path == "-" ? "standard input" : quoted(path);
  auto named = [&](Expected<std::shared_ptr<MappedFile>> file)
      -> Expected<std::shared_ptr<MappedFile>> {
    if (file)
      return file;
    return reason("cannot read " + name + ": " + toString(file.takeError()));
  };

  if (path == "-") {
    struct stat status;
    if (::fstat(STDIN_FILENO, &status) == 0) {
      if (S_ISDIR(status.st_mode))
        return named(reason(describeSpecialFile(status.st_mode)));
      // Redirected from a file: nothing to copy.
      if (S_ISREG(status.st_mode) && ::lseek(STDIN_FILENO, 0, SEEK_CUR) == 0) {
        int duplicate = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        if (duplicate >= 0)
          return named(fromDescriptor(duplicate, name, true));
      }
    }
    return named(fromStream(STDIN_FILENO, name));
  }

  if (path.contains('\0'))
    return named(reason(systemReason(ENOENT)));
  // O_NONBLOCK: a FIFO that nobody writes must not keep us; it is refused.
  int descriptor = retryInterrupted([&] {
    return ::open(SmallString<256>(path).c_str(),
                  O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  });
  if (descriptor < 0)
    return named(reason(systemReason(errno)));
  return named(fromDescriptor(descriptor, name, true));
}

MappedFile::~MappedFile() {
  removeLiveMapping(liveMapping);
  if (mapping)
    ::munmap(mapping, mappingSize);
  if (fileDescriptor >= 0)
    ::close(fileDescriptor);
}
