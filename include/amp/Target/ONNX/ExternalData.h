//===- ExternalData.h - The data files that a model refers to ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors of a model may live in files beside it. Where they are is said by the
// model, that is, by whoever made it: nothing outside the model's folder is
// ever opened, nothing that is not a regular file, and no byte beyond its end.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TARGET_ONNX_EXTERNALDATA_H
#define AMP_TARGET_ONNX_EXTERNALDATA_H

#include "amp/Target/ONNX/MappedFile.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace amp {

/// What TensorProto.external_data says, as text, with the last of equal keys.
struct ExternalDataReference {
  std::optional<llvm::StringRef> location;
  std::optional<llvm::StringRef> offset;
  std::optional<llvm::StringRef> length;
};

/// Bytes in a data file, and what keeps them in memory.
struct ExternalDataView {
  llvm::StringRef bytes;
  /// Null if the file is empty, as the tensor is then.
  std::shared_ptr<MappedFile> file;
  /// Where in the file they begin.
  uint64_t offset = 0;
};

/// Opens the data files of one model, each at most once. Not for several
/// threads at once.
class ExternalDataFiles {
public:
  struct Options {
    /// Accept data files that are, or are reached through, symbolic links, and
    /// files with several hard links. The caches of model hubs consist of such
    /// links; but a link can point anywhere, so it takes the user's word.
    bool allowLinks = false;
    /// What errors advise to use for that, or nothing.
    llvm::StringRef allowLinksHint = "--allow-links";
    /// Files that are not there hold as many zeros as are asked of them.
    bool acceptMissing = false;
  };

  /// For the model at `modelPath` ("-": the current folder). The folder is
  /// opened when the first file is asked for.
  explicit ExternalDataFiles(llvm::StringRef modelPath)
      : ExternalDataFiles(modelPath, Options()) {}
  ExternalDataFiles(llvm::StringRef modelPath, Options options);
  ~ExternalDataFiles();
  ExternalDataFiles(const ExternalDataFiles &) = delete;
  ExternalDataFiles &operator=(const ExternalDataFiles &) = delete;

  /// The bytes of a tensor that takes `size` bytes by its type and shape.
  /// Without an offset they begin at 0; without a length there may be more
  /// bytes after them. Errors are one line that names the tensor, the location
  /// and the reason.
  llvm::Expected<ExternalDataView>
  resolve(const ExternalDataReference &reference, uint64_t size,
          llvm::StringRef tensorName);

  /// The files opened so far, in order: what an output must not replace
  /// (OutputOptions::inputs).
  llvm::ArrayRef<FileIdentity> files() const { return openedFiles; }

  /// The locations of those that were not there.
  const std::set<std::string, std::less<>> &missing() const {
    return missingLocations;
  }

private:
  llvm::Expected<std::shared_ptr<MappedFile>> open(llvm::StringRef location);
  /// -1 for what is not there, if that is accepted.
  llvm::Expected<int> openDescriptor(llvm::StringRef location);

  std::string folder;
  Options options;
  int folderDescriptor = -1;
  llvm::StringMap<std::shared_ptr<MappedFile>> byLocation;
  std::map<std::pair<dev_t, ino_t>, std::shared_ptr<MappedFile>> byIdentity;
  llvm::SmallVector<FileIdentity, 1> openedFiles;
  std::set<std::string, std::less<>> missingLocations;
};

} // namespace amp

#endif // AMP_TARGET_ONNX_EXTERNALDATA_H
