//===- TrainerTest.cpp - amp-run --train ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingTesting.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace amp::run;
using namespace amp::run::test;
using namespace amp::runtime;
using namespace amp::runtime::test;
using namespace std::chrono_literals;
using Floats = std::vector<float>;
using Json = nlohmann::json;

namespace {

constexpr DataType f32 = DataType::Float;

/// The lines of a log, without what depends on the time.
std::vector<Json> readLog(const std::string &path) {
  std::vector<Json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    lines.push_back(Json::parse(line, nullptr, /*allow_exceptions=*/false));
    EXPECT_TRUE(lines.back().is_object()) << line;
    EXPECT_GT(lines.back().value("samples_per_second", 0.0), 0.0);
    lines.back().erase("samples_per_second");
    lines.back().erase("seconds");
  }
  return lines;
}

/// A checkpoint without its header, whose time differs.
std::string readTensors(const std::string &path) {
  std::string bytes = readFile(path);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  return bytes.substr(8 + length);
}

Json readMetadata(const std::string &path) {
  std::string bytes = readFile(path);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  return Json::parse(bytes.substr(8, length))["__metadata__"];
}

bool exists(const std::string &path) { return access(path.c_str(), F_OK) == 0; }

std::string train(const std::string &arguments, int code = 0) {
  Outcome outcome = runTool(arguments);
  EXPECT_EQ(outcome.code, code) << outcome.text;
  return outcome.text;
}

TEST(Trainer, Learns) {
  std::string model = writeLinearModel(), data = writeLinearData(100);
  std::string log = makePath(".jsonl"), out = makePath(".safetensors");
  std::string text = train(model + " --train --data " + data +
                           " --batch 8 --epochs 20 --shuffle 3 --log " + log +
                           " --save-state " + out);
  // 12 whole batches in each epoch; the last 4 samples are left out.
  EXPECT_EQ(text.substr(0, 16), "240 steps: loss ");
  std::vector<Json> lines = readLog(log);
  ASSERT_EQ(lines.size(), 240u);
  EXPECT_EQ(lines[0]["step"], 1);
  EXPECT_EQ(lines[11]["epoch"], 1);
  EXPECT_EQ(lines[12]["epoch"], 2);
  EXPECT_EQ(lines[239]["amp.step"], 240);
  EXPECT_EQ(lines[239]["amp.scale"], 1024);
  EXPECT_LT(lines[239]["loss"], 0.05);
  EXPECT_GT(lines[0]["loss"], 1);
  EXPECT_TRUE(exists(out));
}

TEST(Trainer, FollowsTheDataWithoutASeed) {
  // Each loss by hand, of samples in their order.
  std::string model = writeLinearModel({4, 0.1f}), data = writeLinearData(10);
  std::string log = makePath(".jsonl");
  train(model + " --train --data " + data + " --epochs 2 --log " + log);
  std::vector<Json> lines = readLog(log);
  Result<ArrayFile> arrays = ArrayFile::read(data);
  Floats x = toVector<float>(arrays->getTensors()[0].tensor);
  Floats t = toVector<float>(arrays->getTensors()[1].tensor);
  ASSERT_EQ(lines.size(), 4u);
  double a = 0.5, b = -0.25;
  for (size_t step = 0; step < 4; ++step) {
    double loss = 0, slopeA = 0, slopeB = 0;
    for (size_t i = step % 2 * 4; i < step % 2 * 4 + 4; ++i) {
      double error = a * x[2 * i] + b * x[2 * i + 1] - t[i];
      loss += error * error / 4;
      slopeA += error * x[2 * i] / 4;
      slopeB += error * x[2 * i + 1] / 4;
    }
    EXPECT_NEAR(lines[step]["loss"], loss, 1e-5);
    a -= 0.1 * slopeA;
    b -= 0.1 * slopeB;
  }
}

TEST(Trainer, ShufflesByTheSeed) {
  std::string model = writeLinearModel(), data = writeLinearData(64);
  auto run = [&](const std::string &options) {
    std::string log = makePath(".jsonl");
    train(model + " --train --data " + data + " --batch 8 --steps 20 --log " +
          log + options);
    return readLog(log);
  };
  std::vector<Json> plain = run(""), one = run(" --shuffle 1");
  EXPECT_EQ(run(" --shuffle 1 --threads 1"), one);
  EXPECT_EQ(run(""), plain);
  EXPECT_NE(run(" --shuffle 2"), one);
  EXPECT_NE(plain, one);
}

