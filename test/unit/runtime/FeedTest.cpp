//===- FeedTest.cpp - batches as inputs -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Feed.h"
#include "DataSource.h"
#include "TrainingTesting.h"

#include "gtest/gtest.h"

#include <list>

using namespace amp::run;
using namespace amp::run::test;
using namespace amp::runtime;
using namespace amp::runtime::test;
using Floats = std::vector<float>;

namespace {

constexpr DataType f32 = DataType::Float, i64 = DataType::Int64;

/// A session whose outputs are its inputs.
class FeedTest : public testing::Test {
protected:
  void addInput(const std::string &name, DataType type,
                const std::vector<Dim> &dims,
                const std::vector<std::string> &symbols = {}) {
    values.push_back(int32_t(builder.addInput(name, type, dims, symbols)));
    types.push_back(type);
    ranks.push_back(dims.size());
    names.push_back(name);
  }

  void start() {
    for (size_t i = 0; i < values.size(); ++i) {
      std::vector<Dim> dims;
      for (uint32_t axis = 0; axis < ranks[i]; ++axis)
        dims.push_back(Dim::axis(uint32_t(values[i]), axis));
      uint32_t output = builder.addOutput("out_" + names[i], types[i], dims);
      builder.call(0, "copy", {values[i]}, {output});
    }
    session = builder.start();
  }

  template <typename T>
  void addArray(const std::string &name, const std::vector<T> &elements,
                DataType type, Shape shape) {
    auto &kept =
        buffers.emplace_back(reinterpret_cast<const char *>(elements.data()),
                             elements.size() * sizeof(T));
    arrays.push_back({name, {kept.data(), type, shape}});
  }

  Status create(const FeedOptions &options = {}) {
    if (!session)
      start();
    std::string path = makePath(".npz");
    EXPECT_TRUE(writeArrays(path, arrays).ok());
    Result<DataSource> opened =
        DataSource::open({path}, [](std::string_view) { return true; });
    EXPECT_TRUE(opened.ok()) << opened.getMessage();
    source = std::move(*opened);
    Result<Feed> created = Feed::create(*session, *source, options);
    if (!created.ok())
      return created.getStatus();
    feed = std::move(*created);
    return {};
  }

  template <typename T>
  std::vector<T> load(uint64_t first, uint64_t count, const std::string &name,
                      std::optional<uint64_t> seed = std::nullopt) {
    Result<SampleOrder> order =
        SampleOrder::create(feed->getSampleCount(), seed);
    order->beginEpoch(0);
    EXPECT_EQ(feed->load(*order, first, count).getMessage(), "");
    EXPECT_EQ(session->step().getMessage(), "");
    return toVector<T>(*session->getOutput("out_" + name));
  }

