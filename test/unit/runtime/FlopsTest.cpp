//===- FlopsTest.cpp - what commands compute ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flops.h"

#include "gtest/gtest.h"

#include <initializer_list>

using namespace amp::run;
using namespace amp::runtime;

namespace {

using Dims = std::initializer_list<int64_t>;

TensorView tensor(Dims dims) {
  TensorView view;
  view.type = DataType::Float;
  view.shape = Shape(dims);
  return view;
}

uint64_t count(const char *kernel, Dims a, Dims b, Dims out) {
  TensorView inputs[] = {tensor(a), tensor(b)}, output = tensor(out);
  CommandEvent event;
  event.operation = kernel;
  event.inputs = inputs;
  event.inputCount = 2;
  event.outputs = &output;
  event.outputCount = 1;
  return countFlops(event);
}

TEST(Flops, OfProducts) {
  EXPECT_EQ(count("gemm", {3, 5}, {5, 7}, {3, 7}), 2u * 3 * 5 * 7);
  // A transposed.
  EXPECT_EQ(count("gemm", {5, 3}, {5, 7}, {3, 7}), 2u * 3 * 5 * 7);
  EXPECT_EQ(count("gemm", {0, 5}, {5, 7}, {0, 7}), 0u);
  EXPECT_EQ(count("matmul", {2, 3, 5}, {5, 7}, {2, 3, 7}), 2u * 2 * 3 * 5 * 7);
  EXPECT_EQ(count("matmul", {5}, {5}, {}), 2u * 5);
}

TEST(Flops, OfConvolutions) {
  // Two groups of 4 channels each, 3 x 3 weights.
  EXPECT_EQ(count("conv", {1, 8, 6, 6}, {10, 4, 3, 3}, {1, 10, 4, 4}),
            2u * 10 * 4 * 4 * 4 * 3 * 3);
  EXPECT_EQ(count("conv_transpose", {1, 10, 4, 4}, {10, 4, 3, 3}, {1, 8, 6, 6}),
            2u * 10 * 4 * 4 * 4 * 3 * 3);
}

TEST(Flops, OfAttention) {
  EXPECT_EQ(count("attention", {2, 3, 5, 8}, {2, 3, 7, 8}, {2, 3, 5, 8}),
            4u * 2 * 3 * 5 * 7 * 8);
}

TEST(Flops, OfNothingElse) {
  EXPECT_EQ(count("add", {4}, {4}, {4}), 0u);
  CommandEvent branch;
  branch.operation = "if";
  EXPECT_EQ(countFlops(branch), 0u);
}

} // namespace
