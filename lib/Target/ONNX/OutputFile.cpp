//===- OutputFile.cpp - Output files that are whole or not there ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Target/ONNX/OutputFile.h"

#include "ContentsWriter.h"
#include "FileDescriptor.h"
#include "UnfinishedFiles.h"
#include "amp/Support/Quoted.h"
#include "llvm/ADT/STLExtras.h"
#include <cstdio>
#include <fcntl.h>
#include <optional>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

using namespace llvm;
using namespace amp;

/// Files from here on get their place on the disk at once: a full disk is known
/// before the work, and blocks are found in one go.
static constexpr uint64_t minAllocated = 1 << 20;

struct OutputFile::State {
  /// For messages.
  std::string name;
  OutputOptions options;
  bool isStandardOutput = false;
  /// Standard output or /dev/null: written in sequence and at once.
  bool isStream = false;

  /// The folder, and the name that the file will have in it.
  FileDescriptor folder;
  std::string finalName;
  /// The permissions of the file that will be replaced.
  std::optional<mode_t> oldMode;

  /// Open for writing after write(); owned unless it is standard output.
  FileDescriptor file;
  /// The name in `folder` that it has until it is committed, or "".
  std::string temporaryName;
  int slot = -1;
  uint64_t size = 0;
  bool exchanged = false;

  ~State() {
    if (isStandardOutput)
      file.release();
    removeTemporary();
  }

  Error fail(const Twine &reason) const {
    return createStringError("cannot write " + name + ": " + reason);
  }
  Error fail(int error) const { return fail(systemReason(error)); }

  Error resolve(std::string path);
  Error lookAtOldFile();
  void chooseTemporaryName();
  void removeTemporary();
  Error createFile();
  Error finish();
  bool rename(bool mayBeUndone);
  void undoRename();
};

//===----------------------------------------------------------------------===//
// Where it goes
//===----------------------------------------------------------------------===//

