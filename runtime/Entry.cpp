//===- Entry.cpp - dimensions and memory for inputs of some sizes ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interpreter.h"
#include "MemoryPlan.h"
#include "Quote.h"

#include <algorithm>

using namespace amp::runtime;

Status Interpreter::checkInputs() {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!isInputSet[i])
      return Status::error("input " + quote(module.inputInfos[i].name) +
                           " is not set, and has no default");
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const Tie &tie : module.inputs[i].ties) {
      const Shape &other = inputs[tie.otherInput].shape;
      int64_t size = inputs[i].shape[tie.axis];
      if (size == other[tie.otherAxis])
        continue;
      const std::string &symbol = module.inputs[i].symbols[tie.axis];
      return Status::error(
          "input " + quote(module.inputInfos[i].name) + " has " +
          std::to_string(size) + " for axis " + std::to_string(tie.axis) +
          (symbol.empty() ? "" : " (" + quote(symbol) + ")") + ", but input " +
          quote(module.inputInfos[tie.otherInput].name) + " has " +
          std::to_string(other[tie.otherAxis]) + " for axis " +
          std::to_string(tie.otherAxis) + ", which must be equal");
    }
  }
  return {};
}

void Interpreter::know(uint32_t value, const Shape &shape) {
  slots[value].tensor.shape = shape;
  slots[value].isKnown = true;
}

Status Interpreter::findShape(uint32_t value, bool &isFound) {
  Slot &slot = slots[value];
  isFound = slot.isKnown;
  const Value &info = module.values[value];
  if (isFound || info.unknownRank)
    return {};
  Shape shape;
  for (const Dimension &dim : info.dims) {
    if (dim.kind == Dimension::Kind::Unknown ||
        (dim.kind == Dimension::Kind::Axis && !slots[dim.value].isKnown))
      return {};
    int64_t size = 0;
    if (Status status = getSize(dim, size); !status.ok())
      return status;
    shape.push_back(size);
  }
  if (!computeByteCount(info.type, shape))
    return Status::error(describe(value) + " has dimensions " +
                         toString(shape) + ", which no memory can hold");
  know(value, shape);
  isFound = true;
  return {};
}

