//===- SessionTest.cpp - runs a compiled model ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Session.h"

#include "ExecutableBuilder.h"
#include "amp/Runtime/DLPack.h"

#include "gtest/gtest.h"

#include <numeric>
#include <thread>

using namespace amp::runtime;
using namespace amp::runtime::test;
using Floats = std::vector<float>;

namespace {

constexpr DataType f32 = DataType::Float;
constexpr DataType i64 = DataType::Int64;

/// y = (x + c) + x, through the arena.
ExecutableBuilder makeSum() {
  ExecutableBuilder builder;
  uint32_t x = builder.addInput("x", f32, {2, 3});
  uint32_t c = builder.addConstant<float>(f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  uint32_t t = builder.addArena(f32, {2, 3}, 64);
  uint32_t y = builder.addOutput("y", f32, {2, 3});
  builder.header.set_arena_size(128);
  auto in = [](uint32_t a, uint32_t b) {
    return std::vector<int32_t>{static_cast<int32_t>(a),
                                static_cast<int32_t>(b)};
  };
  builder.call(0, "add", in(x, c), {t});
  builder.call(0, "add", in(t, x), {y});
  return builder;
}

TEST(Session, RunsCommandsInOrder) {
  std::unique_ptr<Session> session = makeSum().start();
  Floats x = {1, 1, 1, 2, 2, 2};
  ASSERT_TRUE(session->setInput("x", view(x, f32, {2, 3})).ok());
  Status status = session->step();
  ASSERT_TRUE(status.ok()) << status.getMessage();
  Result<TensorView> y = session->getOutput("y");
  ASSERT_TRUE(y.ok()) << y.getMessage();
  EXPECT_EQ(y->shape, (Shape{2, 3}));
  EXPECT_EQ(toVector<float>(*y), (Floats{3, 4, 5, 8, 9, 10}));
  // What the caller changes in its memory is seen by the next step.
  x[0] = 10;
  ASSERT_TRUE(session->step().ok());
  EXPECT_EQ(toVector<float>(*y)[0], 21);
  EXPECT_EQ(session->getArenaSize(), 128u);
}

TEST(Session, ComesToTheSameOnAnyNumberOfThreads) {
  for (unsigned threads : {1u, 2u, 5u}) {
    std::unique_ptr<Session> session = makeSum().start(threads);
    EXPECT_EQ(session->getThreadCount(), threads);
    Floats x = {1, 1, 1, 2, 2, 2};
    ASSERT_TRUE(session->setInput("x", view(x, f32, {2, 3})).ok());
    ASSERT_TRUE(session->step().ok());
    EXPECT_EQ(toVector<float>(*session->getOutput("y")),
              (Floats{3, 4, 5, 8, 9, 10}));
  }
}

TEST(Session, WritesOutputsWhereTheCallerWantsThem) {
  std::unique_ptr<Session> session = makeSum().start();
  Floats x(6, 1), y(6);
  ASSERT_TRUE(session->setInput("x", view(x, f32, {2, 3})).ok());
  ASSERT_TRUE(session->bindOutput("y", y.data(), 24).ok());
  ASSERT_TRUE(session->step().ok());
  EXPECT_EQ(y, (Floats{3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(session->getOutput("y")->data, y.data());
  ASSERT_TRUE(session->bindOutput("y", y.data(), 20).ok());
  EXPECT_EQ(session->step().getMessage(),
            "output 'y' takes 24 bytes, but the memory that is bound to it has "
            "20");
  EXPECT_EQ(session->getOutput("y").getMessage(),
            "output 'y' is not there: no step has run, or the last failed");
  y.assign(6, 0);
  ASSERT_TRUE(session->bindOutput("y", nullptr, 0).ok());
  ASSERT_TRUE(session->step().ok());
  EXPECT_EQ(toVector<float>(*session->getOutput("y")),
            (Floats{3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(y, Floats(6));
  EXPECT_EQ(session->bindOutput("y", reinterpret_cast<char *>(y.data()) + 1, 24)
                .getMessage(),
            "memory for output 'y' must be aligned to its elements of 4 bytes");
}

TEST(Session, CopiesOutputsThatLieElsewhere) {
  ExecutableBuilder builder;
  uint32_t x = builder.addInput("x", f32, {2});
  uint32_t t = builder.addArena(f32, {2}, 0);
  builder.header.set_arena_size(64);
  builder.call(0, "add", {0, 0}, {t});
  builder.markOutput("t", t);
  builder.markOutput("x", x);
  std::unique_ptr<Session> session = builder.start();
  Floats in = {1, 2}, t0(2), x0(2);
  ASSERT_TRUE(session->setInput("x", view(in, f32, {2})).ok());
  ASSERT_TRUE(session->bindOutput("t", t0.data(), 8).ok());
  ASSERT_TRUE(session->bindOutput("x", x0.data(), 8).ok());
  ASSERT_TRUE(session->step().ok());
  EXPECT_EQ(t0, (Floats{2, 4}));
  EXPECT_EQ(x0, (Floats{1, 2}));
  ASSERT_TRUE(session->bindOutput("x", x0.data(), 4).ok());
  EXPECT_EQ(session->step().getMessage(),
            "output 'x' takes 8 bytes, but the memory that is bound to it has "
            "4");
}

TEST(Session, SaysWhatIsWrongWithInputs) {
  ExecutableBuilder builder;
  builder.addInput("input_ids", f32, {Dim::unknown(), 3}, {"batch", ""});
  builder.addInput("mask", f32, {Dim::unknown()}, {"batch"});
  std::unique_ptr<Session> session = builder.start();
  Floats data(12);
  auto set = [&](const char *name, const TensorView &tensor) {
    return session->setInput(name, tensor).getMessage();
  };
  EXPECT_EQ(set("input_id", view(data, f32, {2, 3})),
            "there is no input 'input_id'; did you mean 'input_ids'?");
  EXPECT_EQ(set("x", view(data, f32, {2, 3})),
            "there is no input 'x'; there are 'input_ids', 'mask'");
  EXPECT_EQ(set("input_ids", view(data, DataType::Int32, {2, 3})),
            "input 'input_ids' must be of type float32, but got int32");
  EXPECT_EQ(set("input_ids", view(data, f32, {6})),
            "input 'input_ids' must have rank 2 (batchx3), but got rank 1 (6)");
  EXPECT_EQ(set("input_ids", view(data, f32, {3, 2})),
            "input 'input_ids' must have 3 for axis 1 (batchx3), but got 2 "
            "(3x2)");
  EXPECT_EQ(set("input_ids", view(data, f32, {-1, 3})),
            "input 'input_ids' must have dimensions that memory can hold, but "
            "got -1x3");
  EXPECT_EQ(set("input_ids", {nullptr, f32, {2, 3}}),
            "input 'input_ids' must have data, but got a null pointer");
  EXPECT_EQ(set("input_ids",
                {reinterpret_cast<char *>(data.data()) + 2, f32, {2, 3}}),
            "input 'input_ids' must be aligned to its elements of 4 bytes, but "
            "got an address between them");
  EXPECT_EQ(set("input_ids", view(data, f32, {2, 3})), "");
  EXPECT_EQ(session->step().getMessage(),
            "input 'mask' is not set, and has no default");
  EXPECT_EQ(set("mask", view(data, f32, {4})), "");
  EXPECT_EQ(session->step().getMessage(),
            "input 'mask' has 4 for axis 0 ('batch'), but input 'input_ids' "
            "has 2 for axis 0, which must be equal");
  EXPECT_EQ(set("mask", view(data, f32, {2})), "");
  EXPECT_EQ(session->step().getMessage(), "");
  EXPECT_EQ(session->getOutput("y").getMessage(), "there is no output 'y'");
  EXPECT_EQ(session->getState("w").getMessage(), "there is no state 'w'");
}

TEST(Session, SaysWhichAxesOfInputsMustBeEqual) {
  ExecutableBuilder builder;
  uint32_t a = builder.addInput("a", f32, {Dim::unknown()});
  builder.addInput("b", f32, {Dim::axis(a, 0)});
  std::unique_ptr<Session> session = builder.start();
  Floats data(4);
  ASSERT_TRUE(session->setInput("a", view(data, f32, {4})).ok());
  ASSERT_TRUE(session->setInput("b", view(data, f32, {3})).ok());
  EXPECT_EQ(session->step().getMessage(),
            "input 'b' has 3 for axis 0, but input 'a' has 4 for axis 0, which "
            "must be equal");
}

TEST(Session, HasDefaultsForInputs) {
  ExecutableBuilder builder;
  uint32_t c = builder.addConstant<float>(f32, {2}, {5, 6});
  uint32_t x = builder.addInput("x", f32, {Dim::unknown()});
  builder.header.mutable_inputs(0)->set_otherwise(c);
  uint32_t y = builder.addOutput("y", f32, {Dim::axis(x, 0)});
  builder.call(0, "add", {1, 1}, {y});
  std::unique_ptr<Session> session = builder.start();
  EXPECT_TRUE(session->getExecutable().getInputs()[0].isOptional);
  ASSERT_TRUE(session->step().ok());
  EXPECT_EQ(toVector<float>(*session->getOutput("y")), (Floats{10, 12}));
  Floats data = {1, 2, 3};
  ASSERT_TRUE(session->setInput("x", view(data, f32, {3})).ok());
  ASSERT_TRUE(session->step().ok());
  EXPECT_EQ(toVector<float>(*session->getOutput("y")), (Floats{2, 4, 6}));
}

TEST(Session, StatesOutliveSteps) {
  ExecutableBuilder builder;
  builder.addInput("x", f32, {2});                             // 0
  uint32_t c = builder.addConstant<float>(f32, {2}, {10, 20}); // 1
  uint32_t w = builder.addState("w", f32, {2}, c);             // 2
  uint32_t next = builder.addView(f32, {2}, w);                // 3
  builder.call(0, "add", {2, 0}, {next});
  builder.markOutput("w_out", next);
  Result<std::shared_ptr<const Executable>> executable = builder.load();
  ASSERT_TRUE(executable.ok()) << executable.getMessage();
  auto one = std::move(*Session::create(*executable, {1}));
  auto two = std::move(*Session::create(*executable, {1}));
  Floats x = {1, 2};
  for (Session *session : {one.get(), two.get()})
    ASSERT_TRUE(session->setInput("x", view(x, f32, {2})).ok());
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(one->step().ok());
  ASSERT_TRUE(two->step().ok());
  EXPECT_EQ(toVector<float>(*one->getState("w")), (Floats{13, 26}));
  EXPECT_EQ(toVector<float>(*one->getOutput("w_out")), (Floats{13, 26}));
  EXPECT_EQ(toVector<float>(*two->getState("w")), (Floats{11, 22}));
  Floats w0 = {0, 0};
  ASSERT_TRUE(one->setState("w", view(w0, f32, {2})).ok());
  ASSERT_TRUE(one->step().ok());
  EXPECT_EQ(toVector<float>(*one->getState("w")), (Floats{1, 2}));
  EXPECT_EQ(one->setState("w", view(w0, f32, {1, 2})).getMessage(),
            "state 'w' must have rank 1 (2), but got rank 2 (1x2)");
  one->resetStates();
  EXPECT_EQ(toVector<float>(*one->getState("w")), (Floats{10, 20}));
}

TEST(Session, SharesConstantsBetweenSessionsOnThreads) {
  Result<std::shared_ptr<const Executable>> executable = makeSum().load();
  ASSERT_TRUE(executable.ok());
  std::vector<std::thread> threads;
  std::vector<Floats> results(4);
  for (Floats &result : results)
    threads.emplace_back([&] {
      auto session = std::move(*Session::create(*executable, {2}));
      Floats x = {1, 1, 1, 2, 2, 2};
      (void)session->setInput("x", view(x, f32, {2, 3}));
      for (int i = 0; i < 50; ++i)
        (void)session->step();
      result = toVector<float>(*session->getOutput("y"));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Floats &result : results)
    EXPECT_EQ(result, (Floats{3, 4, 5, 8, 9, 10}));
}

TEST(Session, KnowsViewsAndWritesInPlace) {
  ExecutableBuilder builder;
  builder.addInput("x", f32, {8});                     // 0
  uint32_t half = builder.addView(f32, {2, 2}, 0, 16); // 1: x[4:]
  uint32_t row = builder.addView(f32, {2}, half, 8);   // 2: x[6:]
  uint32_t t = builder.addArena(f32, {2, 2}, 0);       // 3
  uint32_t again = builder.addView(f32, {2, 2}, t);    // 4, in place
  uint32_t end = builder.addView(f32, {2}, again, 8);  // 5
  builder.header.set_arena_size(64);
  uint32_t y = builder.addOutput("y", f32, {2}); // 6
  uint32_t z = builder.addOutput("z", f32, {2}); // 7
  builder.call(0, "add", {1, 1}, {t});
  builder.call(0, "add", {3, 3}, {again});
  builder.call(0, "copy", {static_cast<int32_t>(row)}, {y});
  builder.call(0, "copy", {static_cast<int32_t>(end)}, {z});
  std::unique_ptr<Session> session = builder.start();
  for (float factor : {1.0f, 2.0f}) {
    Floats x(8); // New memory each time.
    for (size_t i = 0; i < 8; ++i)
      x[i] = factor * static_cast<float>(i);
    ASSERT_TRUE(session->setInput("x", view(x, f32, {8})).ok());
    ASSERT_TRUE(session->step().ok());
    EXPECT_EQ(toVector<float>(*session->getOutput("y")),
              (Floats{6 * factor, 7 * factor}));
    EXPECT_EQ(toVector<float>(*session->getOutput("z")),
              (Floats{24 * factor, 28 * factor}));
  }
}

TEST(Session, LeavesInputsOutAndNamesTheNodeThatFails) {
  ExecutableBuilder builder;
  builder.addInput("x", f32, {1});
  uint32_t n = builder.addOutput("n", i64, {});
  builder.call(0, "count", {-1, 0, -1, 0}, {n});
  std::unique_ptr<Session> session = builder.start();
  Floats x(1);
  ASSERT_TRUE(session->setInput("x", view(x, f32, {1})).ok());
  ASSERT_TRUE(session->step().ok());
  EXPECT_EQ(*session->getOutput("n")->as<int64_t>(), 2);

  ExecutableBuilder other;
  n = other.addOutput("n", i64, {});
  other.call(0, "count", {-1}, {n});
  EXPECT_EQ(other.start()->step().getMessage(),
            "node 'count_node' ('count'): nothing to count");
}

TEST(Session, RunsCompiledCode) {
  for (unsigned threads : {1u, 3u}) {
    ExecutableBuilder builder;
    uint32_t x = builder.addInput("x", f32, {Dim::unknown(), 4});
    uint32_t y = builder.addOutput("y", f32, {Dim::axis(x, 0), 4});
    uint32_t z = builder.addOutput("z", f32, {Dim::axis(x, 0), 4});
    uint32_t add = builder.addFunction("Add");
    uint32_t reverse = builder.addFunction("UseScratch");
    auto &command = *builder.launch(0, add, {0, 0}, {y}).mutable_launch();
    ExecutableBuilder::set(*command.add_sizes(), 4);
    ExecutableBuilder::set(*command.add_extent(), Dim::axis(x, 0));
    auto &other = *builder.launch(0, reverse, {1}, {z}).mutable_launch();
    ExecutableBuilder::set(*other.add_extent(), 5);
    other.set_scratch(32);
    std::unique_ptr<Session> session = builder.start(threads);
    Floats data(40), expected(40), reversed(40);
    std::iota(data.begin(), data.end(), 0.0f);
    for (size_t i = 0; i < 40; ++i) {
      expected[i] = 2 * data[i];
      reversed[i / 8 * 8 + 7 - i % 8] = 2 * data[i];
    }
    ASSERT_TRUE(session->setInput("x", view(data, f32, {10, 4})).ok());
    Status status = session->step();
    ASSERT_TRUE(status.ok()) << status.getMessage();
    EXPECT_EQ(toVector<float>(*session->getOutput("y")), expected);
    EXPECT_EQ(toVector<float>(*session->getOutput("z")), reversed);
  }
}

TEST(Session, KnowsStrings) {
  ExecutableBuilder builder;
  uint32_t x = builder.addInput("x", DataType::String, {Dim::unknown()});
  uint32_t c = builder.addValue(DataType::String, {2});
  builder.header.mutable_values(static_cast<int>(c))->set_constant(0);
  for (const char *text : {"", "a string that is too long for the short form"})
    builder.header.mutable_values(static_cast<int>(c))->add_strings(text);
  uint32_t y = builder.addOutput("y", DataType::String, {Dim::axis(x, 0)});
  uint32_t t = builder.addArena(DataType::String, {2});
  uint32_t z = builder.addOutput("z", DataType::String, {2});
  builder.call(0, "copy", {static_cast<int32_t>(x)}, {y});
  builder.call(0, "copy", {static_cast<int32_t>(c)}, {t});
  builder.call(0, "copy", {static_cast<int32_t>(t)}, {z});
  std::unique_ptr<Session> session = builder.start();
  std::vector<std::string> in = {"x", "yy", "another string that is long"};
  for (int64_t size : {1, 3, 2}) {
    ASSERT_TRUE(
        session->setInput("x", view(in, DataType::String, {size})).ok());
    Status status = session->step();
    ASSERT_TRUE(status.ok()) << status.getMessage();
    EXPECT_EQ(toVector<std::string>(*session->getOutput("y")),
              (std::vector<std::string>{in.begin(), in.begin() + size}));
    EXPECT_EQ(session->getOutput("z")->as<std::string>()[1].size(), 44u);
  }
}

TEST(Session, TellsAnObserver) {
  struct Observer : CommandObserver {
    void handle(const CommandEvent &event) override {
      text += std::string(event.node) + " " + std::string(event.operation) +
              " " + std::to_string(event.inputCount) + " " +
              toString(event.outputs[0].shape) + "\n";
      EXPECT_LE(event.begin, event.end);
    }
    std::string text;
  } observer;
  std::unique_ptr<Session> session = makeSum().start();
  Floats x(6);
  ASSERT_TRUE(session->setInput("x", view(x, f32, {2, 3})).ok());
  session->setObserver(&observer);
  ASSERT_TRUE(session->step().ok());
  EXPECT_EQ(observer.text, "add_node add 2 2x3\nadd_node add 2 2x3\n");
}

TEST(Session, SaysWhenMemoryRunsOut) {
  ExecutableBuilder builder;
  builder.addArena(f32, {int64_t{1} << 58}, 0);
  builder.header.set_arena_size(uint64_t{1} << 60);
  EXPECT_EQ(builder.start()->step().getMessage(),
            "out of memory: the arena of a step needs 1152921504606846976 "
            "bytes");
}

TEST(DLPack, GoesThereAndBack) {
  Floats data(6);
  TensorView tensor = view(data, DataType::BFloat16, {2, 3});
  DLTensorView there = *toDLPack(tensor);
  EXPECT_EQ(there.tensor.dtype.bits, 16);
  EXPECT_EQ(there.tensor.dtype.code, kDLBfloat);
  Result<TensorView> back = fromDLPack(there.tensor);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->data, tensor.data);
  EXPECT_EQ(back->type, tensor.type);
  EXPECT_EQ(back->shape, tensor.shape);

  int64_t strides[] = {1, 2};
  there.tensor.strides = strides;
  EXPECT_EQ(fromDLPack(there.tensor).getMessage(),
            "the tensor must be dense and row-major");
  there.tensor.strides = nullptr;
  there.tensor.device.device_type = kDLCUDA;
  EXPECT_EQ(fromDLPack(there.tensor).getMessage(),
            "the tensor must be in the memory of the CPU");
  there.tensor.device.device_type = kDLCPU;
  there.tensor.dtype.lanes = 4;
  EXPECT_EQ(fromDLPack(there.tensor).getMessage(),
            "there is no element type for DLPack's code 4 with 16 bits and 4 "
            "lanes");
  tensor.type = DataType::String;
  EXPECT_EQ(toDLPack(tensor).getMessage(), "DLPack has no type string");
}

} // namespace
