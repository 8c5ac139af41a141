//===- run-kernel.cpp - runs kernels one at a time ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCase.h"

#include "CPU/ThreadPool.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace amp::runtime;

namespace {

/// Ends the program when the driver has nothing more to say.
void readBytes(void *data, size_t size) {
  if (std::fread(data, 1, size, stdin) != size)
    std::exit(0);
}

template <typename T> T readNumber() {
  T value;
  readBytes(&value, sizeof(value));
  return value;
}

std::string readString() {
  std::string text(readNumber<uint32_t>(), '\0');
  readBytes(text.data(), text.size());
  return text;
}

template <typename T> std::vector<T> readList() {
  std::vector<T> list(readNumber<uint32_t>());
  readBytes(list.data(), list.size() * sizeof(T));
  return list;
}

TestAttributes readAttributes() {
  TestAttributes attributes;
  for (auto count = readNumber<uint32_t>(); count != 0; --count) {
    std::string name = readString();
    switch (readNumber<char>()) {
    case 'i':
      attributes.ints[name] = {readNumber<int64_t>()};
      break;
    case 'f':
      attributes.floats[name] = {static_cast<float>(readNumber<double>())};
      break;
    case 's':
      attributes.strings[name] = {readString()};
      break;
    case 'I':
      attributes.ints[name] = readList<int64_t>();
      break;
    case 'F':
      attributes.floats[name] = readList<float>();
      break;
    case 'S':
      for (auto size = readNumber<uint32_t>(); size != 0; --size)
        attributes.strings[name].push_back(readString());
      break;
    }
  }
  return attributes;
}

TestTensor readTensor() {
  auto type = static_cast<DataType>(readNumber<uint8_t>());
  if (type == DataType::Undefined)
    return TestTensor();
  Shape shape;
  for (int64_t dim : readList<int64_t>())
    shape.push_back(dim);
  TestTensor tensor(type, shape);
  if (type == DataType::String)
    for (int64_t i = 0; i < tensor.getView().getElementCount(); ++i)
      tensor.getView().as<std::string>()[i] = readString();
  else
    readBytes(tensor.getView().data, tensor.getView().getByteCount());
  return tensor;
}

void writeBytes(const void *data, size_t size) {
  std::fwrite(data, 1, size, stdout);
}

template <typename T> void writeNumber(T value) {
  writeBytes(&value, sizeof(value));
}

void writeString(const std::string &text) {
  writeNumber(static_cast<uint32_t>(text.size()));
  writeBytes(text.data(), text.size());
}

void writeTensor(const TensorView &tensor) {
  writeNumber(static_cast<uint32_t>(tensor.shape.getRank()));
  writeBytes(tensor.shape.begin(), tensor.shape.getRank() * sizeof(int64_t));
  if (tensor.type == DataType::String)
    for (int64_t i = 0; i < tensor.getElementCount(); ++i)
      writeString(tensor.as<const std::string>()[i]);
  else
    writeBytes(tensor.data, tensor.getByteCount());
}

} // namespace

/// A case on stdin: the kernel, its attributes, inputs, and types of outputs
/// (Undefined for those that nobody wants). The answer on stdout: an error or
/// nothing, then the outputs. test_kernels_conformance.py is the other side.
int main(int argc, char **argv) {
  ThreadPool threads(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1);
  for (;;) {
    KernelCase test;
    test.kernel = readString();
    test.attributes = readAttributes();
    for (auto count = readNumber<uint32_t>(); count != 0; --count)
      test.inputs.push_back(readTensor());
    for (auto count = readNumber<uint32_t>(); count != 0; --count)
      test.outputTypes.push_back(static_cast<DataType>(readNumber<uint8_t>()));

    Status status = test.run(threads);
    writeString(status.getMessage());
    if (status.ok())
      for (TestTensor &output : test.outputs)
        writeTensor(output.getView());
    std::fflush(stdout);
  }
}
