//===- TrainingTesting.cpp - a small model to train, and data -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingTesting.h"

#include "NpyHeader.h"

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace amp::run;
using namespace amp::run::test;
using namespace amp::runtime;
using namespace amp::runtime::test;
using Floats = std::vector<float>;

static constexpr DataType f32 = DataType::Float;

std::string amp::run::test::writeLinearModel(const LinearModel &options) {
  ExecutableBuilder builder;
  Dim batch = options.batch > 0 ? Dim(options.batch) : Dim::unknown();
  std::vector<std::string> symbols;
  if (options.batch == 0)
    symbols = {"batch", ""};
  auto x = int32_t(builder.addInput("x", f32, {batch, 2}, symbols));
  auto t = int32_t(builder.addInput("t", f32, {batch, 1}, symbols));
  auto one = int32_t(builder.addConstant<int64_t>(DataType::Int64, {}, {1}));
  auto zeroAxis =
      int32_t(builder.addConstant<int64_t>(DataType::Int64, {1}, {0}));
  auto oneAxis =
      int32_t(builder.addConstant<int64_t>(DataType::Int64, {1}, {1}));
  auto rate = int32_t(builder.addConstant<float>(f32, {}, {options.rate}));
  uint32_t w0 = builder.addConstant<float>(f32, {2}, {0.5f, -0.25f});
  uint32_t count0 = builder.addConstant<int64_t>(DataType::Int64, {}, {0});
  uint32_t scale0 = builder.addConstant<float>(f32, {}, {1024});
  auto w = int32_t(builder.addState("w", f32, {2}, w0));
  auto count =
      int32_t(builder.addState("amp.step", DataType::Int64, {}, count0));
  builder.addState("amp.scale", f32, {}, scale0);

  Dim rows = options.batch > 0 ? Dim(options.batch) : Dim::axis(0, 0);
  auto call = [&](const std::string &node, const std::string &kernel,
                  const std::vector<int32_t> &inputs, uint32_t output) {
    builder.header.mutable_values(int(output))->set_name(node);
    auto &command = builder.call(0, kernel, inputs, {output});
    command.set_node(node);
    return &command;
  };
  auto make = [&](const std::string &node, const std::string &kernel,
                  const std::vector<int32_t> &inputs,
                  const std::vector<Dim> &dims, DataType type = f32) {
    uint32_t value = builder.addArena(type, dims);
    call(node, kernel, inputs, value);
    return int32_t(value);
  };
  auto dropDims = [&] {
    auto &program = *builder.header.mutable_programs(0);
    auto &attribute =
        *program.mutable_commands()->rbegin()->mutable_call()->add_attributes();
    attribute.set_name("keepdims");
    attribute.set_int_value(0);
  };

  if (options.hasMask) {
    auto zero = int32_t(builder.addConstant<float>(f32, {}, {0}));
    make("mask", "log", {zero}, {});
  }
  int32_t products = make("products", "mul", {x, w}, {rows, 2});
  int32_t y = make("y", "reduce_sum", {products, oneAxis}, {rows, 1});
  int32_t error = make("error", "sub", {y, t}, {rows, 1});
  int32_t square = make("square", "mul", {error, error}, {rows, 1});
  uint32_t loss = builder.addOutput("loss", f32, {});
  call("loss", "reduce_mean", {square}, loss);
  dropDims();
  int32_t slope = make("slope", "mul", {error, x}, {rows, 2});
  int32_t gradient = make("gradient", "reduce_mean", {slope, zeroAxis}, {2});
  dropDims();
  int32_t change = make("change", "mul", {gradient, rate}, {2});
  call("next", "sub", {w, change}, builder.addView(f32, {2}, uint32_t(w)));
  call("count", "add", {count, one},
       builder.addView(DataType::Int64, {}, uint32_t(count)));
  if (options.hasFoundInf) {
    auto l = int32_t(loss);
    int32_t difference = make("difference", "sub", {l, l}, {});
    uint32_t found = builder.addOutput("amp.found_inf", DataType::Bool, {});
    call("found", "is_nan", {difference}, found);
  }
  return builder.write();
}

std::string amp::run::test::writeLinearData(int64_t samples, float spread) {
  Floats x, t;
  for (int64_t i = 0; i < samples; ++i) {
    float a = std::sin(float(i) * 0.7f) * spread;
    float b = std::cos(float(i * i % 101)) * spread;
    x.insert(x.end(), {a, b});
    t.push_back(3 * a - 2 * b + 0.1f * std::sin(float(i)));
  }
  std::string path = makePath(".npz");
  Status status = writeArrays(path, {{"x", view(x, f32, {samples, 2})},
                                     {"t", view(t, f32, {samples, 1})}});
  if (!status.ok())
    std::abort();
  return path;
}

std::string amp::run::test::writeNpy(const TensorView &tensor,
                                     const std::string &name) {
  Result<std::string> header = formatNpyHeader(tensor);
  if (!header.ok())
    std::abort();
  std::string path = makePath(".npy");
  if (!name.empty())
    path = path.substr(0, path.rfind('/') + 1) + name + ".npy";
  std::ofstream file(path, std::ios::binary);
  file << *header;
  file.write(tensor.as<char>(), std::streamsize(tensor.getByteCount()));
  return path;
}

std::string amp::run::test::readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

static int toCode(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

const char *amp::run::test::getToolPath() { return AMP_RUN_PATH; }

Outcome amp::run::test::runTool(const std::string &arguments) {
  std::string command = AMP_RUN_PATH " " + arguments + " 2>&1";
  FILE *pipe = popen(command.c_str(), "r");
  std::string text;
  char buffer[256];
  while (size_t size = fread(buffer, 1, sizeof(buffer), pipe))
    text.append(buffer, size);
  return {toCode(pclose(pipe)), text};
}

ToolProcess::ToolProcess(const std::vector<std::string> &arguments) {
  std::vector<const char *> words = {AMP_RUN_PATH};
  for (const std::string &argument : arguments)
    words.push_back(argument.c_str());
  words.push_back(nullptr);
  process = fork();
  if (process != 0)
    return;
  int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  execv(words[0], const_cast<char *const *>(words.data()));
  _exit(127);
}

ToolProcess::~ToolProcess() {
  if (process < 0)
    return;
  kill(process, SIGKILL);
  wait();
}

void ToolProcess::send(int signal) const { kill(process, signal); }

int ToolProcess::wait() {
  int status = 0;
  waitpid(process, &status, 0);
  process = -1;
  return toCode(status);
}
