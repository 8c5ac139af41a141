//===- Interpreter.h - one session's values and how they come about -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Entry.cpp finds dimensions and memory for inputs of some dimensions; a step
// then runs commands (Interpreter.cpp, ControlFlow.cpp). What entry could not
// find, since it depends on data, is found when the command that makes the
// value runs.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_INTERPRETER_H
#define AMP_RUNTIME_INTERPRETER_H

#include "Buffer.h"
#include "CPU/ThreadPool.h"
#include "Memory.h"
#include "Module.h"
#include "amp/Runtime/Session.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace amp::runtime {

class Interpreter {
public:
  Interpreter(const Module &module, unsigned threads);

  /// Memory and first content of states.
  Status createStates();
  void resetStates();
  TensorView getState(size_t index) const;

  /// Type, rank and fixed dimensions are right.
  void setInput(size_t index, const TensorView &tensor);
  void bindOutput(size_t index, void *data, size_t byteCount);
  Status step();
  /// Whether the last step gave something.
  bool hasOutputs() const { return isDone; }
  TensorView getOutput(size_t index);

  void setObserver(CommandObserver *observer) { this->observer = observer; }
  unsigned getThreadCount() const { return threads.getSize(); }
  size_t getArenaSize() const { return arenaSize; }

private:
  struct Slot {
    TensorView tensor;
    /// The dimensions are known at entry; the memory then, too.
    bool isKnown = false;
    /// The elements are known at entry.
    bool isDataKnown = false;
    /// Where it is must be looked up when it is used.
    bool isMoving = false;
  };
  struct CommandState {
    /// Dimensions of results are found when it runs.
    bool isDynamic = false;
    size_t scratchSize = 0;
  };
  struct Binding {
    void *data = nullptr;
    size_t byteCount = 0;
  };
  /// A plan for inputs of some dimensions.
  struct CachedPlan {
    std::vector<Shape> inputShapes;
    std::vector<uint64_t> offsets;
    uint64_t arenaSize = 0;
  };

  // Entry.cpp
  Status checkInputs();
  Status prepare();
  Status prepareProgram(uint32_t program);
  Status prepareCommand(const Command &command);
  Status prepareCall(const Command &command, const Call &call,
                     bool inputsKnown);
  void prepareIf(const Command &command, const If &branch);
  void prepareLoop(const Command &command, const Loop &loop);
  Status runAtEntry(const Command &command);
  Status placeValues();
  Status planArena(std::vector<uint64_t> &offsets);
  Status placeRoot(uint32_t value, uint64_t offset);
  /// Whether all dimensions are sizes of what is known.
  Status findShape(uint32_t value, bool &isFound);
  void know(uint32_t value, const Shape &shape);

  // Interpreter.cpp
  Status runProgram(uint32_t program);
  Status runCommand(const Command &command);
  Status runCall(const Command &command, const Call &call);
  Status runLaunch(const Command &command, const Launch &launch);
  Status gatherInputs(const Command &command);
  void gatherOutputs(const Command &command);
  /// Of a dynamic command, whose inputs have been gathered.
  Status findCallOutputs(const Command &command, const Call &call);
  Status findLaunchOutputs(const Command &command);
  Status getSize(const Dimension &dimension, int64_t &size) const;
  /// The value as it is now.
  Result<TensorView> look(uint32_t value);
  /// The same where its dimensions are there.
  TensorView lookUnchecked(uint32_t value);
  /// Checks that the value's dimensions can be these.
  Status conform(uint32_t value, const Shape &shape) const;
  /// Finds memory for a value that is about to be made, whose dimensions are
  /// there.
  Status allocate(uint32_t value);
  Status checkView(uint32_t value) const;
  size_t getRootCapacity(uint32_t root) const;
  std::string describe(uint32_t value) const {
    return describeValue(module, value);
  }

  // ControlFlow.cpp
  Status runIf(const Command &command, const If &branch);
  Status runLoop(const Command &command, const Loop &loop);
  Status assign(uint32_t value, const TensorView &from);
  Status assignCarried(const Loop &loop);
  Status stack(uint32_t output, uint32_t result, int64_t iteration);
  Status finishStack(uint32_t output, uint32_t result, int64_t iterations);
  Status growStack(uint32_t output, const Shape &shape, int64_t iteration);
  Memory &getMemory(uint32_t value);

  const Module &module;
  ThreadPool threads;
  CommandObserver *observer = nullptr;

  std::vector<Slot> slots;
  std::vector<Buffer> states;
  std::vector<TensorView> inputs;
  std::vector<bool> isInputSet;
  std::vector<Binding> bindings;
  /// Whether the value of an output lies where the caller wants it.
  std::vector<bool> isInPlace;

  /// Dimensions of the inputs that everything is prepared for.
  std::vector<Shape> preparedShapes;
  bool isPrepared = false;
  bool isDone = false;

  Buffer arena, scratch;
  size_t arenaSize = 0;
  /// By value, where one has memory of its own.
  std::vector<std::unique_ptr<Memory>> memories;
  std::vector<CachedPlan> cachedPlans;

  std::vector<CommandState> commandStates;
  /// Of the command that runs: inputs, then outputs.
  std::vector<TensorView> operands;
  /// For who observes.
  std::vector<std::string_view> outputNames;
  std::vector<void *> pointers;
  std::vector<int64_t> sizes;
  /// What crosses from one carried value to another.
  std::vector<std::vector<Memory>> crossing;
  std::vector<Shape> crossingShapes;
  unsigned loopDepth = 0;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_INTERPRETER_H