TEST(Trainer, TakesConstantInputsAndNpyFiles) {
  std::string model = writeLinearModel();
  Result<ArrayFile> arrays = ArrayFile::read(writeLinearData(20));
  std::string x = writeNpy(arrays->getTensors()[0].tensor);
  std::string t = writeNpy(arrays->getTensors()[1].tensor);
  std::string log = makePath(".jsonl"), other = makePath(".jsonl");
  train(model + " --train --batch 5 --data x=" + x + " t=" + t + " --log " +
        log);
  EXPECT_EQ(readLog(log).size(), 4u);
  // Targets that are the same in each batch.
  Floats targets(5, 1);
  std::string inputs = makePath(".npz");
  ASSERT_TRUE(writeArrays(inputs, {{"t", view(targets, f32, {5, 1})}}).ok());
  train(model + " --train --batch 5 --data x=" + x + " --inputs " + inputs +
        " --log " + other);
  EXPECT_EQ(readLog(other).size(), 4u);
  EXPECT_NE(readLog(other), readLog(log));
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

TEST(Trainer, GoesOnBitForBit) {
  std::string model = writeLinearModel(), data = writeLinearData(101);
  std::string common =
      model + " --train --data " + data + " --batch 7 --shuffle 11 --log ";
  std::string whole = makePath(".safetensors"), log = makePath(".jsonl");
  train(common + log + " --steps 50 --checkpoint " + whole);
  // In pieces that end within epochs and at their ends (14 steps).
  std::string part = makePath(".safetensors"), partLog = makePath(".jsonl");
  train(common + partLog + " --steps 5 --checkpoint " + part);
  for (int steps : {14, 15, 33, 50})
    train(common + partLog + " --steps " + std::to_string(steps) +
          " --checkpoint " + part + " --resume " + part);
  EXPECT_EQ(readTensors(part), readTensors(whole));
  EXPECT_EQ(readLog(partLog), readLog(log));
  Json metadata = readMetadata(part);
  EXPECT_EQ(metadata["step"], "50");
  EXPECT_EQ(metadata["epoch"], "3");
  EXPECT_EQ(metadata["position"], "56");
  EXPECT_EQ(train(common + partLog + " --steps 50 --resume " + part),
            "nothing to do: 50 of 50 steps are done\n");
  EXPECT_EQ(readLog(partLog), readLog(log));
}

TEST(Trainer, WritesCheckpointsEveryFewSteps) {
  std::string model = writeLinearModel(), data = writeLinearData(40);
  std::string common = model + " --train --data " + data + " --batch 4 ";
  std::string every = makePath(".safetensors"), at = makePath(".safetensors");
  // The last one is at the end.
  train(common + "--steps 17 --checkpoint-every 5 --checkpoint " + every);
  EXPECT_EQ(readMetadata(every)["step"], "17");
  // States alone, without the position.
  train(common + "--steps 17 --save-state " + at);
  EXPECT_EQ(readTensors(at), readTensors(every));
  EXPECT_EQ(train(common + "--steps 20 --resume " + at, 1),
            "amp-run: error: checkpoint '" + at +
                "': it does not say which step it is of; it was not written "
                "by --checkpoint (--state FILE begins with its states)\n");
  train(common + "--steps 3 --state " + at);
}

TEST(Trainer, KeepsOlderCheckpoints) {
  std::string model = writeLinearModel(), data = writeLinearData(40);
  std::string file = makePath(".safetensors");
  train(model + " --train --data " + data +
        " --batch 4 --steps 20 --keep 3 "
        "--checkpoint-every 4 --checkpoint " +
        file);
  EXPECT_EQ(readMetadata(file)["step"], "20");
  EXPECT_EQ(readMetadata(file + ".1")["step"], "16");
  EXPECT_EQ(readMetadata(file + ".2")["step"], "12");
  EXPECT_FALSE(exists(file + ".3"));
  // Each can be gone on from.
  std::string again = makePath(".safetensors");
  train(model + " --train --data " + data + " --batch 4 --steps 20 --resume " +
        file + ".2 --checkpoint " + again);
  EXPECT_EQ(readTensors(again), readTensors(file));
  for (const char *suffix : {".1", ".2"})
    unlink((file + suffix).c_str());
  ASSERT_EQ(mkdir((file + ".1").c_str(), 0700), 0);
  EXPECT_EQ(train(model + " --train --data " + data +
                      " --batch 4 --steps 24 --keep 2 --checkpoint " + file,
                  1),
            "amp-run: error: cannot keep '" + file + "' as '" + file +
                ".1': File exists\n");
  rmdir((file + ".1").c_str());
}

TEST(Trainer, IsKilledAtAnyMoment) {
  std::string model = writeLinearModel(), data = writeLinearData(999);
  std::string whole = makePath(".safetensors"), log = makePath(".jsonl");
  std::vector<std::string> common = {model,
                                     "--train",
                                     "--data",
                                     data,
                                     "--batch",
                                     "8",
                                     "--shuffle",
                                     "5",
                                     "--steps",
                                     "3000",
                                     "--checkpoint-every",
                                     "20"};
  auto start = [&](const std::string &checkpoint, const std::string &logPath) {
    std::vector<std::string> arguments = common;
    for (const std::string &each : {std::string("--checkpoint"), checkpoint,
                                    std::string("--log"), logPath})
      arguments.push_back(each);
    if (exists(checkpoint)) {
      arguments.push_back("--resume");
      arguments.push_back(checkpoint);
    }
    return std::make_unique<ToolProcess>(arguments);
  };
  ASSERT_EQ(start(whole, log)->wait(), 0);
  std::mt19937 random(1);
  std::string part = makePath(".safetensors"), partLog = makePath(".jsonl");
  int kills = 0, code = -1;
  while (code != 0) {
    std::unique_ptr<ToolProcess> process = start(part, partLog);
    // The last run is let through.
    bool isKilled = kills < 12;
    if (isKilled) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 80));
      process->send(SIGKILL);
    }
    code = process->wait();
    ASSERT_TRUE(code == 0 || (isKilled && code == 128 + SIGKILL)) << code;
    if (++kills < 12)
      code = code == 0 ? 0 : -1;
    // Its lines are whole.
    if (exists(partLog))
      readLog(partLog);
  }
  EXPECT_EQ(readTensors(part), readTensors(whole));
  EXPECT_EQ(readLog(partLog), readLog(log));
}

