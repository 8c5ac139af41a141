//===- ExecutableTest.cpp - what is refused, and what it says -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Executable.h"

#include "CPU/HostCPU.h"
#include "Checksum.h"
#include "ExecutableBuilder.h"
#include "amp/Runtime/ExecutableFormat.h"

#include "gtest/gtest.h"

#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

using namespace amp;
using namespace amp::runtime;
using namespace amp::runtime::test;

namespace {

constexpr DataType f32 = DataType::Float;
constexpr DataType i64 = DataType::Int64;

std::string readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeText(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// The message without the path.
std::string loadText(const std::string &text, LoadOptions options = {}) {
  std::string path = makePath(".ampx");
  writeText(path, text);
  std::string message =
      ExecutableLoader::load(path, options, findTestKernel).getMessage();
  size_t colon = message.find("': ");
  return colon == std::string::npos ? message : message.substr(colon + 3);
}

/// One of everything.
ExecutableBuilder makeBuilder() {
  ExecutableBuilder builder;
  builder.addInput("x", f32, {Dim::unknown(), 4}, {"batch", ""}); // 0
  uint32_t c = builder.addConstant<float>(f32, {2}, {1, 2});      // 1
  uint32_t w = builder.addState("w", f32, {2}, c);                // 2
  uint32_t next = builder.addView(f32, {2}, w);                   // 3
  uint32_t t = builder.addArena(f32, {Dim::axis(0, 0), 4});       // 4
  uint32_t y = builder.addOutput("y", f32, {Dim::unknown(), 4});  // 5
  uint32_t f = builder.addFunction("Add");
  builder.call(0, "add", {2, 1}, {next});
  auto &launch = *builder.launch(0, f, {0, 0}, {t}).mutable_launch();
  ExecutableBuilder::set(*launch.add_sizes(), 4);
  ExecutableBuilder::set(*launch.add_extent(), Dim::axis(0, 0));
  builder.call(0, "copy", {static_cast<int32_t>(t)}, {y});
  return builder;
}

constexpr char again[] = "; the file is damaged, copy or compile it again";

TEST(Executable, HasASignature) {
  ExecutableBuilder builder = makeBuilder();
  (*builder.header.mutable_metadata())["key"] = "value";
  Result<std::shared_ptr<const Executable>> loaded = builder.load();
  ASSERT_TRUE(loaded.ok()) << loaded.getMessage();
  const Executable &executable = **loaded;
  ASSERT_EQ(executable.getInputs().size(), 1u);
  const TensorInfo &x = executable.getInputs()[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.type, f32);
  EXPECT_TRUE(x.hasRank);
  EXPECT_EQ(x.dims, (std::vector<int64_t>{-1, 4}));
  EXPECT_EQ(x.symbols, (std::vector<std::string>{"batch", ""}));
  EXPECT_FALSE(x.isOptional);
  EXPECT_EQ(executable.getOutputs()[0].name, "y");
  EXPECT_EQ(executable.getStates()[0].name, "w");
  EXPECT_EQ(executable.getProducer(), "test 1.0");
  EXPECT_EQ(executable.getMetadata().at("key"), "value");
}

TEST(Executable, RefusesFilesThatAreNone) {
  auto load = [](const std::string &path) {
    return Executable::load(path).getMessage();
  };
  EXPECT_EQ(load("/nowhere.ampx"),
            "'/nowhere.ampx': cannot read '/nowhere.ampx': No such file or "
            "directory");
  EXPECT_EQ(load("/tmp"), "'/tmp': cannot read '/tmp': it is no regular file");
  EXPECT_EQ(load("/dev/zero"),
            "'/dev/zero': cannot read '/dev/zero': it is no regular file");
  std::string pipe = makePath(".pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(load(pipe).find("it is no regular file"), std::string::npos);
  EXPECT_NE(loadText("").find("it is empty"), std::string::npos);
  std::string none = "not an executable: it does not begin as .ampx files do; "
                     "compile the model with `onnx-amp compile`";
  EXPECT_EQ(loadText("x"), none);
  EXPECT_EQ(loadText(std::string(1000, '\0')), none);
  EXPECT_EQ(loadText(std::string(executableMagic, 8)),
            "the file has 8 bytes, too few for an executable" +
                std::string(again));
}

TEST(Executable, SaysWhichVersionsItReads) {
  std::string text = readText(makeBuilder().write());
  auto withVersion = [&](uint16_t major, uint16_t minor) {
    std::string other = text;
    std::memcpy(other.data() + 16, &major, 2);
    std::memcpy(other.data() + 18, &minor, 2);
    return loadText(other);
  };
  std::string rest = " of the format, but this runtime reads 1.0 to 1.0; "
                     "compile the model again, or use the runtime of its "
                     "compiler";
  EXPECT_EQ(withVersion(2, 0), "the executable has version 2.0" + rest);
  EXPECT_EQ(withVersion(1, 1), "the executable has version 1.1" + rest);
  EXPECT_EQ(withVersion(0, 9), "the executable has version 0.9" + rest);
}

TEST(Executable, SeesTruncationAtEveryByte) {
  std::string text = readText(makeBuilder().write());
  ASSERT_EQ(loadText(text), "");
  for (size_t size = 40; size < text.size(); size += size < 600 ? 1 : 101)
    ASSERT_EQ(loadText(text.substr(0, size)),
              "the file has " + std::to_string(size) +
                  " bytes, but was written with " +
                  std::to_string(text.size()) + again);
  EXPECT_EQ(loadText(text + "x").find("the file has"), 0u);
}

TEST(Executable, SeesEachBitThatFlips) {
  std::string text = readText(makeBuilder().write());
  uint64_t headerSize;
  std::memcpy(&headerSize, text.data() + 32, 8);
  for (size_t i = 0; i < 40 + headerSize; ++i) {
    std::string other = text;
    other[i] ^= static_cast<char>(1 << (i % 8));
    ASSERT_NE(loadText(other), "") << i;
  }
  // Constants are looked at on request, code always.
  size_t constant = text.find(std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  ASSERT_NE(constant, std::string::npos);
  std::string other = text;
  other[constant] ^= 1;
  LoadOptions verify;
  verify.verifyConstants = true;
  EXPECT_EQ(loadText(text, verify), "");
  EXPECT_EQ(loadText(other), "");
  EXPECT_EQ(loadText(other, verify),
            "the checksum of constant 0 does not match" + std::string(again));
  other = text;
  other.back() ^= 1;
  EXPECT_EQ(loadText(other),
            "the checksum of the code for 'x86-64' does not match" +
                std::string(again));
}

TEST(Executable, RefusesAHeaderThatCannotBeParsed) {
  std::string text = readText(makeBuilder().write());
  uint64_t headerSize;
  std::memcpy(&headerSize, text.data() + 32, 8);
  auto seal = [](std::string &bytes, uint64_t size) {
    uint64_t checksum = computeChecksum(bytes.data() + 16, 24 + size);
    std::memcpy(bytes.data() + 8, &checksum, 8);
  };
  std::string other = text;
  std::memset(other.data() + 40, 0xff, 16);
  seal(other, headerSize);
  EXPECT_EQ(loadText(other),
            "the header cannot be parsed" + std::string(again));
  other = text;
  uint64_t huge = ~uint64_t{0};
  std::memcpy(other.data() + 32, &huge, 8);
  EXPECT_EQ(loadText(other),
            "the header takes 18446744073709551615 bytes, but the file has " +
                std::to_string(text.size()) + again);
}

TEST(Executable, NeedsCodeForThisMachine) {
  ExecutableBuilder builder = makeBuilder();
  builder.cpu = "x86-64-v4+warp-drive";
  EXPECT_EQ(builder.loadError(),
            "the executable has code for 'x86-64-v4+warp-drive', but this "
            "machine is " +
                describeHost() + "; compile the model with --cpu for it");
}

/// What is said of one change to a good executable.
std::string change(const std::function<void(executable::Header &)> &edit) {
  ExecutableBuilder builder = makeBuilder();
  edit(builder.header);
  std::string message = builder.loadError();
  std::string end = "; the executable is malformed, compile the model again";
  if (message.size() > end.size() &&
      message.substr(message.size() - end.size()) == end)
    message.resize(message.size() - end.size());
  return message;
}

using Header = executable::Header;

TEST(Executable, ChecksValues) {
  EXPECT_EQ(change([](Header &) {}), "");
  EXPECT_EQ(change([](Header &h) { h.mutable_values(0)->set_type(0); }),
            "value 0 ('x') has type 0, which is no element type of ONNX");
  EXPECT_EQ(change([](Header &h) { h.mutable_values(0)->set_type(99); }),
            "value 0 ('x') has type 99, which is no element type of ONNX");
  EXPECT_EQ(change([](Header &h) { h.mutable_values(0)->set_input(1); }),
            "value 0 ('x') is input 1 of 1");
  EXPECT_EQ(change([](Header &h) { h.mutable_values(1)->set_constant(7); }),
            "value 1 is constant 7 of 1");
  EXPECT_EQ(change([](Header &h) { h.mutable_values(2)->set_state(1); }),
            "value 2 ('w') is state 1 of 1");
  EXPECT_EQ(change([](Header &h) { h.mutable_values(5)->set_output(1); }),
            "value 5 ('y') is output 1 of 1");
  EXPECT_EQ(change([](Header &h) { h.mutable_values(4)->clear_arena(); }),
            "value 4 has no storage");
  EXPECT_EQ(change([](Header &h) {
              for (int i = 0; i < 8; ++i)
                h.mutable_values(0)->add_dims()->set_size(1);
            }),
            "value 0 ('x') has rank 10, but at most 8 is possible");
  EXPECT_EQ(change([](Header &h) {
              h.mutable_values(0)->mutable_dims(1)->set_size(-4);
            }),
            "value 0 ('x') has a dimension of -4");
  EXPECT_EQ(change([](Header &h) {
              h.mutable_values(3)->mutable_dims(0)->set_size(int64_t{1} << 61);
            }),
            "value 3 has dimensions 2305843009213693952, which no memory can "
            "hold");
  EXPECT_EQ(change([](Header &h) { h.mutable_values(4)->add_strings("a"); }),
            "value 4 has strings, but is no constant of strings");
}

TEST(Executable, ChecksViews) {
  auto view = [](Header &h, int value) {
    return h.mutable_values(value)->mutable_view();
  };
  EXPECT_EQ(change([&](Header &h) { view(h, 3)->set_value(77); }),
            "value 3 is a view of value 77 of 6");
  EXPECT_EQ(change([&](Header &h) { view(h, 3)->set_value(3); }),
            "value 3 is a view of itself");
  EXPECT_EQ(change([&](Header &h) {
              view(h, 3)->set_value(4);
              view(h, 4)->set_value(3);
            }),
            "value 3 is a view of itself");
  EXPECT_EQ(change([&](Header &h) { view(h, 3)->set_offset(2); }),
            "value 3 begins at byte 2, between elements");
  EXPECT_EQ(change([&](Header &h) { view(h, 3)->set_offset(4); }),
            "value 3 (8 bytes at 4) reaches beyond value 2 ('w') of 8");
  EXPECT_EQ(change([&](Header &h) { view(h, 3)->set_offset(~7ull); }),
            "value 3 begins beyond what any memory has");
  EXPECT_EQ(change([&](Header &h) { h.mutable_values(3)->set_type(8); }),
            "value 3 is string, but a view of float32 at byte 0");
  EXPECT_EQ(change([&](Header &h) { view(h, 3)->set_value(1); }),
            "node 'add_node' ('add'): it would overwrite value 3, which is an "
            "input or a constant");
  EXPECT_EQ(change([&](Header &h) {
              executable::Value &value = *h.add_values();
              value.set_type(1);
              value.add_dims();
              value.mutable_view()->set_value(0);
            }),
            "value 6 is a view that nothing makes, so that its dimensions must "
            "be known");
}

TEST(Executable, ChecksAxes) {
  auto axis = [](Header &h, int value, int dim) {
    return h.mutable_values(value)->mutable_dims(dim)->mutable_axis();
  };
  EXPECT_EQ(change([&](Header &h) { axis(h, 4, 0)->set_value(9); }),
            "value 4 has the size of axis 0 of value 9, which does not exist");
  EXPECT_EQ(change([&](Header &h) { axis(h, 4, 0)->set_axis(2); }),
            "value 4 has the size of axis 2 of value 0 ('x'), which does not "
            "exist");
  EXPECT_EQ(change([&](Header &h) { axis(h, 4, 0)->set_value(4); }),
            "value 4 has the size of its own axis 0");
  EXPECT_EQ(change([&](Header &h) {
              axis(h, 4, 0)->set_value(5);
              axis(h, 5, 0)->set_value(4);
            }),
            "value 4 has the size of its own axis 0");
  EXPECT_EQ(change([&](Header &h) { axis(h, 0, 0)->set_value(5); }),
            "value 0 ('x'), an input, has the size of an axis of value 5 "
            "('y'), which is none");
  EXPECT_EQ(change([&](Header &h) { axis(h, 4, 0)->set_value(5); }),
            "node 'launch_node' (function 'Add'): value 4 has the size of an "
            "axis of value 5 ('y'), which is not made yet");
}

TEST(Executable, ChecksInputsOutputsAndStates) {
  EXPECT_EQ(change([](Header &h) { h.mutable_inputs(0)->set_name(""); }),
            "an input has no name");
  EXPECT_EQ(change([](Header &h) {
              executable::Value value = h.values(0);
              value.set_input(1);
              *h.add_values() = value;
              *h.add_inputs() = h.inputs(0);
              h.mutable_inputs(1)->set_value(6);
            }),
            "two inputs have the name 'x'");
  EXPECT_EQ(change([](Header &h) { h.mutable_inputs(0)->set_value(8); }),
            "input 'x' is value 8 of 6");
  EXPECT_EQ(change([](Header &h) { h.mutable_inputs(0)->set_value(1); }),
            "input 'x' is value 1, whose memory is elsewhere");
  EXPECT_EQ(change([](Header &h) { *h.add_values() = h.values(0); }),
            "value 6 ('x') is input 0, which is value 0 ('x')");
  EXPECT_EQ(change([](Header &h) { h.mutable_inputs(0)->add_symbols("a"); }),
            "input 'x' has rank 2, but 3 symbols");
  EXPECT_EQ(change([](Header &h) { h.mutable_inputs(0)->set_otherwise(44); }),
            "input 'x' is at first value 44 of 6");
  EXPECT_EQ(change([](Header &h) { h.mutable_inputs(0)->set_otherwise(2); }),
            "input 'x' is at first value 2 ('w'), which is no constant");
  EXPECT_EQ(change([](Header &h) { h.mutable_inputs(0)->set_otherwise(1); }),
            "input 'x' is at first value 1, whose type or dimensions are "
            "others");
  EXPECT_EQ(change([](Header &h) { h.mutable_outputs(0)->set_value(8); }),
            "output 'y' is value 8 of 6");
  EXPECT_EQ(change([](Header &h) { *h.add_outputs() = h.outputs(0); }),
            "two outputs have the name 'y'");
  EXPECT_EQ(change([](Header &h) { h.mutable_values(4)->set_output(0); }),
            "value 5 ('y') has the memory of output 0, which another value "
            "has");
  EXPECT_EQ(change([](Header &h) { h.mutable_states(0)->set_value(8); }),
            "state 'w' is value 8 of 6");
  EXPECT_EQ(change([](Header &h) { h.mutable_states(0)->set_value(1); }),
            "state 'w' is value 1, whose memory is elsewhere");
  EXPECT_EQ(change([](Header &h) { h.mutable_values(2)->add_dims(); }),
            "state 'w' must have fixed dimensions and no strings");
  EXPECT_EQ(change([](Header &h) {
              h.mutable_values(2)->mutable_dims(0)->set_size(3);
            }),
            "state 'w' is at first value 1, whose type or dimensions are "
            "others");
  EXPECT_EQ(change([](Header &h) {
              *h.add_values() = h.values(2);
              h.mutable_values(6)->mutable_dims(0)->set_size(3);
            }),
            "value 6 ('w') does not fit into state 0");
}

TEST(Executable, ChecksConstants) {
  EXPECT_EQ(change([](Header &h) {
              h.mutable_values(1)->mutable_dims(0)->set_size(3);
            }),
            "value 1, a constant 3 of float32, needs 12 bytes, but has 8");
  EXPECT_EQ(change([](Header &h) { h.mutable_values(1)->add_dims(); }),
            "value 1 is a constant whose dimensions are not known");
  EXPECT_EQ(change([](Header &h) { h.mutable_values(1)->set_type(8); }),
            "value 1, a constant 2 of string, needs 2 strings, but has 0");
}

TEST(Executable, ChecksTheArena) {
  auto plan = [](Header &h, uint64_t offset, uint64_t size) {
    h.mutable_values(4)->mutable_dims(0)->set_size(3);
    h.mutable_values(4)->mutable_arena()->set_offset(offset);
    h.set_arena_size(size);
  };
  EXPECT_EQ(change([&](Header &h) { plan(h, 64, 112); }), "");
  EXPECT_EQ(change([&](Header &h) { plan(h, 64, 111); }),
            "value 4 (48 bytes at 64) does not fit into the arena of 111 "
            "bytes");
  EXPECT_EQ(change([&](Header &h) { plan(h, 32, 1000); }),
            "value 4 (48 bytes at 32) does not fit into the arena of 1000 "
            "bytes");
  EXPECT_EQ(change([&](Header &h) { plan(h, ~uint64_t{63}, 1000); }),
            "value 4 (48 bytes at 18446744073709551552) does not fit into the "
            "arena of 1000 bytes");
  EXPECT_EQ(change([&](Header &h) { plan(h, 0, ~uint64_t{0}); }),
            "the arena takes 18446744073709551615 bytes");
  EXPECT_EQ(change([&](Header &h) {
              plan(h, 0, 64);
              h.mutable_values(4)->mutable_arena()->clear_offset();
            }),
            "value 4 has no place in the arena");
  EXPECT_EQ(change([&](Header &h) {
              h.mutable_values(4)->mutable_arena()->set_offset(0);
            }),
            "value 4 has a place in the arena, but must have none");
}

TEST(Executable, ChecksBlobs) {
  // The writer places them well: these bytes are put together by hand.
  auto place = [](uint64_t offset, uint64_t size) {
    executable::Header header;
    header.add_programs();
    header.add_constants()->set_offset(offset);
    header.mutable_constants(0)->set_size(size);
    std::string message = header.SerializeAsString();
    ExecutablePrelude prelude = {};
    std::memcpy(prelude.magic, executableMagic, 8);
    prelude.majorVersion = executableMajorVersion;
    prelude.fileSize = 512;
    prelude.headerSize = message.size();
    std::string bytes(sizeof(prelude), '\0');
    std::memcpy(bytes.data(), &prelude, sizeof(prelude));
    bytes += message;
    prelude.checksum = computeChecksum(bytes.data() + 16, bytes.size() - 16);
    std::memcpy(bytes.data(), &prelude, sizeof(prelude));
    bytes.resize(512);
    return loadText(bytes);
  };
  EXPECT_EQ(place(128, 384), "");
  EXPECT_EQ(place(512, 0), "");
  EXPECT_EQ(place(128, 385), "constant 0 (385 bytes at 128) lies beyond the "
                             "end of the file" +
                                 std::string(again));
  EXPECT_EQ(place(~uint64_t{63}, 64),
            "constant 0 (64 bytes at 18446744073709551552) lies beyond the end "
            "of the file" +
                std::string(again));
  EXPECT_EQ(place(0, 64), "constant 0 (64 bytes at 0) overlaps the header" +
                              std::string(again));
  EXPECT_EQ(place(96, 64), "constant 0 (64 bytes at 96) does not begin at a "
                           "multiple of 64" +
                               std::string(again));
}

TEST(Executable, ChecksCode) {
  EXPECT_EQ(change([](Header &h) { h.mutable_functions(0)->add_offsets(0); }),
            "function 'Add' has 2 places for 1 kinds of code");
  std::string message = change([](Header &h) {
    h.mutable_functions(0)->set_offsets(0, uint64_t{1} << 40);
  });
  EXPECT_EQ(message.find("function 'Add' begins at byte 1099511627776 of "), 0u)
      << message;
}

TEST(Executable, ChecksCommands) {
  auto command = [](Header &h, int index) {
    return h.mutable_programs(0)->mutable_commands(index);
  };
  std::string add = "node 'add_node' ('add'): ";
  std::string launch = "node 'launch_node' (function 'Add'): ";
  EXPECT_EQ(change([&](Header &h) { h.clear_programs(); }),
            "the executable has no program");
  EXPECT_EQ(change([&](Header &h) { h.add_programs(); }),
            "no command runs program 1");
  EXPECT_EQ(change([&](Header &h) { command(h, 0)->set_inputs(0, 99); }),
            "node 'add_node' (''): there is no value 99");
  EXPECT_EQ(change([&](Header &h) { command(h, 0)->set_inputs(0, -2); }),
            "node 'add_node' (''): there is no value -2");
  EXPECT_EQ(change([&](Header &h) { command(h, 0)->set_outputs(0, 99); }),
            "node 'add_node' (''): there is no value 99");
  EXPECT_EQ(change([&](Header &h) { command(h, 0)->set_inputs(0, 4); }),
            add + "value 4 is used before it is made");
  EXPECT_EQ(change([&](Header &h) { command(h, 2)->set_outputs(0, 4); }),
            "node 'copy_node' (''): value 4 is made twice");
  EXPECT_EQ(
      change([&](Header &h) { command(h, 2)->set_outputs(0, 0); }),
      "node 'copy_node' ('copy'): it would overwrite value 0 ('x'), which is "
      "an input or a constant");
  EXPECT_EQ(change([&](Header &h) {
              h.mutable_programs(0)->mutable_commands()->RemoveLast();
            }),
            "nothing makes output 'y'");
  EXPECT_EQ(change([&](Header &h) { command(h, 0)->clear_call(); }),
            "node 'add_node' (''): it does nothing");
  EXPECT_EQ(change([&](Header &h) {
              command(h, 0)->mutable_call()->set_kernel("warp");
            }),
            "node 'add_node' ('warp'): this runtime has no such kernel; use a "
            "runtime as new as the compiler ('test 1.0')");
  EXPECT_EQ(change([&](Header &h) {
              command(h, 0)->mutable_call()->set_epilogue(0);
            }),
            add + "this runtime's kernel takes no compiled epilogue; use a "
                  "runtime as new as the compiler ('test 1.0')");
  EXPECT_EQ(change([&](Header &h) {
              executable::Call &call = *command(h, 0)->mutable_call();
              call.set_kernel("shape");
              call.add_attributes()->set_name("start");
              call.mutable_attributes(0)->set_int_value(-1);
            }),
            "node 'add_node' ('shape'): start must not be negative, but is -1");
  EXPECT_EQ(change([&](Header &h) {
              command(h, 1)->mutable_launch()->set_function(3);
            }),
            "node 'launch_node' (function ''): there is no function 3");
  EXPECT_EQ(
      change([&](Header &h) { command(h, 1)->mutable_launch()->set_grain(0); }),
      launch + "the grain must be at least 1, but is 0");
  EXPECT_EQ(change([&](Header &h) {
              command(h, 1)->mutable_launch()->set_scratch(uint64_t{1} << 50);
            }),
            launch + "it needs 1125899906842624 bytes of scratch memory for "
                     "each thread");
  EXPECT_EQ(
      change([&](Header &h) { command(h, 1)->mutable_launch()->add_sizes(); }),
      launch + "a size is not known");
  EXPECT_EQ(change([&](Header &h) {
              command(h, 1)->mutable_launch()->add_extent()->set_size(-1);
            }),
            launch + "an extent is -1");
  EXPECT_EQ(change([&](Header &h) {
              command(h, 1)
                  ->mutable_launch()
                  ->add_extent()
                  ->mutable_axis()
                  ->set_value(7);
            }),
            launch + "an extent is axis 0 of value 7, which does not exist");
  EXPECT_EQ(change([&](Header &h) {
              h.mutable_values(4)->mutable_dims(0)->clear_axis();
            }),
            launch + "compiled code does not say the dimensions of value 4");
  EXPECT_EQ(change([&](Header &h) {
              for (int v : {0, 4, 5})
                h.mutable_values(v)->set_type(8);
            }),
            launch + "compiled code knows no strings");
  EXPECT_EQ(change([&](Header &h) { command(h, 0)->set_at_entry(true); }),
            "node 'add_node' (''): it runs at entry, so that value 3 must have "
            "memory of its own");
}

TEST(Executable, ChecksBranches) {
  auto build = [](const std::function<void(ExecutableBuilder &)> &edit) {
    ExecutableBuilder builder;
    builder.addInput("c", DataType::Bool, {});     // 0
    builder.addInput("x", f32, {2});               // 1
    uint32_t t = builder.addArena(f32, {2});       // 2
    uint32_t y = builder.addOutput("y", f32, {2}); // 3
    uint32_t thenProgram = builder.addProgram();
    uint32_t elseProgram = builder.addProgram();
    builder.call(thenProgram, "copy", {1}, {t});
    builder.branch(0, 0, {y}, thenProgram, {t}, elseProgram, {1});
    edit(builder);
    std::string message = builder.loadError();
    return message.substr(0, message.find("; the executable is malformed"));
  };
  auto branch = [](ExecutableBuilder &b) {
    return b.header.mutable_programs(0)->mutable_commands(0)->mutable_branch();
  };
  std::string prefix = "command 0 (if): ";
  EXPECT_EQ(build([](ExecutableBuilder &) {}), "");
  EXPECT_EQ(
      build([&](ExecutableBuilder &b) { branch(b)->set_else_results(0, 2); }),
      prefix + "value 2 is used before it is made");
  EXPECT_EQ(
      build([&](ExecutableBuilder &b) { branch(b)->set_then_program(0); }),
      prefix + "it cannot run program 0 of 3");
  EXPECT_EQ(
      build([&](ExecutableBuilder &b) { branch(b)->set_then_program(3); }),
      prefix + "it cannot run program 3 of 3");
  EXPECT_EQ(
      build([&](ExecutableBuilder &b) { branch(b)->set_then_program(2); }),
      prefix + "program 2 is run by another command, too");
  EXPECT_EQ(
      build([&](ExecutableBuilder &b) { branch(b)->add_then_results(1); }),
      prefix + "a branch gives 2 values, but there are 1 outputs");
  EXPECT_EQ(
      build([&](ExecutableBuilder &b) { branch(b)->set_then_results(0, 0); }),
      prefix + "value 0 ('c') of bool becomes value 3 ('y') of float32");
  EXPECT_EQ(build([&](ExecutableBuilder &b) {
              b.header.mutable_programs(0)->mutable_commands(0)->set_inputs(0,
                                                                            1);
            }),
            prefix + "its input must be a condition of type bool");
  EXPECT_EQ(build([&](ExecutableBuilder &b) {
              b.header.mutable_programs(0)->mutable_commands(0)->set_at_entry(
                  true);
            }),
            "command 0 (''): only calls and launches of the first program can "
            "run at entry");
  // A program that runs itself.
  EXPECT_EQ(
      build([&](ExecutableBuilder &b) {
        *b.header.mutable_programs(2)->add_commands() =
            b.header.programs(0).commands(0);
        b.header.mutable_programs(2)->mutable_commands(0)->clear_outputs();
      }),
      "command 2 (if): program 1 is run by another command, too");
}

TEST(Executable, ChecksLoops) {
  auto build = [](const std::function<void(ExecutableBuilder &)> &edit) {
    ExecutableBuilder builder;
    builder.addInput("n", i64, {});                                // 0
    builder.addInput("x", f32, {2});                               // 1
    uint32_t i = builder.addArena(i64, {});                        // 2
    uint32_t c = builder.addArena(DataType::Bool, {});             // 3
    uint32_t v = builder.addArena(f32, {2});                       // 4
    uint32_t w = builder.addArena(f32, {2});                       // 5
    uint32_t y = builder.addOutput("y", f32, {2});                 // 6
    uint32_t z = builder.addOutput("z", f32, {Dim::unknown(), 2}); // 7
    uint32_t body = builder.addProgram();
    builder.call(body, "add", {4, 1}, {w});
    builder.loop(0, {0, -1, 1}, {y, z}, body, {i, c, v}, {c, w, w});
    edit(builder);
    std::string message = builder.loadError();
    return message.substr(0, message.find("; the executable is malformed"));
  };
  auto command = [](ExecutableBuilder &b) {
    return b.header.mutable_programs(0)->mutable_commands(0);
  };
  auto loop = [&](ExecutableBuilder &b) { return command(b)->mutable_loop(); };
  std::string prefix = "command 0 (loop): ";
  EXPECT_EQ(build([](ExecutableBuilder &) {}), "");
  EXPECT_EQ(build([&](ExecutableBuilder &b) { loop(b)->add_results(5); }),
            prefix + "it has 3 inputs, 3 arguments, 4 results and 2 outputs, "
                     "which do not match");
  EXPECT_EQ(build([&](ExecutableBuilder &b) { loop(b)->set_arguments(2, 1); }),
            prefix + "it would overwrite value 1 ('x'), which is an input or a "
                     "constant");
  EXPECT_EQ(build([&](ExecutableBuilder &b) { command(b)->set_inputs(0, 1); }),
            prefix + "the number of iterations must be int64");
  EXPECT_EQ(build([&](ExecutableBuilder &b) { loop(b)->set_results(0, 5); }),
            prefix + "the condition must be bool");
  EXPECT_EQ(build([&](ExecutableBuilder &b) { command(b)->set_inputs(2, -1); }),
            prefix + "what is carried needs an initial value");
  EXPECT_EQ(build([&](ExecutableBuilder &b) { command(b)->set_inputs(2, 0); }),
            prefix + "value 0 ('n') of int64 becomes value 4 of float32");
  EXPECT_EQ(build([&](ExecutableBuilder &b) { loop(b)->set_results(1, 2); }),
            prefix + "value 2 of int64 becomes value 6 ('y') of float32");
  EXPECT_EQ(build([&](ExecutableBuilder &b) {
              b.header.mutable_values(7)->mutable_view()->set_value(5);
            }),
            prefix + "value 7 ('z'), which grows with iterations, cannot be a "
                     "view");
  EXPECT_EQ(build([&](ExecutableBuilder &b) {
              b.header.mutable_values(7)->clear_dims();
            }),
            prefix + "value 7 ('z'), which is stacked, must have an axis");
  // What is made inside is not seen outside.
  EXPECT_EQ(build([&](ExecutableBuilder &b) {
              uint32_t t = b.addArena(f32, {2});
              b.call(0, "copy", {5}, {t});
            }),
            "node 'copy_node' ('copy'): value 5 is used before it is made");
}

TEST(Executable, ProgramsDoNotNestTooDeep) {
  auto nest = [](uint32_t depth) {
    ExecutableBuilder builder;
    builder.addInput("c", DataType::Bool, {});
    for (uint32_t program = 0; program < depth; ++program) {
      uint32_t thenProgram = builder.addProgram();
      uint32_t elseProgram = builder.addProgram();
      builder.branch(program == 0 ? 0 : 2 * program - 1, 0, {}, thenProgram, {},
                     elseProgram, {});
    }
    std::string message = builder.loadError();
    if (message.empty()) {
      std::unique_ptr<Session> session = builder.start();
      uint8_t c = 1;
      (void)session->setInput("c", {&c, DataType::Bool, {}});
      message = session->step().getMessage();
    }
    return message;
  };
  EXPECT_EQ(nest(maxProgramDepth), "");
  EXPECT_EQ(nest(maxProgramDepth + 1),
            "programs are nested more than 64 deep; the executable is "
            "malformed, compile the model again");
}

TEST(Executable, LongChainsOfViewsAndAxesAreNoProblem) {
  ExecutableBuilder builder;
  uint32_t x = builder.addInput("x", f32, {Dim::unknown()});
  uint32_t view = x;
  for (int i = 0; i < 100000; ++i)
    view = builder.addView(f32, {Dim::axis(view, 0)}, view);
  uint32_t y = builder.addOutput("y", f32, {Dim::axis(view, 0)});
  builder.call(0, "copy", {static_cast<int32_t>(view)}, {y});
  std::unique_ptr<Session> session = builder.start();
  std::vector<float> data = {1, 2, 3};
  ASSERT_TRUE(session->setInput("x", test::view(data, f32, {3})).ok());
  ASSERT_TRUE(session->step().ok());
  EXPECT_EQ(toVector<float>(*session->getOutput("y")), data);
}

/// Whatever bits of the message change, loading ends with a message or with an
/// executable.
TEST(Executable, SurvivesChangesOfTheMessage) {
  std::string text = readText(makeBuilder().write());
  uint64_t size;
  std::memcpy(&size, text.data() + 32, 8);
  std::mt19937 random(5);
  int loaded = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string other = text;
    for (unsigned i = 0; i < 1 + random() % 3; ++i)
      other[40 + random() % size] = static_cast<char>(random());
    uint64_t checksum = computeChecksum(other.data() + 16, 24 + size);
    std::memcpy(other.data() + 8, &checksum, 8);
    std::string path = makePath(".ampx");
    writeText(path, other);
    loaded += ExecutableLoader::load(path, {}, findTestKernel).ok();
    unlink(path.c_str());
  }
  EXPECT_GT(loaded, 0);
}

} // namespace
