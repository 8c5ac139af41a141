//===- ProcessSetup.cpp - What a tool does first and last -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Target/ONNX/ProcessSetup.h"

#include "FileDescriptor.h"
#include "LiveMappings.h"
#include "UnfinishedFiles.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace amp;

static char programName[64] = "onnx-amp";
static struct sigaction previousBusAction;

static void writeStandardError(const char *text) {
  size_t size = std::strlen(text);
  while (size) {
    ssize_t written = ::write(STDERR_FILENO, text, size);
    if (written <= 0)
      return;
    text += written;
    size -= written;
  }
}

static void dieTidily(int signal) {
  int saved = errno;
  if (mayDieNow(signal)) {
    removeUnfinishedFiles();
    ::signal(signal, SIG_DFL);
    // Blocked while its handler runs; takes effect on return.
    ::raise(signal);
  }
  errno = saved;
}

static void handleLostPage(int, siginfo_t *info, void *) {
  const LiveMapping *mapping =
      findLiveMapping(static_cast<const char *>(info->si_addr));
  if (!mapping) {
    // A fault of our own: let it happen again under whoever was here before.
    ::sigaction(SIGBUS, &previousBusAction, nullptr);
    return;
  }
  // Several threads may read the file; the first to lose a page tells it, and
  // ends the process for all.
  static std::atomic_flag told = ATOMIC_FLAG_INIT;
  if (told.test_and_set())
    for (;;)
      ::pause();
  removeUnfinishedFiles();
  writeStandardError(programName);
  writeStandardError(": error: ");
  writeStandardError(mapping->name);
  writeStandardError(" changed while it was read\n");
  ::_exit(1);
}

void amp::guardStandardDescriptors() {
  for (int wanted = 0; wanted <= 2; ++wanted) {
    if (::fcntl(wanted, F_GETFD) != -1 || errno != EBADF)
      continue;
    // open() takes the lowest free number, so this is `wanted`.
    int opened = ::open("/dev/null", wanted == 0 ? O_WRONLY : O_RDONLY);
    if (opened != wanted && opened >= 0)
      ::close(opened);
  }
}

void amp::installSignalHandlers(llvm::StringRef program) {
  size_t length = std::min(program.size(), sizeof(programName) - 1);
  std::copy_n(program.begin(), length, programName);
  programName[length] = 0;

  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction action = {};
    if (::sigaction(signal, nullptr, &action) != 0 ||
        action.sa_handler == SIG_IGN)
      continue;
    action = {};
    action.sa_handler = dieTidily;
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }

  struct sigaction bus = {};
  bus.sa_sigaction = handleLostPage;
  bus.sa_flags = SA_SIGINFO;
  ::sigemptyset(&bus.sa_mask);
  ::sigaction(SIGBUS, &bus, &previousBusAction);

  ::signal(SIGXFSZ, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
}

int amp::finishStandardStreams(int exitCode) {
  llvm::raw_fd_ostream &out = llvm::outs();
  out.flush();
  if (out.has_error() && out.error().value() != EPIPE) {
    writeStandardError(programName);
    writeStandardError(": error: cannot write standard output: ");
    writeStandardError(systemReason(out.error().value()).c_str());
    writeStandardError("\n");
    exitCode = 1;
  }
  out.clear_error();
  llvm::errs().flush();
  llvm::errs().clear_error();
  return exitCode;
}