TEST(Trainer, StopsBehindTheStepOnASignal) {
  std::string model = writeLinearModel(), data = writeLinearData(999);
  for (int signal : {SIGINT, SIGTERM}) {
    std::string checkpoint = makePath(".safetensors");
    std::string log = makePath(".jsonl");
    ToolProcess process({model, "--train", "--data", data, "--batch", "8",
                         "--steps", "1000000000", "--checkpoint", checkpoint,
                         "--log", log});
    while (!exists(log) || readFile(log).empty())
      std::this_thread::sleep_for(1ms);
    process.send(signal);
    EXPECT_EQ(process.wait(), 128 + signal);
    std::vector<Json> lines = readLog(log);
    EXPECT_EQ(readMetadata(checkpoint)["step"],
              std::to_string(lines.back()["step"].get<int>()));
  }
}

TEST(Trainer, RefusesToGoOnWithSomethingElse) {
  std::string model = writeLinearModel(), data = writeLinearData(40);
  std::string file = makePath(".safetensors");
  std::string options = " --steps 6 --resume " + file;
  train(model + " --train --data " + data +
        " --batch 4 --steps 5 --checkpoint " + file);
  auto expect = [&](const std::string &arguments, const std::string &text) {
    EXPECT_EQ(train(arguments + options, 1),
              "amp-run: error: checkpoint '" + file + "': " + text + "\n");
  };
  expect(writeLinearModel({0, 0.2f}) + " --train --batch 4 --data " + data,
         "it is of another model, or of another compilation; a run can go on "
         "with the same file only (--state FILE begins with its states)");
  expect(model + " --train --batch 5 --data " + data,
         "it is of a run with --batch 4, but this one has 5");
  expect(model + " --train --batch 4 --shuffle 1 --data " + data,
         "it is of a run without --shuffle, but this one is with --shuffle 1");
  expect(model + " --train --batch 4 --data " + writeLinearData(41),
         "it is of a run on 40 samples, but the data has 41");
  expect(model + " --train --batch 4 --data " + writeLinearData(40, 2),
         "it is of a run on other data");
  // The states themselves are of another model.
  ExecutableBuilder other;
  uint32_t c = other.addConstant<float>(f32, {3}, Floats(3));
  uint32_t x = other.addInput("x", f32, {1});
  other.addState("w", f32, {3}, c);
  uint32_t loss = other.addOutput("loss", f32, {1});
  other.call(0, "copy", {int32_t(x)}, {loss});
  Floats ones(5, 1);
  std::string otherData = makePath(".npz");
  ASSERT_TRUE(writeArrays(otherData, {{"x", view(ones, f32, {5})}}).ok());
  expect(other.write() + " --train --data " + otherData,
         "tensor 'w' is 2, but the model's is 3");
}

