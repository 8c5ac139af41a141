//===- ConvolutionTest.cpp - convolutions against sums of doubles ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Convolution.h"
#include "CPU/ThreadPool.h"
#include "NumericTesting.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <string>

using namespace amp::runtime;

namespace {

using Random = std::mt19937;

int64_t pick(Random &random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

int64_t getProduct(const int64_t (&sizes)[3]) {
  return sizes[0] * sizes[1] * sizes[2];
}

struct Case {
  Convolution conv;
  std::unique_ptr<Elements> input, weight, output, bias, residual;
  std::string text;
};

Case makeCase(unsigned seed) {
  Random random(seed);
  Case c;
  Convolution &v = c.conv;
  v.isTransposed = pick(random, 0, 2) == 0;
  v.images = pick(random, 1, 3);
  int64_t kind = pick(random, 0, 9);
  v.groups = kind < 6 ? 1 : pick(random, 2, 4);
  v.inChannels = kind == 9 ? 1 : pick(random, 1, 20);
  v.outChannels = kind == 9 ? pick(random, 1, 2) : pick(random, 1, 20);
  int spatialRank = static_cast<int>(pick(random, 1, 3));
  bool isLarge = pick(random, 0, 12) == 0;
  for (int i = 3 - spatialRank; i < 3; ++i) {
    int64_t small = pick(random, 1, spatialRank == 3 ? 4 : isLarge ? 30 : 10);
    v.kernel[i] = pick(random, 1, 4);
    v.strides[i] = pick(random, 0, 1) ? 1 : pick(random, 1, 3);
    v.dilations[i] = pick(random, 0, 2) ? 1 : pick(random, 1, 3);
    // Taps beyond the places, as in gradients of weights.
    if (pick(random, 0, 7) == 0 && !v.isTransposed) {
      v.kernel[i] = pick(random, 5, 24);
      v.dilations[i] = pick(random, 0, 2) ? 1 : v.strides[i];
      small = pick(random, 1, 4);
    }
    int64_t extent = (v.kernel[i] - 1) * v.dilations[i] + 1;
    int64_t full = (small - 1) * v.strides[i] + extent;
    int64_t before = pick(random, 0, std::min<int64_t>(extent - 1, full - 1));
    int64_t after =
        pick(random, 0, std::min<int64_t>(extent - 1, full - 1 - before));
    int64_t rest = pick(random, 0, 1);
    v.pads[i] = before;
    v.in[i] = full - before - after + (v.isTransposed ? 0 : rest);
    v.out[i] = small;
    if (v.isTransposed)
      std::swap(v.in[i], v.out[i]);
    // Elements of the output that no tap reaches.
    if (v.isTransposed && rest)
      v.out[i] += std::min<int64_t>(v.strides[i] - 1, 1);
  }
  if (pick(random, 0, 6) == 0)
    for (int i = 0; i < 3; ++i) {
      v.kernel[i] = v.strides[i] = v.dilations[i] = 1;
      v.pads[i] = 0;
      v.out[i] = v.in[i];
    }
  DataType type = floatTypes[pick(random, 0, 2)];
  auto pickType = [&] {
    return pick(random, 0, 3) == 0 ? floatTypes[pick(random, 0, 2)] : type;
  };
  auto make = [&](DataType type, int64_t count) {
    auto elements = std::make_unique<Elements>(type, count);
    elements->fill(random);
    return elements;
  };
  int64_t channelsIn = v.groups * v.inChannels,
          channelsOut = v.groups * v.outChannels;
  int64_t sizeIn = getProduct(v.in), sizeOut = getProduct(v.out),
          taps = getProduct(v.kernel);
  c.input = make(pickType(), v.images * channelsIn * sizeIn);
  c.output = make(pickType(), v.images * channelsOut * sizeOut);
  c.weight = make(pickType(), channelsIn * v.outChannels * taps);
  v.input = {c.input->data(), c.input->getType(), channelsIn * sizeIn,
             v.inChannels * sizeIn, sizeIn};
  // Sometimes images and channels are the other way round.
  if (pick(random, 0, 3) == 0)
    v.input = {c.input->data(), c.input->getType(), sizeIn,
               v.inChannels * v.images * sizeIn, v.images * sizeIn};
  v.output = {c.output->data(), c.output->getType(), channelsOut * sizeOut,
              v.outChannels * sizeOut, sizeOut};
  v.weight.data = c.weight->data();
  v.weight.type = c.weight->getType();
  v.weight.groupStride = v.inChannels * v.outChannels * taps;
  v.weight.outStride = v.inChannels * taps;
  v.weight.inStride = taps;
  if (v.isTransposed || pick(random, 0, 4) == 0) {
    v.weight.outStride = taps;
    v.weight.inStride = v.outChannels * taps;
  }
  if (pick(random, 0, 1)) {
    c.bias = make(pickType(), channelsOut);
    v.bias = c.bias->data();
    v.biasType = c.bias->getType();
  }
  if (pick(random, 0, 3) == 0) {
    c.residual = make(pickType(), c.output->getCount());
    v.residual = v.output;
    v.residual.data = c.residual->data();
    v.residual.type = c.residual->getType();
  }
  if (pick(random, 0, 2) == 0)
    v.activation = Activation::Relu;

  auto write = [](const int64_t (&sizes)[3]) {
    return std::to_string(sizes[0]) + "x" + std::to_string(sizes[1]) + "x" +
           std::to_string(sizes[2]);
  };
  c.text = "seed " + std::to_string(seed) +
           (v.isTransposed ? " transposed " : " ") + std::to_string(v.images) +
           " images " + std::to_string(v.groups) + " groups " +
           std::to_string(v.inChannels) + " to " +
           std::to_string(v.outChannels) + " in " + write(v.in) + " out " +
           write(v.out) + " kernel " + write(v.kernel) + " strides " +
           write(v.strides) + " dilations " + write(v.dilations) + " pads " +
           write(v.pads) + " " + std::string(getName(c.output->getType()));
  return c;
}

/// By its definition: each element of the input and each tap add to one element
/// of the output.
void compute(const Case &c, std::vector<double> &sums,
             std::vector<double> &magnitudes) {
  const Convolution &v = c.conv;
  sums.assign(c.output->getCount(), 0);
  magnitudes.assign(c.output->getCount(), 0);
  int64_t sizeIn = getProduct(v.in), sizeOut = getProduct(v.out),
          taps = getProduct(v.kernel);
  for (int64_t n = 0; n < v.images; ++n)
    for (int64_t g = 0; g < v.groups; ++g)
      for (int64_t m = 0; m < v.outChannels; ++m)
        for (int64_t ch = 0; ch < v.inChannels; ++ch)
          for (int64_t t = 0; t < taps; ++t) {
            int64_t tap[] = {t / v.kernel[2] / v.kernel[1],
                             t / v.kernel[2] % v.kernel[1], t % v.kernel[2]};
            double weight = c.weight->get(g * v.weight.groupStride +
                                          m * v.weight.outStride +
                                          ch * v.weight.inStride + t);
            // The small side: the output, or the input of a transposed one.
            const int64_t (&small)[3] = v.isTransposed ? v.in : v.out;
            const int64_t (&large)[3] = v.isTransposed ? v.out : v.in;
            for (int64_t i = 0; i < getProduct(small); ++i) {
              int64_t at[] = {i / small[2] / small[1], i / small[2] % small[1],
                              i % small[2]};
              int64_t other = 0;
              bool isInside = true;
              for (int a = 0; a < 3; ++a) {
                int64_t position =
                    at[a] * v.strides[a] + tap[a] * v.dilations[a] - v.pads[a];
                isInside &= position >= 0 && position < large[a];
                other = other * large[a] + position;
              }
              if (!isInside)
                continue;
              int64_t in = v.isTransposed ? i : other;
              int64_t out = v.isTransposed ? other : i;
              double product =
                  weight * c.input->get(n * v.input.imageStride +
                                        g * v.input.groupStride +
                                        ch * v.input.channelStride + in);
              int64_t index =
                  (n * v.groups * v.outChannels + g * v.outChannels + m) *
                      sizeOut +
                  out;
              sums[index] += product;
              magnitudes[index] += std::fabs(product);
            }
          }
  (void)sizeIn;
}

Elements run(Case &c, unsigned threads, Isa isa) {
  Elements before = *c.output;
  ThreadPool pool(threads);
  Scratch scratch(c.conv.getScratchSize(pool.getSize(), isa));
  c.conv.run(scratch.get(), pool, isa);
  EXPECT_TRUE(scratch.isEndUntouched()) << c.text;
  Elements result = *c.output;
  std::memcpy(c.output->data(), before.data(),
              before.getCount() * before.size());
  return result;
}

TEST(ConvolutionTest, isTheSumForAnySizesStridesAndTypes) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    Case c = makeCase(seed);
    const Convolution &v = c.conv;
    std::vector<double> sums, magnitudes;
    compute(c, sums, magnitudes);
    int64_t depth = v.inChannels * getProduct(v.kernel);
    for (Isa isa : getTestedIsas()) {
      Elements result = run(c, 1, isa);
      ASSERT_TRUE(result.isRoomUntouched()) << c.text;
      for (int64_t i = 0; i < result.getCount(); ++i) {
        double value = sums[i], magnitude = magnitudes[i];
        int64_t channel = i / getProduct(v.out) % (v.groups * v.outChannels);
        for (double term : {c.bias ? c.bias->get(channel) : 0.0,
                            c.residual ? c.residual->get(i) : 0.0}) {
          value += term;
          magnitude += std::fabs(term);
        }
        if (v.activation == Activation::Relu)
          value = std::max(value, 0.0);
        // As of products of matrices.
        double bound = (depth + 4) * std::ldexp(magnitude, -24) * 1.2 +
                       0.5 * getUnit(value, c.output->getType()) +
                       std::ldexp(std::fabs(value), -22) +
                       std::ldexp(1.0, -140);
        ASSERT_NEAR(result.get(i), value, bound)
            << c.text << " " << getName(isa) << " at " << i;
      }
    }
  }
}

TEST(ConvolutionTest, doesNotDependOnTheNumberOfThreads) {
  for (unsigned seed = 1000; seed < 1100; ++seed) {
    Case c = makeCase(seed);
    for (Isa isa : getTestedIsas()) {
      Elements one = run(c, 1, isa);
      for (unsigned threads : {2, 3, 5})
        ASSERT_TRUE(one == run(c, threads, isa)) << c.text << " " << threads;
    }
  }
}

} // namespace
