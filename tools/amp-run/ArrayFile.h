//===- ArrayFile.h - arrays by name, from and to .npz files -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_ARRAYFILE_H
#define AMP_TOOLS_AMPRUN_ARRAYFILE_H

#include "Buffer.h"
#include "MappedFile.h"
#include "NpyHeader.h"
#include "amp/Runtime/Session.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace amp::run {

struct ArrayFileOptions {
  /// Arrays that are worth reading; null: all.
  std::function<bool(std::string_view name)> isWanted;
  /// Members begin anywhere in a file: copy arrays whose elements are not
  /// aligned.
  bool mustAlign = true;
  /// How many bytes compressed arrays may take in memory, together.
  uint64_t maxInflated = UINT64_MAX;
};

/// The arrays of a .npz file: where they are in the mapped file if they are
/// stored there as they are, else in memory.
class ArrayFile {
public:
  /// An error names the file and the array.
  static runtime::Result<ArrayFile> read(const std::string &path,
                                         const ArrayFileOptions &options = {});

  /// Of all arrays, those that were not wanted, too.
  const std::vector<std::string> &getNames() const { return names; }

  const std::vector<runtime::NamedTensor> &getTensors() const {
    return tensors;
  }
  /// How many are in memory, not in the mapped file.
  size_t getCopyCount() const { return copies.size(); }

private:
  runtime::Status readMember(void *zip, const ArrayFileOptions &options);

  uint64_t inflatedBytes = 0;
  std::vector<std::string> names;
  std::optional<runtime::MappedFile> file;
  std::vector<runtime::Buffer> copies;
  std::vector<runtime::NamedTensor> tensors;
};

/// Writes a .npz file, whole or not at all.
runtime::Status writeArrays(const std::string &path,
                            const std::vector<runtime::NamedTensor> &tensors);

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_ARRAYFILE_H