//===----------------------------------------------------------------------===//
// NaN
//===----------------------------------------------------------------------===//

/// Data whose sample `bad` has `value` for x[0].
std::string writeBadData(int64_t bad, float value) {
  Floats x(200, 0.5f), t(100, 1.0f);
  x[size_t(2 * bad)] = value;
  std::string path = makePath(".npz");
  EXPECT_TRUE(writeArrays(path, {{"x", view(x, f32, {100, 2})},
                                 {"t", view(t, f32, {100, 1})}})
                  .ok());
  return path;
}

std::string stop(const LinearModel &model, const std::string &data,
                 const std::string &options = "") {
  return train(writeLinearModel(model) + " --train --data " + data +
                   " --batch 2 --epochs 2 --stop-on-nonfinite " + options,
               1);
}

TEST(Trainer, NamesTheInputThatIsNotFinite) {
  EXPECT_EQ(stop({}, writeBadData(51, std::nanf(""))),
            "amp-run: error: 'loss' is nan in step 26: input 'x' has them: 1 "
            "of 4 elements is not finite; the first, nan, is at index 2, in "
            "sample 51 of the data\n");
}

TEST(Trainer, NamesTheFirstNode) {
  std::string text = "amp-run: error: 'loss' is inf in step 26: node 'square' "
                     "('mul') makes them: of its output 'square', 1 of 2 "
                     "elements is not finite; the first, inf, is at index 1\n";
  EXPECT_EQ(stop({}, writeBadData(51, 1e30f)), text);
  // What every step does is not it.
  LinearModel masked;
  masked.hasMask = true;
  EXPECT_EQ(stop(masked, writeBadData(51, 1e30f)), text);
}

TEST(Trainer, NamesTheStepThatSpoiltAState) {
  // The square of the error is finite; its product with x is not.
  LinearModel model;
  model.rate = 1e30f;
  EXPECT_EQ(stop(model, writeBadData(51, 1e10f)),
            "amp-run: error: 'loss' is inf in step 2: node 'square' ('mul') "
            "makes them: of its output 'square', 2 of 2 elements are not "
            "finite; the first, inf, is at index 0\n");
  model.rate = 1e-30f;
  Floats x(200, 0.5f), t(100, 1.0f);
  x[102] = 4e19f;
  x[103] = 8e19f;
  t[51] = -1.5e19f;
  std::string path = makePath(".npz");
  ASSERT_TRUE(writeArrays(path, {{"x", view(x, f32, {100, 2})},
                                 {"t", view(t, f32, {100, 1})}})
                  .ok());
  EXPECT_EQ(
      stop(model, path),
      "amp-run: error: 'loss' is inf in step 27: in step 26, node "
      "'slope' ('mul') makes them: of its output 'slope', 2 of 4 elements "
      "are not finite; the first, inf, is at index 2\n");
}

TEST(Trainer, SaysThatStatesWereNotFinite) {
  std::string model = writeLinearModel(), file = makePath(".safetensors");
  auto executable = Executable::load(model);
  ASSERT_TRUE(executable.ok()) << executable.getMessage();
  auto session = Session::create(*executable);
  Floats w = {1, std::nanf("")};
  ASSERT_TRUE((*session)->setState("w", view(w, f32, {2})).ok());
  ASSERT_TRUE((*session)->saveStates(file).ok());
  EXPECT_EQ(train(model + " --train --batch 2 --stop-on-nonfinite --data " +
                      writeLinearData(4) + " --state " + file,
                  1),
            "amp-run: error: 'loss' is nan in step 1: no node makes them: they "
            "were in the model or its states before\n");
}

TEST(Trainer, DoesNotStopForStepsThatAreSkipped) {
  LinearModel model;
  model.hasFoundInf = true;
  std::string data = writeBadData(51, std::nanf(""));
  std::string log = makePath(".jsonl");
  // This model takes the step all the same, so that NaN stays.
  train(writeLinearModel(model) + " --train --data " + data +
        " --batch 2 --epochs 2 --stop-on-nonfinite --log " + log);
  std::vector<Json> lines = readLog(log);
  ASSERT_EQ(lines.size(), 100u);
  EXPECT_EQ(lines[24]["amp.found_inf"], false);
  EXPECT_EQ(lines[25]["amp.found_inf"], true);
  EXPECT_TRUE(lines[25]["loss"].is_null());
  // Without the option, nothing stops.
  train(writeLinearModel() + " --train --batch 2 --data " + data);
}

