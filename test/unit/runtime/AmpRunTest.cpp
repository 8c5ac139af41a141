//===- AmpRunTest.cpp - the tool that runs executables --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArrayFile.h"
#include "ExecutableBuilder.h"
#include "NpyHeader.h"
#include "TrainingTesting.h"

#include "gtest/gtest.h"

#include <fstream>

using namespace amp::run;
using namespace amp::run::test;
using namespace amp::runtime;
using namespace amp::runtime::test;
using Floats = std::vector<float>;

namespace {

constexpr DataType f32 = DataType::Float;

/// y = x, w' = w; needs the runtime's own kernels only.
std::string writeCopy(DataType type = f32) {
  ExecutableBuilder builder;
  builder.addInput("x", type, {Dim::unknown(), 2}, {"n", ""});
  uint32_t c = builder.addConstant<float>(f32, {2}, {1, 2});
  uint32_t w = builder.addState("w", f32, {2}, c);
  (void)w;
  uint32_t y = builder.addOutput("y", type, {Dim::axis(0, 0), 2});
  builder.call(0, "copy", {0}, {y});
  return builder.write();
}

std::string npy(const std::string &dictionary, const std::string &data = "") {
  std::string text("\x93NUMPY\1\0", 8);
  text += static_cast<char>(dictionary.size() & 255);
  text += static_cast<char>(dictionary.size() >> 8);
  return text + dictionary + data;
}

TEST(NpyHeader, ReadsWhatNumPyWrites) {
  Result<NpyHeader> header = parseNpyHeader(
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n"));
  ASSERT_TRUE(header.ok()) << header.getMessage();
  EXPECT_EQ(header->type, f32);
  EXPECT_EQ(header->shape, (Shape{2, 3}));
  EXPECT_EQ(header->dataOffset, 10u + 63);
  for (const char *dictionary :
       {"{'descr':'|b1','shape':(),'fortran_order':True}",
        "{\"descr\": \"|b1\", 'fortran_order': False, 'shape': ( ) , }",
        "{'descr': '|b1', 'fortran_order': False, 'shape': (3L,), }"})
    EXPECT_TRUE(parseNpyHeader(npy(dictionary)).ok()) << dictionary;
  // Version 2 has four bytes for the length.
  std::string two("\x93NUMPY\2\0\x2f\0\0\0", 12);
  two += "{'descr':'<V2','shape':(1,),'fortran_order':0}";
  EXPECT_NE(parseNpyHeader(two).getMessage(), "");
}

TEST(NpyHeader, SaysWhatItCannotRead) {
  auto message = [](const std::string &bytes) {
    return parseNpyHeader(bytes).getMessage();
  };
  auto withDescr = [&](const std::string &descr) {
    return message(npy("{'descr': " + descr +
                       ", 'fortran_order': False, 'shape': (1,), }"));
  };
  EXPECT_EQ(withDescr("'>f4'"),
            "arrays of dtype '>f4' are not supported: bytes "
            "must be little-endian");
  EXPECT_EQ(withDescr("'|O'"), "arrays of dtype '|O' are not supported");
  EXPECT_EQ(withDescr("''"), "arrays of dtype '' are not supported");
  EXPECT_EQ(withDescr("[('a', '<f4')]"), "arrays of records are not supported");
  auto withShape = [&](const std::string &shape) {
    return message(npy(
        "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}"));
  };
  EXPECT_EQ(withShape("3"), "not an array of NumPy: its shape is no tuple");
  EXPECT_EQ(withShape("(-1,)"),
            "not an array of NumPy: its shape is no tuple of numbers");
  EXPECT_EQ(withShape("(99999999999999999999,)"),
            "not an array of NumPy: its shape is no tuple of numbers");
  EXPECT_EQ(withShape("(1,1,1,1,1,1,1,1,1)"),
            "arrays of a rank above 8 are not supported");
  EXPECT_EQ(withShape("(9223372036854775807,2)"),
            "the array is 9223372036854775807x2, which no memory can hold");
  EXPECT_EQ(message(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, "
                        "3)}")),
            "arrays in column-major order are not supported; save "
            "np.ascontiguousarray(array)");
  EXPECT_EQ(message(npy("{'descr': '<f4'}")),
            "not an array of NumPy: its header lacks descr or shape");
  EXPECT_EQ(message(npy("{'fortran_order': 1}")),
            "not an array of NumPy: its order is neither True nor False");
  EXPECT_EQ(message(npy("{'x': 1}")),
            "not an array of NumPy: its header has a key 'x'");
  EXPECT_EQ(message(npy("{'descr'")),
            "not an array of NumPy: its header is no dictionary");
  EXPECT_EQ(message(npy("[]")),
            "not an array of NumPy: its header is no dictionary");
  EXPECT_EQ(message("PK"), "not an array of NumPy: it does not begin as one");
  EXPECT_EQ(message(std::string("\x93NUMPY\1\0\xff\xff{}", 12)),
            "not an array of NumPy: its header is cut, or of another version");
  EXPECT_EQ(message(std::string("\x93NUMPY\7\0\0\0{}", 12)),
            "not an array of NumPy: its header is cut, or of another version");
}

TEST(ArrayFile, KeepsEveryBit) {
  std::vector<NamedTensor> tensors;
  std::vector<std::vector<char>> bytes;
  for (uint32_t number = 1; number <= 26; ++number) {
    DataType type = *getDataType(number);
    if (type == DataType::String)
      continue;
    Shape shape = number == 1 ? Shape{} : Shape{number % 4, 3};
    bytes.emplace_back(static_cast<size_t>(shape.getElementCount()) *
                       getByteSize(type));
    for (size_t i = 0; i < bytes.back().size(); ++i)
      bytes.back()[i] = static_cast<char>(i * 37 + number);
    tensors.push_back({"a/" + std::string(getName(type)),
                       {bytes.back().data(), type, shape}});
  }
  std::string path = makePath(".npz");
  ASSERT_EQ(writeArrays(path, tensors).getMessage(), "");
  Result<ArrayFile> read = ArrayFile::read(path);
  ASSERT_TRUE(read.ok()) << read.getMessage();
  ASSERT_EQ(read->getTensors().size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const NamedTensor &got = read->getTensors()[i];
    EXPECT_EQ(got.name, tensors[i].name);
    EXPECT_EQ(adaptType(got.tensor.type, tensors[i].tensor.type),
              tensors[i].tensor.type);
    EXPECT_EQ(got.tensor.shape, tensors[i].tensor.shape);
    EXPECT_EQ(std::string(got.tensor.as<char>(), got.tensor.getByteCount()),
              std::string(bytes[i].begin(), bytes[i].end()));
  }
  std::string text = "x";
  EXPECT_EQ(
      writeArrays(path, {{"s", {&text, DataType::String, {}}}}).getMessage(),
      "output 's': NumPy's files cannot hold string");
  EXPECT_EQ(writeArrays("/nowhere/x.npz", tensors).getMessage(),
            "cannot write '/nowhere/x.npz': No such file or directory");
}

TEST(ArrayFile, SeesDamage) {
  Floats data(1000, 1.5f);
  std::string path = makePath(".npz");
  ASSERT_TRUE(writeArrays(path, {{"x", view(data, f32, {1000})}}).ok());
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  for (size_t size = 1; size < bytes.size(); size += 97) {
    std::string cut = makePath(".npz");
    std::ofstream(cut, std::ios::binary) << bytes.substr(0, size);
    EXPECT_FALSE(ArrayFile::read(cut).ok()) << size;
  }
  std::string none = makePath(".npz");
  std::ofstream(none) << "text";
  EXPECT_EQ(ArrayFile::read(none).getMessage(),
            "'" + none + "': not a .npz file; write it by np.savez");
}

TEST(ArrayFile, MayHaveNoArrays) {
  std::string path = makePath(".npz");
  // As np.savez writes it.
  std::ofstream(path, std::ios::binary) << "PK\5\6" << std::string(18, '\0');
  Result<ArrayFile> arrays = ArrayFile::read(path);
  ASSERT_TRUE(arrays.ok()) << arrays.getMessage();
  EXPECT_TRUE(arrays->getTensors().empty());
}

TEST(AmpRun, RunsAndWritesEverything) {
  std::string model = writeCopy(), in = makePath(".npz"),
              out = makePath(".npz"), trace = makePath(".json"),
              state = makePath(".safetensors");
  Floats x = {1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(writeArrays(in, {{"x", view(x, f32, {3, 2})}}).ok());
  Outcome outcome = runTool(model + " --inputs " + in + " --outputs " + out +
                            " --threads 2 --repeat 3 --verify --profile " +
                            trace + " --save-state " + state);
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_EQ(outcome.text.substr(0, 16), "3 steps: median ");
  Result<ArrayFile> arrays = ArrayFile::read(out);
  ASSERT_TRUE(arrays.ok()) << arrays.getMessage();
  ASSERT_EQ(arrays->getTensors().size(), 1u);
  EXPECT_EQ(arrays->getTensors()[0].name, "y");
  EXPECT_EQ(toVector<float>(arrays->getTensors()[0].tensor), x);
  std::ifstream file(trace);
  std::string line;
  std::vector<std::string> lines;
  while (std::getline(file, line))
    lines.push_back(line);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0], "{\"traceEvents\":[");
  EXPECT_EQ(lines[2].substr(0, 24), R"({"name":"copy","ph":"X",)");
  EXPECT_NE(lines[2].find(R"("args":{"node":"copy_node","bytes_read":24,)"
                          R"("bytes_written":24}})"),
            std::string::npos);
  EXPECT_EQ(lines[4], "]}");
  outcome = runTool(model + " --inputs " + in + " --state " + state);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.text, "");
}

