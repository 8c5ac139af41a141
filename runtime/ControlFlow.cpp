//===- ControlFlow.cpp - branches and loops -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interpreter.h"
#include "Quote.h"

#include <algorithm>
#include <limits>
#include <type_traits>

using namespace amp::runtime;

static Status locate(const Command &command, const Status &status) {
  return Status::error(describeCommand(command) + ": " + status.getMessage());
}

/// The only element of a tensor.
template <typename T>
static Result<T> readScalar(const TensorView &tensor, std::string_view what) {
  if (tensor.getElementCount() != 1)
    return Status::error(std::string(what) + " must have one element, but is " +
                         toString(tensor.shape));
  // Any byte but 0 is true.
  if constexpr (std::is_same_v<T, bool>)
    return *tensor.as<uint8_t>() != 0;
  else
    return *tensor.as<T>();
}

Status Interpreter::assign(uint32_t value, const TensorView &from) {
  Slot &slot = slots[value];
  if (!slot.isKnown)
    slot.tensor.shape = from.shape;
  if (Status status = conform(value, from.shape); !status.ok())
    return status;
  if (Status status = allocate(value); !status.ok())
    return status;
  TensorView to = lookUnchecked(value);
  // A branch may have made it there.
  if (to.data != from.data)
    copyElements(from, to);
  return {};
}

Status Interpreter::runIf(const Command &command, const If &branch) {
  Result<TensorView> input = look(static_cast<uint32_t>(command.inputs[0]));
  if (!input.ok())
    return locate(command, input.getStatus());
  Result<bool> condition = readScalar<bool>(*input, "the condition");
  if (!condition.ok())
    return locate(command, condition.getStatus());
  const std::vector<uint32_t> &results =
      *condition ? branch.thenResults : branch.elseResults;
  if (Status status =
          runProgram(*condition ? branch.thenProgram : branch.elseProgram);
      !status.ok())
    return status;
  for (size_t i = 0; i < results.size(); ++i) {
    Result<TensorView> result = look(results[i]);
    if (!result.ok())
      return locate(command, result.getStatus());
    if (Status status = assign(command.outputs[i], *result); !status.ok())
      return locate(command, status);
  }
  return {};
}

Status Interpreter::assignCarried(const Loop &loop) {
  // What crosses is put aside before its memory is written.
  if (crossing.size() < loopDepth)
    crossing.resize(loopDepth);
  std::vector<Memory> &aside = crossing[loopDepth - 1];
  if (aside.size() < loop.crossing.size())
    aside.resize(loop.crossing.size());
  crossingShapes.clear();
  for (uint32_t i : loop.crossing) {
    Result<TensorView> from = look(loop.results[i + 1]);
    if (!from.ok())
      return from.getStatus();
    Memory &memory = aside[crossingShapes.size()];
    if (!memory.hasRoom(from->type, from->shape))
      if (Status status = memory.reserve(from->type, from->shape,
                                         describe(loop.results[i + 1]));
          !status.ok())
        return status;
    copyElements(*from, {memory.getData(from->type), from->type, from->shape});
    crossingShapes.push_back(from->shape);
  }
  size_t next = 0;
  for (size_t i = 0; i < loop.carried; ++i) {
    TensorView from;
    if (next < loop.crossing.size() && loop.crossing[next] == i) {
      from.type = module.values[loop.results[i + 1]].type;
      from.shape = crossingShapes[next];
      from.data = aside[next++].getData(from.type);
    } else {
      Result<TensorView> looked = look(loop.results[i + 1]);
      if (!looked.ok())
        return looked.getStatus();
      from = *looked;
    }
    if (Status status = assign(loop.arguments[i + 2], from); !status.ok())
      return status;
  }
  return {};
}

Status Interpreter::stack(uint32_t output, uint32_t result, int64_t iteration) {
  Result<TensorView> slice = look(result);
  if (!slice.ok())
    return slice.getStatus();
  Slot &slot = slots[output];
  Shape shape = {iteration + 1};
  if (slice->shape.getRank() == Shape::maxRank)
    return Status::error(describe(output) + " would have more than " +
                         std::to_string(Shape::maxRank) + " axes");
  for (int64_t dim : slice->shape)
    shape.push_back(dim);
  if (slot.isKnown) {
    shape[0] = slot.tensor.shape.getRank() == 0 ? 0 : slot.tensor.shape[0];
    if (iteration >= shape[0] || shape != slot.tensor.shape)
      return Status::error(
          "iteration " + std::to_string(iteration) + " gives " +
          toString(slice->shape) + " for " + describe(output) +
          ", which the executable says is " + toString(slot.tensor.shape));
  } else {
    for (size_t axis = 1; iteration > 0 && axis < shape.getRank(); ++axis)
      if (slot.tensor.shape.getRank() != shape.getRank() ||
          slot.tensor.shape[axis] != shape[axis])
        return Status::error("iteration " + std::to_string(iteration) +
                             " gives " + toString(slice->shape) + " for " +
                             describe(output) +
                             ", but iterations before gave others");
    if (Status status = growStack(output, shape, iteration); !status.ok())
      return status;
    slot.tensor.shape = shape;
  }
  TensorView target = *slice;
  int64_t first = iteration * slice->getElementCount();
  target.data =
      slot.tensor.type == DataType::String
          ? static_cast<void *>(slot.tensor.as<std::string>() + first)
          : slot.tensor.as<char>() +
                static_cast<size_t>(first) * getByteSize(slot.tensor.type);
  copyElements(*slice, target);
  return {};
}

