//===- Messages.cpp - what goes to the terminal ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Messages.h"

#include "FatalErrors.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

using namespace amp;

/// Returns 0 or the reason as errno.
static int writeAll(int descriptor, llvm::StringRef text) {
  while (!text.empty()) {
    ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return written < 0 ? errno : EIO;
    text = text.drop_front(written);
  }
  return 0;
}

/// The system's words for an errno, in lower case as all errors.
static std::string describe(int number) {
  std::string text = std::strerror(number);
  text[0] = llvm::toLower(text[0]);
  return text;
}

static llvm::SmallString<256> makeLine(llvm::StringRef kind,
                                       const llvm::Twine &text) {
  llvm::SmallString<256> line("onnx-amp: ");
  line += kind;
  line += ": ";
  size_t begin = line.size();
  text.toVector(line);
  // Libraries quote what is foreign; this is for what they forget.
  constexpr size_t kLongest = 2000, kTail = 500;
  if (line.size() - begin > kLongest) {
    auto isInside = [&](size_t at) { return (line[at] & 0xc0) == 0x80; };
    size_t cut = begin + kLongest - kTail, tail = line.size() - kTail;
    while (cut > begin && isInside(cut))
      --cut;
    while (tail < line.size() && isInside(tail))
      ++tail;
    std::string end = line.substr(tail).str();
    line.truncate(cut);
    line += "…";
    line += end;
  }
  for (char &c : llvm::make_range(line.begin() + begin, line.end()))
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = ' ';
  line += '\n';
  return line;
}

void amp::printError(const llvm::Twine &text) {
  writeErrorLine(makeLine("error", text));
}

void amp::printWarning(const llvm::Twine &text) {
  printAside(makeLine("warning", text));
}

bool amp::printOutput(llvm::StringRef text) {
  int reason = writeAll(STDOUT_FILENO, text);
  if (reason && reason != EPIPE)
    printError("cannot write to standard output: " + describe(reason));
  return !reason;
}

void amp::printAside(llvm::StringRef text) {
  // There is nobody to tell if it fails.
  (void)writeAll(STDERR_FILENO, text);
}

void amp::printSummary(llvm::StringRef text) {
  int reason = writeAll(STDOUT_FILENO, text);
  if (reason && reason != EPIPE)
    printWarning("cannot write the summary to standard output: " +
                 describe(reason));
}

FirstErrorPrinter::FirstErrorPrinter(mlir::MLIRContext *context,
                                     std::function<void()> prepare)
    : prepare(std::move(prepare)),
      handler(context, [this](mlir::Diagnostic &diagnostic) {
        print(diagnostic);
        return mlir::success();
      }) {}

void FirstErrorPrinter::print(mlir::Diagnostic &diagnostic) {
  bool isWarning =
      diagnostic.getSeverity() == mlir::DiagnosticSeverity::Warning;
  if (hasPrinted || (!isWarning && diagnostic.getSeverity() !=
                                       mlir::DiagnosticSeverity::Error))
    return;
  hasPrinted = !isWarning;
  std::string text = diagnostic.str();
  if (!subject.empty() && !llvm::StringRef(text).starts_with(subject))
    text = subject + ": " + text;
  if (prepare)
    prepare();
  if (isWarning)
    printWarning(text);
  else
    printError(text);
}