Status Interpreter::prepare() {
  isPrepared = false;
  for (uint32_t i = 0; i < slots.size(); ++i) {
    const Value &value = module.values[i];
    Slot &slot = slots[i];
    void *data = slot.tensor.data;
    slot = Slot();
    slot.tensor.type = value.type;
    if (value.storage == Storage::Input && value.root == i) {
      know(i, inputs[value.index].shape);
      slot.tensor.data = data;
    } else if (value.isStatic) {
      know(i, value.shape);
    }
    if (value.storage == Storage::Constant) {
      slot.isDataKnown = true;
      const Value &root = module.values[value.root];
      const void *constant =
          root.type == DataType::String
              ? static_cast<const void *>(root.strings.data())
              : module.constants[root.index] + value.offset;
      slot.tensor.data = const_cast<void *>(constant); // Nothing writes it.
    }
  }
  if (Status status = prepareProgram(0); !status.ok())
    return status;
  for (uint32_t i = 0; i < slots.size(); ++i) {
    bool isFound = false;
    if (!module.values[i].isMade)
      if (Status status = findShape(i, isFound); !status.ok())
        return status;
  }
  if (Status status = placeValues(); !status.ok())
    return status;

  preparedShapes.clear();
  for (const TensorView &input : inputs)
    preparedShapes.push_back(input.shape);
  isPrepared = true;
  return {};
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

Status Interpreter::prepareProgram(uint32_t program) {
  // What is in a branch may never run, and may be wrong for these dimensions:
  // it is an error if it runs.
  bool isCertain = program == 0;
  for (const Command &command : module.programs[program].commands) {
    commandStates[command.id] = CommandState();
    Status status = prepareCommand(command);
    if (status.ok() && command.atEntry)
      status = runAtEntry(command);
    if (!status.ok() && isCertain)
      return Status::error(describeCommand(command) + ": " +
                           status.getMessage());
    if (!status.ok())
      commandStates[command.id].isDynamic = true;
  }
  return {};
}

Status Interpreter::prepareCommand(const Command &command) {
  CommandState &state = commandStates[command.id];
  auto findAll = [&](const auto &values, bool &areKnown) -> Status {
    for (auto value : values) {
      bool isFound = true;
      if (static_cast<int64_t>(value) >= 0)
        if (Status status = findShape(static_cast<uint32_t>(value), isFound);
            !status.ok())
          return status;
      areKnown &= isFound;
    }
    return {};
  };
  bool inputsKnown = true, outputsKnown = true;
  if (Status status = findAll(command.inputs, inputsKnown); !status.ok())
    return status;
  if (Status status = findAll(command.outputs, outputsKnown); !status.ok())
    return status;
  state.isDynamic = !inputsKnown || !outputsKnown;

  if (const auto *call = std::get_if<Call>(&command.body))
    return prepareCall(command, *call, inputsKnown);
  if (const auto *branch = std::get_if<If>(&command.body)) {
    prepareIf(command, *branch);
  } else if (const auto *loop = std::get_if<Loop>(&command.body)) {
    prepareLoop(command, *loop);
  } else {
    const Launch &launch = std::get<Launch>(command.body);
    for (const std::vector<Dimension> *dims : {&launch.sizes, &launch.extent})
      for (const Dimension &dim : *dims)
        state.isDynamic |=
            dim.kind == Dimension::Kind::Axis && !slots[dim.value].isKnown;
    state.scratchSize = launch.scratch * threads.getSize();
  }
  return {};
}

Status Interpreter::prepareCall(const Command &command, const Call &call,
                                bool inputsKnown) {
  CommandState &state = commandStates[command.id];
  if (!inputsKnown)
    return {};
  Span<TensorView> in = {operands.data(), command.inputs.size()};
  Span<TensorView> out = {operands.data() + in.size, command.outputs.size()};
  bool isDataKnown = true;
  for (size_t i = 0; i < in.size; ++i) {
    in[i] = TensorView();
    if (command.inputs[i] < 0)
      continue;
    auto value = static_cast<uint32_t>(command.inputs[i]);
    // A view of what is known at entry is known, too.
    const Value &info = module.values[value];
    bool isKnownView = !info.isMade && slots[info.root].isDataKnown;
    in[i] = slots[value].tensor;
    if (isKnownView)
      in[i].data =
          static_cast<char *>(slots[info.root].tensor.data) + info.offset;
    else if (!slots[value].isDataKnown)
      in[i].data = nullptr;
    if (!isKnownView && !slots[value].isDataKnown)
      isDataKnown &= !call.kernel->needsDataForShapes(i);
  }
  Span<const TensorView> constIn = {in.data, in.size};
  if (isDataKnown) {
    for (size_t i = 0; i < out.size; ++i) {
      out[i] = TensorView();
      out[i].type = module.values[command.outputs[i]].type;
    }
    if (Status status = call.kernel->inferShapes(constIn, out); !status.ok())
      return status;
    std::vector<bool> wasKnown;
    for (size_t i = 0; i < out.size; ++i) {
      Slot &slot = slots[command.outputs[i]];
      wasKnown.push_back(slot.isKnown);
      if (!slot.isKnown)
        know(command.outputs[i], out[i].shape);
    }
    for (size_t i = 0; i < out.size; ++i) {
      Status status = conform(command.outputs[i], out[i].shape);
      if (status.ok())
        continue;
      for (size_t j = 0; j < out.size; ++j)
        slots[command.outputs[j]].isKnown = wasKnown[j];
      return status;
    }
    state.isDynamic = false;
  }
  if (state.isDynamic)
    return {};
  for (size_t i = 0; i < out.size; ++i)
    out[i] = slots[command.outputs[i]].tensor;
  state.scratchSize = call.kernel->getScratchSize(constIn, {out.data, out.size},
                                                  threads.getSize());
  return {};
}

void Interpreter::prepareIf(const Command &command, const If &branch) {
  // Errors in there have been kept for when they run.
  (void)prepareProgram(branch.thenProgram);
  (void)prepareProgram(branch.elseProgram);
  for (size_t i = 0; i < command.outputs.size(); ++i) {
    uint32_t output = command.outputs[i];
    bool isThenFound = false, isElseFound = false;
    bool isOk = findShape(branch.thenResults[i], isThenFound).ok() &&
                findShape(branch.elseResults[i], isElseFound).ok();
    if (slots[output].isKnown || !isOk || !isThenFound || !isElseFound)
      continue;
    const Shape &shape = slots[branch.thenResults[i]].tensor.shape;
    if (shape == slots[branch.elseResults[i]].tensor.shape &&
        conform(output, shape).ok())
      know(output, shape);
  }
}

void Interpreter::prepareLoop(const Command &command, const Loop &loop) {
  bool isFound = false;
  for (uint32_t argument : loop.arguments)
    (void)findShape(argument, isFound);
  (void)prepareProgram(loop.body);
  for (uint32_t result : loop.results)
    (void)findShape(result, isFound);
  for (size_t i = 0; i < loop.carried; ++i) {
    const Slot &argument = slots[loop.arguments[i + 2]];
    uint32_t output = command.outputs[i];
    if (!slots[output].isKnown && argument.isKnown &&
        conform(output, argument.tensor.shape).ok())
      know(output, argument.tensor.shape);
  }
}

Status Interpreter::runAtEntry(const Command &command) {
  CommandState &state = commandStates[command.id];
  if (state.isDynamic)
    return Status::error("it runs at entry, but its dimensions are not known "
                         "there");
  if (Status status = scratch.reserve(state.scratchSize, "scratch memory");
      !status.ok())
    return status;
  for (uint32_t output : command.outputs) {
    Slot &slot = slots[output];
    Memory &memory = getMemory(output);
    if (Status status = memory.reserve(slot.tensor.type, slot.tensor.shape,
                                       describe(output));
        !status.ok())
      return status;
    slot.tensor.data = memory.getData(slot.tensor.type);
    slot.isDataKnown = true;
  }
  // Views among the inputs have not been placed yet.
  for (int32_t input : command.inputs) {
    if (input < 0)
      continue;
    const Value &value = module.values[static_cast<size_t>(input)];
    Slot &slot = slots[static_cast<size_t>(input)];
    if (void *data = slots[value.root].tensor.data)
      slot.tensor.data = static_cast<char *>(data) + value.offset;
  }
  if (const auto *call = std::get_if<Call>(&command.body))
    return runCall(command, *call);
  return runLaunch(command, std::get<Launch>(command.body));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Status Interpreter::planArena(std::vector<uint64_t> &offsets) {
  // The last few are kept: batches of the same sizes come again.
  constexpr size_t kept = 4;
  auto isSame = [&](const CachedPlan &plan) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (plan.inputShapes[i] != inputs[i].shape)
        return false;
    return true;
  };
  auto found = std::find_if(cachedPlans.begin(), cachedPlans.end(), isSame);
  if (found == cachedPlans.end()) {
    std::vector<PlannedBuffer> buffers;
    std::vector<uint32_t> roots;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < slots.size(); ++i) {
      const Value &value = module.values[i];
      const Lifetime &lifetime = module.lifetimes[i];
      if (value.root != i || value.storage != Storage::Arena ||
          value.type == DataType::String || value.isMadeAtEntry ||
          !slots[i].isKnown || lifetime.begin > lifetime.end)
        continue;
      PlannedBuffer buffer;
      buffer.size = slots[i].tensor.getByteCount();
      buffer.begin = lifetime.begin;
      buffer.end = lifetime.end;
      sum += buffer.size;
      if (buffer.size > uint64_t{1} << 60 || sum > uint64_t{1} << 61)
        return Status::error("values of these dimensions need more memory than "
                             "there can be");
      buffers.push_back(buffer);
      roots.push_back(i);
    }
    CachedPlan plan;
    plan.arenaSize = planMemory(buffers).arenaSize;
    plan.offsets.resize(slots.size());
    for (size_t i = 0; i < roots.size(); ++i)
      plan.offsets[roots[i]] = buffers[i].offset;
    for (const TensorView &input : inputs)
      plan.inputShapes.push_back(input.shape);
    if (cachedPlans.size() == kept)
      cachedPlans.pop_back();
    cachedPlans.push_back(std::move(plan));
    found = cachedPlans.end() - 1;
  }
  // The one that was used last is the first.
  std::rotate(cachedPlans.begin(), found, found + 1);
  offsets = cachedPlans.front().offsets;
  arenaSize = cachedPlans.front().arenaSize;
  return {};
}

