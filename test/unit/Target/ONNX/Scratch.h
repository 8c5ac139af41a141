//===- Scratch.h - Folders, children and limits for these tests -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TEST_UNIT_TARGET_ONNX_SCRATCH_H
#define AMP_TEST_UNIT_TARGET_ONNX_SCRATCH_H

#include "amp/Target/ONNX/WireWriter.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <string>
#include <sys/resource.h>
#include <vector>

namespace amp::test {

/// A folder that is there while the object lives.
class ScratchFolder {
public:
  ScratchFolder();
  ~ScratchFolder();

  std::string path(llvm::StringRef name) const;
  std::string write(llvm::StringRef name, llvm::StringRef contents) const;
  std::string read(llvm::StringRef name) const;
  /// The names in it, sorted.
  std::vector<std::string> names() const;

private:
  std::string folder;
};

/// Runs `body` in a forked process; returns how that ended, as of waitpid().
/// What it wrote to standard error goes to `errors`, to standard output (if
/// `output` is given) to `output`.
int inChild(llvm::function_ref<int()> body, std::string *errors = nullptr,
            std::string *output = nullptr);

/// Makes this process's kernel look old: no openat2, O_TMPFILE,
/// copy_file_range, renameat2 or fallocate. Cannot be undone: for children.
/// Returns false if that is not possible here.
bool forgetNewSystemCalls();

/// Lowers a soft limit while it lives.
class ScopedLimit {
public:
  ScopedLimit(int resource, rlim_t value);
  ~ScopedLimit();

private:
  int resource;
  rlimit old;
};

/// "" for success.
inline std::string text(llvm::Error error) {
  return llvm::toString(std::move(error));
}
template <typename T> std::string text(llvm::Expected<T> &&result) {
  return llvm::toString(result.takeError());
}

/// Lazy bytes that say which they are: a mix of the offset's bits.
class NumberedBytes : public LazyBytes {
public:
  void fill(uint64_t offset, llvm::MutableArrayRef<char> out) const override {
    for (uint64_t i = 0; i < out.size(); ++i)
      out[i] = at(offset + i);
  }
  static char at(uint64_t offset) {
    return static_cast<char>((offset * 0x9e3779b97f4a7c15u) >> 56);
  }
};

/// What a writer's output is: the slow and obvious way.
std::string flatten(const WireWriter &writer);

} // namespace amp::test

#endif // AMP_TEST_UNIT_TARGET_ONNX_SCRATCH_H
