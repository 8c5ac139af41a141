//===- ExecutableBuilder.cpp - small executables for tests ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExecutableBuilder.h"

#include "ExecutableWriter.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <unistd.h>

using namespace amp;
using namespace amp::runtime;
using namespace amp::runtime::test;

namespace {
/// Of all files of this process.
struct Folder {
  Folder() {
    char pattern[] = "/tmp/amp-runtime-test-XXXXXX";
    path = mkdtemp(pattern);
  }
  ~Folder() {
    for (const std::string &file : files)
      unlink(file.c_str());
    rmdir(path.c_str());
  }
  std::string path;
  std::vector<std::string> files;
};
} // namespace

std::string test::makePath(const std::string &suffix) {
  static Folder folder;
  std::string path =
      folder.path + "/" + std::to_string(folder.files.size()) + suffix;
  folder.files.push_back(path);
  return path;
}

ExecutableBuilder::ExecutableBuilder() {
  header.set_producer("test 1.0");
  header.add_programs();
}

void ExecutableBuilder::set(executable::Dimension &dimension, const Dim &dim) {
  if (dim.size == -2) {
    dimension.mutable_axis()->set_value(dim.value);
    dimension.mutable_axis()->set_axis(dim.axisNumber);
  } else if (dim.size >= 0) {
    dimension.set_size(dim.size);
  }
}

uint32_t ExecutableBuilder::addValue(DataType type,
                                     const std::vector<Dim> &dims,
                                     const std::string &name) {
  executable::Value &value = *header.add_values();
  value.set_name(name);
  value.set_type(static_cast<uint32_t>(type));
  for (const Dim &dim : dims)
    set(*value.add_dims(), dim);
  return static_cast<uint32_t>(header.values_size() - 1);
}

uint32_t ExecutableBuilder::addInput(const std::string &name, DataType type,
                                     const std::vector<Dim> &dims,
                                     const std::vector<std::string> &symbols) {
  uint32_t value = addValue(type, dims, name);
  header.mutable_values()->rbegin()->set_input(
      static_cast<uint32_t>(header.inputs_size()));
  executable::Input &input = *header.add_inputs();
  input.set_name(name);
  input.set_value(value);
  for (const std::string &symbol : symbols)
    input.add_symbols(symbol);
  return value;
}

uint32_t ExecutableBuilder::addConstant(DataType type,
                                        const std::vector<Dim> &dims,
                                        const void *data, size_t size) {
  uint32_t value = addValue(type, dims);
  header.mutable_values()->rbegin()->set_constant(
      static_cast<uint32_t>(constants.size()));
  constants.emplace_back(static_cast<const char *>(data), size);
  return value;
}

uint32_t ExecutableBuilder::addState(const std::string &name, DataType type,
                                     const std::vector<Dim> &dims,
                                     uint32_t initial) {
  uint32_t value = addValue(type, dims, name);
  header.mutable_values()->rbegin()->set_state(
      static_cast<uint32_t>(header.states_size()));
  executable::State &state = *header.add_states();
  state.set_name(name);
  state.set_value(value);
  state.set_initial(initial);
  return value;
}

uint32_t ExecutableBuilder::addArena(DataType type,
                                     const std::vector<Dim> &dims,
                                     int64_t offset) {
  uint32_t value = addValue(type, dims);
  executable::Arena &arena =
      *header.mutable_values()->rbegin()->mutable_arena();
  if (offset >= 0)
    arena.set_offset(static_cast<uint64_t>(offset));
  return value;
}

uint32_t ExecutableBuilder::addView(DataType type, const std::vector<Dim> &dims,
                                    uint32_t of, uint64_t offset) {
  uint32_t value = addValue(type, dims);
  executable::View &view = *header.mutable_values()->rbegin()->mutable_view();
  view.set_value(of);
  view.set_offset(offset);
  return value;
}

uint32_t ExecutableBuilder::addOutput(const std::string &name, DataType type,
                                      const std::vector<Dim> &dims) {
  uint32_t value = addValue(type, dims, name);
  header.mutable_values()->rbegin()->set_output(
      static_cast<uint32_t>(header.outputs_size()));
  markOutput(name, value);
  return value;
}

void ExecutableBuilder::markOutput(const std::string &name, uint32_t value) {
  executable::Output &output = *header.add_outputs();
  output.set_name(name);
  output.set_value(value);
}

uint32_t ExecutableBuilder::addProgram() {
  header.add_programs();
  return static_cast<uint32_t>(header.programs_size() - 1);
}