Status Interpreter::placeValues() {
  std::vector<uint64_t> offsets;
  if (!module.arenaSize) {
    if (Status status = planArena(offsets); !status.ok())
      return status;
  } else {
    arenaSize = *module.arenaSize;
  }
  if (Status status = arena.reserve(arenaSize, "the arena of a step");
      !status.ok())
    return status;
  for (uint32_t i = 0; i < slots.size(); ++i) {
    const Value &value = module.values[i];
    if (value.root != i)
      continue;
    uint64_t offset =
        offsets.empty() ? value.arenaOffset.value_or(0) : offsets[i];
    if (Status status = placeRoot(i, offset); !status.ok())
      return status;
  }
  for (uint32_t i = 0; i < slots.size(); ++i) {
    const Value &value = module.values[i];
    if (value.root == i)
      continue;
    Slot &slot = slots[i];
    const Slot &root = slots[value.root];
    if (slot.isKnown && root.isKnown)
      if (Status status = checkView(i); !status.ok())
        return status;
    slot.isMoving = value.storage == Storage::Input ||
                    value.storage == Storage::Output || !root.isKnown ||
                    (!slot.isKnown && !value.isMade);
    if (root.isKnown && root.tensor.data)
      slot.tensor.data = static_cast<char *>(root.tensor.data) + value.offset;
  }
  size_t scratchSize = 0;
  for (const CommandState &state : commandStates)
    scratchSize = std::max(scratchSize, state.scratchSize);
  return scratch.reserve(scratchSize, "scratch memory");
}

Status Interpreter::placeRoot(uint32_t index, uint64_t offset) {
  const Value &value = module.values[index];
  Slot &slot = slots[index];
  switch (value.storage) {
  case Storage::Input:
  case Storage::Constant:
    return {};
  case Storage::State:
    slot.tensor.data = states[value.index].getData();
    return {};
  case Storage::Output:
  case Storage::Arena:
    break;
  }
  // Others find their memory when they are made.
  if (!slot.isKnown || value.isMadeAtEntry)
    return {};
  if (value.storage == Storage::Arena && value.type != DataType::String) {
    slot.tensor.data = static_cast<char *>(arena.getData()) + offset;
    return {};
  }
  Memory &memory = getMemory(index);
  if (Status status =
          memory.reserve(value.type, slot.tensor.shape, describe(index));
      !status.ok())
    return status;
  slot.tensor.data = memory.getData(value.type);
  return {};
}
