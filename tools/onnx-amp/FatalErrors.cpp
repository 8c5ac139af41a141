//===- FatalErrors.cpp - what can't be handled, in one line ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FatalErrors.h"

#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <new>
#include <unistd.h>

using namespace amp;

static char fatalErrorSubject[512];

/// Allocates nothing. Several threads may get here at once.
[[noreturn]] static void die(const char *reason) {
  static std::atomic_flag isDying = ATOMIC_FLAG_INIT;
  if (isDying.test_and_set())
    for (;;)
      ::pause(); // until the first one ends the process
  char line[1024];
  char *at = line, *end = line + sizeof(line) - 1;
  auto append = [&](const char *text) {
    // A reason may have several lines, of which the first says what happened.
    size_t length = std::min<size_t>(std::strcspn(text, "\n"), end - at);
    at = std::copy_n(text, length, at);
  };
  append("onnx-amp: error: ");
  append(fatalErrorSubject);
  append(reason);
  *at++ = '\n';
  ssize_t written = ::write(STDERR_FILENO, line, at - line);
  (void)written;
  ::_exit(1);
}

void amp::setFatalErrorSubject(llvm::StringRef subject) {
  constexpr llvm::StringLiteral separator = ": ";
  size_t length = std::min(subject.size(),
                           sizeof(fatalErrorSubject) - separator.size() - 1);
  char *at = std::copy_n(subject.begin(), length, fatalErrorSubject);
  at = std::copy(separator.begin(), separator.end(), at);
  *at = 0;
}

void amp::installFatalErrorHandlers() {
  std::set_new_handler([] { die("out of memory"); });
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { die("out of memory"); });
  llvm::install_fatal_error_handler(
      [](void *, const char *reason, bool) { die(reason); });
  std::set_terminate(
      [] { die("internal error: an exception was not caught"); });
}
