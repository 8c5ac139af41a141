//===- Describe.cpp - what is in an executable ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Describe.h"

#include "Memory.h"
#include "MemoryPlan.h"
#include "Module.h"

#include <algorithm>
#include <cstdio>
#include <map>

using namespace amp;
using namespace amp::run;
using namespace amp::runtime;

namespace {

/// "1.5 MB", of 1,000,000 bytes each.
std::string formatBytes(uint64_t bytes) {
  static constexpr const char *units[] = {"bytes", "kB", "MB", "GB", "TB"};
  if (bytes < 1000)
    return std::to_string(bytes) + " bytes";
  auto number = static_cast<double>(bytes);
  size_t unit = 0;
  for (; number >= 1000 && unit + 1 < std::size(units); ++unit)
    number /= 1000;
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %s", number, units[unit]);
  return text;
}

std::string formatTensor(const TensorInfo &info) {
  std::string text = info.name + ": " + std::string(getName(info.type)) + " [";
  for (size_t i = 0; i < info.dims.size(); ++i) {
    text += i ? ", " : "";
    if (info.dims[i] >= 0)
      text += std::to_string(info.dims[i]);
    else
      text += i < info.symbols.size() && !info.symbols[i].empty()
                  ? info.symbols[i]
                  : "?";
  }
  return info.hasRank ? text + "]" : info.name + ": any rank";
}

/// Collects lines.
class Description {
public:
  explicit Description(const Module &module) : module(module) {}

  void addTensors(const char *title, const std::vector<TensorInfo> &tensors);
  void addConstants();
  void addCommands();
  void addMemory();
  std::string text;

private:
  uint64_t getBytes(uint32_t value) const {
    std::optional<size_t> bytes =
        computeByteCount(module.values[value].type, module.values[value].shape);
    return bytes ? *bytes : 0;
  }
  void addLine(const std::string &line) { text += line + "\n"; }
  /// Who makes a value, by value.
  std::vector<const Command *> findMakers() const;
  void addPeak(const std::vector<PlannedBuffer> &buffers,
               const std::vector<uint32_t> &roots);

  const Module &module;
};

} // namespace

void Description::addTensors(const char *title,
                             const std::vector<TensorInfo> &tensors) {
  // A training step has hundreds.
  constexpr size_t most = 20;
  addLine(std::string(title) + ": " + std::to_string(tensors.size()));
  for (size_t i = 0; i < std::min(most, tensors.size()); ++i)
    addLine("  " + formatTensor(tensors[i]) +
            (tensors[i].isOptional ? ", has a default" : ""));
  if (tensors.size() > most)
    addLine("  and " + std::to_string(tensors.size() - most) + " more");
}

void Description::addConstants() {
  uint64_t constants = 0, states = 0, outputs = 0;
  size_t count = 0;
  for (uint32_t i = 0; i < module.values.size(); ++i) {
    const Value &value = module.values[i];
    if (value.root != i || !value.isStatic)
      continue;
    if (value.storage == Storage::Constant) {
      constants += getBytes(i);
      ++count;
    }
    if (value.storage == Storage::State &&
        module.states[value.index].value == i)
      states += getBytes(i);
    if (value.storage == Storage::Output)
      outputs += getBytes(i);
  }
  addLine("constants: " + std::to_string(count) + ", " +
          formatBytes(constants) + " of the file");
  if (states)
    addLine("memory of states: " + formatBytes(states));
  if (outputs)
    addLine("memory of outputs: " + formatBytes(outputs));
}

void Description::addCommands() {
  std::map<std::string, size_t> calls;
  size_t launches = 0, atEntry = 0, control = 0;
  for (const Program &program : module.programs)
    for (const Command &command : program.commands) {
      atEntry += command.atEntry;
      if (const auto *call = std::get_if<Call>(&command.body))
        ++calls[call->name];
      else if (std::holds_alternative<Launch>(command.body))
        ++launches;
      else
        ++control;
    }
  std::string line = "commands: " + std::to_string(launches) +
                     " compiled kernels, " + std::to_string(control) +
                     " branches and loops";
  for (const auto &[name, count] : calls)
    line += ", " + std::to_string(count) + " " + name;
  addLine(line);
  if (atEntry)
    addLine("  " + std::to_string(atEntry) +
            " of them run when dimensions change only");
}

