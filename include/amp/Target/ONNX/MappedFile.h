//===- MappedFile.h - An input file as bytes in memory ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TARGET_ONNX_MAPPEDFILE_H
#define AMP_TARGET_ONNX_MAPPEDFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>

namespace amp {

struct LiveMapping;

/// Which file it is, whatever it is called: two paths name one file exactly if
/// these are equal.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;

  bool operator==(const FileIdentity &other) const {
    return device == other.device && inode == other.inode;
  }
  bool operator!=(const FileIdentity &other) const { return !(*this == other); }
};

/// The bytes of one input file, read only. Big files are mapped, so that their
/// pages are read when they are looked at and belong to the system's cache;
/// small ones are copied, so that they cannot change while we look. Views of
/// its bytes are valid as long as it lives: hold the shared pointer.
///
/// If a mapped file gets shorter during the run, looking at its lost pages is a
/// SIGBUS: see installSignalHandlers() in ProcessSetup.h.
class MappedFile {
public:
  /// open() copies files of up to this many bytes.
  static constexpr uint64_t maxCopiedSize = 1 << 20;

  /// Opens `path`, or standard input if it is "-". Anything but a regular file
  /// with something in it is refused, without ever blocking on it; standard
  /// input may be a pipe. Errors name the path and the reason.
  static llvm::Expected<std::shared_ptr<MappedFile>> open(llvm::StringRef path);

  /// The same for a file that is open already; takes the descriptor, also when
  /// it fails. `name` is what errors call it, already quoted. Up to `copyUpTo`
  /// bytes are copied, more are mapped; with `keepDescriptor` a mapped file
  /// stays open for descriptor(). Errors are a clause without the name, such as
  /// "is a directory, not a regular file".
  static llvm::Expected<std::shared_ptr<MappedFile>>
  fromDescriptor(int descriptor, llvm::StringRef name, bool keepDescriptor,
                 uint64_t copyUpTo = maxCopiedSize);

  /// Everything that comes out of a descriptor that need not be a file, such as
  /// a pipe, up to its end; the descriptor stays open. Otherwise like
  /// fromDescriptor().
  static llvm::Expected<std::shared_ptr<MappedFile>>
  fromStream(int stream, llvm::StringRef name);

  /// So many zeros instead of a file that is not there, one at least; they take
  /// no memory.
  static llvm::Expected<std::shared_ptr<MappedFile>>
  zeros(uint64_t size, llvm::StringRef name);

  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  /// Never empty.
  llvm::StringRef bytes() const { return contents; }

  /// The path, quoted for messages.
  llvm::StringRef name() const { return quotedName; }

  /// Which file it is; {0, 0} if the bytes came from a pipe.
  FileIdentity identity() const { return fileIdentity; }

  /// A descriptor open for reading whose byte N is bytes()[N], or -1 if there
  /// is none (any more). Owned by this object.
  int descriptor() const { return fileDescriptor; }

  /// True if `data` points at or into the bytes.
  bool contains(const char *data) const {
    return data >= contents.begin() && data < contents.end();
  }

private:
  MappedFile() = default;

  llvm::StringRef contents;
  std::string quotedName;
  FileIdentity fileIdentity;
  int fileDescriptor = -1;
  /// The mapping to undo, or null; the size is that of `contents` or more.
  void *mapping = nullptr;
  uint64_t mappingSize = 0;
  /// The copy of a small file.
  std::unique_ptr<char[]> copy;
  /// The entry in the list of what is mapped, or null.
  LiveMapping *liveMapping = nullptr;
};

} // namespace amp

#endif // AMP_TARGET_ONNX_MAPPEDFILE_H
