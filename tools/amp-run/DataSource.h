//===- DataSource.h - arrays of samples, in place ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_DATASOURCE_H
#define AMP_TOOLS_AMPRUN_DATASOURCE_H

#include "ArrayFile.h"
#include "MappedFile.h"
#include "amp/Runtime/Session.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace amp::run {

/// Arrays by name from .npz and .npy files, which are mapped, whatever their
/// size; compressed ones are read into memory if they take half of it at most.
/// Elements may not be aligned.
class DataSource {
public:
  /// Each is FILE.npz, FILE.npy, FOLDER (its .npy files) or NAME=FILE.npy; the
  /// array of a .npy file has the name of the file.
  static runtime::Result<DataSource>
  open(const std::vector<std::string> &places,
       const std::function<bool(std::string_view name)> &isWanted);

  /// Null if there is none, or nobody wanted it.
  const runtime::TensorView *find(std::string_view name) const;
  /// Of all arrays.
  std::vector<std::string_view> getNames() const;

private:
  runtime::Status add(const std::string &place,
                      const ArrayFileOptions &options);
  runtime::Status addFolder(const std::string &path,
                            const ArrayFileOptions &options);
  runtime::Status addFile(const std::string &path, const std::string &name,
                          const ArrayFileOptions &options);
  runtime::Status addNpy(const std::string &path, const std::string &name,
                         runtime::MappedFile file,
                         const ArrayFileOptions &options);
  /// A name once.
  runtime::Status addName(const std::string &name, const std::string &path);

  struct Name {
    std::string name, path;
  };
  std::vector<Name> names;
  std::vector<runtime::NamedTensor> arrays;
  std::vector<ArrayFile> archives;
  std::vector<runtime::MappedFile> files;
};

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_DATASOURCE_H
