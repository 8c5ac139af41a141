//===- FileDescriptor.h - An open file and the reasons it fails -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_FILEDESCRIPTOR_H
#define AMP_LIB_TARGET_ONNX_FILEDESCRIPTOR_H

#include <cerrno>
#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <utility>

namespace amp {

/// Owns a file descriptor, or -1.
class FileDescriptor {
public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) : descriptor(descriptor) {}
  FileDescriptor(FileDescriptor &&other) noexcept
      : descriptor(other.release()) {}
  FileDescriptor &operator=(FileDescriptor &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~FileDescriptor() { close(); }

  explicit operator bool() const { return descriptor >= 0; }
  int get() const { return descriptor; }
  int release() { return std::exchange(descriptor, -1); }

  /// Closes it if it is open; 0 or the errno of what was written but could not
  /// be kept (network file systems tell it here).
  int close() {
    int closing = release();
    if (closing < 0 || ::close(closing) == 0 || errno == EINTR)
      return 0;
    return errno;
  }

private:
  int descriptor = -1;
};

/// Repeats a system call that a signal interrupted.
template <typename Call> auto retryInterrupted(Call &&call) {
  decltype(call()) result;
  do
    result = call();
  while (result == -1 && errno == EINTR);
  return result;
}

/// The system's words for an errno, in lower case: "no space left on device".
std::string systemReason(int error);

/// What a file that should be a regular one is: "is a directory, not a regular
/// file".
std::string describeSpecialFile(mode_t mode);

} // namespace amp

#endif // AMP_LIB_TARGET_ONNX_FILEDESCRIPTOR_H
