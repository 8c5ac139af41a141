//===- KernelsTest.cpp - odd cases of kernels -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCase.h"

#include "CPU/LetterCase.h"
#include "kernels/Philox.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace amp::runtime;

namespace {

/// The numbers that the authors' own implementation gives.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(Philox(0, 0, 0)(0),
            (Philox::Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox(UINT64_MAX, UINT32_MAX, UINT64_MAX)(UINT32_MAX),
            (Philox::Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      Philox(0x299f31d0a4093822, 0x85a308d3, 0x0370734413198a2e)(0x243f6a88),
      (Philox::Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(LetterCase, ChangesScripts) {
  EXPECT_EQ(toLower("\u00c9A\u0416\u03a9\u0178z"),
            "\u00e9a\u0436\u03c9\u00ffz");
  EXPECT_EQ(toUpper("\u00e9a\u0436\u03c9\u00ffz"),
            "\u00c9A\u0416\u03a9\u0178Z");
  for (uint32_t c = 0; c < 0x600; ++c) {
    if (toLower(c) != c) {
      EXPECT_EQ(toUpper(toLower(c)), c) << c;
    }
  }
}

TEST(LetterCase, KeepsWhatIsNotUTF8) {
  std::string bytes = "a\xff\xc3(\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82";
  EXPECT_EQ(toLower(std::string_view(bytes)), bytes);
}

std::vector<float> run(const std::string &kernel,
                       std::vector<std::pair<Shape, std::vector<float>>> inputs,
                       TestAttributes attributes, ThreadPool &threads) {
  KernelCase test;
  test.kernel = kernel;
  test.attributes = std::move(attributes);
  for (auto &[shape, values] : inputs)
    test.inputs.push_back(
        TestTensor::of<float>(DataType::Float, shape, values));
  test.outputTypes = {DataType::Float};
  Status status = test.run(threads);
  EXPECT_TRUE(status.ok()) << status.getMessage();
  return test.outputs[0].get<float>();
}

/// Results don't depend on the number of threads.
TEST(Kernels, ThreadsChangeNothing) {
  std::vector<float> values(100000);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 2654435761u) % 1000003) / 1000.0f;
  ThreadPool one(1), four(4);
  for (const char *kernel :
       {"reduce_sum", "reduce_log_sum_exp", "softmax", "exp", "transpose"})
    for (const Shape &shape :
         {Shape{100000}, Shape{100, 1000}, Shape{5, 20000}})
      EXPECT_EQ(run(kernel, {{shape, values}}, {}, one),
                run(kernel, {{shape, values}}, {}, four))
          << kernel << " " << toString(shape);
}

TEST(Kernels, EmptyTensors) {
  ThreadPool threads(2);
  for (const char *kernel : {"softmax", "log_softmax", "exp", "transpose",
                             "identity", "relu", "reduce_sum_square"})
    for (const Shape &shape : {Shape{0}, Shape{3, 0}, Shape{0, 3}})
      EXPECT_NO_FATAL_FAILURE(run(kernel, {{shape, {}}}, {}, threads))
          << kernel;
}

TEST(Kernels, ReductionsOfNothing) {
  ThreadPool threads(1);
  auto reduce = [&](const char *kernel) {
    return run(kernel, {{{0}, {}}}, {}, threads)[0];
  };
  EXPECT_EQ(reduce("reduce_sum"), 0);
  EXPECT_EQ(reduce("reduce_prod"), 1);
  EXPECT_EQ(reduce("reduce_max"), -INFINITY);
  EXPECT_EQ(reduce("reduce_min"), INFINITY);
  EXPECT_EQ(reduce("reduce_log_sum_exp"), -INFINITY);
  EXPECT_TRUE(std::isnan(reduce("reduce_mean")));
}

TEST(Kernels, IntegerDivisionsAreDefined) {
  ThreadPool threads(1);
  auto divide = [&](const char *kernel, int32_t x, int32_t y) {
    KernelCase test;
    test.kernel = kernel;
    for (int32_t value : {x, y})
      test.inputs.push_back(
          TestTensor::of<int32_t>(DataType::Int32, {1}, {value}));
    test.outputTypes = {DataType::Int32};
    EXPECT_TRUE(test.run(threads).ok());
    return test.outputs[0].get<int32_t>()[0];
  };
  EXPECT_EQ(divide("div", 7, 0), 0);
  EXPECT_EQ(divide("div", INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(divide("mod", 7, 0), 0);
  EXPECT_EQ(divide("mod", INT32_MIN, -1), 0);
  EXPECT_EQ(divide("mod", -7, 3), 2);
  EXPECT_EQ(divide("pow", 0, -1), 0);
  EXPECT_EQ(divide("pow", -1, -3), -1);
  EXPECT_EQ(divide("pow", 3, 5), 243);
}

/// A view of the input is written in place.
TEST(Kernels, CopiesOntoThemselves) {
  ThreadPool threads(1);
  TestTensor tensor =
      TestTensor::of<float>(DataType::Float, {2, 2}, {1, 2, 3, 4});
  TensorView view = tensor.getView();
  auto kernel = findKernel("flatten")->create(TestAttributes());
  ASSERT_TRUE(kernel.ok());
  KernelArguments arguments;
  arguments.inputs = {&tensor.getView(), 1};
  arguments.outputs = {&view, 1};
  arguments.threads = &threads;
  EXPECT_TRUE((*kernel)->run(arguments).ok());
  EXPECT_EQ(tensor.get<float>(), (std::vector<float>{1, 2, 3, 4}));
}

} // namespace
