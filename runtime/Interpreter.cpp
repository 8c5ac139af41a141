//===- Interpreter.cpp - runs the commands of a step ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interpreter.h"

#include "Quote.h"
#include "amp/Runtime/ExecutableFormat.h"

#include <algorithm>
#include <cstring>

using namespace amp::runtime;

Interpreter::Interpreter(const Module &module, unsigned threadCount)
    : module(module), threads(threadCount), slots(module.values.size()),
      inputs(module.inputs.size()), isInputSet(module.inputs.size()),
      bindings(module.outputs.size()), isInPlace(module.outputs.size()),
      memories(module.values.size()), commandStates(module.commandCount),
      operands(module.maxOperands),
      // Each thread has a scratch pointer of its own behind the operands.
      pointers((module.maxOperands + 1) * threads.getSize()),
      sizes(module.maxSizes) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!module.inputs[i].otherwise)
      continue;
    const Value &constant = module.values[*module.inputs[i].otherwise];
    TensorView &tensor = inputs[i];
    tensor.type = constant.type;
    tensor.shape = constant.shape;
    const void *data = constant.type == DataType::String
                           ? static_cast<const void *>(constant.strings.data())
                           : module.constants[constant.index];
    tensor.data = const_cast<void *>(data); // Nothing writes inputs.
    isInputSet[i] = true;
  }
}

//===----------------------------------------------------------------------===//
// States, inputs and outputs
//===----------------------------------------------------------------------===//

Status Interpreter::createStates() {
  states.resize(module.states.size());
  for (size_t i = 0; i < states.size(); ++i)
    if (Status status =
            states[i].reserve(getState(i).getByteCount(),
                              "state " + quote(module.stateInfos[i].name));
        !status.ok())
      return status;
  resetStates();
  return {};
}

void Interpreter::resetStates() {
  for (size_t i = 0; i < states.size(); ++i) {
    const Value &initial = module.values[module.states[i].initial];
    if (size_t size = getState(i).getByteCount())
      std::memcpy(states[i].getData(), module.constants[initial.index], size);
  }
}

TensorView Interpreter::getState(size_t index) const {
  const Value &value = module.values[module.states[index].value];
  return {states[index].getData(), value.type, value.shape};
}

void Interpreter::setInput(size_t index, const TensorView &tensor) {
  inputs[index] = tensor;
  isInputSet[index] = true;
}

void Interpreter::bindOutput(size_t index, void *data, size_t byteCount) {
  bindings[index] = {data, byteCount};
}

Status Interpreter::step() {
  isDone = false;
  if (Status status = checkInputs(); !status.ok())
    return status;
  for (size_t i = 0; i < inputs.size(); ++i)
    slots[module.inputs[i].value].tensor.data = inputs[i].data;

  bool isSame = isPrepared;
  for (size_t i = 0; isSame && i < inputs.size(); ++i)
    isSame = inputs[i].shape == preparedShapes[i];
  if (!isSame)
    if (Status status = prepare(); !status.ok())
      return status;

  for (size_t i = 0; i < module.outputs.size(); ++i) {
    uint32_t value = module.outputs[i];
    const Value &info = module.values[value];
    isInPlace[i] = false;
    if (info.storage != Storage::Output || info.root != value)
      continue;
    Slot &slot = slots[value];
    isInPlace[i] =
        bindings[i].data && info.index == i && info.type != DataType::String;
    if (!slot.isKnown) // Found when it is made.
      continue;
    if (!isInPlace[i])
      slot.tensor.data = getMemory(value).getData(info.type);
    else if (slot.tensor.getByteCount() <= bindings[i].byteCount)
      slot.tensor.data = bindings[i].data;
    else
      return Status::error("output " + quote(module.outputInfos[i].name) +
                           " takes " +
                           std::to_string(slot.tensor.getByteCount()) +
                           " bytes, but the memory that is bound to it has " +
                           std::to_string(bindings[i].byteCount));
  }

  loopDepth = 0;
  if (Status status = runProgram(0); !status.ok())
    return status;

  for (size_t i = 0; i < module.outputs.size(); ++i) {
    // A view may have dimensions that nobody has asked for yet.
    Result<TensorView> from = look(module.outputs[i]);
    if (!from.ok())
      return from.getStatus();
    if (!bindings[i].data || isInPlace[i])
      continue;
    if (from->type == DataType::String)
      return Status::error("output " + quote(module.outputInfos[i].name) +
                           " has strings, for which no memory can be bound");
    if (from->getByteCount() > bindings[i].byteCount)
      return Status::error("output " + quote(module.outputInfos[i].name) +
                           " takes " + std::to_string(from->getByteCount()) +
                           " bytes, but the memory that is bound to it has " +
                           std::to_string(bindings[i].byteCount));
    copyElements(*from, {bindings[i].data, from->type, from->shape});
  }
  isDone = true;
  return {};
}

