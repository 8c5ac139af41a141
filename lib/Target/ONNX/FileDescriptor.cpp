//===- FileDescriptor.cpp - The reasons why files fail --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FileDescriptor.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include <sys/stat.h>

using namespace amp;

std::string amp::systemReason(int error) {
  std::string text = llvm::sys::StrError(error);
  // "RFS specific error" keeps its capitals.
  if (text.size() > 1 && llvm::isLower(text[1]))
    text[0] = llvm::toLower(text[0]);
  return text;
}

std::string amp::describeSpecialFile(mode_t mode) {
  const char *kind = S_ISDIR(mode)                    ? "a directory"
                     : S_ISFIFO(mode)                 ? "a FIFO"
                     : S_ISSOCK(mode)                 ? "a socket"
                     : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                     : S_ISLNK(mode)                  ? "a symbolic link"
                                                      : "something unknown";
  return std::string("is ") + kind + ", not a regular file";
}
