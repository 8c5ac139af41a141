//===- AttentionTest.cpp - attention against its definition ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Kernels.h"
#include "ProductTesting.h"

#include <algorithm>

using namespace amp::runtime;

namespace {

using Random = std::mt19937;

int64_t pick(Random &random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

const KernelEntry *entry() {
  return findEntry(getAttentionKernels(), "attention");
}

TestTensor makeRandom(DataType type, Shape shape, Random &random) {
  std::uniform_real_distribution<double> uniform(-2, 2);
  TestTensor tensor(type, shape);
  for (int64_t i = 0; i < shape.getElementCount(); ++i)
    tensor.set(i,
               type == DataType::Bool ? uniform(random) > -1 : uniform(random));
  return tensor;
}

TEST(AttentionTest, isTheDefinitionForAnySizes) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    Random random(seed);
    int64_t batch = pick(random, 1, 2), keyHeads = pick(random, 1, 2),
            heads = keyHeads * pick(random, 1, 2);
    int64_t queries =
        pick(random, 0, 4) ? pick(random, 1, 20) : pick(random, 90, 230);
    int64_t keys =
        pick(random, 0, 4) ? pick(random, 1, 40) : pick(random, 100, 300);
    int64_t size = pick(random, 1, 40), valueSize = pick(random, 1, 40);
    DataType type = floatTypes[pick(random, 0, 2)];
    bool isFlat = pick(random, 0, 2) == 0;
    bool areKeysFlat = pick(random, 0, 4) ? isFlat : !isFlat;
    auto shapeOf = [&](bool isFlat, int64_t heads, int64_t positions,
                       int64_t size) {
      return isFlat ? Shape{batch, positions, heads * size}
                    : Shape{batch, heads, positions, size};
    };
    TestTensor q =
        makeRandom(type, shapeOf(isFlat, heads, queries, size), random);
    TestTensor k =
        makeRandom(type, shapeOf(areKeysFlat, keyHeads, keys, size), random);
    TestTensor v = makeRandom(
        type, shapeOf(areKeysFlat, keyHeads, keys, valueSize), random);
    TestAttributes attributes;
    if (isFlat)
      attributes.ints["q_num_heads"] = heads;
    if (areKeysFlat)
      attributes.ints["kv_num_heads"] = keyHeads;
    bool isCausal = pick(random, 0, 1);
    int64_t offset = pick(random, 0, 3) ? 0 : pick(random, 0, 10), left = -1,
            right = -1;
    double softcap = pick(random, 0, 3) ? 0 : 1.5;
    double scale = 1 / std::sqrt(static_cast<double>(size));
    if (isCausal)
      attributes.ints["is_causal"] = 1;
    int64_t pastKeys =
        offset && pick(random, 0, 1) ? std::min(offset, keys) : 0;
    if (offset > pastKeys)
      attributes.ints["causal_offset"] = offset - pastKeys;
    if (softcap > 0)
      attributes.floats["softcap"] = softcap;
    if (pick(random, 0, 3) == 0)
      attributes.floats["scale"] = scale = 0.3;
    if (pick(random, 0, 3) == 0)
      attributes.ints["left_window_size"] = left = pick(random, 0, 9);
    if (pick(random, 0, 3) == 0)
      attributes.ints["right_window_size"] = right = pick(random, 0, 9);
    std::vector<const TestTensor *> inputs = {&q, &k, &v};
    TestTensor mask, lengths;
    bool hasMask = pick(random, 0, 1), hasLengths = pick(random, 0, 3) == 0;
    Shape maskShape;
    if (hasMask) {
      DataType maskType = pick(random, 0, 1) ? DataType::Bool : type;
      int64_t maskKeys = pick(random, 0, 2) ? keys : pick(random, 1, keys);
      maskShape = {pick(random, 0, 1) ? 1 : batch,
                   pick(random, 0, 1) ? 1 : heads,
                   pick(random, 0, 1) ? 1 : queries, maskKeys};
      if (pick(random, 0, 2) == 0)
        maskShape = {maskShape[2], maskShape[3]};
      mask = makeRandom(maskType, maskShape, random);
      inputs.push_back(&mask);
    } else if (hasLengths) {
      inputs.push_back(nullptr);
    }
    if (hasLengths) {
      lengths = TestTensor(DataType::Int64, {batch});
      for (int64_t n = 0; n < batch; ++n)
        lengths.set(n, static_cast<double>(pick(random, 0, keys)));
      inputs.push_back(&lengths);
    }
    TestTensor past(type, {batch, keyHeads, pastKeys, size});
    if (pastKeys) {
      inputs.resize(5, nullptr);
      inputs.push_back(&past);
    }

    std::vector<TestTensor> outputs(2), again(2);
    outputs[0].view.type = again[0].view.type = type;
    outputs[1].view.type = again[1].view.type = DataType::Float;
    ASSERT_EQ(runKernel(entry(), attributes, inputs, outputs, 1), "");
    ASSERT_EQ(runKernel(entry(), attributes, inputs, again, 3), "");
    ASSERT_EQ(outputs[0].bytes, again[0].bytes) << seed;
    ASSERT_EQ(outputs[0].view.shape,
              shapeOf(isFlat, heads, queries, valueSize));

    auto at = [&](bool isFlat, int64_t n, int64_t head, int64_t row, int64_t e,
                  int64_t heads, int64_t positions, int64_t size) {
      return isFlat ? ((n * positions + row) * heads + head) * size + e
                    : ((n * heads + head) * positions + row) * size + e;
    };
    std::vector<double> scores(keys);
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < queries; ++i) {
          int64_t kh = h / (heads / keyHeads);
          int64_t length =
              hasLengths ? static_cast<int64_t>(lengths.get(n) + 0) : keys;
          int64_t before = hasLengths ? length - queries : offset;
          double most = -INFINITY, total = 0;
          for (int64_t j = 0; j < keys; ++j) {
            double s = 0;
            for (int64_t e = 0; e < size; ++e)
              s += q.get(at(isFlat, n, h, i, e, heads, queries, size)) *
                   k.get(at(areKeysFlat, n, kh, j, e, keyHeads, keys, size));
            s *= scale;
            if (softcap > 0)
              s = softcap * std::tanh(s / softcap);
            int64_t position = i + before;
            bool isAllowed = j < length && (!isCausal || j <= position) &&
                             (left < 0 || j >= position - left) &&
                             (right < 0 || j <= position + right);
            if (hasMask) {
              int64_t index[] = {n, h, i, j}, place = 0;
              size_t rank = maskShape.getRank();
              bool isKnown = true;
              for (size_t axis = 0; axis < rank; ++axis) {
                int64_t dim = maskShape[axis];
                int64_t x = dim == 1 ? 0 : index[4 - rank + axis];
                isKnown &= x < dim;
                place = place * dim + x;
              }
              if (maskShape[rank - 1] == 1 && keys > 1)
                isKnown = true;
              if (!isKnown)
                isAllowed = false;
              else if (mask.view.type == DataType::Bool)
                isAllowed &= mask.view.as<bool>()[place];
              else
                s += mask.get(place);
            }
            scores[j] = isAllowed ? s : -INFINITY;
            most = std::max(most, scores[j]);
          }
          for (double &s : scores) {
            s = most == -INFINITY ? 0 : std::exp(s - most);
            total += s;
          }
          for (int64_t e = 0; e < valueSize; ++e) {
            double sum = 0, magnitude = 0;
            for (int64_t j = 0; j < keys && total > 0; ++j) {
              double term = scores[j] / total *
                            v.get(at(areKeysFlat, n, kh, j, e, keyHeads, keys,
                                     valueSize));
              sum += term;
              magnitude += std::fabs(term);
            }
            // Errors of scores, up to 2^-24 * size * 4, are relative ones of
            // their exponentials; then those of the sums.
            double bound = std::ldexp(magnitude, -24) *
                               (4.0 * size + static_cast<double>(keys) + 64) +
                           0.5 * getUnit(sum, type) * 1.01;
            ASSERT_NEAR(outputs[0].get(
                            at(isFlat, n, h, i, e, heads, queries, valueSize)),
                        sum, bound)
                << "seed " << seed << " at " << n << ", " << h << ", " << i
                << ", " << e;
          }
          double expected = total > 0 ? most + std::log(total) : -INFINITY;
          double found = outputs[1].get((n * heads + h) * queries + i);
          if (total > 0)
            ASSERT_NEAR(found, expected, 1e-4) << seed;
          else
            ASSERT_EQ(found, expected) << seed;
        }
  }
}

