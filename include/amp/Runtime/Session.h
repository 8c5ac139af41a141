//===- Session.h - runs a compiled model ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   auto executable = Executable::load("model.ampx");
//   auto session = Session::create(*executable);
//   (*session)->setInput("x", {data, DataType::Float, {8, 16}});
//   Status status = (*session)->step();
//   Result<TensorView> y = (*session)->getOutput("y");
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_SESSION_H
#define AMP_RUNTIME_SESSION_H

#include "amp/Runtime/Executable.h"
#include "amp/Runtime/Status.h"
#include "amp/Runtime/Tensor.h"

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace amp::runtime {

struct SessionOptions {
  /// The caller's among them; 0: one for each CPU that the process may use.
  /// Results don't depend on it.
  unsigned threads = 0;
};

/// A tensor by its name.
struct NamedTensor {
  std::string name;
  TensorView tensor;
};

/// A command that has run.
struct CommandEvent {
  using Clock = std::chrono::steady_clock;

  /// The ONNX node that it stands for; may be empty.
  std::string_view node;
  /// The name of the kernel or the function; "if" or "loop".
  std::string_view operation;
  Clock::time_point begin, end;
  /// Null and 0 for "if" and "loop", whose commands have events of their own.
  const TensorView *inputs = nullptr, *outputs = nullptr;
  size_t inputCount = 0, outputCount = 0;
  /// ONNX's names of the outputs; may be empty.
  const std::string_view *outputNames = nullptr;
};

/// Told of each command, for profiles and for who looks for the first NaN.
class CommandObserver {
public:
  virtual ~CommandObserver() = default;
  virtual void handle(const CommandEvent &event) = 0;
};

/// What one user of an executable has for itself: inputs, outputs, states,
/// memory and threads. Used by one thread at a time; several sessions run at
/// once.
///
/// A step of an executable whose dimensions are fixed allocates nothing, but
/// for the first; nor does one of others whose inputs have the dimensions of
/// the step before, unless the dimensions of a value depend on data.
class Session {
public:
  static Result<std::unique_ptr<Session>>
  create(std::shared_ptr<const Executable> executable,
         const SessionOptions &options = {});
  ~Session();

  const Executable &getExecutable() const;
  /// How many threads it has.
  unsigned getThreadCount() const;

  /// The tensor is not copied: its memory, aligned to an element, must stay
  /// until the input is set again, and is not written. Type, rank and fixed
  /// dimensions are checked here, dimensions that depend on other inputs by
  /// step().
  Status setInput(std::string_view name, const TensorView &tensor);

  /// Lets steps write an output into the caller's memory, which must have room
  /// for it; null: into the session's own, as at first.
  Status bindOutput(std::string_view name, void *data, size_t byteCount);

  /// Runs the model once. After an error of a value (an index out of range)
  /// states may have been written in part.
  Status step();

  /// What the last step gave, until the next step or until the session ends;
  /// for strings, elements are std::string.
  Result<TensorView> getOutput(std::string_view name) const;

  /// As long as the session lives; steps write it.
  Result<TensorView> getState(std::string_view name) const;
  /// Copies the tensor, of the type and dimensions of the state.
  Status setState(std::string_view name, const TensorView &tensor);
  /// As at the beginning.
  void resetStates();

  /// Writes all states, in safetensors' format, so that a process that is
  /// killed at any moment leaves the old file or the new one. `metadata` is
  /// kept with them.
  Status
  saveStates(const std::string &path,
             const std::map<std::string, std::string> &metadata = {}) const;
  /// Reads all states; other tensors of the file are ignored. States are
  /// unchanged after an error. `metadata` may be null.
  Status loadStates(const std::string &path,
                    std::map<std::string, std::string> *metadata = nullptr);

  /// Null: nobody. It must stay as long as it is told of commands.
  void setObserver(CommandObserver *observer);

  /// Bytes of the memory that values of a step share; 0 before the first step.
  size_t getArenaSize() const;

private:
  class Implementation;
  std::vector<NamedTensor> listStates() const;
  explicit Session(std::unique_ptr<Implementation> implementation);

  std::unique_ptr<Implementation> implementation;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_SESSION_H
