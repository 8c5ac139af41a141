//===- ProgramReader.cpp - checks the programs of an executable -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First every command is read and with it who makes which value; then programs
// are walked as they run, to see that what a command uses has been made.
//
//===----------------------------------------------------------------------===//

#include "AttributeList.h"
#include "ModuleReader.h"
#include "NearestName.h"
#include "Quote.h"
#include "amp/Runtime/ExecutableFormat.h"

#include "Executable.pb.h"

#include <algorithm>

using namespace amp;
using namespace amp::runtime;

std::string amp::runtime::describeCommand(const Command &command) {
  struct Name {
    std::string operator()(const Call &call) { return quote(call.name); }
    std::string operator()(const Launch &launch) {
      return "function " + quote(launch.name);
    }
    std::string operator()(const If &) { return "if"; }
    std::string operator()(const Loop &) { return "loop"; }
  };
  std::string name = std::visit(Name{}, command.body);
  if (command.node.empty())
    return "command " + std::to_string(command.id) + " (" + name + ")";
  return "node " + quote(command.node) + " (" + name + ")";
}

namespace {

class ProgramReader {
public:
  ProgramReader(const ExecutableFile &file, const ChosenCode &code,
                KernelLookup lookup, Module &module)
      : header(file.getHeader()), code(code), lookup(lookup), module(module),
        isUsed(static_cast<size_t>(header.programs_size())),
        isDefined(module.values.size()) {}

  Status read();

private:
  // Reading.
  Status checkFunctions();
  Status readCommand(uint32_t program, const executable::Command &from,
                     Command &to);
  Status readCall(const executable::Call &from, const Command &command,
                  Call &to);
  Status readLaunch(const executable::Launch &from, const Command &command,
                    Launch &to);
  Status readIf(const executable::If &from, const Command &command, If &to);
  Status readLoop(const executable::Loop &from, const Command &command,
                  Loop &to);
  Status checkWrites(const Command &command);
  Status useProgram(uint32_t program, const Command &command);
  Status checkIndices(const google::protobuf::RepeatedField<uint32_t> &indices,
                      const Command &command, std::vector<uint32_t> &to);
  Status checkSameType(uint32_t from, uint32_t to, const Command &command);
  Status make(uint32_t value, uint32_t program, const Command &command);

  // Walking.
  void findAnchors();
  Status walk(uint32_t program, unsigned depth);
  Status walkCommand(const Command &command, unsigned depth);
  Status walkBranch(uint32_t program, const std::vector<uint32_t> &results,
                    const Command &command, unsigned depth);
  Status walkLoop(const Loop &loop, const Command &command, unsigned depth);
  Status checkUse(uint32_t value, const Command &command);
  Status checkDimensions(const std::vector<Dimension> &dims,
                         std::string_view what, const Command &command);
  Status checkDimensions(uint32_t value, const Command &command) {
    return checkDimensions(module.values[value].dims,
                           describeValue(module, value), command);
  }
  void define(uint32_t value);
  Status fail(const Command &command, const std::string &what) {
    return malformed(describeCommand(command) + ": " + what);
  }

  const executable::Header &header;
  const ChosenCode &code;
  KernelLookup lookup;
  Module &module;
  /// By program: a command runs it.
  std::vector<bool> isUsed;

  /// By value: that which must have been made before it is there; itself, or
  /// what it is a view of if nobody makes the view.
  std::vector<uint32_t> anchors;
  std::vector<bool> isDefined;
  /// What has been defined, in that order, to be undone.
  std::vector<uint32_t> defined;
};

} // namespace

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Status ProgramReader::read() {
  if (Status status = checkFunctions(); !status.ok())
    return status;
  if (header.programs_size() == 0)
    return malformed("the executable has no program");
  module.programs.resize(static_cast<size_t>(header.programs_size()));
  for (uint32_t i = 0; i < module.programs.size(); ++i) {
    const executable::Program &from = header.programs(static_cast<int>(i));
    std::vector<Command> &commands = module.programs[i].commands;
    commands.resize(static_cast<size_t>(from.commands_size()));
    for (size_t c = 0; c < commands.size(); ++c) {
      Status status =
          readCommand(i, from.commands(static_cast<int>(c)), commands[c]);
      if (!status.ok())
        return status;
    }
  }
  for (size_t i = 1; i < isUsed.size(); ++i)
    if (!isUsed[i])
      return malformed("no command runs program " + std::to_string(i));

  findAnchors();
  for (uint32_t i = 0; i < module.values.size(); ++i) {
    const Value &value = module.values[i];
    if (!value.isMade && value.root == i &&
        (value.storage == Storage::Input ||
         value.storage == Storage::Constant || value.storage == Storage::State))
      isDefined[i] = true;
  }
  if (Status status = walk(0, 0); !status.ok())
    return status;
  for (size_t i = 0; i < module.outputs.size(); ++i)
    if (!isDefined[anchors[module.outputs[i]]])
      return malformed("nothing makes output " +
                       quote(module.outputInfos[i].name));
  return {};
}

