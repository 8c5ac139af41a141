//===- KernelErrorsTest.cpp - what kernels refuse -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCase.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace amp::runtime;

namespace {

template <typename T>
TestTensor make(DataType type, Shape shape, std::vector<T> values) {
  values.resize(static_cast<size_t>(shape.getElementCount()));
  return TestTensor::of<T>(type, shape, values);
}
TestTensor floats(Shape shape, std::vector<float> values = {}) {
  return make<float>(DataType::Float, shape, values);
}
TestTensor ints(Shape shape, std::vector<int64_t> values = {}) {
  return make<int64_t>(DataType::Int64, shape, values);
}
/// A list.
TestTensor list(std::vector<int64_t> values) {
  return ints({static_cast<int64_t>(values.size())}, values);
}
TestTensor texts(Shape shape, std::vector<std::string> values = {}) {
  return make<std::string>(DataType::String, shape, values);
}
TestTensor bools(Shape shape, std::vector<uint8_t> values = {}) {
  return make<uint8_t>(DataType::Bool, shape, values);
}

using Tensors = std::vector<TestTensor>;

template <typename... Ts> Tensors all(Ts &&...tensors) {
  Tensors list;
  (list.push_back(std::forward<Ts>(tensors)), ...);
  return list;
}

/// The error of a run, or of making the kernel.
std::string getError(const std::string &kernel, Tensors inputs,
                     TestAttributes attributes = {},
                     std::vector<DataType> outputs = {DataType::Float}) {
  ThreadPool threads(1);
  KernelCase test;
  test.kernel = kernel;
  test.inputs = std::move(inputs);
  test.attributes = std::move(attributes);
  test.outputTypes = std::move(outputs);
  return test.run(threads).getMessage();
}

TestAttributes with(const std::string &name, int64_t value) {
  TestAttributes attributes;
  attributes.ints[name] = {value};
  return attributes;
}
TestAttributes withList(const std::string &name, std::vector<int64_t> values) {
  TestAttributes attributes;
  attributes.ints[name] = std::move(values);
  return attributes;
}
TestAttributes withText(const std::string &name, const char *value) {
  TestAttributes attributes;
  attributes.strings[name] = {value};
  return attributes;
}

constexpr int64_t huge = int64_t(1) << 40;

TEST(KernelErrors, Axes) {
  EXPECT_EQ(getError("softmax", all(floats({2, 3})), with("axis", 2)),
            "axis 2 is out of range for a tensor of rank 2");
  EXPECT_EQ(
      getError("transpose", all(floats({2, 3})), withList("perm", {0, 0})),
      "axis 0 is given twice");
  EXPECT_EQ(getError("transpose", all(floats({2, 3})), withList("perm", {0})),
            "perm has 1 axes for a tensor of rank 2");
  EXPECT_EQ(getError("reduce_sum", all(floats({2, 3}), list({1, -1}))),
            "axis -1 is given twice");
}

TEST(KernelErrors, IntegerInputs) {
  EXPECT_EQ(getError("expand", all(floats({1}), floats({1}))),
            "shape must be of type int32 or int64, but is of type float32");
  EXPECT_EQ(getError("expand", all(floats({1}), ints({40}))),
            "shape has 40 elements, more than any shape needs");
  EXPECT_EQ(getError("cum_sum", all(floats({2}), list({0, 1}))),
            "axis must have one element, but has 2");
}

TEST(KernelErrors, Results) {
  EXPECT_EQ(
      getError("constant_of_shape", all(list(std::vector<int64_t>(9, 1)))),
      "a result of rank 9 is not supported, the limit is 8");
  EXPECT_EQ(getError("constant_of_shape", all(list({2, -3}))),
            "a result has the negative dimension -3");
  EXPECT_EQ(getError("constant_of_shape", all(list({huge, huge}))),
            "a result of dimensions 1099511627776x1099511627776 is too large");
  EXPECT_EQ(getError("tile", all(floats({2}), list({INT64_MAX}))),
            "a result is too large");
  EXPECT_EQ(getError("pad", all(floats({2}), list({INT64_MAX, 1}))),
            "a result is too large");
  EXPECT_EQ(getError("reshape", all(floats({2}), list({huge, huge}))),
            "a result is too large");
  EXPECT_EQ(getError("random_normal", {}, withList("shape", {huge, huge})),
            "a result of dimensions 1099511627776x1099511627776 is too large");
}

TEST(KernelErrors, Types) {
  EXPECT_EQ(
      getError("add", all(texts({1}), texts({1})), {}, {DataType::String}),
      "has no code for elements of type string");
  EXPECT_EQ(getError("exp", all(ints({1})), {}, {DataType::Int64}),
            "has no code for elements of type int64");
  EXPECT_EQ(getError("pow", all(bools({1}), floats({1})), {}, {DataType::Bool}),
            "has no code for elements of type bool");
  EXPECT_EQ(getError("clip", all(bools({1})), {}, {DataType::Bool}),
            "has no code for elements of type bool");
  EXPECT_EQ(getError("is_inf", all(ints({1})), {}, {DataType::Bool}),
            "has no code for elements of type int64");
  EXPECT_EQ(getError("equal",
                     all(TestTensor(DataType::Complex64, {1}),
                         TestTensor(DataType::Complex64, {1})),
                     {}, {DataType::Bool}),
            "has no code for elements of type complex64");
  for (const char *kernel : {"reduce_sum", "arg_max", "softmax", "unique"})
    EXPECT_EQ(getError(kernel, all(TestTensor(DataType::Complex64, {1})), {},
                       {DataType::Complex64}),
              "has no code for elements of type complex64")
        << kernel;
  EXPECT_EQ(getError("cast", all(floats({1})), {}, {DataType::Complex64}),
            "has no code for elements of type complex64");
  EXPECT_EQ(getError("range", all(bools({}), bools({}), bools({})), {},
                     {DataType::Bool}),
            "has no code for elements of type bool");
  EXPECT_EQ(getError("eye_like", all(floats({2, 2})), {}, {DataType::String}),
            "has no code for elements of type string");
  EXPECT_EQ(
      getError("random_uniform", {}, withList("shape", {2}), {DataType::Int64}),
      "has no code for elements of type int64");
  TestAttributes sum = withText("reduction", "add");
  EXPECT_EQ(getError("scatter_nd", all(texts({1}), ints({1, 1}), texts({1})),
                     sum, {DataType::String}),
            "has no code for elements of type string");
  EXPECT_EQ(
      getError("cum_sum", all(bools({1}), list({0})), {}, {DataType::Bool}),
      "has no code for elements of type bool");
  EXPECT_EQ(getError("top_k", all(bools({1}), list({1})), {},
                     {DataType::Bool, DataType::Int64}),
            "has no code for elements of type bool");
  EXPECT_EQ(getError("layer_normalization", all(ints({1, 2}), ints({2})), {},
                     {DataType::Int64}),
            "has no code for elements of type int64");
  EXPECT_EQ(getError("instance_normalization",
                     all(ints({1, 2}), ints({2}), ints({2})), {},
                     {DataType::Int64}),
            "has no code for elements of type int64");
  EXPECT_EQ(
      getError("batch_normalization",
               all(ints({1, 2}), ints({2}), ints({2}), ints({2}), ints({2})),
               {}, {DataType::Int64}),
      "has no code for elements of type int64");
  EXPECT_EQ(getError("bit_cast", all(floats({1})), {}, {DataType::Int64}),
            "cannot take the bits of float32 for int64");
}

TEST(KernelErrors, Cast) {
  EXPECT_EQ(getError("cast", all(texts({2}, {"1", "one"}))),
            "element 1 is not a number");
  EXPECT_EQ(getError("cast", all(floats({1})), withText("round_mode", "odd")),
            "round_mode must be up, down or nearest, but is odd");
}

TEST(KernelErrors, Shapes) {
  EXPECT_EQ(getError("add", all(floats({2, 3}), floats({2}))),
            "cannot broadcast 2 with 2x3");
  EXPECT_EQ(getError("where", all(bools({2}), floats({3}), floats({3}))),
            "cannot broadcast 3 with 2");
  EXPECT_EQ(getError("expand", all(floats({2}), list({3}))),
            "cannot broadcast 2 with 3");
  EXPECT_EQ(getError("string_concat", all(texts({2}), texts({3})), {},
                     {DataType::String}),
            "cannot broadcast 3 with 2");
  EXPECT_EQ(getError("reshape", all(floats({2, 3}), list({4, -1}))),
            "cannot find the dimension for -1 of 4x-1 in 6 elements");
  EXPECT_EQ(getError("reshape", all(floats({2, 3}), list({5}))),
            "cannot reshape 2x3 as 5");
  EXPECT_EQ(getError("reshape", all(floats({2, 3}), list({}))),
            "cannot reshape 2x3 as scalar");
  EXPECT_EQ(getError("reshape", all(floats({2}), list({-1, -1}))),
            "shape has a second -1 or another negative dimension at 1");
  EXPECT_EQ(getError("reshape", all(floats({2}), list({2, 0}))),
            "shape keeps dimension 1 of a tensor of rank 1");
  EXPECT_EQ(getError("squeeze", all(floats({2, 1}), list({0}))),
            "cannot drop axis 0 of 2x1");
  EXPECT_EQ(
      getError("unsqueeze", all(floats({1, 1, 1, 1, 1, 1, 1, 1}), list({0}))),
      "a result of rank 9 is not supported, the limit is 8");
  EXPECT_EQ(
      getError("concat", all(floats({2, 3}), floats({2, 4})), with("axis", 0)),
      "cannot join 2x4 with 2x3 along axis 0");
  EXPECT_EQ(getError("split", all(floats({4}), list({1, 2})), {},
                     {DataType::Float, DataType::Float}),
            "the sizes of split don't add up to 4");
  EXPECT_EQ(getError("split", all(floats({4}), list({1, 2, 1})), {},
                     {DataType::Float, DataType::Float}),
            "split has 3 sizes for 2 outputs");
  EXPECT_EQ(getError("tile", all(floats({4}), list({1, 2}))),
            "repeats has 2 elements for a tensor of rank 1");
  EXPECT_EQ(getError("eye_like", all(floats({4}))),
            "expects a matrix, but got dimensions 4");
  EXPECT_EQ(getError("trilu", all(floats({4}))),
            "expects matrices, but got dimensions 4");
}

TEST(KernelErrors, SliceAndPad) {
  EXPECT_EQ(getError("slice", all(floats({4}), list({0}), list({4, 1}))),
            "ends has 2 elements, but starts has 1");
  EXPECT_EQ(getError("slice", all(floats({4}), list({0}), list({4}), list({0}),
                                  list({0}))),
            "the step of axis 0 is 0");
  EXPECT_EQ(getError("pad", all(floats({4}), list({0}))),
            "pads has 1 elements for 1 axes");
  EXPECT_EQ(
      getError("pad", all(floats({0}), list({1, 0})), withText("mode", "edge")),
      "axis 0 is empty: there is nothing to pad it with");
  EXPECT_EQ(
      getError("pad", all(floats({4}), list({1, 0})), withText("mode", "zero")),
      "mode must be constant, reflect, edge or wrap, but is zero");
  EXPECT_EQ(getError("center_crop_pad", all(floats({4}), list({1, 2}))),
            "shape has 2 elements for 1 axes");
}

TEST(KernelErrors, Blocks) {
  EXPECT_EQ(getError("depth_to_space", all(floats({1, 4, 2, 2})),
                     with("blocksize", 0)),
            "blocksize must be positive, but is 0");
  TestAttributes odd = with("blocksize", 2);
  odd.strings["mode"] = {"RCD"};
  EXPECT_EQ(getError("depth_to_space", all(floats({1, 4, 2, 2})), odd),
            "mode must be DCR or CRD, but is RCD");
  EXPECT_EQ(
      getError("depth_to_space", all(floats({4, 2, 2})), with("blocksize", 2)),
      "expects a tensor of rank 4, but got 4x2x2");
  EXPECT_EQ(getError("depth_to_space", all(floats({1, 6, 2, 2})),
                     with("blocksize", 2)),
            "6 channels are no multiple of the square of blocksize 2");
  EXPECT_EQ(getError("space_to_depth", all(floats({1, 4, 3, 2})),
                     with("blocksize", 2)),
            "height and width 3x2 are no multiples of blocksize 2");
}

TEST(KernelErrors, Indices) {
  EXPECT_EQ(getError("gather", all(floats({5}), list({0, 1, 2, 7}))),
            "index 7 at element 3 is out of range [-5, 4]");
  EXPECT_EQ(getError("gather_elements", all(floats({2}), list({-3}))),
            "index -3 at element 0 is out of range [-2, 1]");
  EXPECT_EQ(getError("gather_elements", all(floats({2, 2}), ints({1, 3}))),
            "indices of dimensions 1x3 don't fit data of dimensions 2x2");
  EXPECT_EQ(getError("gather_nd", all(floats({2, 3}), ints({1, 2}, {1, 3}))),
            "index 3 at element 1 is out of range [-3, 2]");
  EXPECT_EQ(getError("gather_nd", all(floats({2}), ints({1, 2}))),
            "indices of dimensions 1x2 with batch_dims 0 don't fit data of "
            "dimensions 2");
  EXPECT_EQ(
      getError("scatter_elements", all(floats({2}), list({2}), floats({1}))),
      "index 2 at element 0 is out of range [-2, 1]");
  EXPECT_EQ(
      getError("scatter_elements", all(floats({2}), list({1}), floats({2}))),
      "indices of dimensions 1 and updates of 2 don't fit data of "
      "dimensions 2");
  EXPECT_EQ(
      getError("scatter_nd", all(floats({2}), ints({1, 1}, {-3}), floats({1}))),
      "index -3 at element 0 is out of range [-2, 1]");
  EXPECT_EQ(
      getError("scatter_nd", all(floats({2, 3}), ints({1, 1}), floats({1, 2}))),
      "indices of dimensions 1x1 and updates of 1x2 don't fit data of "
      "dimensions 2x3");
  EXPECT_EQ(getError("scatter_nd", all(floats({2}), ints({1, 1}), floats({1})),
                     withText("reduction", "mean")),
            "reduction must be none, add, mul, max or min, but is mean");
  EXPECT_EQ(getError("compress", all(floats({2}), bools({3}))),
            "condition has 3 elements for an axis of 2");
}

TEST(KernelErrors, TensorScatter) {
  EXPECT_EQ(
      getError("tensor_scatter", all(floats({1, 4, 2}), floats({1, 5, 2}))),
      "an update of dimensions 1x5x2 doesn't fit a cache of 1x4x2 along "
      "axis 1");
  EXPECT_EQ(getError("tensor_scatter",
                     all(floats({1, 4, 2}), floats({1, 2, 2}), list({0, 0}))),
            "write_indices has 2 elements for a batch of 1");
  EXPECT_EQ(getError("tensor_scatter",
                     all(floats({1, 4, 2}), floats({1, 2, 2}), list({3}))),
            "write index 3 at element 0 doesn't leave room for 2 of 4 "
            "positions");
  EXPECT_EQ(getError("tensor_scatter",
                     all(floats({1, 4, 2}), floats({1, 2, 2})),
                     withText("mode", "ring")),
            "mode must be linear or circular, but is ring");
}

TEST(KernelErrors, Generators) {
  EXPECT_EQ(
      getError("range", all(floats({}, {0}), floats({}, {1}), floats({}, {0}))),
      "delta is 0");
  EXPECT_EQ(getError("range", all(floats({}, {0}), floats({}, {INFINITY}),
                                  floats({}, {1}))),
            "a range of inf elements is not possible");
  EXPECT_EQ(getError("one_hot", all(list({0}), list({1, 2}), floats({2}))),
            "depth must have one element, but has 2");
  EXPECT_EQ(getError("one_hot", all(list({0}), list({1}), floats({3}))),
            "values must have two elements, but has 3");
  EXPECT_EQ(getError("multinomial", all(floats({2, 0})), {}, {DataType::Int32}),
            "expects a matrix with at least one class, but got dimensions 2x0");
  EXPECT_EQ(getError("multinomial", all(floats({2, 3})), with("sample_size", 0),
                     {DataType::Int32}),
            "sample_size must be positive, but is 0");
  EXPECT_EQ(getError("dropout", all(floats({2}), floats({}, {1.5f}))),
            "ratio must be in [0, 1], but is 1.500000");
}

TEST(KernelErrors, Orders) {
  EXPECT_EQ(getError("top_k", all(floats({3}), list({4})), {},
                     {DataType::Float, DataType::Int64}),
            "K is 4 for an axis of 3 elements");
  EXPECT_EQ(getError("arg_max", all(floats({0})), {}, {DataType::Int64}),
            "axis 0 is empty");
  EXPECT_EQ(getError("unique", all(floats({2, 0})), with("axis", 0)),
            "slices of dimensions 2x0 along axis 0 are empty");
  EXPECT_EQ(getError("reverse_sequence", all(floats({2, 3}), list({1, 2}))),
            "sequence_lens has 2 elements for a batch of 3");
  EXPECT_EQ(getError("reverse_sequence", all(floats({2, 2}), list({1, 3}))),
            "length 3 at element 1 is out of range [0, 2]");
  EXPECT_EQ(getError("reverse_sequence", all(floats({2}), list({1}))),
            "expects at least rank 2, but got dimensions 2");
  EXPECT_EQ(
      getError("reverse_sequence", all(floats({2, 2}), list({1, 1})),
               with("batch_axis", 2)),
      "time_axis and batch_axis must be 0 and 1 or 1 and 0, but are 0 and "
      "2");
}

TEST(KernelErrors, Settings) {
  EXPECT_EQ(getError("gelu", all(floats({1})), withText("approximate", "fast")),
            "approximate must be none or tanh, but is fast");
  EXPECT_EQ(getError("bit_shift", all(ints({1}), ints({1}))),
            "direction must be LEFT or RIGHT, but is ''");
  EXPECT_EQ(getError("lp_normalization", all(floats({1})), with("p", 3)),
            "p must be 1 or 2, but is 3");
}

TEST(KernelErrors, Normalization) {
  EXPECT_EQ(getError("layer_normalization", all(floats({2, 3}), floats({2}))),
            "cannot broadcast 2 to 2x3");
  EXPECT_EQ(getError("instance_normalization",
                     all(floats({2}), floats({2}), floats({2}))),
            "expects at least rank 2, but got dimensions 2");
  EXPECT_EQ(getError("instance_normalization",
                     all(floats({1, 2, 3}), floats({3}), floats({2}))),
            "scale and bias must have 2 elements, but got dimensions 3");
  EXPECT_EQ(getError("group_normalization",
                     all(floats({1, 3}), floats({3}), floats({3})),
                     with("num_groups", 2)),
            "3 channels don't make 2 equal groups");
  EXPECT_EQ(getError("group_normalization",
                     all(floats({1, 3}), floats({3}), floats({3}))),
            "num_groups must be positive, but is 0");
  EXPECT_EQ(getError("batch_normalization",
                     all(floats({1, 3}), floats({3}), floats({3}), floats({3}),
                         floats({2}))),
            "scale, bias, mean and variance must have 3 elements, but got "
            "dimensions 2");
}

TEST(KernelErrors, Texts) {
  EXPECT_EQ(
      getError("string_normalizer", all(texts({2, 2})), {}, {DataType::String}),
      "expects dimensions C or 1xC, but got 2x2");
  EXPECT_EQ(getError("string_normalizer", all(texts({2})),
                     withText("case_change_action", "TITLE"),
                     {DataType::String}),
            "case_change_action must be NONE, LOWER or UPPER, but is TITLE");
  auto getPatternError = [](const char *pattern) {
    return getError("regex_full_match", all(texts({1})),
                    withText("pattern", pattern), {DataType::Bool});
  };
  EXPECT_EQ(getPatternError("a)"), "pattern 'a)': an unexpected )");
  EXPECT_EQ(getPatternError("(a"), "pattern '(a': a ) is missing");
  EXPECT_EQ(getPatternError("[a"), "pattern '[a': a ] is missing");
  EXPECT_EQ(getPatternError("[[:x:]]"),
            "pattern '[[:x:]]': a class has an unknown [:name:]");
  EXPECT_EQ(getPatternError("[b-a]"),
            "pattern '[b-a]': a class has an invalid range");
  EXPECT_EQ(getPatternError("*"), "pattern '*': nothing to repeat before *");
  EXPECT_EQ(getPatternError("a{2,1}"),
            "pattern 'a{2,1}': a repetition has invalid limits");
  EXPECT_EQ(getPatternError("((a{999}){999})"),
            "pattern '((a{999}){999})': the pattern is too large");
  EXPECT_EQ(getPatternError("(?=a)"),
            "pattern '(?=a)': a group begins with an unknown (?");
  EXPECT_EQ(getPatternError("(?P<>a)"),
            "pattern '(?P<>a)': a group has no valid name");
  EXPECT_EQ(getPatternError("\\pL"), "pattern '\\pL': \\p is not supported");
  EXPECT_EQ(getPatternError("\\xg"), "pattern '\\xg': \\x has no valid number");
  EXPECT_EQ(getPatternError("\\"), "pattern '\\': a \\ is at the end");
  std::string deep = std::string(300, '(') + std::string(300, ')');
  EXPECT_EQ(getPatternError(deep.c_str()),
            "pattern '" + deep + "': groups are nested too deeply");
}

TEST(KernelErrors, TfIdfVectorizer) {
  TestAttributes valid = withText("mode", "TF");
  valid.ints["ngram_indexes"] = {0, 1};
  valid.ints["ngram_counts"] = {0};
  valid.ints["pool_int64s"] = {3, 4};
  auto getErrorOf = [](TestAttributes attributes, Shape shape = {2}) {
    return getError("tfidf_vectorizer", all(ints(shape)), attributes);
  };
  EXPECT_EQ(getErrorOf(valid), "");
  EXPECT_EQ(getErrorOf(valid, {1, 1, 2}),
            "expects dimensions C or NxC, but got 1x1x2");
  TestAttributes other = valid;
  other.strings["mode"] = {"X"};
  EXPECT_EQ(getErrorOf(other), "mode must be TF, IDF or TFIDF, but is 'X'");
  other = valid;
  other.ints["ngram_indexes"] = {-1};
  EXPECT_EQ(getErrorOf(other), "ngram_indexes must be numbers from 0 on");
  other.ints["ngram_indexes"] = {0};
  EXPECT_EQ(getErrorOf(other),
            "the pool has more n-grams than the 1 of ngram_indexes");
  other = valid;
  other.ints["min_gram_length"] = {2};
  EXPECT_EQ(getErrorOf(other), "min_gram_length, max_gram_length and "
                               "max_skip_count don't fit together");
  other = valid;
  other.strings["mode"] = {"IDF"};
  other.floats["weights"] = {1};
  EXPECT_EQ(getErrorOf(other), "weights has 1 elements for 2 results");
  other = valid;
  other.ints["ngram_counts"] = {3};
  EXPECT_EQ(getErrorOf(other),
            "ngram_counts must be positions in the pool, in ascending order");
}

/// Outputs whose dimensions no longer agree with the data are not written.
TEST(KernelErrors, ChangedData) {
  ThreadPool threads(1);
  auto getRunError = [&](const char *name, Tensors inputs) {
    TestTensor output = floats({3});
    auto kernel = findKernel(name)->create(TestAttributes());
    EXPECT_TRUE(kernel.ok());
    std::vector<TensorView> views;
    for (TestTensor &input : inputs)
      views.push_back(input.getView());
    KernelArguments arguments;
    arguments.inputs = {views.data(), views.size()};
    arguments.outputs = {&output.getView(), 1};
    arguments.threads = &threads;
    return (*kernel)->run(arguments).getMessage();
  };
  EXPECT_EQ(getRunError("slice", all(floats({4}), list({0}), list({4}))),
            "gives a result of dimensions 4, but 3 was expected");
  EXPECT_EQ(getRunError("tile", all(floats({2}), list({2}))),
            "gives a result of dimensions 4, but 3 was expected");
  EXPECT_EQ(getRunError("non_zero", all(floats({3}, {1, 1, 0}))),
            "gives a result of dimensions 1x2, but 3 was expected");
  EXPECT_EQ(getRunError("split", all(floats({4}))),
            "the outputs don't add up to the 4 elements of axis 0");
}

TEST(KernelErrors, UnknownKernel) {
  EXPECT_EQ(findKernel("no_such_kernel"), nullptr);
}

/// Adds attributes to others.
TestAttributes both(TestAttributes attributes, const TestAttributes &more) {
  attributes.ints.insert(more.ints.begin(), more.ints.end());
  attributes.strings.insert(more.strings.begin(), more.strings.end());
  return attributes;
}
TestTensor bytes(Shape shape) {
  return make<uint8_t>(DataType::UInt8, shape, {});
}
TestTensor none() { return TestTensor(); }

TEST(KernelErrors, Windows) {
  TestAttributes kernel = withList("kernel_shape", {2});
  EXPECT_EQ(getError("max_pool", all(floats({1, 1, 3})),
                     both(kernel, withText("auto_pad", "SAME"))),
            "auto_pad has no value SAME");
  EXPECT_EQ(getError("max_pool", all(floats({1, 3})), kernel),
            "expects at least rank 3, but got dimensions 1x3");
  EXPECT_EQ(getError("max_pool", all(floats({1, 1, 3}))),
            "needs a kernel_shape");
  EXPECT_EQ(getError("max_pool", all(floats({1, 1, 3})),
                     both(kernel, withList("pads", {1}))),
            "pads must have 2 elements, but has 1");
  EXPECT_EQ(getError("max_pool", all(floats({1, 1, 3})),
                     both(kernel, withList("strides", {0}))),
            "strides has the element 0, out of range [1, 2147483647]");
  EXPECT_EQ(getError("max_pool", all(floats({1, 1, 3})),
                     both(kernel, withList("dilations", {3}))),
            "a window of 4 elements doesn't fit into dimension 2 of 1x1x3");
  for (const char *name : {"lp_pool", "global_lp_pool"})
    EXPECT_EQ(
        getError(name, all(floats({1, 1, 3})), both(kernel, with("p", 0))),
        "p must be positive, but is 0");
  EXPECT_EQ(getError("global_average_pool", all(floats({3}))),
            "expects at least rank 2, but got dimensions 3");
  EXPECT_EQ(getError("lrn", all(floats({3})), with("size", 3)),
            "expects at least rank 2, but got dimensions 3");
  EXPECT_EQ(getError("lrn", all(floats({3, 3}))),
            "size must be positive, but is 0");
}

TEST(KernelErrors, MaxUnpool) {
  TestAttributes kernel = withList("kernel_shape", {2});
  EXPECT_EQ(
      getError("max_unpool", all(floats({1, 1, 2}), ints({1, 1, 3})), kernel),
      "expects indices of dimensions 1x1x2, but got 1x1x3");
  EXPECT_EQ(getError("max_unpool",
                     all(floats({1, 1, 2}), ints({1, 1, 2}), list({4})),
                     kernel),
            "output_shape must have 3 elements, but has 1");
  EXPECT_EQ(getError("max_unpool",
                     all(floats({1, 1, 2}), ints({1, 1, 2}, {0, 3})), kernel),
            "index 3 at element 1 is out of range [0, 2]");
  EXPECT_EQ(getError("max_unpool", all(floats({1, 1, 2}), ints({1, 1, 2}))),
            "kernel_shape, strides or pads don't fit dimensions 1x1x2");
}

TEST(KernelErrors, RecurrentCells) {
  auto cell = [](TestAttributes attributes, Shape w = {1, 4, 2},
                 TestTensor lengths = none()) {
    return getError("lstm",
                    all(floats({3, 1, 2}), floats(w), floats({1, 4, 1}), none(),
                        std::move(lengths)),
                    std::move(attributes));
  };
  EXPECT_EQ(cell(withText("direction", "up")), "direction has no value up");
  EXPECT_EQ(cell(withText("activations", "Tanh")),
            "needs 3 activations, but has 1");
  TestAttributes unknown;
  unknown.strings["activations"] = {"Tanh", "Sin", "Tanh"};
  EXPECT_EQ(cell(unknown), "has no activation Sin");
  EXPECT_EQ(cell({}, {1, 3, 2}), "W must have dimensions 1x4x2, but has 1x3x2");
  EXPECT_EQ(cell({}, {1, 4, 2}, list({4})),
            "sequence length 4 at element 0 is out of range [0, 3]");
  EXPECT_EQ(getError("rnn", all(floats({3}), floats({3}), floats({3}))),
            "expects X and R of rank 3, but got dimensions 3 and 3");
}

TEST(KernelErrors, Resize) {
  auto resize = [](TestTensor scales, TestTensor sizes,
                   TestAttributes attributes = {}, Shape shape = {3}) {
    return getError(
        "resize",
        all(floats(shape), none(), std::move(scales), std::move(sizes)),
        std::move(attributes));
  };
  EXPECT_EQ(resize(floats({1}, {2}), none(), withText("mode", "area")),
            "mode has no value area");
  EXPECT_EQ(resize(none(), none()), "needs either scales or sizes");
  EXPECT_EQ(resize(floats({2}, {2, 2}), none()),
            "scales must have 1 elements, but has 2");
  EXPECT_EQ(resize(none(), floats({1}, {2})),
            "sizes must be of type int64, but is of type float32");
  EXPECT_EQ(resize(floats({1}, {-1}), none()),
            "scale -1.000000 is not positive or too large");
  EXPECT_EQ(resize(none(), list({3}), {}, {0}), "dimension 0 of 0 is empty");
  EXPECT_EQ(resize(none(), list({INT64_MAX, 1}),
                   withText("keep_aspect_ratio_policy", "not_smaller"), {1, 1}),
            "a result is too large");
  EXPECT_EQ(
      resize(floats({1}, {2}), none(),
             withText("coordinate_transformation_mode", "tf_crop_and_resize")),
      "roi must have 2 elements");
}

TEST(KernelErrors, Grids) {
  Tensors fit = all(floats({1, 1, 2, 2}), floats({1, 2, 2, 2}));
  EXPECT_EQ(
      getError("grid_sample", all(floats({1, 1, 2}), floats({1, 2, 2})), {}),
      "a grid of dimensions 1x2x2 doesn't fit a tensor of dimensions "
      "1x1x2");
  EXPECT_EQ(getError("grid_sample", std::move(fit), withText("mode", "area")),
            "mode has no value area");
  EXPECT_EQ(getError("grid_sample", {}, withText("padding_mode", "wrap")),
            "padding_mode has no value wrap");
  EXPECT_EQ(getError("affine_grid", all(floats({1, 2, 3}), list({1}))),
            "size must have 4 or 5 elements, but has 1");
  EXPECT_EQ(getError("affine_grid", all(floats({1, 2, 2}), list({1, 1, 2, 2}))),
            "theta must have dimensions 1x2x3, but has 1x2x2");
}

TEST(KernelErrors, Quantization) {
  EXPECT_EQ(getError("quantize_linear", all(floats({2, 3}), floats({2})), {},
                     {DataType::UInt8}),
            "scale must have one element or 3, but has dimensions 2");
  EXPECT_EQ(getError("dequantize_linear", all(bytes({2, 3}), floats({2, 1})),
                     with("block_size", 2)),
            "scale must have dimensions 2x2, but has 2x1");
  EXPECT_EQ(getError("quantize_linear",
                     all(floats({2, 3}), floats({3}), bytes({1})), {},
                     {DataType::UInt8}),
            "zero point must have dimensions 3, but has 1");
  EXPECT_EQ(getError("dynamic_quantize_linear", all(ints({2})), {},
                     {DataType::UInt8, DataType::Float, DataType::UInt8}),
            "has no code for elements of type int64");
  for (const char *kernel : {"quantize_linear", "dequantize_linear"})
    EXPECT_EQ(getError(kernel, all(texts({2}), floats({1}))),
              "has no code for elements of type string");
  EXPECT_EQ(getError("matmul_integer", all(bytes({}), bytes({2}))),
            "expects operands of rank 1 at least");
  EXPECT_EQ(getError("matmul_integer", all(bytes({2, 3}), bytes({2, 3}))),
            "cannot multiply 2x3 with 2x3");
  EXPECT_EQ(
      getError("matmul_integer", all(bytes({2, 3}), bytes({3, 4}), bytes({3}))),
      "a's zero point must have 1 or 2 elements, but has 3");
  EXPECT_EQ(getError("matmul_integer", all(floats({2, 3}), bytes({3, 4}))),
            "has no code for elements of type float32");
  Tensors scaled = all(bytes({2, 3}), floats({}), bytes({}), bytes({3, 4}),
                       floats({}), bytes({}), floats({2}), bytes({}));
  EXPECT_EQ(getError("qlinear_matmul", std::move(scaled)),
            "y's scale or zero point must have 1 element, but has 2");
}

TEST(KernelErrors, IntegerConvolutions) {
  EXPECT_EQ(getError("conv_integer", all(bytes({1, 1, 3}), bytes({1, 1, 2})),
                     with("group", 0)),
            "group must be positive, but is 0");
  EXPECT_EQ(getError("conv_integer", all(bytes({1, 1, 3}), bytes({1, 2, 2}))),
            "weights of dimensions 1x2x2 don't fit a tensor of dimensions "
            "1x1x3 in 1 groups");
  EXPECT_EQ(getError("conv_integer",
                     all(bytes({1, 1, 3}), bytes({1, 1, 2}), bytes({2}))),
            "a scale or a zero point must have 1 element, but has 2");
  EXPECT_EQ(getError("conv_integer", all(bytes({1, 1, 3}), bytes({1, 1, 0}))),
            "a window has no elements along dimension 2");
  EXPECT_EQ(getError("conv_integer", all(floats({1, 1, 3}), bytes({1, 1, 2}))),
            "has no code for elements of type float32");
  Tensors scaled =
      all(bytes({1, 1, 3}), floats({}), bytes({}), bytes({1, 1, 2}), floats({}),
          bytes({}), floats({}), bytes({}), ints({2}));
  EXPECT_EQ(getError("qlinear_conv", std::move(scaled)),
            "B must have dimensions 1, but has 2");
}

TEST(KernelErrors, RegionsOfInterest) {
  auto align = [](Shape rois, TestTensor indices, TestAttributes attributes) {
    return getError("roi_align",
                    all(floats({1, 1, 2, 2}), floats(rois), std::move(indices)),
                    std::move(attributes));
  };
  EXPECT_EQ(align({1, 4}, list({0}), withText("mode", "min")),
            "mode has no value min");
  EXPECT_EQ(align({1, 5}, list({0}), {}),
            "rois of dimensions 1x5 don't fit a tensor of dimensions 1x1x2x2");
  EXPECT_EQ(align({1, 4}, list({0, 0}), {}),
            "batch_indices must have 1 elements, but has dimensions 2");
  EXPECT_EQ(align({1, 4}, list({1}), {}),
            "index 1 at element 0 is out of range [-1, 0]");
  EXPECT_EQ(getError("max_roi_pool", {}),
            "pooled_shape must be two positive numbers");
  EXPECT_EQ(getError("max_roi_pool",
                     all(floats({1, 1, 2, 2}), floats({1, 5}, {1})),
                     withList("pooled_shape", {1, 1})),
            "roi 0 is in no image of the batch of 1");
}

TEST(KernelErrors, BlocksAndBoxes) {
  auto fold = [](Shape columns, TestTensor image, TestTensor block) {
    return getError("col2im",
                    all(floats(columns), std::move(image), std::move(block)));
  };
  EXPECT_EQ(fold({1, 4, 1}, list({2, 2}), list({2})),
            "an image of rank 2 is not made of blocks of rank 1 in dimensions "
            "1x4x1");
  EXPECT_EQ(fold({1, 4, 1}, list({2, 2}), list({2, 0})),
            "image_shape or block_shape is out of range");
  EXPECT_EQ(fold({1, 4, 2}, list({2, 2}), list({2, 2})),
            "expects columns of dimensions Nx4*Cx1, but got 1x4x2");
  EXPECT_EQ(getError("non_max_suppression",
                     all(floats({1, 2, 4}), floats({1, 1, 3})), {},
                     {DataType::Int64}),
            "scores of dimensions 1x1x3 don't fit boxes of dimensions 1x2x4");
  EXPECT_EQ(getError("non_max_suppression",
                     all(floats({1, 2, 4}), ints({1, 1, 2})), {},
                     {DataType::Int64}),
            "expects boxes and scores of type float32");
  EXPECT_EQ(getError("non_max_suppression",
                     all(floats({1, 2, 4}), floats({1, 1, 2}), list({1}),
                         floats({2})),
                     {}, {DataType::Int64}),
            "a threshold must have 1 element, but has 2");
}

TEST(KernelErrors, DeformConv) {
  auto convolve = [](Shape weights, Shape offset, TestTensor bias = none(),
                     TestAttributes attributes = {}) {
    return getError("deform_conv",
                    all(floats({1, 1, 3}), floats(weights), floats(offset),
                        std::move(bias)),
                    std::move(attributes));
  };
  EXPECT_EQ(convolve({1, 1, 2}, {1, 2, 2}, none(), with("group", 0)),
            "group and offset_group must be positive, but are 0 and 1");
  EXPECT_EQ(convolve({1, 2, 2}, {1, 2, 2}),
            "weights of dimensions 1x2x2 don't fit a tensor of dimensions "
            "1x1x3 in 1 groups");
  EXPECT_EQ(convolve({1, 1, 2}, {1, 2, 3}),
            "offset must have dimensions 1x2x2, but has 1x2x3");
  EXPECT_EQ(convolve({1, 1, 2}, {1, 2, 2}, floats({2})),
            "B must have dimensions 1, but has 2");
}

TEST(KernelErrors, Einsum) {
  auto sum = [](const char *equation, Tensors operands) {
    return getError("einsum", std::move(operands),
                    withText("equation", equation));
  };
  EXPECT_EQ(sum("i+j", all(floats({1}))), "equation has no meaning at '+j'");
  EXPECT_EQ(sum("a,a,a,a,a,a,a,a,a", {}),
            "equation has 9 operands, the limit is 8");
  for (const char *result : {"ii", "k"})
    EXPECT_EQ(sum(("i->" + std::string(result)).c_str(), all(floats({1}))),
              "equation has a result '" + std::string(result) +
                  "' of labels that are unknown or there twice");
  EXPECT_EQ(sum("i,j", all(floats({1}))), "equation has 2 operands, but got 1");
  EXPECT_EQ(sum("ij", all(floats({1}))),
            "equation has 2 labels for operand 0 of dimensions 1");
  EXPECT_EQ(sum("i,i", all(floats({2}), floats({3}))),
            "operand 1 of dimensions 3 has 3 where others have 2");
  EXPECT_EQ(
      sum("abcdef,ghi", all(floats({1, 1, 1, 1, 1, 1}), floats({1, 1, 1}))),
      "a result of rank 9 is not supported, the limit is 8");
}

TEST(KernelErrors, Signals) {
  EXPECT_EQ(getError("det", all(floats({2, 3}))),
            "expects square matrices, but got dimensions 2x3");
  EXPECT_EQ(getError("dft", all(floats({2, 3}))),
            "expects a last dimension of 1 or 2, but got dimensions 2x3");
  EXPECT_EQ(getError("dft", all(floats({2, 2}), none(), list({1}))),
            "axis must not be the last one");
  EXPECT_EQ(getError("dft", all(floats({2, 2}), list({0}))),
            "a transform of length 0 is not possible");
  EXPECT_EQ(getError("stft", all(floats({2, 2}), list({1}))),
            "expects a signal of dimensions BxNx1 or BxNx2, but got 2x2");
  EXPECT_EQ(getError("stft",
                     all(floats({1, 4, 1}), list({1}), floats({3}), list({2}))),
            "window must have 2 elements, but has 3");
  EXPECT_EQ(getError("stft", all(floats({1, 4, 1}), list({0}), floats({3}))),
            "frames of length 3 at steps of 0 don't fit a signal of length 4");
  EXPECT_EQ(getError("hann_window", all(list({-1}))),
            "a result has the negative dimension -1");
  auto mel = [](TestTensor low, float high) {
    return getError("mel_weight_matrix",
                    all(list({2}), list({16}), list({8000}), std::move(low),
                        floats({1}, {high})));
  };
  EXPECT_EQ(mel(floats({2}), 4000), "an edge must have one element, but has 2");
  EXPECT_EQ(mel(floats({1}), 40000), "the edges are not among 9 bins");
}

TEST(KernelErrors, RotaryEmbedding) {
  auto rotate = [](Shape shape, Shape cache, TestTensor positions,
                   TestAttributes attributes = {}) {
    return getError(
        "rotary_embedding",
        all(floats(shape), floats(cache), floats(cache), std::move(positions)),
        std::move(attributes));
  };
  EXPECT_EQ(rotate({2, 3}, {1}, none()),
            "expects rank 3 or 4, but got dimensions 2x3");
  EXPECT_EQ(rotate({1, 2, 4}, {1}, none(), with("num_heads", 3)),
            "4 elements don't make 3 equal heads");
  EXPECT_EQ(rotate({1, 1, 2, 3}, {1}, none()), "cannot rotate 3 of 3 elements");
  EXPECT_EQ(rotate({1, 1, 2, 4}, {1, 2, 1}, none()),
            "the caches must have dimensions 1x2x2, but got 1x2x1");
  EXPECT_EQ(rotate({1, 1, 2, 4}, {5, 2}, ints({1, 3})),
            "position_ids must have dimensions 1x2, but has 1x3");
  EXPECT_EQ(rotate({1, 1, 2, 4}, {5, 2}, ints({1, 2}, {0, 5})),
            "index 5 at element 1 is out of range [-5, 4]");
}

TEST(KernelErrors, Losses) {
  auto loss = [](TestTensor labels, TestTensor weights = none(),
                 TestAttributes attributes = {}) {
    return getError("softmax_cross_entropy_loss",
                    all(floats({2, 3}), std::move(labels), std::move(weights)),
                    std::move(attributes));
  };
  EXPECT_EQ(loss(list({0, 0}), none(), withText("reduction", "max")),
            "reduction has no value max");
  EXPECT_EQ(loss(list({0})),
            "labels of dimensions 1 don't fit scores of dimensions 2x3");
  EXPECT_EQ(loss(list({0, 0}), floats({2})),
            "weights must have 3 elements, but has dimensions 2");
  EXPECT_EQ(loss(floats({2})), "labels must be of type int32 or int64, but are "
                               "of type float32");
  EXPECT_EQ(loss(list({0, 3})), "label 3 at element 1 is out of range [0, 2]");
}

TEST(KernelErrors, LinearAttention) {
  TestAttributes heads = both(with("q_num_heads", 2), with("kv_num_heads", 1));
  TestAttributes linear = both(heads, withText("update_rule", "linear"));
  auto attend = [](Shape key, TestTensor past, TestAttributes attributes) {
    return getError(
        "linear_attention",
        all(floats({1, 2, 4}), floats(key), floats({1, 2, 3}), std::move(past)),
        std::move(attributes));
  };
  EXPECT_EQ(attend({1, 2, 2}, none(), withText("update_rule", "none")),
            "update_rule has no value none");
  EXPECT_EQ(attend({1, 2, 2}, none(), {}), "0 query heads don't share 0 heads");
  EXPECT_EQ(attend({1, 2, 3}, none(), linear),
            "query, key and value don't fit each other, having dimensions "
            "1x2x4, 1x2x3 and 1x2x3");
  EXPECT_EQ(attend({1, 2, 2}, floats({1}), linear),
            "past_state must have dimensions 1x1x2x3, but has 1");
  EXPECT_EQ(attend({1, 2, 2}, none(), heads),
            "decay must have dimensions 1x2x2 or 1x2x1");
}

TEST(KernelErrors, CausalConvolutions) {
  auto convolve = [](Shape weights, TestTensor bias, TestTensor past,
                     TestAttributes attributes = {}) {
    return getError("causal_conv_with_state",
                    all(floats({1, 2, 3}), floats(weights), std::move(bias),
                        std::move(past)),
                    std::move(attributes));
  };
  EXPECT_EQ(convolve({2, 1, 2}, none(), none(), withText("activation", "relu")),
            "activation has no value relu");
  EXPECT_EQ(convolve({2, 2, 2}, none(), none()),
            "weights of dimensions 2x2x2 don't fit a tensor of dimensions "
            "1x2x3");
  EXPECT_EQ(convolve({2, 1, 2}, none(), floats({1, 2, 2})),
            "past_state must have dimensions 1x2x1, but has 1x2x2");
  EXPECT_EQ(convolve({2, 1, 2}, floats({3}), none()),
            "bias must have dimensions 2, but has 3");
}

} // namespace