std::vector<const Command *> Description::findMakers() const {
  std::vector<const Command *> makers(module.values.size());
  for (const Program &program : module.programs)
    for (const Command &command : program.commands)
      for (uint32_t output : command.outputs) {
        uint32_t root = module.values[output].root;
        if (!makers[root] || output == root)
          makers[root] = &command;
      }
  return makers;
}

void Description::addPeak(const std::vector<PlannedBuffer> &buffers,
                          const std::vector<uint32_t> &roots) {
  // Something begins at the moment at which most is needed.
  uint32_t moment = 0;
  uint64_t most = 0;
  for (const PlannedBuffer &first : buffers) {
    uint64_t sum = 0;
    for (const PlannedBuffer &buffer : buffers)
      if (buffer.begin <= first.begin && first.begin <= buffer.end)
        sum += buffer.size;
    if (sum > most) {
      most = sum;
      moment = first.begin;
    }
  }
  std::vector<size_t> alive;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].begin <= moment && moment <= buffers[i].end)
      alive.push_back(i);
  std::sort(alive.begin(), alive.end(), [&](size_t a, size_t b) {
    return buffers[a].size != buffers[b].size
               ? buffers[a].size > buffers[b].size
               : a < b;
  });
  std::vector<const Command *> makers = findMakers();
  constexpr size_t shown = 10;
  addLine("  then there are " + std::to_string(alive.size()) + " values:");
  for (size_t i = 0; i < std::min(shown, alive.size()); ++i) {
    uint32_t root = roots[alive[i]];
    const Command *maker = makers[root];
    addLine("    " + formatBytes(buffers[alive[i]].size) + "  " +
            describeValue(module, root) +
            (maker ? ", of " + describeCommand(*maker) : ""));
  }
  if (alive.size() > shown)
    addLine("    and " + std::to_string(alive.size() - shown) +
            " smaller ones");
}

void Description::addMemory() {
  std::vector<PlannedBuffer> buffers;
  std::vector<uint32_t> roots;
  size_t unknown = 0;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < module.values.size(); ++i) {
    const Value &value = module.values[i];
    if (value.root != i || value.storage != Storage::Arena ||
        value.isMadeAtEntry || i >= module.lifetimes.size() ||
        module.lifetimes[i].begin > module.lifetimes[i].end)
      continue;
    if (!value.isStatic || value.type == DataType::String) {
      ++unknown;
      continue;
    }
    buffers.push_back(
        {getBytes(i), module.lifetimes[i].begin, module.lifetimes[i].end});
    roots.push_back(i);
    sum += buffers.back().size;
  }
  MemoryPlan plan = planMemory(buffers);
  addLine("arena: " + formatBytes(plan.arenaSize) + " for " +
          std::to_string(buffers.size()) + " values of " + formatBytes(sum) +
          " together");
  addLine("  the most at one moment: " + formatBytes(plan.lowerBound));
  if (!buffers.empty())
    addPeak(buffers, roots);
  if (unknown)
    addLine("  without " + std::to_string(unknown) +
            " values whose size is known when the model runs");
}

Status amp::run::printDescription(const ModelOptions &options) {
  LoadOptions loadOptions;
  loadOptions.verifyConstants = options.verify;
  auto loaded = Executable::load(options.executable, loadOptions);
  if (!loaded.ok())
    return loaded.getStatus();
  const Executable &executable = **loaded;
  Description description(executable.getModule());
  description.text = "made by " + executable.getProducer() + "\n";
  description.addTensors("inputs", executable.getInputs());
  description.addTensors("outputs", executable.getOutputs());
  description.addTensors("states", executable.getStates());
  description.addConstants();
  description.addCommands();
  description.addMemory();
  if (std::fputs(description.text.c_str(), stdout) < 0 ||
      std::fflush(stdout) != 0)
    return Status::error("cannot write to standard output");
  return {};
}