TEST(AttentionTest, saysWhatDoesNotFit) {
  TestTensor q(DataType::Float, {2, 4, 3, 8}), k(DataType::Float, {2, 2, 5, 8}),
      v(DataType::Float, {2, 2, 5, 6}), three(DataType::Float, {2, 3, 8}),
      ints(DataType::Int32, {2, 2, 5, 8}), other(DataType::Float, {1, 2, 5, 8}),
      short_(DataType::Float, {2, 2, 4, 6}), mask(DataType::Float, {2, 5}),
      numbers(DataType::Int32, {3, 5}), lengths(DataType::Int64, {3}),
      past(DataType::Float, {2, 2, 6, 8});
  auto run = [](const std::vector<const TestTensor *> &inputs,
                const TestAttributes &attributes = {},
                DataType second = DataType::Float) {
    std::vector<TestTensor> outputs(2);
    outputs[0].view.type = DataType::Float;
    outputs[1].view.type = second;
    return runKernel(entry(), attributes, inputs, outputs);
  };
  EXPECT_EQ(run({&q, &k}),
            "attention has 3 to 6 inputs and 1 or 2 outputs, but got 2 and 2");
  EXPECT_EQ(run({&q, &ints, &v}), "there is no attention of type int32");
  EXPECT_EQ(run({&q, &k, &three}),
            "Q, K and V have 3 or 4 dimensions, V as many as K, but got 2x3x8");
  EXPECT_EQ(run({&three, &three, &three}),
            "dimensions 2x3x8 are not of 0 heads");
  EXPECT_EQ(run({&q, &other, &v}), "batches differ: 2x4x3x8 and 1x2x5x8");
  EXPECT_EQ(run({&q, &k, &short_}), "heads of Q, K and V don't fit each other: "
                                    "2x4x3x8, 2x2x5x8 and 2x2x4x6");
  EXPECT_EQ(run({&q, &k, &v, &mask}),
            "the mask has dimensions 2x5 for 3 queries and 5 keys");
  EXPECT_EQ(run({&q, &k, &v, &numbers}), "there is no mask of type int32");
  EXPECT_EQ(run({&q, &k, &v, nullptr, &lengths}),
            "nonpad_kv_seqlen is int64 of 2, but got int64 of 3");
  EXPECT_EQ(run({&q, &k, &v, nullptr, nullptr, &past}),
            "past_key has dimensions 2x2x6x8 for 5 keys");
  EXPECT_EQ(run({&q, &k, &v}, {}, DataType::Float16),
            "log_sum_exp is float32, but got float16");
}

} // namespace
