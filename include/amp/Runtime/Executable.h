//===- Executable.h - a compiled model --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_EXECUTABLE_H
#define AMP_RUNTIME_EXECUTABLE_H

#include "amp/Runtime/DataType.h"
#include "amp/Runtime/Status.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace amp::runtime {

struct Module;

/// What a user sees of an input, output or state.
struct TensorInfo {
  std::string name;
  DataType type = DataType::Undefined;
  /// False if any rank is right, or will be known after a step.
  bool hasRank = true;
  /// Outermost first; -1 for one that is not fixed.
  std::vector<int64_t> dims;
  /// Names of dimensions that are not fixed, "" for none; equal names are equal
  /// sizes. As many as dims.
  std::vector<std::string> symbols;
  /// An input that has a value when nobody sets it.
  bool isOptional = false;
};

/// The dimensions as messages write them: "64x3", "batchx3", "?x3", "scalar".
std::string describeDims(const TensorInfo &info);

struct LoadOptions {
  /// Compare the checksums of constants, too, which reads all of them.
  bool verifyConstants = false;
};

/// An .ampx file: mapped, checked, never changed. Any number of sessions, on
/// any threads, share one and with it the constants; processes share the pages
/// of the file.
class Executable {
public:
  /// An error begins with the path.
  static Result<std::shared_ptr<const Executable>>
  load(const std::string &path, const LoadOptions &options = {});
  ~Executable();

  const std::vector<TensorInfo> &getInputs() const;
  const std::vector<TensorInfo> &getOutputs() const;
  /// Tensors that outlive steps, by the names of the model's inputs for them.
  const std::vector<TensorInfo> &getStates() const;
  /// The model's own.
  const std::map<std::string, std::string> &getMetadata() const;
  /// Changes with whatever is in the file.
  uint64_t getChecksum() const;
  /// The compiler's name and version.
  const std::string &getProducer() const;

  /// For the runtime itself.
  const Module &getModule() const { return *module; }

private:
  friend struct ExecutableLoader;
  struct File;
  Executable(std::unique_ptr<File> file, std::unique_ptr<Module> module);

  std::unique_ptr<File> file;
  std::unique_ptr<Module> module;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_EXECUTABLE_H
