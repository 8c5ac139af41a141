//===- MetricsLogTest.cpp - what training says of itself ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MetricsLog.h"
#include "Progress.h"
#include "TrainingPosition.h"
#include "TrainingTesting.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <fcntl.h>
#include <fstream>
#include <limits>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace amp::run;
using namespace amp::run::test;
using namespace amp::runtime;
using namespace amp::runtime::test;
using namespace std::chrono_literals;

namespace {

constexpr DataType f32 = DataType::Float;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

struct Output {
  std::string name;
  DataType type;
  std::vector<Dim> dims;
};

/// The names of an executable's scalars, or why there are none.
std::string findScalars(const std::vector<Output> &outputs,
                        const std::string &loss = "") {
  ExecutableBuilder builder;
  for (const Output &output : outputs) {
    size_t count = 1;
    for (const Dim &dim : output.dims)
      count *= size_t(dim.size);
    std::string zeros(count * getByteSize(output.type), '\0');
    uint32_t c = builder.addConstant(output.type, output.dims, zeros.data(),
                                     zeros.size());
    uint32_t value = builder.addOutput(output.name, output.type, output.dims);
    builder.call(0, "copy", {int32_t(c)}, {value});
  }
  uint32_t c = builder.addConstant<float>(f32, {}, {0});
  builder.addState("amp.scale", f32, {}, c);
  Result<std::shared_ptr<const Executable>> executable = builder.load();
  EXPECT_TRUE(executable.ok()) << executable.getMessage();
  Result<ScalarValues> values = ScalarValues::find(**executable, loss);
  if (!values.ok())
    return values.getMessage();
  std::string names;
  for (const Scalar &scalar : values->get())
    names += scalar.name + " ";
  return names;
}

TEST(ScalarValues, BeginWithTheLoss) {
  EXPECT_EQ(
      findScalars(
          {{"a", DataType::Int64, {}}, {"x", f32, {2}}, {"one", f32, {1, 1}}}),
      "one a amp.scale ");
  EXPECT_EQ(findScalars({{"a", f32, {}}, {"loss", f32, {}}}),
            "loss a amp.scale ");
  EXPECT_EQ(findScalars({{"loss", f32, {}}, {"total_loss", f32, {}}}),
            "total_loss loss amp.scale ");
  EXPECT_EQ(findScalars({{"total_loss", f32, {}}, {"loss", f32, {}}}, "loss"),
            "loss total_loss amp.scale ");
  EXPECT_EQ(findScalars({{"amp.zero_gradients", f32, {}},
                         {"l", DataType::Float16, {}}}),
            "l amp.zero_gradients amp.scale ");
}

TEST(ScalarValues, SayWhereTheLossIsNot) {
  EXPECT_EQ(findScalars({{"y", f32, {2}}}),
            "the model has no loss: none of its outputs is a scalar of floats");
  EXPECT_EQ(findScalars({{"a", f32, {}}, {"b", f32, {}}}),
            "which output is the loss? say it by --loss NAME; there are 'a', "
            "'b'");
  EXPECT_EQ(findScalars({{"loss", f32, {}}}, "lost"),
            "no output 'lost' is a scalar of floats; did you mean 'loss'?");
}

//===----------------------------------------------------------------------===//
// The log
//===----------------------------------------------------------------------===//

/// A session that has run a step.
std::unique_ptr<Session> runStep(float loss) {
  ExecutableBuilder builder;
  uint32_t a = builder.addConstant<float>(f32, {}, {loss});
  uint32_t b = builder.addConstant<int64_t>(DataType::Int64, {}, {-5});
  uint32_t d = builder.addConstant<uint16_t>(DataType::Float16, {1}, {0x3555});
  auto add = [&](const std::string &name, DataType type,
                 const std::vector<Dim> &dims, uint32_t from) {
    uint32_t output = builder.addOutput(name, type, dims);
    builder.call(0, "copy", {int32_t(from)}, {output});
  };
  add("loss", f32, {}, a);
  add("seconds", DataType::Int64, {}, b);
  add("a\"\n\\", DataType::Float16, {1}, d);
  add("double", DataType::Double, {},
      builder.addConstant<double>(DataType::Double, {}, {0.1}));
  const uint32_t number = 4000000000;
  add("u32", DataType::UInt32, {},
      builder.addConstant(DataType::UInt32, {}, &number, 4));
  const char truth = 1;
  add("amp.found_inf", DataType::Bool, {},
      builder.addConstant(DataType::Bool, {}, &truth, 1));
  builder.addState("amp.scale", f32, {},
                   builder.addConstant<float>(f32, {}, {65536}));
  std::unique_ptr<Session> session = builder.start();
  EXPECT_EQ(session->step().getMessage(), "");
  return session;
}

ScalarValues readScalars(const Session &session) {
  Result<ScalarValues> values =
      ScalarValues::find(session.getExecutable(), "loss");
  EXPECT_TRUE(values.ok());
  EXPECT_TRUE(values->read(session).ok());
  return *values;
}

TEST(MetricsLog, HasEveryNumber) {
  std::unique_ptr<Session> session = runStep(0.1f);
  ScalarValues values = readScalars(*session);
  EXPECT_TRUE(values.isSkipped());
  EXPECT_EQ(values.getScale(), 65536);
  std::string line;
  appendMetrics(line, {7, 2, 1234.5, 0.25}, values);
  EXPECT_EQ(line,
            R"({"step": 7, "epoch": 2, "loss": 0.1, "output.seconds": -5, )"
            R"("a\"\u000a\\": 0.33325195, "double": 0.1, "u32": 4000000000, )"
            R"("amp.found_inf": true, "amp.scale": 65536, )"
            R"("samples_per_second": 1234.5, "seconds": 0.25})"
            "\n");
}