TensorView Interpreter::getOutput(size_t index) {
  TensorView tensor = lookUnchecked(module.outputs[index]);
  if (bindings[index].data)
    tensor.data = bindings[index].data;
  return tensor;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Memory &Interpreter::getMemory(uint32_t value) {
  std::unique_ptr<Memory> &memory = memories[value];
  if (!memory)
    memory = std::make_unique<Memory>();
  return *memory;
}

Status Interpreter::getSize(const Dimension &dimension, int64_t &size) const {
  if (dimension.kind == Dimension::Kind::Size) {
    size = dimension.size;
    return {};
  }
  const Shape &shape = slots[dimension.value].tensor.shape;
  if (dimension.axis >= shape.getRank())
    return Status::error(describe(dimension.value) + " has dimensions " +
                         toString(shape) + ", but no axis " +
                         std::to_string(dimension.axis));
  size = shape[dimension.axis];
  return {};
}

size_t Interpreter::getRootCapacity(uint32_t root) const {
  const Value &value = module.values[root];
  const Slot &slot = slots[root];
  if (value.type == DataType::String)
    return static_cast<size_t>(slot.tensor.getElementCount());
  if (slot.isKnown)
    return slot.tensor.getByteCount();
  if (value.storage == Storage::Output && isInPlace[value.index])
    return bindings[value.index].byteCount;
  return memories[root] ? memories[root]->getCapacity() : 0;
}

Status Interpreter::checkView(uint32_t value) const {
  const Value &view = module.values[value];
  const TensorView &tensor = slots[value].tensor;
  size_t capacity = getRootCapacity(view.root);
  auto size = view.type == DataType::String
                  ? static_cast<size_t>(tensor.getElementCount())
                  : tensor.getByteCount();
  if (view.offset <= capacity && size <= capacity - view.offset)
    return {};
  return Status::error(describe(value) + " (" + toString(tensor.shape) +
                       " at byte " + std::to_string(view.offset) +
                       ") reaches beyond " + describe(view.root) + " of " +
                       std::to_string(capacity) +
                       (view.type == DataType::String ? " strings" : " bytes"));
}

TensorView Interpreter::lookUnchecked(uint32_t value) {
  Slot &slot = slots[value];
  if (slot.isMoving)
    slot.tensor.data =
        static_cast<char *>(slots[module.values[value].root].tensor.data) +
        module.values[value].offset;
  return slot.tensor;
}

Result<TensorView> Interpreter::look(uint32_t value) {
  Slot &slot = slots[value];
  if (!slot.isMoving)
    return slot.tensor;
  const Value &info = module.values[value];
  if (!slot.isKnown && !info.isMade) {
    slot.tensor.shape.clear();
    for (const Dimension &dim : info.dims) {
      int64_t size = 0;
      if (Status status = getSize(dim, size); !status.ok())
        return status;
      slot.tensor.shape.push_back(size);
    }
    if (!computeByteCount(info.type, slot.tensor.shape))
      return Status::error(describe(value) + " has dimensions " +
                           toString(slot.tensor.shape) +
                           ", which no memory can hold");
    if (Status status = checkView(value); !status.ok())
      return status;
  }
  return lookUnchecked(value);
}

Status Interpreter::conform(uint32_t value, const Shape &shape) const {
  const Value &info = module.values[value];
  auto fail = [&](const std::string &expected) {
    return Status::error(describe(value) + " has dimensions " +
                         toString(shape) + ", but the executable says " +
                         expected);
  };
  if (slots[value].isKnown && slots[value].tensor.shape != shape)
    return fail(toString(slots[value].tensor.shape));
  if (!computeByteCount(info.type, shape))
    return Status::error(describe(value) + " has dimensions " +
                         toString(shape) + ", which no memory can hold");
  if (info.unknownRank)
    return {};
  if (info.dims.size() != shape.getRank())
    return fail("rank " + std::to_string(info.dims.size()));
  for (size_t axis = 0; axis < info.dims.size(); ++axis) {
    if (info.dims[axis].kind == Dimension::Kind::Unknown)
      continue;
    int64_t size = 0;
    if (Status status = getSize(info.dims[axis], size); !status.ok())
      return status;
    if (size != shape[axis])
      return fail("that axis " + std::to_string(axis) + " is " +
                  std::to_string(size));
  }
  return {};
}

Status Interpreter::allocate(uint32_t value) {
  const Value &info = module.values[value];
  Slot &slot = slots[value];
  if (info.root != value) {
    if (Status status = checkView(value); !status.ok())
      return status;
    lookUnchecked(value);
    return {};
  }
  if (slot.isKnown)
    return {};
  if (info.storage == Storage::Output && isInPlace[info.index]) {
    const Binding &binding = bindings[info.index];
    if (slot.tensor.getByteCount() > binding.byteCount)
      return Status::error(
          "output " + quote(module.outputInfos[info.index].name) + " takes " +
          std::to_string(slot.tensor.getByteCount()) +
          " bytes, but the memory that is bound to it has " +
          std::to_string(binding.byteCount));
    slot.tensor.data = binding.data;
    return {};
  }
  Memory &memory = getMemory(value);
  if (!memory.hasRoom(info.type, slot.tensor.shape))
    if (Status status =
            memory.reserve(info.type, slot.tensor.shape, describe(value));
        !status.ok())
      return status;
  slot.tensor.data = memory.getData(info.type);
  return {};
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

static Status locate(const Command &command, const Status &status) {
  return Status::error(describeCommand(command) + ": " + status.getMessage());
}

Status Interpreter::runProgram(uint32_t program) {
  for (const Command &command : module.programs[program].commands) {
    if (command.atEntry)
      continue;
    if (Status status = runCommand(command); !status.ok())
      return status;
  }
  return {};
}

Status Interpreter::runCommand(const Command &command) {
  CommandEvent::Clock::time_point begin;
  if (observer)
    begin = CommandEvent::Clock::now();
  Status status;
  std::string_view operation;
  bool isLeaf = true;
  if (const auto *call = std::get_if<Call>(&command.body)) {
    status = runCall(command, *call);
    operation = call->name;
  } else if (const auto *launch = std::get_if<Launch>(&command.body)) {
    status = runLaunch(command, *launch);
    operation = launch->name;
  } else {
    isLeaf = false;
    if (const auto *branch = std::get_if<If>(&command.body)) {
      status = runIf(command, *branch);
      operation = "if";
    } else {
      status = runLoop(command, std::get<Loop>(command.body));
      operation = "loop";
    }
  }
  if (!status.ok())
    return status;
  if (observer) {
    CommandEvent event;
    event.node = command.node;
    event.operation = operation;
    event.begin = begin;
    event.end = CommandEvent::Clock::now();
    if (isLeaf) {
      event.inputs = operands.data();
      event.inputCount = command.inputs.size();
      event.outputs = operands.data() + event.inputCount;
      event.outputCount = command.outputs.size();
      outputNames.clear();
      for (uint32_t output : command.outputs)
        outputNames.push_back(module.values[output].name);
      event.outputNames = outputNames.data();
    }
    observer->handle(event);
  }
  return {};
}

Status Interpreter::gatherInputs(const Command &command) {
  TensorView *next = operands.data();
  for (int32_t input : command.inputs) {
    if (input < 0) {
      *next++ = TensorView();
      continue;
    }
    auto value = static_cast<uint32_t>(input);
    if (!slots[value].isMoving) {
      *next++ = slots[value].tensor;
      continue;
    }
    Result<TensorView> tensor = look(value);
    if (!tensor.ok())
      return tensor.getStatus();
    *next++ = *tensor;
  }
  return {};
}

void Interpreter::gatherOutputs(const Command &command) {
  TensorView *next = operands.data() + command.inputs.size();
  for (uint32_t output : command.outputs)
    *next++ = lookUnchecked(output);
}

Status Interpreter::findCallOutputs(const Command &command, const Call &call) {
  Span<const TensorView> in = {operands.data(), command.inputs.size()};
  Span<TensorView> out = {operands.data() + in.size, command.outputs.size()};
  for (size_t i = 0; i < out.size; ++i) {
    out[i] = TensorView();
    out[i].type = module.values[command.outputs[i]].type;
  }
  if (Status status = call.kernel->inferShapes(in, out); !status.ok())
    return status;
  // Dimensions may be those of another result: all are set first.
  for (size_t i = 0; i < out.size; ++i)
    if (Slot &slot = slots[command.outputs[i]]; !slot.isKnown)
      slot.tensor.shape = out[i].shape;
  for (size_t i = 0; i < out.size; ++i) {
    if (Status status = conform(command.outputs[i], out[i].shape); !status.ok())
      return status;
    if (Status status = allocate(command.outputs[i]); !status.ok())
      return status;
  }
  return {};
}

Status Interpreter::runCall(const Command &command, const Call &call) {
  if (Status status = gatherInputs(command); !status.ok())
    return locate(command, status);
  CommandState &state = commandStates[command.id];
  if (state.isDynamic)
    if (Status status = findCallOutputs(command, call); !status.ok())
      return locate(command, status);
  gatherOutputs(command);
  KernelArguments arguments;
  arguments.inputs = {operands.data(), command.inputs.size()};
  arguments.outputs = {operands.data() + command.inputs.size(),
                       command.outputs.size()};
  arguments.threads = &threads;
  if (state.isDynamic) {
    state.scratchSize = call.kernel->getScratchSize(
        arguments.inputs, {arguments.outputs.data, arguments.outputs.size},
        threads.getSize());
    if (Status status = scratch.reserve(state.scratchSize, "scratch memory");
        !status.ok())
      return locate(command, status);
  }
  arguments.scratch = scratch.getData();
  if (Status status = call.kernel->run(arguments); !status.ok())
    return locate(command, status);
  return {};
}

Status Interpreter::findLaunchOutputs(const Command &command) {
  for (uint32_t output : command.outputs) {
    Slot &slot = slots[output];
    if (!slot.isKnown) {
      Shape shape;
      for (const Dimension &dim : module.values[output].dims) {
        int64_t size = 0;
        if (Status status = getSize(dim, size); !status.ok())
          return status;
        shape.push_back(size);
      }
      slot.tensor.shape = shape;
    }
    if (Status status = conform(output, slot.tensor.shape); !status.ok())
      return status;
    if (Status status = allocate(output); !status.ok())
      return status;
  }
  return {};
}

Status Interpreter::runLaunch(const Command &command, const Launch &launch) {
  if (Status status = gatherInputs(command); !status.ok())
    return locate(command, status);
  CommandState &state = commandStates[command.id];
  if (state.isDynamic) {
    Status status = findLaunchOutputs(command);
    if (status.ok())
      status =
          scratch.reserve(launch.scratch * threads.getSize(), "scratch memory");
    if (!status.ok())
      return locate(command, status);
  }
  gatherOutputs(command);
  for (size_t i = 0; i < launch.sizes.size(); ++i)
    if (Status status = getSize(launch.sizes[i], sizes[i]); !status.ok())
      return locate(command, status);
  int64_t extent = 1;
  for (const Dimension &dim : launch.extent) {
    int64_t size = 0;
    if (Status status = getSize(dim, size); !status.ok())
      return locate(command, status);
    if (__builtin_mul_overflow(extent, size, &extent))
      return locate(command, Status::error("it has more iterations than 63 "
                                           "bits can count"));
  }

  size_t operandCount = command.inputs.size() + command.outputs.size();
  size_t stride = operandCount + 1;
  unsigned copies = launch.scratch > 0 ? threads.getSize() : 1;
  for (unsigned thread = 0; thread < copies; ++thread) {
    void **row = pointers.data() + thread * stride;
    for (size_t i = 0; i < operandCount; ++i)
      row[i] = operands[i].data;
    row[operandCount] =
        static_cast<char *>(scratch.getData()) + thread * launch.scratch;
  }
  threads.parallelFor(
      extent, launch.grain, [&](int64_t begin, int64_t end, unsigned thread) {
        void **row = pointers.data() + (copies == 1 ? 0 : thread * stride);
        launch.function(row, sizes.data(), begin, end);
      });
  return {};
}
