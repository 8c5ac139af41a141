//===- Messages.h - what goes to the terminal -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_MESSAGES_H
#define AMP_TOOLS_ONNX_AMP_MESSAGES_H

#include "mlir/IR/Diagnostics.h"

#include <functional>
#include <string>

namespace amp {

/// Prints "onnx-amp: error: TEXT" on standard error, in one line whatever
/// `text` holds, unless there was an error before. Foreign parts of it should
/// have been quoted().
void printError(const llvm::Twine &text);
void printWarning(const llvm::Twine &text);

/// Writes all of `text` to standard output, or fails after an error. There is
/// none if the reader has gone away, which it may.
bool printOutput(llvm::StringRef text);

/// Writes all of `text` to standard error, as far as that goes.
void printAside(llvm::StringRef text);

/// Like printOutput(), for what is not what the command was asked for: a
/// failure is a warning.
void printSummary(llvm::StringRef text);

/// While it lives, the first error of a context is printed as one line; what
/// follows, notes and warnings are not: they are consequences of the first.
class FirstErrorPrinter {
public:
  /// `prepare` is called before the error is printed, to clear the terminal.
  explicit FirstErrorPrinter(mlir::MLIRContext *context,
                             std::function<void()> prepare = {});

  /// Errors from here on begin with this text and a colon.
  void setSubject(std::string text) { subject = std::move(text); }

private:
  void print(mlir::Diagnostic &diagnostic);

  std::function<void()> prepare;
  bool hasPrinted = false;
  std::string subject;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_MESSAGES_H
