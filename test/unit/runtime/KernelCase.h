//===- KernelCase.h - one run of one kernel ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TEST_UNIT_RUNTIME_KERNELCASE_H
#define AMP_TEST_UNIT_RUNTIME_KERNELCASE_H

#include "Kernel.h"

#include "CPU/ThreadPool.h"

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace amp::runtime {

class TestAttributes : public Attributes {
public:
  bool has(std::string_view name) const override {
    std::string key(name);
    return ints.count(key) || floats.count(key) || strings.count(key);
  }
  int64_t getInt(std::string_view name, int64_t otherwise) const override {
    return first(ints, name, otherwise);
  }
  double getFloat(std::string_view name, double otherwise) const override {
    return static_cast<double>(
        first(floats, name, static_cast<float>(otherwise)));
  }
  std::string getString(std::string_view name,
                        std::string_view otherwise) const override {
    return first(strings, name, std::string(otherwise));
  }
  std::vector<int64_t> getInts(std::string_view name) const override {
    return all(ints, name);
  }
  std::vector<float> getFloats(std::string_view name) const override {
    return all(floats, name);
  }
  std::vector<std::string> getStrings(std::string_view name) const override {
    return all(strings, name);
  }

  std::map<std::string, std::vector<int64_t>> ints;
  std::map<std::string, std::vector<float>> floats;
  std::map<std::string, std::vector<std::string>> strings;

private:
  template <typename T>
  static std::vector<T> all(const std::map<std::string, std::vector<T>> &lists,
                            std::string_view name) {
    auto found = lists.find(std::string(name));
    return found == lists.end() ? std::vector<T>() : found->second;
  }
  template <typename T>
  static T first(const std::map<std::string, std::vector<T>> &lists,
                 std::string_view name, T otherwise) {
    std::vector<T> list = all(lists, name);
    return list.empty() ? otherwise : list[0];
  }
};

/// A tensor with memory of its own, exactly as large as it is: a sanitizer sees
/// what goes past it. Numbers are not initialised to anything useful.
class TestTensor {
public:
  TestTensor() = default;
  explicit TestTensor(DataType type, Shape shape = Shape()) {
    view.type = type;
    view.shape = shape;
    allocate();
  }
  template <typename T>
  static TestTensor of(DataType type, Shape shape, std::vector<T> values) {
    TestTensor tensor(type, shape);
    for (size_t i = 0; i < values.size(); ++i)
      tensor.view.as<T>()[i] = values[i];
    return tensor;
  }

  /// For the present type and dimensions.
  void allocate() {
    if (view.type == DataType::Undefined)
      return;
    auto count = static_cast<size_t>(view.getElementCount());
    if (view.type == DataType::String) {
      text.reset(new std::string[count]);
      view.data = text.get();
      return;
    }
    bytes.reset(new char[view.getByteCount()]);
    std::memset(bytes.get(), 0xcd, view.getByteCount());
    view.data = bytes.get();
  }

  TensorView &getView() { return view; }
  template <typename T> std::vector<T> get() const {
    const T *data = view.as<const T>();
    return std::vector<T>(data, data + view.getElementCount());
  }

private:
  TensorView view;
  std::unique_ptr<char[]> bytes;
  std::unique_ptr<std::string[]> text;
};

/// Does with a kernel what a session does.
struct KernelCase {
  std::string kernel;
  TestAttributes attributes;
  std::vector<TestTensor> inputs;
  std::vector<DataType> outputTypes;
  std::vector<TestTensor> outputs;

  Status run(ThreadPool &threads) {
    const KernelEntry *entry = findKernel(kernel);
    if (!entry)
      return Status::error("no kernel " + kernel);
    Result<std::unique_ptr<Kernel>> created = entry->create(attributes);
    if (!created.ok())
      return created.getStatus();

    std::vector<TensorView> in, out;
    for (TestTensor &input : inputs)
      in.push_back(input.getView());
    for (DataType type : outputTypes) {
      out.emplace_back();
      out.back().type = type;
    }
    if (Status status = (*created)->inferShapes({in.data(), in.size()},
                                                {out.data(), out.size()});
        !status.ok())
      return status;
    outputs.clear();
    for (TensorView &view : out) {
      outputs.emplace_back(view.type, view.shape);
      view = outputs.back().getView();
    }
    size_t size = (*created)->getScratchSize(
        {in.data(), in.size()}, {out.data(), out.size()}, threads.getSize());
    std::unique_ptr<char[]> scratch(new char[size + 64]);
    std::memset(scratch.get(), 0xcd, size + 64);
    auto address = reinterpret_cast<uintptr_t>(scratch.get());
    KernelArguments arguments;
    arguments.inputs = {in.data(), in.size()};
    arguments.outputs = {out.data(), out.size()};
    arguments.scratch = scratch.get() + (64 - address % 64) % 64;
    arguments.threads = &threads;
    return (*created)->run(arguments);
  }
};

} // namespace amp::runtime

#endif // AMP_TEST_UNIT_RUNTIME_KERNELCASE_H
