//===- OutputFile.h - Output files that are whole or not there --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An output is written beside its final name and gets that name only when it is
// whole; until then an old file of that name stays as it was, and whatever goes
// wrong leaves nothing behind.
//
//   Expected<OutputFile> file = OutputFile::open(path, options);   // may
//   refuse
//   ... the long work ...
//   Error error = file->write(writer);
//   Error error = OutputFile::commit({&dataFile, &modelFile});
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TARGET_ONNX_OUTPUTFILE_H
#define AMP_TARGET_ONNX_OUTPUTFILE_H

#include "amp/Target/ONNX/MappedFile.h"
#include "amp/Target/ONNX/WireWriter.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace amp {

struct OutputOptions {
  /// Have file and folder on the disk, not only in the system's cache, when
  /// commit() returns. Costs about ten times the copy.
  bool durable = false;
  /// Threads that compute and write; 0: as many as the machine has.
  unsigned threads = 0;
  /// Files that must not be replaced: the input's data files. (The input model
  /// itself may be: its bytes stay until it is unmapped.)
  std::vector<FileIdentity> inputs;
  /// Counts the bytes as they are written, for a progress bar; may be null.
  std::atomic<uint64_t> *progress = nullptr;
};

/// One output. Move only; the destructor removes what was not committed.
class OutputFile {
public:
  /// Looks at where the output goes and refuses what cannot work: a folder, a
  /// missing parent folder (never made), a special file, one of
  /// `options.inputs`. Creates nothing yet. "-" and /dev/stdout are standard
  /// output; symbolic links are followed, so that the link stays; /dev/null is
  /// accepted. Errors read "cannot write 'PATH': reason".
  static llvm::Expected<OutputFile> open(llvm::StringRef path,
                                         OutputOptions options = {});

  OutputFile(OutputFile &&) noexcept;
  OutputFile &operator=(OutputFile &&) noexcept;
  ~OutputFile();

  /// Writes the contents, which must be complete (no open message), to a file
  /// without a name or with a temporary one in the same folder; standard output
  /// gets them at once. Once per output.
  llvm::Error write(const WireWriter &contents);

  /// Gives all of these their names, in this order: files that others refer to
  /// come first, the model last. If one fails, all names are as they were
  /// (where the file system can exchange two names; else an old file may be
  /// gone).
  static llvm::Error commit(llvm::ArrayRef<OutputFile *> files);

  /// Bytes written.
  uint64_t size() const;

  /// True for "-" and /dev/stdout.
  bool isStandardOutput() const;

private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace amp

#endif // AMP_TARGET_ONNX_OUTPUTFILE_H