Status ProgramReader::checkFunctions() {
  for (const executable::Function &function : header.functions()) {
    if (function.offsets_size() != header.codes_size())
      return malformed("function " + quote(function.name()) + " has " +
                       std::to_string(function.offsets_size()) +
                       " places for " + std::to_string(header.codes_size()) +
                       " kinds of code");
    for (int i = 0; i < function.offsets_size(); ++i)
      if (function.offsets(i) >= header.codes(i).blob().size())
        return malformed(
            "function " + quote(function.name()) + " begins at byte " +
            std::to_string(function.offsets(i)) + " of " +
            std::to_string(header.codes(i).blob().size()) + " of code");
  }
  return {};
}

Status ProgramReader::checkIndices(
    const google::protobuf::RepeatedField<uint32_t> &indices,
    const Command &command, std::vector<uint32_t> &to) {
  for (uint32_t index : indices) {
    if (index >= module.values.size())
      return fail(command, "there is no value " + std::to_string(index));
    to.push_back(index);
  }
  return {};
}

Status ProgramReader::make(uint32_t index, uint32_t program,
                           const Command &command) {
  Value &value = module.values[index];
  if (value.isMade)
    return fail(command, describeValue(module, index) + " is made twice");
  if (command.atEntry &&
      (value.storage != Storage::Arena || value.root != index))
    return fail(command, "it runs at entry, so that " +
                             describeValue(module, index) +
                             " must have memory of its own");
  value.isMade = true;
  value.isMadeAtEntry = command.atEntry;
  value.program = program;
  return {};
}

Status ProgramReader::readCommand(uint32_t program,
                                  const executable::Command &from,
                                  Command &to) {
  to.node = from.node();
  to.id = module.commandCount++;
  to.atEntry = from.at_entry();
  for (int32_t input : from.inputs()) {
    if (input < -1 || input >= static_cast<int64_t>(module.values.size()))
      return fail(to, "there is no value " + std::to_string(input));
    to.inputs.push_back(input);
  }
  if (Status status = checkIndices(from.outputs(), to, to.outputs);
      !status.ok())
    return status;
  module.maxOperands =
      std::max(module.maxOperands, to.inputs.size() + to.outputs.size());
  if (to.atEntry && (program != 0 || from.has_branch() || from.has_loop()))
    return fail(to, "only calls and launches of the first program can run at "
                    "entry");
  for (uint32_t output : to.outputs)
    if (Status status = make(output, program, to); !status.ok())
      return status;
  Status status;
  switch (from.body_case()) {
  case executable::Command::kCall:
    status = readCall(from.call(), to, to.body.emplace<Call>());
    break;
  case executable::Command::kLaunch:
    status = readLaunch(from.launch(), to, to.body.emplace<Launch>());
    break;
  case executable::Command::kBranch:
    status = readIf(from.branch(), to, to.body.emplace<If>());
    break;
  case executable::Command::kLoop:
    status = readLoop(from.loop(), to, to.body.emplace<Loop>());
    break;
  case executable::Command::BODY_NOT_SET:
    return fail(to, "it does nothing");
  }
  return status.ok() ? checkWrites(to) : status;
}

