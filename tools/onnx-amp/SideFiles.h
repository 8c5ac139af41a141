//===- SideFiles.h - files written beside the model -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_SIDEFILES_H
#define AMP_TOOLS_ONNX_AMP_SIDEFILES_H

#include "amp/Target/ONNX/OutputFile.h"

#include <deque>
#include <string>

namespace amp {

/// What a command writes beside the model: reports, drawings. Either the model
/// and all of them are there in the end, or none.
class SideFiles {
public:
  explicit SideFiles(OutputOptions options) : options(std::move(options)) {}

  /// Looks whether a file can be written, before work begins. Fails with one
  /// line if it can't, or is one of options.inputs.
  llvm::Error check(llvm::StringRef path) const;

  /// Writes a file that has no name yet.
  llvm::Error write(llvm::StringRef path, llvm::StringRef contents);

  /// Adds all that were written, to be committed; this object must stay.
  void addTo(llvm::SmallVectorImpl<OutputFile *> &files);

private:
  OutputOptions options;
  std::deque<OutputFile> files;
};

/// True if two paths that need not exist name one file.
bool isSameOutput(llvm::StringRef one, llvm::StringRef other);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_SIDEFILES_H
