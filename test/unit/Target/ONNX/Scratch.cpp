//===- Scratch.cpp - Folders, children and limits for these tests ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scratch.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace amp::test;

ScratchFolder::ScratchFolder() {
  SmallString<128> made;
  if (sys::fs::createUniqueDirectory("amp-test", made))
    std::abort();
  folder = std::string(made);
}

ScratchFolder::~ScratchFolder() {
  // LLVM's function leaves FIFOs and sockets.
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

std::string ScratchFolder::path(StringRef name) const {
  return folder + "/" + name.str();
}

std::string ScratchFolder::write(StringRef name, StringRef contents) const {
  std::string full = path(name);
  sys::fs::create_directories(sys::path::parent_path(full));
  std::error_code error;
  raw_fd_ostream(full, error) << contents;
  return full;
}

std::string ScratchFolder::read(StringRef name) const {
  auto buffer = MemoryBuffer::getFile(path(name), /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
  return buffer ? (*buffer)->getBuffer().str() : "(cannot be read)";
}

std::vector<std::string> ScratchFolder::names() const {
  std::vector<std::string> found;
  std::error_code error;
  for (sys::fs::directory_iterator entry(folder, error, false), end;
       entry != end && !error; entry.increment(error))
    found.push_back(sys::path::filename(entry->path()).str());
  std::sort(found.begin(), found.end());
  return found;
}

static std::string readAll(int descriptor) {
  std::string all;
  char piece[65536];
  for (ssize_t count; (count = ::read(descriptor, piece, sizeof(piece))) > 0;)
    all.append(piece, count);
  return all;
}

int amp::test::inChild(function_ref<int()> body, std::string *errors,
                       std::string *output) {
  std::fflush(nullptr);
  // A file, so that a child that says much needs no reader.
  char errorPath[] = "/tmp/amp-test-XXXXXX";
  int errorFile = errors ? ::mkostemp(errorPath, O_CLOEXEC) : -1;
  if (errors)
    ::unlink(errorPath);
  int pipeEnds[2] = {-1, -1};
  if (output && ::pipe2(pipeEnds, O_CLOEXEC) != 0)
    std::abort();
  pid_t child = ::fork();
  if (child == 0) {
    if (errors)
      ::dup2(errorFile, 2);
    if (output)
      ::dup2(pipeEnds[1], 1);
    int code = body();
    ::_exit(code);
  }
  if (output) {
    ::close(pipeEnds[1]);
    *output = readAll(pipeEnds[0]);
    ::close(pipeEnds[0]);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (errors) {
    ::lseek(errorFile, 0, SEEK_SET);
    *errors = readAll(errorFile);
    ::close(errorFile);
  }
  return status;
}

bool amp::test::forgetNewSystemCalls() {
  auto refuse = [](SmallVectorImpl<sock_filter> &program, long number,
                   int error) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                               static_cast<uint32_t>(number), 0, 1));
    program.push_back(
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | uint32_t(error)));
  };
  SmallVector<sock_filter> program;
  program.push_back(
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  refuse(program, SYS_openat2, ENOSYS);
  refuse(program, SYS_copy_file_range, EXDEV);
  refuse(program, SYS_renameat2, EINVAL);
  refuse(program, SYS_fallocate, EOPNOTSUPP);
  // openat with the bit that makes O_TMPFILE more than O_DIRECTORY.
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3));
  program.push_back(
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
                             static_cast<uint32_t>(O_TMPFILE & ~O_DIRECTORY), 0,
                             1));
  program.push_back(
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | uint32_t(EOPNOTSUPP)));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog filter = {static_cast<unsigned short>(program.size()),
                       program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

ScopedLimit::ScopedLimit(int resource, rlim_t value) : resource(resource) {
  ::getrlimit(static_cast<__rlimit_resource>(resource), &old);
  rlimit lower = {value, old.rlim_max};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &lower);
}

ScopedLimit::~ScopedLimit() {
  ::setrlimit(static_cast<__rlimit_resource>(resource), &old);
}

std::string amp::test::flatten(const WireWriter &writer) {
  std::string all;
  uint64_t done = 0;
  for (const WireSegment &segment : writer.segments()) {
    all += writer.bufferBytes().slice(done, segment.bufferOffset);
    done = segment.bufferOffset;
    if (segment.data) {
      all.append(segment.data, segment.size);
      continue;
    }
    size_t before = all.size();
    all.resize(before + segment.size);
    segment.producer->fill(
        0, MutableArrayRef<char>(all.data() + before, segment.size));
  }
  all += writer.bufferBytes().drop_front(done);
  return all;
}
