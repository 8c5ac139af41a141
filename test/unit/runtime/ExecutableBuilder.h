//===- ExecutableBuilder.h - small executables for tests --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TEST_RUNTIME_EXECUTABLEBUILDER_H
#define AMP_TEST_RUNTIME_EXECUTABLEBUILDER_H

#include "ExecutableLoader.h"
#include "amp/Runtime/Session.h"

#include "Executable.pb.h"

#include <string>
#include <vector>

namespace amp::runtime::test {

/// A dimension of a value that is being built: a size, an axis of another
/// value, or unknown.
struct Dim {
  Dim(int64_t size) : size(size) {}
  static Dim axis(uint32_t value, uint32_t axis) {
    Dim dim(-2);
    dim.value = value;
    dim.axisNumber = axis;
    return dim;
  }
  static Dim unknown() { return Dim(-1); }

  int64_t size;
  uint32_t value = 0, axisNumber = 0;
};

/// Fills a header; each function returns an index. Whatever isn't covered is
/// set in `header`.
class ExecutableBuilder {
public:
  ExecutableBuilder();

  uint32_t addValue(DataType type, const std::vector<Dim> &dims,
                    const std::string &name = "");
  /// The value of a new input.
  uint32_t addInput(const std::string &name, DataType type,
                    const std::vector<Dim> &dims,
                    const std::vector<std::string> &symbols = {});
  uint32_t addConstant(DataType type, const std::vector<Dim> &dims,
                       const void *data, size_t size);
  template <typename T>
  uint32_t addConstant(DataType type, const std::vector<Dim> &dims,
                       const std::vector<T> &elements) {
    return addConstant(type, dims, elements.data(),
                       elements.size() * sizeof(T));
  }
  uint32_t addState(const std::string &name, DataType type,
                    const std::vector<Dim> &dims, uint32_t initial);
  uint32_t addArena(DataType type, const std::vector<Dim> &dims,
                    int64_t offset = -1);
  uint32_t addView(DataType type, const std::vector<Dim> &dims, uint32_t of,
                   uint64_t offset = 0);
  /// The value of a new output, which has memory of its own.
  uint32_t addOutput(const std::string &name, DataType type,
                     const std::vector<Dim> &dims);
  /// Another value is a new output.
  void markOutput(const std::string &name, uint32_t value);
  /// A new program.
  uint32_t addProgram();

  executable::Command &call(uint32_t program, const std::string &kernel,
                            const std::vector<int32_t> &inputs,
                            const std::vector<uint32_t> &outputs);
  executable::Command &launch(uint32_t program, uint32_t function,
                              const std::vector<int32_t> &inputs,
                              const std::vector<uint32_t> &outputs);
  executable::Command &branch(uint32_t program, uint32_t condition,
                              const std::vector<uint32_t> &outputs,
                              uint32_t thenProgram,
                              const std::vector<uint32_t> &thenResults,
                              uint32_t elseProgram,
                              const std::vector<uint32_t> &elseResults);
  executable::Command &loop(uint32_t program,
                            const std::vector<int32_t> &inputs,
                            const std::vector<uint32_t> &outputs, uint32_t body,
                            const std::vector<uint32_t> &arguments,
                            const std::vector<uint32_t> &results);
  /// The function that was compiled from NAME.c.
  uint32_t addFunction(const std::string &name);
  static void set(executable::Dimension &dimension, const Dim &dim);

  /// Writes the file, to a path that is its own if none is given.
  std::string write(std::string path = "");
  /// Writes and loads it, with the kernels of the tests.
  Result<std::shared_ptr<const Executable>> load(LoadOptions options = {});
  /// The message of the failure to load it.
  std::string loadError();
  /// Writes, loads and runs it.
  std::unique_ptr<Session> start(unsigned threads = 2);

  executable::Header header;
  std::string cpu = "x86-64";

private:
  std::vector<std::string> constants;
  std::string code;
};

/// Adds `add`, `shape`, `reshape`, `range`, `less`, `increment`, … to the
/// runtime's own; see TestKernels.cpp.
const KernelEntry *findTestKernel(std::string_view name);

/// A path that no other test has, removed at the end.
std::string makePath(const std::string &suffix);

template <typename T> std::vector<T> toVector(const TensorView &tensor) {
  return {tensor.as<T>(), tensor.as<T>() + tensor.getElementCount()};
}

template <typename T>
TensorView view(std::vector<T> &elements, DataType type, Shape shape) {
  return {elements.data(), type, shape};
}

} // namespace amp::runtime::test

#endif // AMP_TEST_RUNTIME_EXECUTABLEBUILDER_H
