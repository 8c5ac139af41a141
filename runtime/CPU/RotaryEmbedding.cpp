//===- RotaryEmbedding.cpp - positions as rotations -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/Indices.h"
#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"

#include <algorithm>

using namespace amp::runtime;

namespace {

class RotaryEmbedding : public LibraryKernel {
  enum Input { X, Cosines, Sines, Positions };
  struct Dims {
    int64_t batch, heads, steps, width, rotated;
  };

public:
  Status configure(const Attributes &attributes) {
    isInterleaved = attributes.getInt("interleaved", 0) != 0;
    heads = attributes.getInt("num_heads", 0);
    rotated = attributes.getInt("rotary_embedding_dim", 0);
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Dims dims;
    if (Status status = getDims(inputs[X].shape, dims); !status.ok())
      return status;
    bool hasPositions = hasInput(inputs, Positions);
    const Shape &cosines = inputs[Cosines].shape;
    Shape expected =
        hasPositions
            ? Shape{cosines.getRank() ? cosines[0] : 0, dims.rotated / 2}
            : Shape{dims.batch, dims.steps, dims.rotated / 2};
    for (size_t i : {Cosines, Sines})
      if (inputs[i].shape != expected)
        return Status::error("the caches must have dimensions " +
                             toString(expected) + ", but got " +
                             toString(inputs[i].shape));
    if (hasPositions &&
        inputs[Positions].shape != Shape{dims.batch, dims.steps})
      return Status::error("position_ids must have dimensions " +
                           toString(Shape{dims.batch, dims.steps}) +
                           ", but has " + toString(inputs[Positions].shape));
    return setShape(outputs[0], inputs[X].shape);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[X];
    TensorView positions = getInput(arguments.inputs, Positions);
    Dims dims;
    if (Status status = getDims(input.shape, dims); !status.ok())
      return status;
    if (isPresent(positions))
      if (Status status =
              checkIndices(positions, arguments.inputs[Cosines].shape.begin(),
                           1, *arguments.threads);
          !status.ok())
        return status;
    bool found = visitType(FloatTypes(), input.type, [&](auto element) {
      runAs<decltype(element)>(arguments, dims);
    });
    return found ? Status() : typeError(input.type);
  }

private:
  /// B x H x S x D, or B x S x (H * D).
  Status getDims(const Shape &shape, Dims &dims) const {
    bool isPacked = shape.getRank() == 3;
    if (!isPacked && shape.getRank() != 4)
      return Status::error("expects rank 3 or 4, but got dimensions " +
                           toString(shape));
    if (isPacked && (heads < 1 || shape[2] % heads != 0))
      return Status::error(std::to_string(shape[2]) + " elements don't make " +
                           std::to_string(heads) + " equal heads");
    dims = {shape[0], isPacked ? heads : shape[1],
            isPacked ? shape[1] : shape[2],
            isPacked ? shape[2] / heads : shape[3], rotated};
    if (rotated == 0)
      dims.rotated = dims.width;
    if (dims.rotated < 0 || dims.rotated % 2 != 0 || dims.rotated > dims.width)
      return Status::error("cannot rotate " + std::to_string(dims.rotated) +
                           " of " + std::to_string(dims.width) + " elements");
    return {};
  }

  template <typename T>
  void runAs(const KernelArguments &arguments, const Dims &dims) const {
    const TensorView &input = arguments.inputs[X];
    TensorView positions = getInput(arguments.inputs, Positions);
    bool isPacked = input.shape.getRank() == 3;
    int64_t half = dims.rotated / 2;
    int64_t first = isInterleaved ? 2 : 1, second = isInterleaved ? 1 : half;
    arguments.threads->parallelFor(
        dims.batch * dims.heads * dims.steps, getGrain(dims.width * 16),
        [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t i = begin; i < end; ++i) {
            int64_t inner = isPacked ? dims.heads : dims.steps;
            int64_t step = isPacked ? i / inner % dims.steps : i % inner;
            int64_t token = i / (dims.heads * dims.steps) * dims.steps + step;
            int64_t row = isPresent(positions)
                              ? wrapIndex(getInteger(positions, token),
                                          arguments.inputs[Cosines].shape[0])
                              : token;
            const T *cosines =
                arguments.inputs[Cosines].as<const T>() + row * half;
            const T *sines = arguments.inputs[Sines].as<const T>() + row * half;
            const T *from = input.as<const T>() + i * dims.width;
            T *to = arguments.outputs[0].as<T>() + i * dims.width;
            for (int64_t j = 0; j < half; ++j) {
              Compute<T> x = load(from[j * first]),
                         y = load(from[j * first + second]);
              Compute<T> cosine = load(cosines[j]), sine = load(sines[j]);
              to[j * first] = store<T>(cosine * x - sine * y);
              to[j * first + second] = store<T>(sine * x + cosine * y);
            }
            std::copy(from + dims.rotated, from + dims.width,
                      to + dims.rotated);
          }
        });
  }

  bool isInterleaved = false;
  int64_t heads = 0, rotated = 0;
};

constexpr KernelEntry entries[] = {
    {"rotary_embedding", create<RotaryEmbedding>}};

} // namespace

Span<const KernelEntry> amp::runtime::getRotaryEmbeddingKernels() {
  return {entries, std::size(entries)};
}