TEST(AmpRun, TakesUInt16ForBFloat16) {
  std::string model = writeCopy(DataType::BFloat16), in = makePath(".npz");
  std::vector<uint16_t> x = {0x3f80, 0x4000};
  for (DataType type : {DataType::UInt16, DataType::BFloat16}) {
    ASSERT_TRUE(writeArrays(in, {{"x", view(x, type, {1, 2})}}).ok());
    Outcome outcome = runTool(model + " --inputs " + in);
    EXPECT_EQ(outcome.code, 0) << outcome.text;
  }
}

TEST(AmpRun, FailsWithOneLine) {
  std::string model = writeCopy(), in = makePath(".npz");
  Floats x = {1, 2};
  ASSERT_TRUE(writeArrays(in, {{"X1", view(x, f32, {1, 2})}}).ok());
  auto expect = [](const std::string &arguments, const std::string &text) {
    Outcome outcome = runTool(arguments);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.text, "amp-run: error: " + text + "\n");
  };
  expect(model, "input 'x' is not set, and has no default");
  expect(model + " --inputs " + in, "there is no input 'X1'; there are 'x'");
  expect("/nowhere.ampx", "'/nowhere.ampx': cannot read '/nowhere.ampx': No "
                          "such file or directory");
  expect(model + " --inputs /nowhere.npz",
         "cannot read '/nowhere.npz': No such file or directory");
  ASSERT_TRUE(writeArrays(in, {{"x", view(x, f32, {1, 2})}}).ok());
  expect(model + " --inputs " + in + " --state /nowhere",
         "cannot read '/nowhere': No such file or directory");
  expect(model + " --inputs " + in + " --outputs /nowhere/y.npz",
         "cannot write '/nowhere/y.npz': No such file or directory");
  expect(model + " --inputs " + in + " --profile /nowhere/t.json",
         "cannot create a file beside '/nowhere/t.json': No such file or "
         "directory");
}

TEST(AmpRun, KnowsItsOptions) {
  EXPECT_EQ(runTool("").code, 2);
  EXPECT_EQ(runTool("a.ampx b.ampx").code, 2);
  EXPECT_EQ(runTool("a.ampx --threads 0").code, 2);
  EXPECT_EQ(runTool("a.ampx --repeat x").code, 2);
  EXPECT_EQ(runTool("--no-such-option").code, 2);
  Outcome help = runTool("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.text.find("--save-state"), std::string::npos);
}

} // namespace
