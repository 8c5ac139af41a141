//===- Module.h - what an executable says, checked --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The header's lists with references resolved. Whoever has one may trust it:
// the readers have checked every index, size and order.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_MODULE_H
#define AMP_RUNTIME_MODULE_H

#include "Kernel.h"
#include "amp/Runtime/Executable.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace amp::runtime {

/// A known size, the size of a dimension that is `Unknown` itself, or what the
/// kernel, the branch, the loop or the user says.
struct Dimension {
  enum class Kind : uint8_t { Size, Axis, Unknown };
  Kind kind = Kind::Unknown;
  int64_t size = 0;
  uint32_t value = 0;
  uint32_t axis = 0;
};

/// Where the memory of a value is.
enum class Storage : uint8_t { Input, Constant, State, Arena, Output };

struct Value {
  std::string name;
  DataType type = DataType::Undefined;
  bool unknownRank = false;
  std::vector<Dimension> dims;

  /// What it is a view of; itself if it is none. `root` is the end of these.
  uint32_t base = 0;
  uint32_t root = 0;
  /// Bytes from where the root begins.
  uint64_t offset = 0;
  /// Of the root, with the index of the input, constant, state or output.
  Storage storage = Storage::Arena;
  uint32_t index = 0;
  std::optional<uint64_t> arenaOffset;
  /// Elements of a constant of strings.
  std::vector<std::string> strings;

  /// Whether a command or a loop makes it, in which program, and whether that
  /// happens at entry.
  bool isMade = false;
  bool isMadeAtEntry = false;
  uint32_t program = 0;

  /// Whether all dimensions are sizes; then these are they.
  bool isStatic = false;
  Shape shape;
};

using CompiledFunction = void (*)(void *const *data, const int64_t *sizes,
                                  int64_t begin, int64_t end);

struct Call {
  std::string name;
  std::unique_ptr<Kernel> kernel;
};

struct Launch {
  std::string name;
  CompiledFunction function = nullptr;
  std::vector<Dimension> sizes, extent;
  int64_t grain = 1;
  /// For each thread, a multiple of 64.
  uint64_t scratch = 0;
};

struct If {
  uint32_t thenProgram = 0, elseProgram = 0;
  std::vector<uint32_t> thenResults, elseResults;
};

struct Loop {
  uint32_t body = 0;
  std::vector<uint32_t> arguments, results;
  /// Values that are carried; the command's other outputs are stacked.
  size_t carried = 0;
  /// Results, by their number among what is carried, that lie in the memory of
  /// another argument: they are put aside before arguments are written.
  std::vector<uint32_t> crossing;
};

struct Command {
  std::string node;
  /// Counts all commands of the executable.
  uint32_t id = 0;
  std::vector<int32_t> inputs;
  std::vector<uint32_t> outputs;
  bool atEntry = false;
  std::variant<Call, Launch, If, Loop> body;
};

struct Program {
  std::vector<Command> commands;
};

/// An axis of an input that must be as large as one of another.
struct Tie {
  uint32_t axis = 0;
  uint32_t otherInput = 0, otherAxis = 0;
};

struct InputInfo {
  uint32_t value = 0;
  /// As many as there are dimensions, or none.
  std::vector<std::string> symbols;
  /// A value that is a constant.
  std::optional<uint32_t> otherwise;
  std::vector<Tie> ties;
};

struct StateInfo {
  uint32_t value = 0;
  /// A value that is a constant.
  uint32_t initial = 0;
};

/// When the memory of a root is needed, in the order in which commands run.
struct Lifetime {
  uint32_t begin = UINT32_MAX;
  uint32_t end = 0;
};

struct Module {
  std::vector<Value> values;
  std::vector<Program> programs;
  std::vector<InputInfo> inputs;
  std::vector<uint32_t> outputs;
  std::vector<StateInfo> states;
  /// Where the file has them.
  std::vector<const unsigned char *> constants;
  std::optional<uint64_t> arenaSize;
  /// By value; empty if the executable has its plan.
  std::vector<Lifetime> lifetimes;

  uint32_t commandCount = 0;
  /// The most that a command has.
  size_t maxOperands = 0;
  size_t maxSizes = 0;

  std::vector<TensorInfo> inputInfos, outputInfos, stateInfos;
  std::map<std::string, std::string> metadata;
  std::string producer;
};

/// "value 3 ('x')", for messages.
std::string describeValue(const Module &module, uint32_t value);
/// "node 'x' (add)".
std::string describeCommand(const Command &command);

/// Sets `lifetimes`.
void computeLifetimes(Module &module);

} // namespace amp::runtime

#endif // AMP_RUNTIME_MODULE_H