/// Inputs and constants are not written; a view of them may be made.
Status ProgramReader::checkWrites(const Command &command) {
  auto check = [&](uint32_t index, bool isView) -> Status {
    const Value &value = module.values[index];
    bool isOurs =
        value.storage != Storage::Input && value.storage != Storage::Constant;
    if (isOurs || isView)
      return {};
    return fail(command, "it would overwrite " + describeValue(module, index) +
                             ", which is an input or a constant");
  };
  const auto *call = std::get_if<Call>(&command.body);
  for (uint32_t output : command.outputs) {
    const Value &value = module.values[output];
    bool isView = call && call->kernel->isView() && !command.inputs.empty() &&
                  value.base != output && value.offset == 0 &&
                  command.inputs[0] == static_cast<int32_t>(value.base);
    if (Status status = check(output, isView); !status.ok())
      return status;
  }
  if (const auto *loop = std::get_if<Loop>(&command.body))
    for (uint32_t argument : loop->arguments)
      if (Status status = check(argument, /*isView=*/false); !status.ok())
        return status;
  return {};
}

Status ProgramReader::readCall(const executable::Call &from,
                               const Command &command, Call &to) {
  to.name = from.kernel();
  const KernelEntry *entry = lookup(to.name);
  if (!entry)
    return Status::error(describeCommand(command) +
                         ": this runtime has no such kernel; use a runtime as "
                         "new as the compiler (" +
                         quote(header.producer()) + ")");
  if (from.has_epilogue() || from.epilogue_inputs_size() > 0)
    return Status::error(describeCommand(command) +
                         ": this runtime's kernel takes no compiled epilogue; "
                         "use a runtime as new as the compiler (" +
                         quote(header.producer()) + ")");
  Result<std::unique_ptr<Kernel>> kernel = entry->create(AttributeList(from));
  if (!kernel.ok())
    return fail(command, kernel.getMessage());
  to.kernel = std::move(*kernel);
  return {};
}

Status ProgramReader::readLaunch(const executable::Launch &from,
                                 const Command &command, Launch &to) {
  if (from.function() >= static_cast<uint32_t>(header.functions_size()))
    return fail(command,
                "there is no function " + std::to_string(from.function()));
  const executable::Function &function =
      header.functions(static_cast<int>(from.function()));
  to.name = function.name();
  if (code.data)
    to.function = reinterpret_cast<CompiledFunction>(
        reinterpret_cast<uintptr_t>(code.data) + function.offsets(code.index));
  auto readAll = [&](const auto &dims, std::vector<Dimension> &into,
                     const char *what) -> Status {
    for (const executable::Dimension &dim : dims) {
      Result<Dimension> read =
          readDimension(dim, module, describeCommand(command) + ": " + what);
      if (!read.ok())
        return read.getStatus();
      into.push_back(*read);
    }
    return {};
  };
  if (Status status = readAll(from.sizes(), to.sizes, "a size"); !status.ok())
    return status;
  if (Status status = readAll(from.extent(), to.extent, "an extent");
      !status.ok())
    return status;
  module.maxSizes = std::max(module.maxSizes, to.sizes.size());
  if (from.grain() < 1 || from.grain() > INT64_MAX)
    return fail(command, "the grain must be at least 1, but is " +
                             std::to_string(from.grain()));
  to.grain = static_cast<int64_t>(from.grain());
  if (from.scratch() > uint64_t{1} << 40)
    return fail(command, "it needs " + std::to_string(from.scratch()) +
                             " bytes of scratch memory for each thread");
  to.scratch = (from.scratch() + blobAlignment - 1) & ~(blobAlignment - 1);
  for (uint32_t output : command.outputs) {
    const Value &value = module.values[output];
    bool isKnown = !value.unknownRank;
    for (const Dimension &dim : value.dims)
      isKnown &= dim.kind != Dimension::Kind::Unknown;
    if (!isKnown)
      return fail(command, "compiled code does not say the dimensions of " +
                               describeValue(module, output));
  }
  auto isString = [&](int64_t value) {
    return value >= 0 &&
           module.values[static_cast<size_t>(value)].type == DataType::String;
  };
  if (std::any_of(command.inputs.begin(), command.inputs.end(), isString) ||
      std::any_of(command.outputs.begin(), command.outputs.end(), isString))
    return fail(command, "compiled code knows no strings");
  return {};
}

Status ProgramReader::useProgram(uint32_t program, const Command &command) {
  if (program == 0 || program >= isUsed.size())
    return fail(command, "it cannot run program " + std::to_string(program) +
                             " of " + std::to_string(isUsed.size()));
  if (isUsed[program])
    return fail(command, "program " + std::to_string(program) +
                             " is run by another command, too");
  isUsed[program] = true;
  return {};
}

