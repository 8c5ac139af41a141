//===- ExecutableSeeds.cpp - messages that the fuzzer begins with ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unit/runtime/ExecutableBuilder.h"

#include <fstream>
#include <sys/stat.h>

using namespace amp::runtime;
using namespace amp::runtime::test;

static constexpr DataType f32 = DataType::Float;
static constexpr DataType i64 = DataType::Int64;
static constexpr DataType boolean = DataType::Bool;

static ExecutableBuilder makeStraight() {
  ExecutableBuilder builder;
  builder.addInput("x", f32, {Dim::unknown(), 4}, {"n", ""});
  uint32_t c = builder.addConstant<float>(f32, {2}, {1, 2});
  uint32_t w = builder.addState("w", f32, {2}, c);
  uint32_t next = builder.addView(f32, {2}, w);
  uint32_t t = builder.addArena(f32, {Dim::axis(0, 0), 4});
  uint32_t y = builder.addOutput("y", f32, {Dim::unknown(), 4});
  uint32_t f = builder.addFunction("Add");
  builder.call(0, "add", {2, 1}, {next});
  auto &launch = *builder.launch(0, f, {0, 0}, {t}).mutable_launch();
  ExecutableBuilder::set(*launch.add_sizes(), 4);
  ExecutableBuilder::set(*launch.add_extent(), Dim::axis(0, 0));
  builder.call(0, "copy", {static_cast<int32_t>(t)}, {y});
  return builder;
}

static ExecutableBuilder makeNested() {
  ExecutableBuilder builder;
  builder.addInput("n", i64, {});
  builder.addInput("x", f32, {2});
  uint32_t i = builder.addArena(i64, {}, 0);
  uint32_t c = builder.addArena(boolean, {}, 64);
  uint32_t v = builder.addArena(f32, {2}, 128);
  uint32_t w = builder.addArena(f32, {2}, 192);
  builder.header.set_arena_size(256);
  uint32_t y = builder.addOutput("y", f32, {2});
  uint32_t z = builder.addOutput("z", f32, {Dim::unknown(), 2});
  uint32_t body = builder.addProgram(), thenProgram = builder.addProgram(),
           elseProgram = builder.addProgram();
  builder.branch(body, c, {w}, thenProgram, {v}, elseProgram, {1});
  builder.loop(0, {0, -1, 1}, {y, z}, body, {i, c, v}, {c, w, w});
  return builder;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  mkdir(argv[1], 0777);
  int count = 0;
  for (ExecutableBuilder builder : {makeStraight(), makeNested()}) {
    builder.write(); // Sets what the writer sets.
    std::string message = builder.header.SerializeAsString();
    // A longer producer, for a message of an even length.
    if (message.size() % 2 == 1) {
      builder.header.mutable_producer()->push_back('x');
      message = builder.header.SerializeAsString();
    }
    std::ofstream(std::string(argv[1]) + "/" + std::to_string(count++),
                  std::ios::binary)
        << message;
  }
  return 0;
}
