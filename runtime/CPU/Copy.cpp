//===- Copy.cpp - the same elements, in other memory ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Kernels.h"
#include "CPU/ThreadPool.h"

#include <algorithm>
#include <cstring>

using namespace amp::runtime;

namespace {

/// Identity.
class CopyKernel final : public Kernel {
public:
  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    if (inputs.size != 1 || outputs.size != 1)
      return Status::error("copy has 1 input and 1 output, but got " +
                           std::to_string(inputs.size) + " and " +
                           std::to_string(outputs.size));
    if (inputs[0].type != outputs[0].type)
      return Status::error("copy gives the type that it gets, " +
                           std::string(getName(inputs[0].type)) + ", but has " +
                           std::string(getName(outputs[0].type)));
    outputs[0].shape = inputs[0].shape;
    return {};
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &from = arguments.inputs[0], &to = arguments.outputs[0];
    if (from.data == to.data)
      return {};
    if (from.type == DataType::String) {
      std::copy_n(from.as<std::string>(), from.getElementCount(),
                  to.as<std::string>());
      return {};
    }
    constexpr int64_t grain = 1 << 17;
    auto size = static_cast<int64_t>(from.getByteCount());
    arguments.threads->parallelFor(
        size, grain, [&](int64_t begin, int64_t end, unsigned) {
          std::memcpy(to.as<char>() + begin, from.as<char>() + begin,
                      static_cast<size_t>(end - begin));
        });
    return {};
  }
};

} // namespace

static Result<std::unique_ptr<Kernel>> createCopy(const Attributes &) {
  return std::unique_ptr<Kernel>(std::make_unique<CopyKernel>());
}

Span<const KernelEntry> amp::runtime::getCopyKernels() {
  static constexpr KernelEntry entries[] = {{"copy", createCopy}};
  return {entries, std::size(entries)};
}