//===----------------------------------------------------------------------===//
// The terminal, and errors
//===----------------------------------------------------------------------===//

TEST(Trainer, ShowsProgressOnATerminal) {
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(terminal >= 0 && grantpt(terminal) == 0 &&
              unlockpt(terminal) == 0);
  std::string name = ptsname(terminal);
  std::string command = std::string(getToolPath()) + " " + writeLinearModel() +
                        " --train --batch 8 --steps 2000 --data " +
                        writeLinearData(100) + " >/dev/null 2>" + name;
  // Kept open, so that what is written can be read when the tool has ended.
  int other = open(name.c_str(), O_RDWR | O_NOCTTY);
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::string text(100000, '\0');
  text.resize(
      size_t(std::max<ssize_t>(read(terminal, text.data(), text.size()), 0)));
  close(other);
  close(terminal);
  EXPECT_NE(text.find("step 1/2000  loss "), std::string::npos) << text;
  EXPECT_NE(text.find("  scale 1024  "), std::string::npos) << text;
  EXPECT_NE(text.find(" left"), std::string::npos) << text;
}

TEST(Trainer, FailsWithOneLine) {
  std::string model = writeLinearModel(), data = writeLinearData(10);
  auto expect = [](const std::string &arguments, const std::string &text) {
    EXPECT_EQ(train(arguments, 1), "amp-run: error: " + text + "\n");
  };
  expect(model + " --train --batch 11 --data " + data,
         "the data has 10 samples, fewer than a batch of 11");
  expect(model + " --train --batch 2 --data " + data + " --array s=t",
         "--array s=t: there is no input 's'; there are 'x', 't'");
  expect(model + " --train --batch 2 --loss lose --data " + data,
         "no output 'lose' is a scalar of floats; did you mean 'loss'?");
  expect(model + " --train --batch 2 --data " + data + " --log /nowhere/log",
         "cannot write '/nowhere/log': No such file or directory");
  expect(model + " --train --batch 2 --data " + data +
             " --checkpoint /nowhere/c",
         "cannot create a file beside '/nowhere/c': No such file or directory");
  expect(model + " --train --batch 2 --data " + data + " --resume /nowhere",
         "cannot read '/nowhere': No such file or directory");
  expect(model + " --train --batch 2 --epochs 18446744073709551615 --data " +
             data,
         "--epochs: too many");
  ExecutableBuilder builder;
  uint32_t x = builder.addInput("x", f32, {1});
  builder.call(0, "copy", {int32_t(x)}, {builder.addOutput("y", f32, {1})});
  expect(builder.write() + " --train --data " + data,
         "the model has no states to train; `onnx-amp train-graph` makes a "
         "training step of a model");
}

TEST(Trainer, SaysWhereAStepFailed) {
  ExecutableBuilder builder;
  uint32_t i = builder.addInput("i", DataType::Int64, {1});
  uint32_t c = builder.addConstant<float>(f32, {2}, {1, 2});
  uint32_t w = builder.addState("w", f32, {2}, c);
  uint32_t loss = builder.addOutput("loss", f32, {1});
  builder.call(0, "gather", {int32_t(w), int32_t(i)}, {loss});
  std::string model = builder.write(), data = makePath(".npz");
  std::vector<int64_t> indices = {0, 1, 7};
  ASSERT_TRUE(
      writeArrays(data, {{"i", view(indices, DataType::Int64, {3})}}).ok());
  std::string what =
      "node 'gather_node' ('gather'): index 7 at element 0 is out "
      "of range [-2, 1]\n";
  EXPECT_EQ(train(model + " --train --data " + data, 1),
            "amp-run: error: step 3: " + what);
  EXPECT_EQ(train(model + " --metric loss --eval-data " + data, 1),
            "amp-run: error: samples from 2 on: " + what);
}

TEST(Trainer, KnowsItsOptions) {
  for (const char *arguments :
       {"a.ampx --train", "a.ampx --data x", "a.ampx --log x",
        "a.ampx --train --data x --epochs 1 --steps 1",
        "a.ampx --train --data x --batch 0",
        "a.ampx --train --data x --epochs "
        "-1",
        "a.ampx --train --data x --checkpoint-every 5",
        "a.ampx --train --data x --resume a --state b",
        "a.ampx --train --data x --repeat 2",
        "a.ampx --train --data x --array x",
        "a.ampx --train --data x --eval-data y"})
    EXPECT_EQ(runTool(arguments).code, 2) << arguments;
}

} // namespace