Status ProgramReader::checkSameType(uint32_t from, uint32_t to,
                                    const Command &command) {
  DataType fromType = module.values[from].type, toType = module.values[to].type;
  if (fromType == toType)
    return {};
  return fail(command, describeValue(module, from) + " of " +
                           std::string(getName(fromType)) + " becomes " +
                           describeValue(module, to) + " of " +
                           std::string(getName(toType)));
}

Status ProgramReader::readIf(const executable::If &from, const Command &command,
                             If &to) {
  to.thenProgram = from.then_program();
  to.elseProgram = from.else_program();
  for (uint32_t program : {to.thenProgram, to.elseProgram})
    if (Status status = useProgram(program, command); !status.ok())
      return status;
  if (command.inputs.size() != 1 || command.inputs[0] < 0 ||
      module.values[static_cast<size_t>(command.inputs[0])].type !=
          DataType::Bool)
    return fail(command, "its input must be a condition of type bool");
  if (Status status =
          checkIndices(from.then_results(), command, to.thenResults);
      !status.ok())
    return status;
  if (Status status =
          checkIndices(from.else_results(), command, to.elseResults);
      !status.ok())
    return status;
  for (const std::vector<uint32_t> *results :
       {&to.thenResults, &to.elseResults}) {
    if (results->size() != command.outputs.size())
      return fail(command, "a branch gives " + std::to_string(results->size()) +
                               " values, but there are " +
                               std::to_string(command.outputs.size()) +
                               " outputs");
    for (size_t i = 0; i < results->size(); ++i)
      if (Status status =
              checkSameType((*results)[i], command.outputs[i], command);
          !status.ok())
        return status;
  }
  return {};
}

