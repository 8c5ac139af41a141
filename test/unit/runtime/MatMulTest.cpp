//===- MatMulTest.cpp - the kernels matmul and gemm -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Kernels.h"
#include "ProductTesting.h"

using namespace amp::runtime;
using Values = std::vector<double>;

namespace {

std::string run(std::string_view name, const TestAttributes &attributes,
                const std::vector<const TestTensor *> &inputs,
                TestTensor &output) {
  std::vector<TestTensor> outputs(1);
  outputs[0].view.type = output.view.type;
  std::string error = runKernel(findEntry(getMatMulKernels(), name), attributes,
                                inputs, outputs);
  output = std::move(outputs[0]);
  return error;
}

/// A tensor of that type, without dimensions yet.
TestTensor ofType(DataType type) {
  TestTensor tensor;
  tensor.view.type = type;
  return tensor;
}

constexpr DataType f32 = DataType::Float;

TEST(MatMulTest, multipliesMatricesAndVectors) {
  TestTensor a(f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  TestTensor b(f32, {3, 2}, {1, 2, 3, 4, 5, 6});
  TestTensor v(f32, {3}, {1, 10, 100});
  TestTensor u(f32, {2}, {1, -1});
  TestTensor y = ofType(f32);
  EXPECT_EQ(run("matmul", {}, {&a, &b}, y), "");
  EXPECT_EQ(y.view.shape, (Shape{2, 2}));
  EXPECT_EQ(y.getValues(), (Values{22, 28, 49, 64}));
  EXPECT_EQ(run("matmul", {}, {&a, &v}, y), "");
  EXPECT_EQ(y.view.shape, (Shape{2}));
  EXPECT_EQ(y.getValues(), (Values{321, 654}));
  EXPECT_EQ(run("matmul", {}, {&u, &a}, y), "");
  EXPECT_EQ(y.view.shape, (Shape{3}));
  EXPECT_EQ(y.getValues(), (Values{-3, -3, -3}));
  EXPECT_EQ(run("matmul", {}, {&v, &v}, y), "");
  EXPECT_EQ(y.view.shape, (Shape{}));
  EXPECT_EQ(y.getValues(), (Values{10101}));
}

TEST(MatMulTest, broadcastsBatches) {
  TestTensor a(f32, {2, 1, 1, 2}, {1, 2, 3, 4});
  TestTensor b(f32, {3, 2, 1}, {1, 0, 0, 1, 1, 1});
  TestTensor y = ofType(f32);
  EXPECT_EQ(run("matmul", {}, {&a, &b}, y), "");
  EXPECT_EQ(y.view.shape, (Shape{2, 3, 1, 1}));
  EXPECT_EQ(y.getValues(), (Values{1, 2, 3, 3, 4, 7}));
  TestTensor empty(f32, {0, 2, 1});
  EXPECT_EQ(run("matmul", {}, {&a, &empty}, y), "");
  EXPECT_EQ(y.view.shape, (Shape{2, 0, 1, 1}));
}

TEST(MatMulTest, addsScalesAndActivates) {
  TestTensor a(f32, {1, 2, 2}, {1, 2, 3, 4});
  TestTensor b(f32, {2, 2}, {1, 1, -1, -1});
  TestTensor bias(f32, {2}, {0.5, 10});
  TestTensor residual(f32, {1, 2, 1}, {0, -100});
  TestAttributes attributes;
  attributes.floats["alpha"] = 2;
  attributes.ints["transA"] = 1;
  attributes.strings["activation"] = "relu";
  TestTensor y = ofType(f32);
  // A^T B = (1 - 3, 2 - 4) in both columns.
  EXPECT_EQ(run("matmul", attributes, {&a, &b, &bias, &residual}, y), "");
  EXPECT_EQ(y.getValues(), (Values{0, 6, 0, 0}));
  attributes.strings["activation"] = "leaky_relu";
  attributes.floats["activation_alpha"] = 0.5;
  EXPECT_EQ(run("matmul", attributes, {&a, &b, &bias, nullptr}, y), "");
  EXPECT_EQ(y.getValues(), (Values{-1.75, 6, -1.75, 6}));
}

TEST(MatMulTest, hasGemmsScalesAndTranspositions) {
  TestTensor a(f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  TestTensor b(f32, {2, 3}, {1, 0, 0, 0, 1, 0});
  TestTensor c(f32, {2, 1}, {1, 2});
  TestAttributes attributes;
  attributes.ints["transB"] = 1;
  attributes.floats["alpha"] = 0.5;
  attributes.floats["beta"] = -2;
  TestTensor y = ofType(DataType::Float16);
  EXPECT_EQ(run("gemm", attributes, {&a, &b, &c}, y), "");
  EXPECT_EQ(y.getValues(), (Values{-1.5, -1, -2, -1.5}));
  TestTensor scalar(f32, {}, {1});
  EXPECT_EQ(run("gemm", attributes, {&a, &b, &scalar}, y), "");
  EXPECT_EQ(y.getValues(), (Values{-1.5, -1, 0, 0.5}));
}

TEST(MatMulTest, hasDoublesAndIntegers) {
  TestTensor y = ofType(DataType::Double);
  TestTensor a(DataType::Double, {1, 2}, {1, 1e-12}),
      b(DataType::Double, {2, 1}, {1, 1});
  EXPECT_EQ(run("matmul", {}, {&a, &b}, y), "");
  EXPECT_EQ(y.get(0), 1 + 1e-12);
  TestAttributes attributes;
  attributes.floats["beta"] = 0.5;
  TestTensor c(DataType::Double, {1}, {3});
  EXPECT_EQ(run("gemm", attributes, {&a, &b, &c}, y), "");
  EXPECT_EQ(y.get(0), 2.5 + 1e-12);
  for (DataType type : {DataType::Int32, DataType::Int64}) {
    TestTensor i(type, {1, 2}, {-3, 2}), j(type, {2, 1}, {5, 7});
    y = ofType(type);
    EXPECT_EQ(run("matmul", {}, {&i, &j}, y), "");
    EXPECT_EQ(y.get(0), -1);
  }
}

TEST(MatMulTest, saysWhatDoesNotFit) {
  TestTensor a(f32, {2, 3}), b(f32, {2, 4}), batch(f32, {2, 3, 4}),
      other(f32, {3, 2, 3}), scalar(f32, {}), wide(f32, {5}),
      half(DataType::Float16, {3, 4}), number(DataType::Double, {3, 4}),
      flag(DataType::Bool, {3, 4});
  TestTensor y = ofType(f32);
  EXPECT_EQ(run("matmul", {}, {&a}, y),
            "a product has 2 to 4 inputs and 1 output, but got 1 and 1");
  EXPECT_EQ(run("matmul", {}, {&a, &b}, y),
            "rows of A have 3 elements and columns of B 2: dimensions 2x3 and "
            "2x4");
  EXPECT_EQ(run("matmul", {}, {&other, &batch}, y),
            "batches are not broadcastable to each other: dimensions 3x2x3 and "
            "2x3x4");
  EXPECT_EQ(run("matmul", {}, {&a, &scalar}, y),
            "there is no product of dimensions 2x3 and scalar");
  EXPECT_EQ(run("gemm", {}, {&a, &batch}, y),
            "there is no product of dimensions 2x3 and 2x3x4");
  EXPECT_EQ(run("matmul", {}, {&a, &half, &wide}, y),
            "input 2 of dimensions 5 is not broadcastable to 2x4");
  EXPECT_EQ(run("matmul", {}, {&a, &number}, y),
            "input 1 is float64 where the result is float32");
  TestTensor bad = ofType(DataType::Bool);
  EXPECT_EQ(run("matmul", {}, {&flag, &flag}, bad),
            "there is no product of type bool");
  TestAttributes attributes;
  attributes.strings["activation"] = "softplus";
  EXPECT_EQ(run("matmul", attributes, {&a, &half}, y),
            "there is no activation 'softplus'");
  attributes.strings["activation"] = "relu";
  TestTensor doubles = ofType(DataType::Double);
  EXPECT_EQ(run("matmul", attributes, {&number, &number}, doubles),
            "a product of type float64 has no activation, and of integers no "
            "scale");
}

} // namespace
