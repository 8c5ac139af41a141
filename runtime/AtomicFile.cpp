//===- AtomicFile.cpp - a file that is written whole or not at all --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AtomicFile.h"

#include "Quote.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace amp::runtime;

AtomicFile::AtomicFile(std::string path) : path(std::move(path)) {}

AtomicFile::~AtomicFile() {
  if (descriptor < 0)
    return;
  unlink(temporary.c_str());
  close(descriptor);
}

Status AtomicFile::fail(const char *what) {
  return Status::error("cannot " + std::string(what) + " " + quote(path) +
                       ": " + std::strerror(errno));
}

Status AtomicFile::open() {
  // What a link points to is replaced, not the link.
  if (char *resolved = realpath(path.c_str(), nullptr)) {
    path = resolved;
    std::free(resolved);
  }
  // Always the same name, so that what a killed process leaves is used up by
  // the next; a lock keeps two of them apart.
  temporary = path + ".partial";
  while (true) {
    int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
      return fail("create a file beside");
    struct stat locked, named;
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
      close(file);
      return Status::error("cannot write " + quote(path) +
                           ": another process is writing it");
    }
    // It may have been renamed before the lock was there.
    if (fstat(file, &locked) == 0 && stat(temporary.c_str(), &named) == 0 &&
        locked.st_ino == named.st_ino && locked.st_dev == named.st_dev) {
      descriptor = file;
      break;
    }
    close(file);
  }
  if (ftruncate(descriptor, 0) != 0)
    return fail("write");
  struct stat old;
  if (stat(path.c_str(), &old) == 0 &&
      fchmod(descriptor, old.st_mode & 07777) != 0)
    return fail("set the rights of");
  return {};
}

Status AtomicFile::write(const void *data, size_t size) {
  const char *next = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t written = ::write(descriptor, next, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return fail("write");
    next += written;
    size -= static_cast<size_t>(written);
    position += static_cast<uint64_t>(written);
  }
  return {};
}

Status AtomicFile::padTo(uint64_t end) {
  static constexpr char zeros[4096] = {};
  while (position < end) {
    uint64_t size = std::min<uint64_t>(end - position, sizeof(zeros));
    if (Status status = write(zeros, size); !status.ok())
      return status;
  }
  return {};
}

Status AtomicFile::commit() {
  if (fsync(descriptor) != 0)
    return fail("write");
  if (rename(temporary.c_str(), path.c_str()) != 0)
    return fail("replace");
  close(descriptor);
  descriptor = -1;
  // The name is on the disk when the folder is.
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "."
                       : slash == 0               ? "/"
                                                  : path.substr(0, slash);
  int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0)
    return fail("write the folder of");
  bool synced = fsync(directory) == 0 || errno == EINVAL;
  Status status = synced ? Status() : fail("write the folder of");
  close(directory);
  return status;
}