Status ProgramReader::readLoop(const executable::Loop &from,
                               const Command &command, Loop &to) {
  to.body = from.body();
  if (Status status = useProgram(to.body, command); !status.ok())
    return status;
  if (Status status = checkIndices(from.arguments(), command, to.arguments);
      !status.ok())
    return status;
  if (Status status = checkIndices(from.results(), command, to.results);
      !status.ok())
    return status;
  size_t inputs = command.inputs.size(), outputs = command.outputs.size();
  if (inputs < 2 || to.arguments.size() != inputs || to.results.size() < 1 ||
      outputs != to.results.size() - 1 || outputs < inputs - 2)
    return fail(command,
                "it has " + std::to_string(inputs) + " inputs, " +
                    std::to_string(to.arguments.size()) + " arguments, " +
                    std::to_string(to.results.size()) + " results and " +
                    std::to_string(outputs) + " outputs, which do not match");
  to.carried = inputs - 2;
  for (uint32_t argument : to.arguments)
    if (Status status = make(argument, to.body, command); !status.ok())
      return status;

  auto hasType = [&](int64_t value, DataType type) {
    return value < 0 || module.values[static_cast<size_t>(value)].type == type;
  };
  if (!hasType(command.inputs[0], DataType::Int64) ||
      !hasType(to.arguments[0], DataType::Int64))
    return fail(command, "the number of iterations must be int64");
  if (!hasType(command.inputs[1], DataType::Bool) ||
      !hasType(to.arguments[1], DataType::Bool) ||
      !hasType(to.results[0], DataType::Bool))
    return fail(command, "the condition must be bool");
  for (size_t i = 0; i < outputs; ++i) {
    bool isCarried = i < to.carried;
    uint32_t result = to.results[i + 1], output = command.outputs[i];
    if (Status status = checkSameType(result, output, command); !status.ok())
      return status;
    if (!isCarried) {
      const Value &value = module.values[output];
      if (value.root != output)
        return fail(command, describeValue(module, output) +
                                 ", which grows with iterations, cannot be a "
                                 "view");
      if (!value.unknownRank && value.dims.empty())
        return fail(command, describeValue(module, output) +
                                 ", which is stacked, must have an axis");
      continue;
    }
    if (command.inputs[i + 2] < 0)
      return fail(command, "what is carried needs an initial value");
    if (Status status =
            checkSameType(static_cast<uint32_t>(command.inputs[i + 2]),
                          to.arguments[i + 2], command);
        !status.ok())
      return status;
    if (Status status = checkSameType(result, to.arguments[i + 2], command);
        !status.ok())
      return status;
    // Arguments are written one after the other.
    for (size_t j = 0; j < to.carried; ++j)
      if (j != i && module.values[to.arguments[j + 2]].root ==
                        module.values[result].root) {
        to.crossing.push_back(static_cast<uint32_t>(i));
        break;
      }
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Walking
//===----------------------------------------------------------------------===//

void ProgramReader::findAnchors() {
  constexpr uint32_t unknown = UINT32_MAX;
  anchors.assign(module.values.size(), unknown);
  std::vector<uint32_t> path;
  for (uint32_t i = 0; i < anchors.size(); ++i) {
    uint32_t next = i;
    while (anchors[next] == unknown && !module.values[next].isMade &&
           module.values[next].base != next) {
      path.push_back(next);
      next = module.values[next].base;
    }
    uint32_t anchor = anchors[next] == unknown ? next : anchors[next];
    anchors[next] = anchor;
    for (; !path.empty(); path.pop_back())
      anchors[path.back()] = anchor;
  }
}

void ProgramReader::define(uint32_t value) {
  isDefined[value] = true;
  defined.push_back(value);
}

Status ProgramReader::checkUse(uint32_t value, const Command &command) {
  if (!isDefined[anchors[value]])
    return fail(command,
                describeValue(module, value) + " is used before it is made");
  return checkDimensions(value, command);
}

Status ProgramReader::checkDimensions(const std::vector<Dimension> &dims,
                                      std::string_view what,
                                      const Command &command) {
  for (const Dimension &dim : dims)
    if (dim.kind == Dimension::Kind::Axis && !isDefined[anchors[dim.value]])
      return fail(command, std::string(what) + " has the size of an axis of " +
                               describeValue(module, dim.value) +
                               ", which is not made yet");
  return {};
}

Status ProgramReader::walk(uint32_t program, unsigned depth) {
  if (depth > maxProgramDepth)
    return malformed("programs are nested more than " +
                     std::to_string(maxProgramDepth) + " deep");
  for (const Command &command : module.programs[program].commands)
    if (Status status = walkCommand(command, depth); !status.ok())
      return status;
  return {};
}

Status ProgramReader::walkBranch(uint32_t program,
                                 const std::vector<uint32_t> &results,
                                 const Command &command, unsigned depth) {
  size_t before = defined.size();
  if (Status status = walk(program, depth + 1); !status.ok())
    return status;
  for (uint32_t result : results)
    if (Status status = checkUse(result, command); !status.ok())
      return status;
  for (; defined.size() > before; defined.pop_back())
    isDefined[defined.back()] = false;
  return {};
}

Status ProgramReader::walkLoop(const Loop &loop, const Command &command,
                               unsigned depth) {
  size_t before = defined.size();
  for (uint32_t argument : loop.arguments)
    define(argument);
  for (uint32_t argument : loop.arguments)
    if (Status status = checkDimensions(argument, command); !status.ok())
      return status;
  if (Status status = walkBranch(loop.body, loop.results, command, depth);
      !status.ok())
    return status;
  for (; defined.size() > before; defined.pop_back())
    isDefined[defined.back()] = false;
  return {};
}

Status ProgramReader::walkCommand(const Command &command, unsigned depth) {
  for (int32_t input : command.inputs)
    if (input >= 0)
      if (Status status = checkUse(static_cast<uint32_t>(input), command);
          !status.ok())
        return status;
  Status status;
  if (const auto *launch = std::get_if<Launch>(&command.body)) {
    for (const std::vector<Dimension> *dims : {&launch->sizes, &launch->extent})
      if (status = checkDimensions(*dims, "a size", command); !status.ok())
        return status;
  } else if (const auto *branch = std::get_if<If>(&command.body)) {
    status =
        walkBranch(branch->thenProgram, branch->thenResults, command, depth);
    if (status.ok())
      status =
          walkBranch(branch->elseProgram, branch->elseResults, command, depth);
  } else if (const auto *loop = std::get_if<Loop>(&command.body)) {
    status = walkLoop(*loop, command, depth);
  }
  if (!status.ok())
    return status;
  for (uint32_t output : command.outputs)
    define(output);
  for (uint32_t output : command.outputs)
    if (status = checkDimensions(output, command); !status.ok())
      return status;
  return {};
}

Status amp::runtime::readPrograms(const ExecutableFile &file,
                                  const ChosenCode &code, KernelLookup lookup,
                                  Module &module) {
  return ProgramReader(file, code, lookup, module).read();
}