TEST(MetricsLog, HasNullForWhatJSONHasNot) {
  for (float loss : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    std::unique_ptr<Session> session = runStep(loss);
    std::string line;
    appendMetrics(line, {1, 1, 1, 1}, readScalars(*session));
    EXPECT_NE(line.find(R"("loss": null, )"), std::string::npos) << line;
  }
}

TEST(MetricsLog, GoesOnBehindAStep) {
  std::unique_ptr<Session> session = runStep(1);
  ScalarValues values = readScalars(*session);
  std::string path = makePath(".jsonl");
  auto writeSteps = [&](uint64_t resumed, uint64_t end) {
    MetricsLog log;
    ASSERT_EQ(log.open(path, resumed).getMessage(), "");
    for (uint64_t step = resumed + 1; step <= end; ++step)
      ASSERT_EQ(log.write({step, 1, 1, 1}, values).getMessage(), "");
    ASSERT_EQ(log.sync().getMessage(), "");
  };
  auto countLines = [&] {
    std::string text = readFile(path);
    return std::count(text.begin(), text.end(), '\n');
  };
  writeSteps(0, 12);
  EXPECT_EQ(countLines(), 12);
  // A line that was not finished is cut off, as are those of later steps.
  std::ofstream(path, std::ios::app) << "{\"step\": 13, \"ep";
  writeSteps(12, 13);
  EXPECT_EQ(countLines(), 13);
  writeSteps(10, 11);
  EXPECT_EQ(countLines(), 11);
  EXPECT_EQ(readFile(path).find("{\"step\": 12"), std::string::npos);
  // A run from the beginning.
  writeSteps(0, 1);
  EXPECT_EQ(countLines(), 1);
  // Steps before the log began.
  unlink(path.c_str());
  writeSteps(5, 7);
  EXPECT_EQ(countLines(), 2);
  EXPECT_EQ(MetricsLog().open("/nowhere/log", 0).getMessage(),
            "cannot write '/nowhere/log': No such file or directory");
}

TEST(MetricsLog, SaysWhenTheDiskIsFull) {
  std::unique_ptr<Session> session = runStep(1);
  MetricsLog log;
  ASSERT_EQ(log.open("/dev/full", 0).getMessage(), "");
  EXPECT_EQ(log.write({1, 1, 1, 1}, readScalars(*session)).getMessage(),
            "cannot write '/dev/full': No space left on device");
}

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

