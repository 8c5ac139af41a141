//===- ConvTest.cpp - the kernels of convolutions -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Kernels.h"
#include "ProductTesting.h"

using namespace amp::runtime;
using Values = std::vector<double>;

namespace {

constexpr DataType f32 = DataType::Float;

std::string run(std::string_view name, const TestAttributes &attributes,
                const std::vector<const TestTensor *> &inputs,
                TestTensor &output) {
  std::vector<TestTensor> outputs(1);
  outputs[0].view.type = f32;
  std::string error =
      runKernel(findEntry(getConvKernels(), name), attributes, inputs, outputs);
  output = std::move(outputs[0]);
  return error;
}

TestAttributes withLists(
    const std::map<std::string, std::vector<int64_t>, std::less<>> &lists) {
  TestAttributes attributes;
  attributes.lists = lists;
  return attributes;
}

TestTensor makeRandom(Shape shape, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  TestTensor tensor(f32, shape);
  for (int64_t i = 0; i < shape.getElementCount(); ++i)
    tensor.set(i, uniform(random));
  return tensor;
}

double getDot(const TestTensor &a, const TestTensor &b) {
  EXPECT_EQ(a.view.shape, b.view.shape);
  double sum = 0;
  for (int64_t i = 0; i < a.view.getElementCount(); ++i)
    sum += a.get(i) * b.get(i);
  return sum;
}

TEST(ConvTest, convolvesWithPadsStridesAndBias) {
  TestTensor x(f32, {1, 1, 4}, {1, 2, 3, 4}), w(f32, {1, 1, 3}, {1, 10, 100});
  TestTensor bias(f32, {1}, {0.5}), y;
  EXPECT_EQ(run("conv", withLists({{"pads", {1, 1}}}), {&x, &w}, y), "");
  EXPECT_EQ(y.view.shape, (Shape{1, 1, 4}));
  EXPECT_EQ(y.getValues(), (Values{210, 321, 432, 43}));
  EXPECT_EQ(run("conv", withLists({{"pads", {1, 1}}, {"strides", {2}}}),
                {&x, &w, &bias}, y),
            "");
  EXPECT_EQ(y.getValues(), (Values{210.5, 432.5}));
  TestTensor residual(f32, {1, 1, 2}, {-300, 1});
  TestAttributes attributes;
  attributes.strings["activation"] = "relu";
  EXPECT_EQ(run("conv", attributes, {&x, &w, nullptr, &residual}, y), "");
  EXPECT_EQ(y.getValues(), (Values{21, 433}));
}

TEST(ConvTest, padsAutomatically) {
  TestTensor x(f32, {1, 1, 4}, {1, 2, 3, 4}), w(f32, {1, 1, 2}, {1, 10}), y;
  TestAttributes attributes;
  attributes.strings["auto_pad"] = "SAME_UPPER";
  EXPECT_EQ(run("conv", attributes, {&x, &w}, y), "");
  EXPECT_EQ(y.getValues(), (Values{21, 32, 43, 4}));
  attributes.strings["auto_pad"] = "SAME_LOWER";
  EXPECT_EQ(run("conv", attributes, {&x, &w}, y), "");
  EXPECT_EQ(y.getValues(), (Values{10, 21, 32, 43}));
  attributes.strings["auto_pad"] = "VALID";
  EXPECT_EQ(run("conv", attributes, {&x, &w}, y), "");
  EXPECT_EQ(y.getValues(), (Values{21, 32, 43}));
}

TEST(ConvTest, transposesWithOutputShapes) {
  TestTensor x(f32, {1, 1, 2}, {1, 2}), w(f32, {1, 1, 3}, {1, 10, 100}), y;
  EXPECT_EQ(run("conv_transpose", withLists({{"strides", {2}}}), {&x, &w}, y),
            "");
  EXPECT_EQ(y.getValues(), (Values{1, 10, 102, 20, 200}));
  EXPECT_EQ(run("conv_transpose",
                withLists({{"strides", {2}}, {"output_padding", {1}}}),
                {&x, &w}, y),
            "");
  EXPECT_EQ(y.getValues(), (Values{1, 10, 102, 20, 200, 0}));
  EXPECT_EQ(run("conv_transpose",
                withLists({{"strides", {2}}, {"output_shape", {4}}}), {&x, &w},
                y),
            "");
  EXPECT_EQ(y.getValues(), (Values{1, 10, 102, 20}));
  TestAttributes attributes = withLists({{"strides", {2}}});
  attributes.strings["auto_pad"] = "SAME_LOWER";
  EXPECT_EQ(run("conv_transpose", attributes, {&x, &w}, y), "");
  EXPECT_EQ(y.getValues(), (Values{10, 102, 20, 200}));
}

/// <y', conv(x, w)> is linear in x and w: its gradients are what the other two
/// kernels give.
TEST(ConvTest, gradientsAreThoseOfTheConvolution) {
  struct Setting {
    Shape x, w;
    std::map<std::string, std::vector<int64_t>, std::less<>> lists;
    int64_t group;
  };
  const Setting settings[] = {
      {{2, 3, 9, 8}, {4, 3, 3, 3}, {{"pads", {1, 1, 1, 1}}}, 1},
      {{2, 4, 9, 8}, {6, 2, 3, 2}, {{"strides", {2, 3}}}, 2},
      {{1, 6, 12}, {6, 1, 3}, {{"dilations", {2}}, {"pads", {2, 0}}}, 6},
      {{2, 5, 4, 5, 6}, {3, 5, 2, 2, 1}, {{"strides", {1, 2, 2}}}, 1},
      {{3, 7, 6, 6}, {5, 7, 1, 1}, {}, 1},
      {{3, 7, 6, 6}, {5, 7, 1, 1}, {{"strides", {2, 2}}}, 1},
  };
  unsigned seed = 0;
  for (const Setting &setting : settings) {
    TestTensor x = makeRandom(setting.x, ++seed);
    TestTensor w = makeRandom(setting.w, ++seed);
    TestAttributes attributes = withLists(setting.lists);
    attributes.ints["group"] = setting.group;
    TestTensor y, dx, dw;
    ASSERT_EQ(run("conv", attributes, {&x, &w}, y), "");
    TestTensor dy = makeRandom(y.view.shape, ++seed);
    size_t spatial = setting.x.getRank() - 2;
    for (size_t i = 0; i < spatial; ++i) {
      attributes.lists["kernel_shape"].push_back(setting.w[2 + i]);
      attributes.lists["output_shape"].push_back(setting.x[2 + i]);
    }
    if (!attributes.has("pads"))
      attributes.lists["pads"].assign(2 * spatial, 0);
    ASSERT_EQ(run("conv_transpose", attributes, {&dy, &w}, dx), "");
    ASSERT_EQ(run("conv_weight_gradient", attributes, {&x, &dy}, dw), "");
    double expected = getDot(y, dy);
    EXPECT_NEAR(getDot(dx, x), expected, 1e-4) << seed;
    EXPECT_NEAR(getDot(dw, w), expected, 1e-4) << seed;
  }
}

TEST(ConvTest, saysWhatDoesNotFit) {
  TestTensor x(f32, {1, 4, 8}), w(f32, {2, 4, 3}), y;
  TestTensor flat(f32, {4, 8}), narrow(f32, {2, 3, 3}),
      ints(DataType::Int32, {2, 4, 3}), large(f32, {2, 4, 9}), bias(f32, {3}),
      residual(f32, {1, 2, 5}), dy(f32, {2, 2, 6}), longer(f32, {1, 2, 7});
  EXPECT_EQ(run("conv", {}, {&x}, y),
            "a convolution has 2 to 4 inputs and 1 output, but got 1 and 1");
  EXPECT_EQ(run("conv", {}, {&x, &ints}, y),
            "there is no convolution of type int32");
  EXPECT_EQ(run("conv", {}, {&flat, &flat}, y),
            "a convolution has 1 to 3 spatial dimensions, but got dimensions "
            "4x8 and 4x8");
  EXPECT_EQ(run("conv", withLists({{"strides", {1, 1}}}), {&x, &w}, y),
            "an attribute has not as many values as 1x4x8 has spatial "
            "dimensions");
  EXPECT_EQ(run("conv", withLists({{"strides", {0}}}), {&x, &w}, y),
            "strides, dilations and kernel_shape must be at least 1, but one "
            "is 0");
  EXPECT_EQ(run("conv", {}, {&x, &narrow}, y),
            "the weight 2x3x3 is for 3 channels, but the input has 4");
  EXPECT_EQ(run("conv_transpose", {}, {&x, &narrow}, y),
            "the weight 2x3x3 is for 2 channels, but the input has 4");
  EXPECT_EQ(run("conv", {}, {&x, &large}, y),
            "a kernel of 9 doesn't fit into the padded size 8");
  EXPECT_EQ(run("conv", withLists({{"kernel_shape", {2}}}), {&x, &w}, y),
            "kernel_shape is 2 where the weight has dimensions 2x4x3");
  EXPECT_EQ(run("conv", {}, {&x, &w, &bias}, y),
            "the bias has dimensions 3 for 2 channels");
  EXPECT_EQ(run("conv", {}, {&x, &w, nullptr, &residual}, y),
            "the residual has dimensions 1x2x5 for an output of 1x2x6");
  TestTensor wt(f32, {4, 2, 3});
  EXPECT_EQ(run("conv_transpose", withLists({{"pads", {9, 9}}}), {&x, &wt}, y),
            "pads of 9 and 9 leave nothing of 10");
  TestAttributes attributes;
  attributes.ints["group"] = 3;
  EXPECT_EQ(run("conv", attributes, {&x, &w}, y),
            "channels of 1x4x8 and 2x4x3 don't come in 3 groups");
  attributes.ints["group"] = 0;
  EXPECT_EQ(run("conv", attributes, {&x, &w}, y),
            "group must be at least 1, but is 0");
  attributes = {};
  attributes.strings["auto_pad"] = "SAME";
  EXPECT_EQ(run("conv", attributes, {&x, &w}, y),
            "there is no auto_pad 'SAME'");
  EXPECT_EQ(run("conv_weight_gradient", {}, {&x, &longer}, y),
            "conv_weight_gradient needs kernel_shape");
  EXPECT_EQ(run("conv_weight_gradient", withLists({{"kernel_shape", {3}}}),
                {&x, &dy}, y),
            "the gradient 2x2x6 is of 2 images, but the input has 1");
  EXPECT_EQ(run("conv_weight_gradient", withLists({{"kernel_shape", {3}}}),
                {&x, &longer}, y),
            "the gradient has size 7 where the output of the convolution has "
            "6");
}

} // namespace
