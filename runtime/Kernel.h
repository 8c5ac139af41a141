//===- Kernel.h - what a command of an executable runs ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of the library is known to executables by its name, which never
// changes its meaning: what changes the meaning is a new name. A file of
// kernels ends with its table; CPU/Kernels.cpp lists the tables.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_KERNEL_H
#define AMP_RUNTIME_KERNEL_H

#include "amp/Runtime/Status.h"
#include "amp/Runtime/Tensor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace amp::runtime {

class ThreadPool;

/// Settings of a command, by name, as ONNX has them.
class Attributes {
public:
  virtual ~Attributes() = default;
  virtual bool has(std::string_view name) const = 0;
  virtual int64_t getInt(std::string_view name, int64_t otherwise) const = 0;
  virtual double getFloat(std::string_view name, double otherwise) const = 0;
  virtual std::string getString(std::string_view name,
                                std::string_view otherwise) const = 0;
  /// Empty if there are none of that name.
  virtual std::vector<int64_t> getInts(std::string_view name) const = 0;
  virtual std::vector<float> getFloats(std::string_view name) const = 0;
  virtual std::vector<std::string> getStrings(std::string_view name) const = 0;
};

/// A pointer and a count.
template <typename T> struct Span {
  T *data = nullptr;
  size_t size = 0;
  T &operator[](size_t index) const { return data[index]; }
  T *begin() const { return data; }
  T *end() const { return data + size; }
};

/// What one run of a kernel works on. Inputs that are left out have type
/// Undefined.
struct KernelArguments {
  Span<const TensorView> inputs;
  Span<TensorView> outputs;
  /// getScratchSize() bytes, aligned to 64, of unknown content.
  void *scratch = nullptr;
  ThreadPool *threads = nullptr;
};

/// Made once for a command, then run any number of times, by one thread at a
/// time for each session; it keeps nothing between runs.
class Kernel {
public:
  virtual ~Kernel() = default;

  /// Sets the dimensions of the outputs, whose types are there, by those of the
  /// inputs; an error if these don't fit. Inputs' data is there as well, for
  /// kernels such as Reshape whose results' dimensions depend on it, but is
  /// null at entry for inputs of which needsDataForShapes() is false.
  virtual Status inferShapes(Span<const TensorView> inputs,
                             Span<TensorView> outputs) const = 0;

  /// Whether inferShapes() reads the elements of that input. If these are not
  /// known at entry, nor are the dimensions of the outputs.
  virtual bool needsDataForShapes(size_t input) const { return false; }

  /// Whether the only output has the elements of the first input in their
  /// order: nothing is written when both are in the same memory.
  virtual bool isView() const { return false; }

  /// Bytes of scratch memory for tensors of these dimensions, whose data need
  /// not be there, on so many threads.
  virtual size_t getScratchSize(Span<const TensorView> inputs,
                                Span<const TensorView> outputs,
                                unsigned threads) const {
    return 0;
  }

  /// Computes the outputs, whose dimensions and memory are there; allocates
  /// nothing. An error is about values (an index out of range), as dimensions
  /// have been checked.
  virtual Status run(const KernelArguments &arguments) const = 0;
};

/// Makes a kernel; an error names an attribute that it cannot have.
using KernelFactory =
    Result<std::unique_ptr<Kernel>> (*)(const Attributes &attributes);

struct KernelEntry {
  std::string_view name;
  KernelFactory create;
};

/// The entry of that name, null if there is none.
const KernelEntry *findKernel(std::string_view name);

} // namespace amp::runtime

#endif // AMP_RUNTIME_KERNEL_H