Status Interpreter::growStack(uint32_t output, const Shape &shape,
                              int64_t iteration) {
  const Value &info = module.values[output];
  Slot &slot = slots[output];
  if (!computeByteCount(info.type, shape))
    return Status::error(describe(output) + " has dimensions " +
                         toString(shape) + ", which no memory can hold");
  if (info.storage == Storage::Output && isInPlace[info.index]) {
    Shape before = slot.tensor.shape;
    slot.tensor.shape = shape;
    Status status = allocate(output);
    if (!status.ok())
      slot.tensor.shape = before;
    return status;
  }
  Memory &memory = getMemory(output);
  int64_t kept = shape.getElementCount() / (iteration + 1) * iteration;
  if (!memory.hasRoom(info.type, shape))
    if (Status status = memory.grow(info.type, shape, kept, describe(output));
        !status.ok())
      return status;
  slot.tensor.data = memory.getData(info.type);
  return {};
}

Status Interpreter::finishStack(uint32_t output, uint32_t result,
                                int64_t iterations) {
  Slot &slot = slots[output];
  if (iterations == 0 && !slot.isKnown) {
    // Nobody said how large an iteration's part would be.
    const Value &info = module.values[output];
    const Value &part = module.values[result];
    slot.tensor.shape = {0};
    size_t rank = !info.unknownRank   ? info.dims.size()
                  : !part.unknownRank ? part.dims.size() + 1
                                      : 1;
    for (size_t axis = 1; axis < std::min(rank, Shape::maxRank); ++axis) {
      const Dimension *said = nullptr;
      if (!info.unknownRank && info.dims[axis].kind != Dimension::Kind::Unknown)
        said = &info.dims[axis];
      else if (!part.unknownRank && axis - 1 < part.dims.size() &&
               part.dims[axis - 1].kind == Dimension::Kind::Size)
        said = &part.dims[axis - 1];
      int64_t size = 0;
      if (said)
        if (Status status = getSize(*said, size); !status.ok())
          return status;
      slot.tensor.shape.push_back(size);
    }
    if (Status status = allocate(output); !status.ok())
      return status;
  }
  Shape shape = slot.tensor.shape;
  if (shape.getRank() > 0)
    shape[0] = iterations;
  return conform(output, shape);
}

Status Interpreter::runLoop(const Command &command, const Loop &loop) {
  int64_t limit = std::numeric_limits<int64_t>::max();
  bool condition = true;
  auto read = [&](size_t i, auto &scalar, const char *what) -> Status {
    if (command.inputs[i] < 0)
      return {};
    Result<TensorView> tensor = look(static_cast<uint32_t>(command.inputs[i]));
    if (!tensor.ok())
      return tensor.getStatus();
    auto value = readScalar<std::decay_t<decltype(scalar)>>(*tensor, what);
    if (!value.ok())
      return value.getStatus();
    scalar = *value;
    return {};
  };
  if (Status status = read(0, limit, "the trip count"); !status.ok())
    return locate(command, status);
  if (Status status = read(1, condition, "the condition"); !status.ok())
    return locate(command, status);
  for (size_t i = 0; i < loop.carried; ++i) {
    Result<TensorView> initial =
        look(static_cast<uint32_t>(command.inputs[i + 2]));
    if (!initial.ok())
      return locate(command, initial.getStatus());
    if (Status status = assign(loop.arguments[i + 2], *initial); !status.ok())
      return locate(command, status);
  }

  ++loopDepth;
  int64_t iteration = 0;
  for (; iteration < limit && condition; ++iteration) {
    if (Status status =
            assign(loop.arguments[0], {&iteration, DataType::Int64, {}});
        !status.ok())
      return locate(command, status);
    if (Status status =
            assign(loop.arguments[1], {&condition, DataType::Bool, {}});
        !status.ok())
      return locate(command, status);
    if (Status status = runProgram(loop.body); !status.ok())
      return status;
    Result<TensorView> next = look(loop.results[0]);
    if (!next.ok())
      return locate(command, next.getStatus());
    Result<bool> value = readScalar<bool>(*next, "the condition");
    if (!value.ok())
      return locate(command, value.getStatus());
    condition = *value;
    for (size_t i = loop.carried; i < command.outputs.size(); ++i)
      if (Status status =
              stack(command.outputs[i], loop.results[i + 1], iteration);
          !status.ok())
        return locate(command, status);
    if (Status status = assignCarried(loop); !status.ok())
      return locate(command, status);
  }
  --loopDepth;

  for (size_t i = 0; i < loop.carried; ++i) {
    Result<TensorView> last = look(loop.arguments[i + 2]);
    if (!last.ok())
      return locate(command, last.getStatus());
    if (Status status = assign(command.outputs[i], *last); !status.ok())
      return locate(command, status);
  }
  for (size_t i = loop.carried; i < command.outputs.size(); ++i)
    if (Status status =
            finishStack(command.outputs[i], loop.results[i + 1], iteration);
        !status.ok())
      return locate(command, status);
  return {};
}