/// Follows symbolic links, so that the file replaced is the one a link leads
/// to, and opens the folder it is in.
Error OutputFile::State::resolve(std::string path) {
  for (unsigned links = 0; links <= 40; ++links) {
    size_t slash = path.rfind('/');
    std::string parent =
        slash == std::string::npos ? "." : path.substr(0, slash + 1);
    finalName = slash == std::string::npos ? path : path.substr(slash + 1);
    if (finalName.empty() || finalName == "." || finalName == "..")
      return fail(path.empty() ? ENOENT : EISDIR);

    // A link's target is relative to the folder of the link.
    int from = folder ? folder.get() : AT_FDCWD;
    FileDescriptor opened(retryInterrupted([&] {
      return ::openat(from, parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    }));
    if (!opened)
      return fail("its folder cannot be opened: " + Twine(systemReason(errno)));
    folder = std::move(opened);

    char target[4096];
    ssize_t length =
        ::readlinkat(folder.get(), finalName.c_str(), target, sizeof(target));
    if (length < 0)
      return Error::success();
    if (length == sizeof(target))
      return fail(ENAMETOOLONG);
    path.assign(target, length);
  }
  return fail(ELOOP);
}

Error OutputFile::State::lookAtOldFile() {
  struct stat status;
  if (::fstatat(folder.get(), finalName.c_str(), &status,
                AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT)
      return fail(errno);
  } else if (S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3)) {
    isStream = true;
    file = FileDescriptor(::openat(folder.get(), finalName.c_str(),
                                   O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
    return file ? Error::success() : fail(errno);
  } else if (!S_ISREG(status.st_mode)) {
    return fail(describeSpecialFile(status.st_mode));
  } else if (is_contained(options.inputs,
                          FileIdentity{status.st_dev, status.st_ino})) {
    return fail("it holds data of the input model");
  } else {
    oldMode = status.st_mode & 0777;
    if (::faccessat(folder.get(), finalName.c_str(), W_OK, AT_EACCESS) != 0)
      return fail(errno);
  }
  if (::faccessat(folder.get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
    return fail("its folder cannot be written: " + Twine(systemReason(errno)));
  return Error::success();
}

Expected<OutputFile> OutputFile::open(StringRef path, OutputOptions options) {
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  if (path == "-" || path == "/dev/stdout" || path == "/dev/fd/1" ||
      path == "/proc/self/fd/1") {
    state->name = "standard output";
    state->isStandardOutput = state->isStream = true;
    state->file = FileDescriptor(STDOUT_FILENO);
    return OutputFile(std::move(state));
  }
  state->name = quoted(path);
  if (path.contains('\0'))
    return state->fail(ENOENT);
  if (Error error = state->resolve(path.str()))
    return std::move(error);
  if (Error error = state->lookAtOldFile())
    return std::move(error);
  return OutputFile(std::move(state));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Short, since the final name may be as long as a name can be.
void OutputFile::State::chooseTemporaryName() {
  uint64_t random = 0;
  if (::getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) {
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    random = static_cast<uint64_t>(now.tv_nsec) << 32 ^ ::getpid();
  }
  char text[maxTemporaryName];
  std::snprintf(text, sizeof(text), ".amp-%016llx",
                static_cast<unsigned long long>(random));
  temporaryName = text;
  slot = noteUnfinishedFile(folder.get(), text);
}

void OutputFile::State::removeTemporary() {
  if (!temporaryName.empty())
    ::unlinkat(folder.get(), temporaryName.c_str(), 0);
  temporaryName.clear();
  forgetUnfinishedFile(std::exchange(slot, -1));
}

/// Makes the file: without a name where the system can, since then even a
/// killed process leaves nothing behind.
Error OutputFile::State::createFile() {
#ifdef O_TMPFILE
  file = FileDescriptor(
      ::openat(folder.get(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  // It gets a name through /proc, which may not be there.
  if (file && ::access(("/proc/self/fd/" + std::to_string(file.get())).c_str(),
                       F_OK) != 0)
    file.close();
#endif
  for (int attempt = 0; !file && attempt < 100; ++attempt) {
    chooseTemporaryName();
    file = FileDescriptor(
        ::openat(folder.get(), temporaryName.c_str(),
                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (file)
      break;
    int error = errno;
    temporaryName.clear();
    removeTemporary();
    if (error != EEXIST)
      return fail(error);
  }
  if (!file)
    return fail(EEXIST);
  if (oldMode && ::fchmod(file.get(), *oldMode) != 0)
    return fail(errno);
  return Error::success();
}

Error OutputFile::write(const WireWriter &contents) {
  assert(contents.depth() == 0 && "a message has not ended");
  State &self = *state;
  self.size = contents.size();
  if (!self.isStream) {
    if (Error error = self.createFile())
      return error;
    if (self.size > INT64_MAX)
      return self.fail(EFBIG);
    if (self.size >= minAllocated &&
        retryInterrupted([&] {
          return ::fallocate(self.file.get(), 0, 0,
                             static_cast<off_t>(self.size));
        }) != 0 &&
        (errno == ENOSPC || errno == EFBIG || errno == EDQUOT))
      return self.fail(errno);
  }
  ContentsTarget target{self.file.get(), !self.isStream, self.options.threads,
                        self.options.progress};
  if (Error error = writeContents(contents, target))
    return self.fail(toString(std::move(error)));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Committing
//===----------------------------------------------------------------------===//

/// All that may fail for want of room: afterwards only names change.
Error OutputFile::State::finish() {
  if (isStream)
    return Error::success();
  assert(file && "nothing was written");
  if (options.durable && ::fsync(file.get()) != 0)
    return fail(errno);
  for (int attempt = 0; temporaryName.empty(); ++attempt) {
    std::string path = "/proc/self/fd/" + std::to_string(file.get());
    chooseTemporaryName();
    if (::linkat(AT_FDCWD, path.c_str(), folder.get(), temporaryName.c_str(),
                 AT_SYMLINK_FOLLOW) == 0)
      break;
    int error = errno;
    temporaryName.clear();
    removeTemporary();
    if (error != EEXIST || attempt == 100)
      return fail(error);
  }
  if (int error = file.close())
    return fail(error);
  return Error::success();
}

/// With `mayBeUndone` an old file keeps existing, under the temporary name.
bool OutputFile::State::rename(bool mayBeUndone) {
  if (mayBeUndone &&
      ::renameat2(folder.get(), temporaryName.c_str(), folder.get(),
                  finalName.c_str(), RENAME_EXCHANGE) == 0) {
    exchanged = true;
    return true;
  }
  return ::renameat(folder.get(), temporaryName.c_str(), folder.get(),
                    finalName.c_str()) == 0;
}

void OutputFile::State::undoRename() {
  if (exchanged)
    ::renameat2(folder.get(), temporaryName.c_str(), folder.get(),
                finalName.c_str(), RENAME_EXCHANGE);
  else
    ::unlinkat(folder.get(), finalName.c_str(), 0);
  exchanged = false;
}

Error OutputFile::commit(ArrayRef<OutputFile *> files) {
  for (OutputFile *file : files)
    if (Error error = file->state->finish())
      return error;

  SmallVector<State *> named;
  for (OutputFile *file : files)
    if (!file->state->isStream)
      named.push_back(file->state.get());
  {
    SignalDelay delay;
    for (size_t i = 0; i < named.size(); ++i) {
      if (named[i]->rename(/*mayBeUndone=*/i + 1 < named.size()))
        continue;
      int error = errno;
      for (size_t done = i; done-- > 0;)
        named[done]->undoRename();
      return named[i]->fail(error);
    }
    for (State *state : named) {
      if (!state->exchanged)
        state->temporaryName.clear();
      state->removeTemporary();
    }
  }

  for (State *state : named) {
    if (!state->options.durable)
      continue;
    FileDescriptor folder(
        ::openat(state->folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || (::fsync(folder.get()) != 0 && errno != EINVAL))
      return state->fail("its folder cannot be synchronized: " +
                         Twine(systemReason(errno)));
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The handle
//===----------------------------------------------------------------------===//

OutputFile::OutputFile(std::unique_ptr<State> state)
    : state(std::move(state)) {}
OutputFile::OutputFile(OutputFile &&) noexcept = default;
OutputFile &OutputFile::operator=(OutputFile &&) noexcept = default;
OutputFile::~OutputFile() = default;

uint64_t OutputFile::size() const { return state->size; }
bool OutputFile::isStandardOutput() const { return state->isStandardOutput; }
