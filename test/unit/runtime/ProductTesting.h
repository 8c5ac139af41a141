//===- ProductTesting.h - runs kernels of products for tests ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TEST_UNIT_RUNTIME_PRODUCTTESTING_H
#define AMP_TEST_UNIT_RUNTIME_PRODUCTTESTING_H

#include "CPU/ThreadPool.h"
#include "Kernel.h"
#include "NumericTesting.h"

#include "gtest/gtest.h"

#include <map>
#include <string>
#include <vector>

namespace amp::runtime {

/// Attributes from C++.
class TestAttributes final : public Attributes {
public:
  std::map<std::string, int64_t, std::less<>> ints;
  std::map<std::string, double, std::less<>> floats;
  std::map<std::string, std::string, std::less<>> strings;
  std::map<std::string, std::vector<int64_t>, std::less<>> lists;

  bool has(std::string_view name) const override {
    return ints.count(name) || floats.count(name) || strings.count(name) ||
           lists.count(name);
  }
  int64_t getInt(std::string_view name, int64_t otherwise) const override {
    return get(ints, name, otherwise);
  }
  double getFloat(std::string_view name, double otherwise) const override {
    return get(floats, name, otherwise);
  }
  std::string getString(std::string_view name,
                        std::string_view otherwise) const override {
    return get(strings, name, std::string(otherwise));
  }
  std::vector<int64_t> getInts(std::string_view name) const override {
    return get(lists, name, {});
  }
  std::vector<float> getFloats(std::string_view) const override { return {}; }
  std::vector<std::string> getStrings(std::string_view) const override {
    return {};
  }

private:
  template <typename T>
  static T get(const std::map<std::string, T, std::less<>> &values,
               std::string_view name, T otherwise) {
    auto found = values.find(name);
    return found == values.end() ? otherwise : found->second;
  }
};

/// A tensor with memory of its own.
struct TestTensor {
  TestTensor() = default;
  TestTensor(DataType type, Shape shape,
             const std::vector<double> &values = {}) {
    view.type = type;
    view.shape = shape;
    bytes.resize(view.getByteCount() + 1);
    view.data = bytes.data();
    for (size_t i = 0; i < values.size(); ++i)
      set(i, values[i]);
  }
  TestTensor(TestTensor &&) = default;
  TestTensor &operator=(TestTensor &&) = default;

  void set(size_t i, double value) {
    switch (view.type) {
    case DataType::Float:
      view.as<float>()[i] = static_cast<float>(value);
      break;
    case DataType::Double:
      view.as<double>()[i] = value;
      break;
    case DataType::Int32:
      view.as<int32_t>()[i] = static_cast<int32_t>(value);
      break;
    case DataType::Int64:
      view.as<int64_t>()[i] = static_cast<int64_t>(value);
      break;
    case DataType::Bool:
      view.as<bool>()[i] = value != 0;
      break;
    default:
      view.as<uint16_t>()[i] = toBits(value, view.type);
    }
  }
  double get(size_t i) const {
    switch (view.type) {
    case DataType::Float:
      return view.as<float>()[i];
    case DataType::Double:
      return view.as<double>()[i];
    case DataType::Int32:
      return view.as<int32_t>()[i];
    case DataType::Int64:
      return static_cast<double>(view.as<int64_t>()[i]);
    default:
      return toDouble(view.as<uint16_t>()[i], view.type);
    }
  }
  std::vector<double> getValues() const {
    std::vector<double> values(view.getElementCount());
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = get(i);
    return values;
  }

  TensorView view;
  std::vector<char> bytes;
};

inline const KernelEntry *findEntry(Span<const KernelEntry> table,
                                    std::string_view name) {
  for (const KernelEntry &entry : table)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

/// Runs a kernel; `outputs` have their types. The error, if there is one.
inline std::string runKernel(const KernelEntry *entry,
                             const TestAttributes &attributes,
                             const std::vector<const TestTensor *> &inputs,
                             std::vector<TestTensor> &outputs,
                             unsigned threads = 2) {
  Result<std::unique_ptr<Kernel>> kernel = entry->create(attributes);
  if (!kernel.ok())
    return kernel.getMessage();
  std::vector<TensorView> in, out;
  for (const TestTensor *input : inputs)
    in.push_back(input ? input->view : TensorView());
  for (TestTensor &output : outputs)
    out.push_back(output.view);
  Span<const TensorView> inSpan{in.data(), in.size()};
  Status status = (*kernel)->inferShapes(inSpan, {out.data(), out.size()});
  if (!status.ok())
    return status.getMessage();
  for (size_t i = 0; i < out.size(); ++i) {
    outputs[i] = TestTensor(out[i].type, out[i].shape);
    out[i] = outputs[i].view;
  }
  ThreadPool pool(threads);
  Scratch scratch((*kernel)->getScratchSize(inSpan, {out.data(), out.size()},
                                            pool.getSize()));
  KernelArguments arguments;
  arguments.inputs = inSpan;
  arguments.outputs = {out.data(), out.size()};
  arguments.scratch = scratch.get();
  arguments.threads = &pool;
  status = (*kernel)->run(arguments);
  EXPECT_TRUE(scratch.isEndUntouched());
  return status.getMessage();
}

} // namespace amp::runtime

#endif // AMP_TEST_UNIT_RUNTIME_PRODUCTTESTING_H
