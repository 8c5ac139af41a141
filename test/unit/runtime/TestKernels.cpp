//===- TestKernels.cpp - kernels small enough to see through --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExecutableBuilder.h"

#include "CPU/ThreadPool.h"
#include "Kernel.h"

#include <numeric>

using namespace amp::runtime;
using namespace amp::runtime::test;

namespace {

/// c = a + b, floats of the same dimensions; in place if memory says so. Has
/// scratch memory, to see that it is there.
struct Add : Kernel {
  Status inferShapes(Span<const TensorView> in,
                     Span<TensorView> out) const override {
    if (in[0].shape != in[1].shape)
      return Status::error("cannot add " + toString(in[0].shape) + " and " +
                           toString(in[1].shape));
    out[0].shape = in[0].shape;
    return {};
  }
  size_t getScratchSize(Span<const TensorView> in, Span<const TensorView>,
                        unsigned) const override {
    return in[0].getByteCount();
  }
  Status run(const KernelArguments &args) const override {
    const auto *a = args.inputs[0].as<float>(), *b = args.inputs[1].as<float>();
    auto *c = args.outputs[0].as<float>();
    auto *scratch = static_cast<float *>(args.scratch);
    args.threads->parallelFor(args.outputs[0].getElementCount(), 2,
                              [&](int64_t begin, int64_t end, unsigned) {
                                for (int64_t i = begin; i < end; ++i) {
                                  scratch[i] = a[i] + b[i];
                                  c[i] = scratch[i];
                                }
                              });
    return {};
  }
};

/// Dimensions, from `start` on.
struct ShapeOf : Kernel {
  explicit ShapeOf(int64_t start) : start(start) {}
  Status inferShapes(Span<const TensorView> in,
                     Span<TensorView> out) const override {
    out[0].shape = {static_cast<int64_t>(in[0].shape.getRank()) - start};
    return {};
  }
  Status run(const KernelArguments &args) const override {
    for (int64_t i = 0; i < args.outputs[0].shape[0]; ++i)
      args.outputs[0].as<int64_t>()[i] =
          args.inputs[0].shape[static_cast<size_t>(start + i)];
    return {};
  }
  int64_t start;
};

/// The first input with the dimensions that the second has as elements.
struct Reshape : Kernel {
  bool needsDataForShapes(size_t input) const override { return input == 1; }
  Status inferShapes(Span<const TensorView> in,
                     Span<TensorView> out) const override {
    out[0].shape.clear();
    for (int64_t i = 0; i < in[1].getElementCount(); ++i)
      out[0].shape.push_back(in[1].as<int64_t>()[i]);
    if (out[0].getElementCount() != in[0].getElementCount())
      return Status::error("cannot reshape " + toString(in[0].shape) + " to " +
                           toString(out[0].shape));
    return {};
  }
  Status run(const KernelArguments &args) const override {
    if (args.inputs[0].data != args.outputs[0].data)
      std::copy_n(args.inputs[0].as<char>(), args.inputs[0].getByteCount(),
                  args.outputs[0].as<char>());
    return {};
  }
};

/// 0, 1, …, n - 1 in floats; n is the element of the input.
struct Range : Kernel {
  bool needsDataForShapes(size_t) const override { return true; }
  Status inferShapes(Span<const TensorView> in,
                     Span<TensorView> out) const override {
    out[0].shape = {*in[0].as<int64_t>()};
    return {};
  }
  Status run(const KernelArguments &args) const override {
    std::iota(args.outputs[0].as<float>(),
              args.outputs[0].as<float>() + args.outputs[0].shape[0], 0.0f);
    return {};
  }
};

/// Two vectors, one behind the other.
struct Concat : Kernel {
  Status inferShapes(Span<const TensorView> in,
                     Span<TensorView> out) const override {
    out[0].shape = {in[0].shape[0] + in[1].shape[0]};
    return {};
  }
  Status run(const KernelArguments &args) const override {
    auto *next = args.outputs[0].as<float>();
    for (const TensorView &input : args.inputs)
      next = std::copy_n(input.as<float>(), input.getElementCount(), next);
    return {};
  }
};

/// Scalars of int64.
struct Less : Kernel {
  Status inferShapes(Span<const TensorView>,
                     Span<TensorView> out) const override {
    out[0].shape = {};
    return {};
  }
  Status run(const KernelArguments &args) const override {
    *args.outputs[0].as<bool>() =
        *args.inputs[0].as<int64_t>() < *args.inputs[1].as<int64_t>();
    return {};
  }
};

struct Increment : Kernel {
  Status inferShapes(Span<const TensorView> in,
                     Span<TensorView> out) const override {
    out[0].shape = in[0].shape;
    return {};
  }
  Status run(const KernelArguments &args) const override {
    *args.outputs[0].as<int64_t>() = *args.inputs[0].as<int64_t>() + 1;
    return {};
  }
};

/// How many inputs are there, and an error on request.
struct Count : Kernel {
  Status inferShapes(Span<const TensorView>,
                     Span<TensorView> out) const override {
    out[0].shape = {};
    return {};
  }
  Status run(const KernelArguments &args) const override {
    int64_t count = 0;
    for (const TensorView &input : args.inputs)
      count += input.type != DataType::Undefined;
    if (count == 0)
      return Status::error("nothing to count");
    *args.outputs[0].as<int64_t>() = count;
    return {};
  }
};

} // namespace

template <typename T>
static Result<std::unique_ptr<Kernel>> create(const Attributes &) {
  return std::unique_ptr<Kernel>(std::make_unique<T>());
}

static Result<std::unique_ptr<Kernel>> createShape(const Attributes &a) {
  int64_t start = a.getInt("start", 0);
  if (start < 0)
    return Status::error("start must not be negative, but is " +
                         std::to_string(start));
  return std::unique_ptr<Kernel>(std::make_unique<ShapeOf>(start));
}

const KernelEntry *test::findTestKernel(std::string_view name) {
  static constexpr KernelEntry entries[] = {
      {"add", create<Add>},         {"shape", createShape},
      {"reshape", create<Reshape>}, {"range", create<Range>},
      {"concat", create<Concat>},   {"less", create<Less>},
      {"count", create<Count>},     {"increment", create<Increment>},
  };
  for (const KernelEntry &entry : entries)
    if (entry.name == name)
      return &entry;
  return findKernel(name);
}
