//===- FatalErrors.cpp - what can't be handled, in one line ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FatalErrors.h"

#include "amp/Target/ONNX/ProcessSetup.h"

#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <sched.h>
#include <unistd.h>

using namespace amp;

// All of this is constant initialized: memory may be short before main().
static char fatalErrorSubject[512];
static std::atomic<bool> areOutputsCommitted{false};

void amp::writeErrorLine(llvm::StringRef line) {
  enum class State : int { Unwritten, Writing, Written };
  static std::atomic<State> state{State::Unwritten};
  State before = State::Unwritten;
  if (!state.compare_exchange_strong(before, State::Writing)) {
    // The caller may end the process, which must not cut the line.
    while (state != State::Written)
      ::sched_yield();
    return;
  }
  while (!line.empty()) {
    ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      break; // there is nobody to tell
    line = line.drop_front(written);
  }
  state = State::Written;
}

void amp::die(const char *reason) {
  bool isWarning = areOutputsCommitted;
  if (!isWarning)
    removeUnfinishedFiles();
  char line[1024];
  char *at = line, *end = line + sizeof(line) - 1;
  auto append = [&](const char *text) {
    size_t length = std::min<size_t>(std::strcspn(text, "\n"), end - at);
    at = std::copy_n(text, length, at);
  };
  append(isWarning ? "onnx-amp: warning: " : "onnx-amp: error: ");
  append(fatalErrorSubject);
  append(reason);
  if (isWarning)
    append(", after the output was written");
  *at++ = '\n';
  writeErrorLine({line, static_cast<size_t>(at - line)});
  ::_exit(isWarning ? 0 : 1);
}

void amp::setFatalErrorSubject(llvm::StringRef subject) {
  constexpr llvm::StringLiteral separator = ": ";
  size_t length = std::min(subject.size(),
                           sizeof(fatalErrorSubject) - separator.size() - 1);
  char *at = std::copy_n(subject.begin(), length, fatalErrorSubject);
  at = std::copy(separator.begin(), separator.end(), at);
  *at = 0;
}

void amp::setOutputsCommitted() { areOutputsCommitted = true; }

void amp::installFatalErrorHandlers() {
  std::set_new_handler([] { die("out of memory"); });
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { die("out of memory"); });
  llvm::install_fatal_error_handler(
      [](void *, const char *reason, bool) { die(reason); });
  std::set_terminate(
      [] { die("internal error: an exception was not caught"); });
}
