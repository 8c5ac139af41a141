//===- EvaluatorTest.cpp - metrics of a model on data ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Accuracy.h"
#include "TrainingTesting.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace amp::run;
using namespace amp::run::test;
using namespace amp::runtime;
using namespace amp::runtime::test;
using Floats = std::vector<float>;

namespace {

constexpr DataType f32 = DataType::Float, i64 = DataType::Int64;

std::string count(Floats logits, Shape logitShape, std::vector<int64_t> labels,
                  Shape labelShape, uint64_t samples = 0) {
  Accuracy accuracy;
  if (samples == 0)
    samples = uint64_t(labelShape[0]);
  Status status =
      addAccuracy(view(logits, f32, logitShape), view(labels, i64, labelShape),
                  samples, 100, accuracy);
  if (!status.ok())
    return status.getMessage();
  return std::to_string(accuracy.correct) + "/" +
         std::to_string(accuracy.total);
}

TEST(Accuracy, IsOfTheLargestLogit) {
  EXPECT_EQ(count({1, 2, 3, 2, 3, 1}, {2, 3}, {2, 0}, {2}), "1/2");
  EXPECT_EQ(count({1, 2, 3, 2, 3, 1}, {2, 3}, {2, 0}, {2}, 1), "1/1");
  EXPECT_EQ(count({3, 3, 1}, {1, 3}, {0}, {1}), "1/1"); // The first of equals.
  EXPECT_EQ(count({3, 3, 1}, {1, 3}, {1}, {1}), "0/1");
  EXPECT_EQ(count({std::nanf(""), 3, 1}, {1, 3}, {1}, {1}), "0/1");
  EXPECT_EQ(count({3, 3, 1, 2, 1, 0}, {2, 3}, {-100, 0}, {2}), "1/1");
}

TEST(Accuracy, FindsTheClasses) {
  // Classes are axis 1, as in PyTorch: 1 x 2 classes x 3.
  EXPECT_EQ(count({1, 5, 1, 2, 4, 3}, {1, 2, 3}, {1, 0, 1}, {1, 3}), "3/3");
  // Or the last: 1 x 3 x 2 classes.
  EXPECT_EQ(count({1, 2, 5, 4, 1, 3}, {1, 3, 2}, {1, 0, 0}, {1, 3}), "2/3");
  EXPECT_EQ(count({1, 2}, {1, 2}, {0}, {1, 1}),
            "labels of 1x1 don't go with logits of 1x2: they are not these "
            "without an axis of classes");
  EXPECT_EQ(count({1, 2}, {2}, {0}, {1}),
            "labels of 1 don't go with logits of 2: they are not these "
            "without an axis of classes");
}

TEST(Accuracy, ChecksLabels) {
  EXPECT_EQ(count({1, 2, 1, 2}, {2, 2}, {1, 2}, {2}),
            "label 2 of sample 101 is not among the 2 classes");
  EXPECT_EQ(count({1, 2}, {1, 2}, {-1}, {1}),
            "label -1 of sample 100 is not among the 2 classes");
}

/// logits = x; loss = the mean of x.
std::string writeModel(int64_t batch, const std::string &logits = "logits",
                       bool hasOther = false) {
  ExecutableBuilder builder;
  Dim rows = batch > 0 ? Dim(batch) : Dim::unknown();
  uint32_t x = builder.addInput("x", f32, {rows, 2});
  Dim same = batch > 0 ? Dim(batch) : Dim::axis(x, 0);
  uint32_t y = builder.addOutput(logits, f32, {same, 2});
  uint32_t loss = builder.addOutput("loss", f32, {});
  builder.call(0, "copy", {int32_t(x)}, {y});
  auto &attribute = *builder.call(0, "reduce_mean", {int32_t(x)}, {loss})
                         .mutable_call()
                         ->add_attributes();
  attribute.set_name("keepdims");
  attribute.set_int_value(0);
  if (hasOther)
    builder.call(0, "copy", {int32_t(x)},
                 {builder.addOutput("other", f32, {same, 2})});
  return builder.write();
}

/// Five samples, of which three are right; the means of batches of two are 1.5,
/// 3.5 and 5.
std::string writeData(const std::string &labels = "labels") {
  Floats x = {1, 2, 2, 1, 3, 4, 4, 3, 6, 4};
  std::vector<uint8_t> y = {1, 0, 0, 0, 1};
  std::string path = makePath(".npz");
  EXPECT_TRUE(writeArrays(path, {{"x", view(x, f32, {5, 2})},
                                 {labels, view(y, DataType::UInt8, {5})}})
                  .ok());
  return path;
}

TEST(Evaluate, UsesEverySample) {
  Outcome outcome = runTool(writeModel(0) +
                            " --batch 2 --metric accuracy,loss"
                            " --eval-data " +
                            writeData());
  EXPECT_EQ(outcome.text, "accuracy 0.6 (3 of 5)\nloss 3 (5 samples)\n");
  EXPECT_EQ(outcome.code, 0);
  // More than there are.
  outcome = runTool(writeModel(0) + " --batch 64 --eval-data " + writeData());
  EXPECT_EQ(outcome.text, "accuracy 0.6 (3 of 5)\n");
}

TEST(Evaluate, FillsTheLastOfFixedBatches) {
  Outcome outcome = runTool(writeModel(2) +
                            " --metric accuracy,loss "
                            "--eval-data " +
                            writeData());
  EXPECT_EQ(outcome.text, "accuracy 0.6 (3 of 5)\n"
                          "loss 2.5 (4 samples; the last 1 are no whole "
                          "batch)\n");
  outcome = runTool(writeModel(64) + " --eval-data " + writeData());
  EXPECT_EQ(outcome.text, "accuracy 0.6 (3 of 5)\n");
}

TEST(Evaluate, TakesNames) {
  Outcome outcome = runTool(writeModel(0, "z", true) +
                            " --logits z --labels digits "
                            "--batch 5 --eval-data " +
                            writeData("digits"));
  EXPECT_EQ(outcome.text, "accuracy 0.6 (3 of 5)\n");
  outcome = runTool(writeModel(0, "z") +
                    " --array labels=digits --batch 5 "
                    "--eval-data " +
                    writeData("digits"));
  EXPECT_EQ(outcome.text, "accuracy 0.6 (3 of 5)\n");
}

TEST(Evaluate, FailsWithOneLine) {
  auto expect = [](const std::string &arguments, const std::string &text) {
    Outcome outcome = runTool(arguments);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.text, "amp-run: error: " + text + "\n");
  };
  std::string data = " --batch 2 --eval-data " + writeData();
  expect(writeModel(0, "z", true) + data,
         "which output has the logits? say it by --logits NAME; there are "
         "'z', 'other'");
  expect(writeModel(0) + data + " --logits logit",
         "--logits: there is no output 'logit'; did you mean 'logits'?");
  expect(writeModel(0) + data + " --labels label",
         "the data has no array 'label', which the model takes; did you mean "
         "'labels'?; --array label=ARRAY takes one of another name");
  expect(writeModel(0) + data + " --metric loss --loss lose",
         "no output 'lose' is a scalar of floats; did you mean 'loss'?");
  expect(writeModel(64) + " --metric loss --eval-data " + writeData(),
         "the data has 5 samples, fewer than the model's batch of 64");
  expect(writeModel(0) + data + " --state /nowhere",
         "the model has no states that --state could set; weights of a "
         "checkpoint are put into a model before it is compiled");
  expect(writeModel(0) + " --batch 2 --eval-data /nowhere",
         "cannot read '/nowhere': No such file or directory");
  EXPECT_EQ(runTool("a.ampx --eval-data x --metric f1").code, 2);
  EXPECT_EQ(runTool("a.ampx --logits x").code, 2);
}

} // namespace
