//===- Transpose.cpp - axes in another order ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/StridedCopy.h"

using namespace amp::runtime;

namespace {

class Transpose : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    permutation = attributes.getInts("perm");
    hasPermutation = attributes.has("perm");
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[0].shape;
    size_t rank = shape.getRank();
    if (hasPermutation && permutation.size() != rank)
      return Status::error("perm has " + std::to_string(permutation.size()) +
                           " axes for a tensor of rank " +
                           std::to_string(rank));
    std::array<bool, Shape::maxRank> marked;
    if (rank != 0 && hasPermutation)
      if (Status status = resolveAxes(permutation.data(), rank, rank, marked);
          !status.ok())
        return status;
    Shape result;
    for (size_t i = 0; i < rank; ++i)
      result.push_back(shape[getAxis(i, rank)]);
    return setShape(outputs[0], result);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0];
    size_t rank = input.shape.getRank();
    auto from = getStrides(input.shape),
         to = getStrides(arguments.outputs[0].shape);
    LoopNest nest;
    for (size_t i = 0; i < rank; ++i) {
      size_t axis = getAxis(i, rank);
      nest.push(input.shape[axis], from[axis], to[i]);
    }
    copyStrided(nest, input.type, input.data, arguments.outputs[0].data,
                *arguments.threads);
    return {};
  }

private:
  size_t getAxis(size_t i, size_t rank) const {
    if (!hasPermutation)
      return rank - 1 - i;
    int64_t axis = permutation[i];
    return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank)
                                        : axis);
  }

  std::vector<int64_t> permutation;
  bool hasPermutation = false;
};

/// DepthToSpace and SpaceToDepth: N x C x H x W with blocks of B x B pixels.
/// The loops are those of the larger image: n, depth c, y, block row, x, block
/// column.
template <bool toSpace> class BlockMove : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    block = attributes.getInt("blocksize", 0);
    if (block < 1)
      return Status::error("blocksize must be positive, but is " +
                           std::to_string(block));
    std::string mode = attributes.getString("mode", "DCR");
    depthFirst = mode == "CRD";
    if (mode != "DCR" && mode != "CRD")
      return Status::error("mode must be DCR or CRD, but is " + mode);
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &in = inputs[0].shape;
    if (in.getRank() != 4)
      return Status::error("expects a tensor of rank 4, but got " +
                           toString(in));
    if (toSpace) {
      if (block > (int64_t(1) << 20) || in[1] % (block * block) != 0)
        return Status::error(std::to_string(in[1]) +
                             " channels are no multiple of the square of "
                             "blocksize " +
                             std::to_string(block));
      return setShape(outputs[0], {in[0], in[1] / (block * block),
                                   in[2] * block, in[3] * block});
    }
    if (in[2] % block != 0 || in[3] % block != 0)
      return Status::error("height and width " + std::to_string(in[2]) + "x" +
                           std::to_string(in[3]) +
                           " are no multiples of blocksize " +
                           std::to_string(block));
    return setShape(outputs[0], {in[0], in[1] * block * block, in[2] / block,
                                 in[3] / block});
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    const Shape &deep = toSpace ? input.shape : output.shape;
    const Shape &wide = toSpace ? output.shape : input.shape;
    auto d = getStrides(deep), s = getStrides(wide);
    int64_t channels = wide[1];
    // Where the channel, the block's row and its column are in the depth.
    int64_t channel = depthFirst ? block * block : 1;
    int64_t row = depthFirst ? block : block * channels;
    int64_t column = depthFirst ? 1 : channels;
    LoopNest nest;
    auto push = [&](int64_t extent, int64_t inDeep, int64_t inWide) {
      nest.push(extent, toSpace ? inDeep : inWide, toSpace ? inWide : inDeep);
    };
    push(wide[0], d[0], s[0]);
    push(channels, channel * d[1], s[1]);
    push(deep[2], d[2], block * s[2]);
    push(block, row * d[1], s[2]);
    push(deep[3], d[3], block * s[3]);
    push(block, column * d[1], s[3]);
    copyStrided(nest, input.type, input.data, output.data, *arguments.threads);
    return {};
  }

private:
  int64_t block = 1;
  bool depthFirst = false;
};

constexpr KernelEntry entries[] = {
    {"transpose", create<Transpose>},
    {"depth_to_space", create<BlockMove<true>>},
    {"space_to_depth", create<BlockMove<false>>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getTransposeKernels() {
  return {entries, std::size(entries)};
}