TEST(Progress, IsOneLine) {
  ProgressState state;
  state.step = 37;
  state.steps = 110;
  state.samplesPerSecond = 5123.4;
  state.secondsLeft = 12.9;
  std::string line;
  appendProgress(line, state);
  EXPECT_EQ(line, "step 37/110  5123 samples/s  0:12 left");
  state.epoch = 2;
  state.epochs = 5;
  state.loss = 0.43121;
  state.scale = 65536;
  state.skipped = 3;
  state.secondsLeft = 3723;
  line.clear();
  appendProgress(line, state);
  EXPECT_EQ(line, "epoch 2/5  step 37/110  loss 0.4312  scale 65536  3 skipped"
                  "  5123 samples/s  1:02:03 left");
}

TEST(Progress, IsRewrittenTenTimesASecond) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ProgressState state;
  state.steps = 1000;
  Progress::Clock::time_point time{};
  {
    Progress progress(ends[1], true);
    for (state.step = 1; state.step <= 1000; ++state.step, time += 1ms)
      progress.draw(state, time);
  }
  {
    Progress progress(ends[1], false);
    EXPECT_FALSE(progress.isDue(time));
    progress.draw(state, time);
  }
  close(ends[1]);
  std::string text(100000, '\0');
  text.resize(size_t(read(ends[0], text.data(), text.size())));
  close(ends[0]);
  // Ten lines, and what clears the last.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 12);
  EXPECT_EQ(text.substr(text.size() - 3), "  \r");
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(Progress, FitsIntoTheTerminal) {
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(terminal >= 0 && grantpt(terminal) == 0 &&
              unlockpt(terminal) == 0);
  int other = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  struct winsize window = {};
  window.ws_col = 12;
  ASSERT_EQ(ioctl(other, TIOCSWINSZ, &window), 0);
  ProgressState state;
  state.steps = 110;
  {
    Progress progress(other, true);
    progress.draw(state, {});
  }
  char text[100] = {};
  ssize_t size = read(terminal, text, sizeof(text) - 1);
  close(other);
  close(terminal);
  ASSERT_GT(size, 0);
  EXPECT_EQ(std::string(text), "\rstep 0/110 \r           \r");
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

TEST(TrainingPosition, IsOfOneRun) {
  TrainingSetup setup;
  setup.model = 0x1234;
  setup.data = 0x5678;
  setup.samples = 1000;
  setup.batch = 64;
  setup.seed = 7;
  TrainingPosition position;
  position.step = 40;
  position.seconds = 1.5;
  auto metadata = writePosition(setup, position);
  EXPECT_EQ(metadata, (std::map<std::string, std::string>{
                          {"step", "40"},
                          {"epoch", "2"},
                          {"position", "640"},
                          {"seconds", "1.500000"},
                          {"samples", "1000"},
                          {"batch", "64"},
                          {"seed", "7"},
                          {"data", "0000000000005678"},
                          {"model", "0000000000001234"}}));
  Result<TrainingPosition> read = readPosition(metadata, setup);
  ASSERT_TRUE(read.ok()) << read.getMessage();
  EXPECT_EQ(read->step, 40u);
  EXPECT_EQ(read->seconds, 1.5);

  auto readWith = [&](auto change) {
    TrainingSetup other = setup;
    change(other);
    return readPosition(metadata, other).getMessage();
  };
  EXPECT_EQ(readWith([](TrainingSetup &s) { s.model = 1; }),
            "it is of another model, or of another compilation; a run can go "
            "on with the same file only (--state FILE begins with its states)");
  EXPECT_EQ(readWith([](TrainingSetup &s) { s.batch = 32; }),
            "it is of a run with --batch 64, but this one has 32");
  EXPECT_EQ(readWith([](TrainingSetup &s) { s.seed = 8; }),
            "it is of a run with --shuffle 7, but this one is with --shuffle "
            "8");
  EXPECT_EQ(readWith([](TrainingSetup &s) { s.seed.reset(); }),
            "it is of a run with --shuffle 7, but this one is without "
            "--shuffle");
  EXPECT_EQ(readWith([](TrainingSetup &s) { s.samples = 999; }),
            "it is of a run on 1000 samples, but the data has 999");
  EXPECT_EQ(readWith([](TrainingSetup &s) { s.data = 1; }),
            "it is of a run on other data");
  for (const char *step : {"", "x", "99999999999999999999999"}) {
    metadata["step"] = step;
    EXPECT_EQ(readWith([](TrainingSetup &) {}),
              "it does not say which step it is of; it was not written by "
              "--checkpoint (--state FILE begins with its states)");
  }
}

} // namespace