static executable::Command &addCommand(executable::Header &header,
                                       uint32_t program,
                                       const std::vector<int32_t> &inputs,
                                       const std::vector<uint32_t> &outputs) {
  executable::Command &command =
      *header.mutable_programs(static_cast<int>(program))->add_commands();
  command.mutable_inputs()->Add(inputs.begin(), inputs.end());
  command.mutable_outputs()->Add(outputs.begin(), outputs.end());
  return command;
}

executable::Command &
ExecutableBuilder::call(uint32_t program, const std::string &kernel,
                        const std::vector<int32_t> &inputs,
                        const std::vector<uint32_t> &outputs) {
  executable::Command &command = addCommand(header, program, inputs, outputs);
  command.set_node(kernel + "_node");
  command.mutable_call()->set_kernel(kernel);
  return command;
}

executable::Command &
ExecutableBuilder::launch(uint32_t program, uint32_t function,
                          const std::vector<int32_t> &inputs,
                          const std::vector<uint32_t> &outputs) {
  executable::Command &command = addCommand(header, program, inputs, outputs);
  command.set_node("launch_node");
  command.mutable_launch()->set_function(function);
  command.mutable_launch()->set_grain(1);
  return command;
}

executable::Command &ExecutableBuilder::branch(
    uint32_t program, uint32_t condition, const std::vector<uint32_t> &outputs,
    uint32_t thenProgram, const std::vector<uint32_t> &thenResults,
    uint32_t elseProgram, const std::vector<uint32_t> &elseResults) {
  executable::Command &command =
      addCommand(header, program, {static_cast<int32_t>(condition)}, outputs);
  executable::If &branch = *command.mutable_branch();
  branch.set_then_program(thenProgram);
  branch.set_else_program(elseProgram);
  branch.mutable_then_results()->Add(thenResults.begin(), thenResults.end());
  branch.mutable_else_results()->Add(elseResults.begin(), elseResults.end());
  return command;
}

executable::Command &
ExecutableBuilder::loop(uint32_t program, const std::vector<int32_t> &inputs,
                        const std::vector<uint32_t> &outputs, uint32_t body,
                        const std::vector<uint32_t> &arguments,
                        const std::vector<uint32_t> &results) {
  executable::Command &command = addCommand(header, program, inputs, outputs);
  executable::Loop &loop = *command.mutable_loop();
  loop.set_body(body);
  loop.mutable_arguments()->Add(arguments.begin(), arguments.end());
  loop.mutable_results()->Add(results.begin(), results.end());
  return command;
}

uint32_t ExecutableBuilder::addFunction(const std::string &name) {
  std::ifstream file(std::string(AMP_TEST_CODE_DIR "/") + name + ".bin",
                     std::ios::binary);
  code.resize((code.size() + 63) / 64 * 64);
  executable::Function &function = *header.add_functions();
  function.set_name(name);
  function.add_offsets(code.size());
  code.append(std::istreambuf_iterator<char>(file), {});
  return static_cast<uint32_t>(header.functions_size() - 1);
}

std::string ExecutableBuilder::write(std::string path) {
  if (path.empty())
    path = makePath(".ampx");
  std::vector<BlobContent> constantBlobs, codeBlobs;
  for (const std::string &constant : constants)
    constantBlobs.push_back({constant.data(), constant.size()});
  if (!code.empty()) {
    header.clear_codes();
    header.add_codes()->set_cpu(cpu);
    codeBlobs.push_back({code.data(), code.size()});
  }
  if (Status status = writeExecutable(path, header, constantBlobs, codeBlobs);
      !status.ok()) {
    std::fprintf(stderr, "%s\n", status.getMessage().c_str());
    std::abort();
  }
  return path;
}

Result<std::shared_ptr<const Executable>>
ExecutableBuilder::load(LoadOptions options) {
  return ExecutableLoader::load(write(), options, findTestKernel);
}

std::string ExecutableBuilder::loadError() {
  std::string message = load().getMessage();
  // Behind "'path': ".
  size_t colon = message.find("': ");
  return colon == std::string::npos ? message : message.substr(colon + 3);
}

std::unique_ptr<Session> ExecutableBuilder::start(unsigned threads) {
  Result<std::shared_ptr<const Executable>> executable = load();
  if (!executable.ok()) {
    std::fprintf(stderr, "%s\n", executable.getMessage().c_str());
    std::abort();
  }
  Result<std::unique_ptr<Session>> session =
      Session::create(*executable, {threads});
  if (!session.ok())
    std::abort();
  return std::move(*session);
}
