//===- Session.cpp - runs a compiled model --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Session.h"

#include "Checkpoint.h"
#include "Interpreter.h"
#include "Memory.h"
#include "NearestName.h"
#include "Quote.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <sched.h>

using namespace amp::runtime;

/// Where each name is in a list; looking one up allocates nothing.
using NameMap = std::map<std::string, size_t, std::less<>>;

static NameMap mapNames(const std::vector<TensorInfo> &infos) {
  NameMap map;
  for (size_t i = 0; i < infos.size(); ++i)
    map.emplace(infos[i].name, i);
  return map;
}

static unsigned countUsableCPUs() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return 1;
  return static_cast<unsigned>(CPU_COUNT(&set));
}

class Session::Implementation {
public:
  Implementation(std::shared_ptr<const Executable> executable, unsigned threads)
      : executable(std::move(executable)),
        interpreter(this->executable->getModule(), threads),
        inputs(mapNames(this->executable->getInputs())),
        outputs(mapNames(this->executable->getOutputs())),
        states(mapNames(this->executable->getStates())) {}

  static Result<size_t> find(const NameMap &names, std::string_view name,
                             std::string_view what) {
    auto found = names.find(name);
    if (found != names.end())
      return found->second;
    std::vector<std::string_view> all;
    for (const auto &entry : names)
      all.push_back(entry.first);
    return Status::error("there is no " + std::string(what) + " " +
                         quote(name) + suggestName(name, all));
  }

  std::shared_ptr<const Executable> executable;
  Interpreter interpreter;
  NameMap inputs, outputs, states;
};

Session::Session(std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>>
Session::create(std::shared_ptr<const Executable> executable,
                const SessionOptions &options) {
  unsigned threads = options.threads ? options.threads : countUsableCPUs();
  auto implementation =
      std::make_unique<Implementation>(std::move(executable), threads);
  if (Status status = implementation->interpreter.createStates(); !status.ok())
    return status;
  return std::unique_ptr<Session>(new Session(std::move(implementation)));
}

const Executable &Session::getExecutable() const {
  return *implementation->executable;
}

unsigned Session::getThreadCount() const {
  return implementation->interpreter.getThreadCount();
}

size_t Session::getArenaSize() const {
  return implementation->interpreter.getArenaSize();
}

void Session::setObserver(CommandObserver *observer) {
  implementation->interpreter.setObserver(observer);
}

Status Session::step() { return implementation->interpreter.step(); }

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

static size_t getAlignment(DataType type) {
  switch (type) {
  case DataType::String:
    return alignof(std::string);
  case DataType::Complex64:
    return alignof(float);
  case DataType::Complex128:
    return alignof(double);
  default:
    return getByteSize(type);
  }
}

/// Whether a tensor can be what `info` says.
static Status checkTensor(const TensorView &tensor, const TensorInfo &info,
                          std::string_view what) {
  auto fail = [&](const std::string &expected, const std::string &got) {
    return Status::error(std::string(what) + " " + quote(info.name) + " must " +
                         expected + ", but got " + got);
  };
  if (tensor.type != info.type)
    return fail("be of type " + std::string(getName(info.type)),
                std::string(getName(tensor.type)));
  if (info.hasRank && tensor.shape.getRank() != info.dims.size())
    return fail("have rank " + std::to_string(info.dims.size()) + " (" +
                    describeDims(info) + ")",
                "rank " + std::to_string(tensor.shape.getRank()) + " (" +
                    toString(tensor.shape) + ")");
  for (size_t axis = 0; info.hasRank && axis < info.dims.size(); ++axis)
    if (info.dims[axis] >= 0 && info.dims[axis] != tensor.shape[axis])
      return fail("have " + std::to_string(info.dims[axis]) + " for axis " +
                      std::to_string(axis) + " (" + describeDims(info) + ")",
                  std::to_string(tensor.shape[axis]) + " (" +
                      toString(tensor.shape) + ")");
  if (!computeByteCount(tensor.type, tensor.shape))
    return fail("have dimensions that memory can hold", toString(tensor.shape));
  if (tensor.getElementCount() > 0 && !tensor.data)
    return fail("have data", "a null pointer");
  if (reinterpret_cast<uintptr_t>(tensor.data) % getAlignment(tensor.type))
    return fail("be aligned to its elements of " +
                    std::to_string(getAlignment(tensor.type)) + " bytes",
                "an address between them");
  return {};
}

Status Session::setInput(std::string_view name, const TensorView &tensor) {
  Result<size_t> index =
      Implementation::find(implementation->inputs, name, "input");
  if (!index.ok())
    return index.getStatus();
  Status status =
      checkTensor(tensor, getExecutable().getInputs()[*index], "input");
  if (status.ok())
    implementation->interpreter.setInput(*index, tensor);
  return status;
}

Status Session::bindOutput(std::string_view name, void *data,
                           size_t byteCount) {
  Result<size_t> index =
      Implementation::find(implementation->outputs, name, "output");
  if (!index.ok())
    return index.getStatus();
  const TensorInfo &info = getExecutable().getOutputs()[*index];
  if (info.type == DataType::String && data)
    return Status::error("output " + quote(name) +
                         " has strings, for which no memory can be bound");
  if (reinterpret_cast<uintptr_t>(data) % getAlignment(info.type))
    return Status::error("memory for output " + quote(name) +
                         " must be aligned to its elements of " +
                         std::to_string(getAlignment(info.type)) + " bytes");
  implementation->interpreter.bindOutput(*index, data, byteCount);
  return {};
}

Result<TensorView> Session::getOutput(std::string_view name) const {
  Result<size_t> index =
      Implementation::find(implementation->outputs, name, "output");
  if (!index.ok())
    return index.getStatus();
  if (!implementation->interpreter.hasOutputs())
    return Status::error("output " + quote(name) +
                         " is not there: no step has run, or the last failed");
  return implementation->interpreter.getOutput(*index);
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

Result<TensorView> Session::getState(std::string_view name) const {
  Result<size_t> index =
      Implementation::find(implementation->states, name, "state");
  if (!index.ok())
    return index.getStatus();
  return implementation->interpreter.getState(*index);
}

Status Session::setState(std::string_view name, const TensorView &tensor) {
  Result<size_t> index =
      Implementation::find(implementation->states, name, "state");
  if (!index.ok())
    return index.getStatus();
  if (Status status =
          checkTensor(tensor, getExecutable().getStates()[*index], "state");
      !status.ok())
    return status;
  copyElements(tensor, implementation->interpreter.getState(*index));
  return {};
}

void Session::resetStates() { implementation->interpreter.resetStates(); }

std::vector<NamedTensor> Session::listStates() const {
  std::vector<NamedTensor> tensors;
  const std::vector<TensorInfo> &infos = getExecutable().getStates();
  for (size_t i = 0; i < infos.size(); ++i)
    tensors.push_back({infos[i].name, implementation->interpreter.getState(i)});
  return tensors;
}

Status
Session::saveStates(const std::string &path,
                    const std::map<std::string, std::string> &metadata) const {
  return saveCheckpoint(path, listStates(), metadata);
}

Status Session::loadStates(const std::string &path,
                           std::map<std::string, std::string> *metadata) {
  return loadCheckpoint(path, listStates(), metadata);
}
