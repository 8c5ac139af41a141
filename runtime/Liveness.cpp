//===- Liveness.cpp - when values need their memory -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Commands are numbered as they are walked, nested ones between the beginning
// and the end of the one that runs them. What a loop's body uses of outside
// must last for the whole loop, since the next iteration uses it again.
//
//===----------------------------------------------------------------------===//

#include "Module.h"

#include <algorithm>
#include <optional>

using namespace amp::runtime;

namespace {

class Liveness {
public:
  explicit Liveness(Module &module) : module(module) {}

  void run() {
    module.lifetimes.assign(module.values.size(), Lifetime());
    walk(0);
    for (uint32_t output : module.outputs)
      touch(output, now);
    // What is seen in a loop before its end is known.
    for (const Extension &extension : extensions) {
      Lifetime &lifetime = module.lifetimes[extension.root];
      const Lifetime &loop = loops[extension.loop];
      lifetime.begin = std::min(lifetime.begin, loop.begin);
      lifetime.end = std::max(lifetime.end, loop.end);
    }
  }

private:
  struct Enclosing {
    uint32_t program;
    /// Index in `loops`; none for a branch.
    std::optional<size_t> loop;
  };
  struct Extension {
    uint32_t root;
    size_t loop;
  };

  void touch(uint32_t value, uint32_t moment) {
    uint32_t root = module.values[value].root;
    Lifetime &lifetime = module.lifetimes[root];
    lifetime.begin = std::min(lifetime.begin, moment);
    lifetime.end = std::max(lifetime.end, moment);
    // The outermost loop that runs the use, but not what makes the root.
    uint32_t home = module.values[root].program;
    bool isInside = home == 0;
    for (const Enclosing &enclosing : stack) {
      if (isInside && enclosing.loop) {
        extensions.push_back({root, *enclosing.loop});
        return;
      }
      isInside |= enclosing.program == home;
    }
  }

  void walk(uint32_t program) {
    for (const Command &command : module.programs[program].commands)
      walkCommand(command);
  }

  void walkNested(uint32_t program, std::optional<size_t> loop,
                  const std::vector<uint32_t> &results) {
    stack.push_back({program, loop});
    walk(program);
    // Copied when the program ends.
    for (uint32_t result : results)
      touch(result, now);
    stack.pop_back();
    ++now;
  }

  void walkCommand(const Command &command) {
    for (int32_t input : command.inputs)
      if (input >= 0)
        touch(static_cast<uint32_t>(input), now);
    if (const auto *branch = std::get_if<If>(&command.body)) {
      // Outputs are written when one of the branches ends.
      ++now;
      for (uint32_t program : {branch->thenProgram, branch->elseProgram}) {
        walkNested(program, std::nullopt,
                   program == branch->thenProgram ? branch->thenResults
                                                  : branch->elseResults);
        for (uint32_t output : command.outputs)
          touch(output, now - 1);
      }
    } else if (const auto *loop = std::get_if<Loop>(&command.body)) {
      size_t index = loops.size();
      loops.push_back({now, now});
      auto touchThroughout = [&](uint32_t value) {
        touch(value, now);
        extensions.push_back({module.values[value].root, index});
      };
      for (uint32_t argument : loop->arguments)
        touchThroughout(argument);
      for (uint32_t output : command.outputs)
        touchThroughout(output);
      ++now;
      walkNested(loop->body, index, loop->results);
      loops[index].end = now;
    }
    for (uint32_t output : command.outputs)
      touch(output, now);
    ++now;
  }

  Module &module;
  uint32_t now = 0;
  std::vector<Enclosing> stack;
  std::vector<Lifetime> loops;
  std::vector<Extension> extensions;
};

} // namespace

void amp::runtime::computeLifetimes(Module &module) { Liveness(module).run(); }