  ExecutableBuilder builder;
  std::vector<int32_t> values;
  std::vector<DataType> types;
  std::vector<size_t> ranks;
  std::vector<std::string> names;
  std::list<std::string> buffers;
  std::vector<NamedTensor> arrays;
  std::unique_ptr<Session> session;
  std::optional<DataSource> source;
  std::optional<Feed> feed;
};

FeedOptions withBatch(uint64_t batch) {
  FeedOptions options;
  options.batch = batch;
  return options;
}

TEST_F(FeedTest, LoadsWhatTheOrderSays) {
  addInput("x", f32, {Dim::unknown(), 2}, {"n", ""});
  addInput("y", i64, {Dim::unknown()}, {"n"});
  addArray<float>("x", {0, 0, 1, 10, 2, 20, 3, 30, 4, 40}, f32, {5, 2});
  addArray<int64_t>("y", {0, 1, 2, 3, 4}, i64, {5});
  ASSERT_EQ(create(withBatch(2)).getMessage(), "");
  EXPECT_EQ(feed->getSampleCount(), 5u);
  EXPECT_EQ(feed->getBatchSize(), 2u);
  EXPECT_FALSE(feed->isBatchFixed());
  EXPECT_EQ(load<float>(2, 2, "x"), (Floats{2, 20, 3, 30}));
  EXPECT_EQ(load<int64_t>(2, 2, "y"), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(load<float>(4, 1, "x"), (Floats{4, 40}));
  Result<SampleOrder> order = SampleOrder::create(5, 1);
  order->beginEpoch(0);
  auto a = float((*order)[2]), b = float((*order)[3]);
  EXPECT_EQ(load<float>(2, 2, "x", 1), (Floats{a, 10 * a, b, 10 * b}));
  EXPECT_EQ(feed->getSample(*order, 1), (*order)[3]);
}

TEST_F(FeedTest, RepeatsTheLastSampleToFillAFixedBatch) {
  addInput("x", f32, {3});
  addArray<float>("x", {1, 2, 3, 4}, f32, {4});
  ASSERT_EQ(create().getMessage(), "");
  EXPECT_TRUE(feed->isBatchFixed());
  EXPECT_EQ(load<float>(3, 1, "x"), (Floats{4, 4, 4}));
}

TEST_F(FeedTest, ConvertsWhatLosesNothing) {
  addInput("x", f32, {2, 2});
  addInput("y", i64, {2});
  addArray<uint8_t>("x", {1, 2, 3, 255}, DataType::UInt8, {2, 2});
  addArray<int32_t>("y", {-7, 1 << 30}, DataType::Int32, {2});
  ASSERT_EQ(create().getMessage(), "");
  EXPECT_EQ(load<float>(0, 2, "x"), (Floats{1, 2, 3, 255}));
  EXPECT_EQ(load<int64_t>(0, 2, "y"), (std::vector<int64_t>{-7, 1 << 30}));
}

TEST_F(FeedTest, TakesRenamedArraysConstantsAndLabels) {
  addInput("x", f32, {1});
  addInput("rate", f32, {});
  addArray<float>("images", {5, 6}, f32, {2});
  addArray<uint8_t>("digits", {3, 4}, DataType::UInt8, {2});
  FeedOptions options;
  options.renames = {"x=images", "labels=digits"};
  options.constants = {"rate"};
  options.labels = "labels";
  start();
  Floats rate = {2};
  ASSERT_TRUE(session->setInput("rate", view(rate, f32, {})).ok());
  auto wanted = Feed::findWanted(session->getExecutable(), options);
  EXPECT_EQ(
      std::vector<std::string>(wanted.begin(), wanted.end()),
      (std::vector<std::string>{"digits", "images", "labels", "rate", "x"}));
  ASSERT_EQ(create(options).getMessage(), "");
  EXPECT_EQ(load<float>(1, 1, "x"), Floats{6});
  ASSERT_TRUE(feed->getLoaded("labels"));
  EXPECT_EQ(*feed->getLoaded("labels")->as<uint8_t>(), 4);
  EXPECT_EQ(feed->getInputs(), std::vector<std::string>{"x"});
}

TEST_F(FeedTest, LeavesOutInputsWithADefault) {
  addInput("x", f32, {1});
  addInput("rate", f32, {});
  uint32_t otherwise = builder.addConstant<float>(f32, {}, {3});
  builder.header.mutable_inputs(1)->set_otherwise(otherwise);
  addArray<float>("x", {5}, f32, {1});
  ASSERT_EQ(create().getMessage(), "");
  EXPECT_EQ(load<float>(0, 1, "rate"), Floats{3});
}

TEST_F(FeedTest, FingerprintsAreOfNamesTypesDimensionsAndContent) {
  addInput("x", f32, {Dim::unknown(), 1}, {"n", ""});
  auto compute = [&](const Floats &elements, const std::string &name = "x") {
    arrays.clear();
    addArray<float>(name, elements, f32, {int64_t(elements.size()), 1});
    FeedOptions options = withBatch(1);
    options.renames = {"x=" + name};
    EXPECT_EQ(create(options).getMessage(), "");
    return feed->computeFingerprint();
  };
  Floats x(100000, 1);
  uint64_t first = compute(x);
  EXPECT_EQ(compute(x), first);
  EXPECT_EQ(compute(x, "other"), first); // The same for the model.
  for (size_t changed : {size_t{0}, x.size() - 1}) {
    Floats other = x;
    other[changed] = 2;
    EXPECT_NE(compute(other), first) << changed;
  }
  EXPECT_NE(compute(Floats(99999, 1)), first);
  EXPECT_NE(compute({1}), compute({2}));
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(FeedTest, SaysWhichArrayIsMissing) {
  addInput("images", f32, {1});
  addArray<float>("image", {1}, f32, {1});
  EXPECT_EQ(create().getMessage(),
            "the data has no array 'images', which the model takes; did you "
            "mean 'image'?; --array images=ARRAY takes one of another name");
  FeedOptions options;
  options.renames = {"images=imaje"};
  EXPECT_EQ(create(options).getMessage(),
            "the data has no array 'imaje'; did you mean 'image'?");
  options.renames = {"imags=image"};
  EXPECT_EQ(create(options).getMessage(),
            "--array imags=image: there is no input 'imags'; did you mean "
            "'images'?");
  options.renames = {"images=image"};
  options.constants = {"images"};
  EXPECT_EQ(create(options).getMessage(),
            "input 'images' is in the data and in --inputs");
}

TEST_F(FeedTest, ComparesTypesAndDimensions) {
  addInput("x", f32, {Dim::unknown(), 3}, {"n", ""});
  auto createWith = [&](DataType type, Shape shape) {
    arrays.clear();
    addArray<double>("x", std::vector<double>(64), type, shape);
    return create(withBatch(1)).getMessage();
  };
  EXPECT_EQ(createWith(DataType::Double, {2, 3}),
            "array 'x' has type float64, but input 'x' has float32, which has "
            "not all of its values; save array.astype('float32')");
  EXPECT_EQ(createWith(f32, {}),
            "array 'x' is a scalar, which has no axis of samples");
  EXPECT_EQ(createWith(f32, {2}),
            "array 'x' has rank 1 (2), but input 'x' has rank 2 (nx3)");
  EXPECT_EQ(createWith(f32, {2, 4}),
            "array 'x' has 4 for axis 1 (2x4), but input 'x' has 3 (nx3)");
  EXPECT_EQ(createWith(f32, {0, 3}), "array 'x' has no samples");
  EXPECT_EQ(createWith(f32, {2, 3}), "");
}

TEST_F(FeedTest, ComparesSymbolsAndLengths) {
  addInput("x", f32, {Dim::unknown(), Dim::unknown()}, {"n", "T"});
  addInput("y", f32, {Dim::unknown(), Dim::unknown()}, {"n", "T"});
  Floats zeros(12);
  addArray("x", zeros, f32, {4, 3});
  addArray("y", zeros, f32, {4, 2});
  EXPECT_EQ(create(withBatch(1)).getMessage(),
            "array 'y' has 2 for axis 1 ('T'), but array 'x' has 3 for axis 1, "
            "which must be equal");
  arrays[1].tensor.shape = {3, 3};
  EXPECT_EQ(create(withBatch(1)).getMessage(),
            "array 'x' has 4 samples, but array 'y' has 3");
}

TEST_F(FeedTest, FindsTheBatch) {
  addInput("x", f32, {4});
  addInput("y", f32, {2});
  Floats zeros(4);
  addArray("x", zeros, f32, {4});
  addArray("y", zeros, f32, {4});
  EXPECT_EQ(create().getMessage(),
            "the model takes batches of different sizes: 4 for input 'x', 2 "
            "for input 'y'");
}

TEST_F(FeedTest, ComparesTheBatch) {
  addInput("x", f32, {4, 1});
  addArray("x", Floats(4), f32, {4, 1});
  EXPECT_EQ(create(withBatch(2)).getMessage(),
            "--batch 2: input 'x' has 4 for axis 0 (4x1)");
  EXPECT_EQ(create(withBatch(4)).getMessage(), "");
}

TEST_F(FeedTest, AsksForABatch) {
  addInput("x", f32, {Dim::unknown()}, {"n"});
  addArray("x", Floats(4), f32, {4});
  EXPECT_EQ(create().getMessage(),
            "the model takes batches of any size; choose one by --batch N");
  EXPECT_EQ(create(withBatch(uint64_t{1} << 62)).getMessage(),
            "a batch of 4611686018427387904 samples of array 'x' is more than "
            "memory can hold");
}

TEST_F(FeedTest, RefusesBatchesOfNothing) {
  addInput("x", f32, {0});
  addArray("x", Floats(4), f32, {4});
  EXPECT_EQ(create().getMessage(), "the model takes batches of no samples");
}

TEST_F(FeedTest, RefusesScalars) {
  addInput("rate", f32, {});
  addArray("rate", Floats(4), f32, {4});
  EXPECT_EQ(create().getMessage(), "input 'rate' is a scalar, which has no "
                                   "axis of samples; give it by --inputs");
}

TEST_F(FeedTest, WantsInputs) {
  uint32_t c = builder.addConstant<float>(f32, {1}, {1});
  uint32_t y = builder.addOutput("y", f32, {1});
  builder.call(0, "copy", {int32_t(c)}, {y});
  addArray("x", Floats(4), f32, {4});
  EXPECT_EQ(create().getMessage(), "the model takes no data: it has no inputs");
}

TEST_F(FeedTest, WantsLabelsOfIntegers) {
  addInput("x", f32, {1});
  addArray("x", Floats(2), f32, {2});
  addArray("labels", Floats(2), f32, {2});
  FeedOptions options;
  options.labels = "labels";
  EXPECT_EQ(create(options).getMessage(),
            "labels must be integers, one or more for each sample, but array "
            "'labels' is 2 of float32");
  options.labels = "label";
  EXPECT_EQ(create(options).getMessage(),
            "the data has no array 'label', which the model takes; did you "
            "mean 'labels'?; --array label=ARRAY takes one of another name");
}

} // namespace
