//===- CheckpointTest.cpp - tensors in a safetensors file -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checkpoint.h"

#include "ExecutableBuilder.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <random>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace amp::runtime;
using namespace amp::runtime::test;

namespace {

void writeText(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A safetensors file with that JSON.
std::string makeFile(const std::string &json, const std::string &data) {
  uint64_t length = json.size();
  std::string text(sizeof(length), '\0');
  std::memcpy(text.data(), &length, sizeof(length));
  std::string path = makePath(".safetensors");
  writeText(path, text + json + data);
  return path;
}

/// Tensors of all types that the format knows, with any bits.
struct Tensors {
  explicit Tensors(unsigned seed) {
    std::mt19937 random(seed);
    for (uint32_t number = 1; number <= 24; ++number) {
      DataType type = *getDataType(number);
      bool isKnown = type != DataType::String && type != DataType::Complex128 &&
                     type != DataType::Float8E4M3FNUZ &&
                     type != DataType::Float8E5M2FNUZ &&
                     (number < 21 || number == 24);
      if (!isKnown)
        continue;
      Shape shape = number % 3 == 0 ? Shape{2, 0} : Shape{3, 5};
      if (number == 1)
        shape = {};
      bytes.emplace_back(static_cast<size_t>(shape.getElementCount()) *
                         getByteSize(type));
      for (char &byte : bytes.back())
        byte = static_cast<char>(random());
      named.push_back({"layer/" + std::string(getName(type)),
                       {bytes.back().data(), type, shape}});
    }
  }
  std::vector<std::vector<char>> bytes;
  std::vector<NamedTensor> named;
};

TEST(Checkpoint, KeepsEveryBit) {
  Tensors saved(1), loaded(2);
  std::string path = makePath(".safetensors");
  std::map<std::string, std::string> metadata = {{"step", "12"},
                                                 {"with \"quotes\"", "\n"}};
  Status status = saveCheckpoint(path, saved.named, metadata);
  ASSERT_TRUE(status.ok()) << status.getMessage();
  std::map<std::string, std::string> readMetadata = {{"old", "1"}};
  status = loadCheckpoint(path, loaded.named, &readMetadata);
  ASSERT_TRUE(status.ok()) << status.getMessage();
  EXPECT_EQ(saved.bytes, loaded.bytes);
  EXPECT_EQ(metadata, readMetadata);
  // Tensors are aligned, offsets begin at 0 and have no holes.
  std::string text = readText(path);
  uint64_t length;
  std::memcpy(&length, text.data(), sizeof(length));
  EXPECT_EQ((length + sizeof(length)) % 64, 0u);
  EXPECT_NE(text.find("\"data_offsets\":[0,4]"), std::string::npos);
  EXPECT_EQ(access((path + ".partial").c_str(), F_OK), -1);
}

TEST(Checkpoint, IsOfASession) {
  ExecutableBuilder builder;
  uint32_t c = builder.addConstant<float>(DataType::Float, {2}, {10, 20});
  uint32_t w = builder.addState("w", DataType::Float, {2}, c);
  uint32_t next = builder.addView(DataType::Float, {2}, w);
  builder.call(0, "add", {1, 1}, {next});
  std::unique_ptr<Session> session = builder.start();
  ASSERT_TRUE(session->step().ok());
  std::string path = makePath(".safetensors");
  ASSERT_TRUE(session->saveStates(path).ok());
  session->resetStates();
  ASSERT_TRUE(session->loadStates(path).ok());
  EXPECT_EQ(toVector<float>(*session->getState("w")),
            (std::vector<float>{20, 40}));
}

TEST(Checkpoint, SaysWhatDoesNotFit) {
  std::vector<float> data = {1, 2, 3};
  std::vector<NamedTensor> want = {
      {"weight", view(data, DataType::Float, {3})}};
  auto load = [&](const std::string &json, const std::string &bytes) {
    std::string message =
        loadCheckpoint(makeFile(json, bytes), want, nullptr).getMessage();
    size_t colon = message.find("': ");
    return colon == std::string::npos ? message : message.substr(colon + 3);
  };
  std::string bytes(12, '\1');
  EXPECT_EQ(
      load(R"({"weigth":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})",
           bytes),
      "it has no tensor 'weight'; did you mean 'weigth'?");
  EXPECT_EQ(
      load(R"({"weight":{"dtype":"F16","shape":[3],"data_offsets":[0,12]}})",
           bytes),
      "tensor 'weight' has type 'F16', but the model's has 'F32'");
  EXPECT_EQ(
      load(R"({"weight":{"dtype":"F32","shape":[1,3],"data_offsets":[0,12]}})",
           bytes),
      "tensor 'weight' is 1x3, but the model's is 3");
  EXPECT_EQ(
      load(
          R"({"weight":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,3],"data_offsets":[0,12]}})",
          bytes),
      "tensor 'weight' is of rank 9, but the model's is 3");
  for (const char *offsets : {"[0,11]", "[1,13]", "[12,0]", "[0,16]"})
    EXPECT_EQ(load(R"({"weight":{"dtype":"F32","shape":[3],"data_offsets":)" +
                       std::string(offsets) + "}}",
                   bytes),
              "the bytes of tensor 'weight' are not where they should be; the "
              "file is damaged");
  for (const char *entry :
       {R"({"dtype":"F32","shape":[3]})",
        R"({"dtype":"F32","shape":3,"data_offsets":[0,12]})",
        R"({"dtype":1,"shape":[3],"data_offsets":[0,12]})",
        R"({"dtype":"F32","shape":[-3],"data_offsets":[0,12]})",
        R"({"dtype":"F32","shape":[3],"data_offsets":[0]})"})
    EXPECT_EQ(load(R"({"weight":)" + std::string(entry) + "}", bytes),
              "what it says of tensor 'weight' is no safetensors header");
  for (const char *json : {"", "{", "[1]", "{\"a\":1}}", "\xff"})
    EXPECT_NE(load(json, bytes).find("not a safetensors file"),
              std::string::npos)
        << json;
  std::string deep(100000, '[');
  EXPECT_NE(load(deep, bytes).find("not a safetensors file"),
            std::string::npos);
  EXPECT_EQ(data, (std::vector<float>{1, 2, 3})); // Untouched by all that.
  writeText(makePath(".short"), "abc");

  std::vector<NamedTensor> strings = {{"s", {nullptr, DataType::Int4, {0}}}};
  EXPECT_EQ(saveCheckpoint(makePath(".s"), strings, {}).getMessage(),
            "a checkpoint cannot hold 's': the format has no type int4");
  EXPECT_EQ(saveCheckpoint("/nowhere/x", want, {}).getMessage(),
            "cannot create a file beside '/nowhere/x': No such file or "
            "directory");
  EXPECT_EQ(loadCheckpoint("/nowhere/x", want, nullptr).getMessage(),
            "cannot read '/nowhere/x': No such file or directory");
}

TEST(Checkpoint, TruncatedFilesAreRefused) {
  Tensors saved(1), loaded(2);
  std::string path = makePath(".safetensors"), cut = makePath(".cut");
  ASSERT_TRUE(saveCheckpoint(path, saved.named, {}).ok());
  std::string text = readText(path);
  std::vector<std::vector<char>> before = loaded.bytes;
  for (size_t size = 0; size < text.size(); size += 7) {
    writeText(cut, text.substr(0, size));
    EXPECT_FALSE(loadCheckpoint(cut, loaded.named, nullptr).ok()) << size;
  }
  EXPECT_EQ(loaded.bytes, before);
}

TEST(Checkpoint, AKillLeavesTheOldOrTheNewOne) {
  std::string path = makePath(".safetensors");
  // One number, many times.
  std::vector<uint64_t> data(1 << 17);
  std::vector<NamedTensor> named = {
      {"x", view(data, DataType::UInt64, {1 << 17})}};
  ASSERT_TRUE(saveCheckpoint(path, named, {}).ok());
  std::mt19937 random(1);
  uint64_t last = 0;
  int changes = 0;
  // Longer where a file takes long to write, so that some are written.
  unsigned patience = 20000;
  for (int round = 0; round < 40; ++round) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (uint64_t value = last + 1;; ++value) {
        std::fill(data.begin(), data.end(), value);
        if (!saveCheckpoint(path, named, {}).ok())
          _exit(1);
      }
    }
    usleep(1000 + random() % patience);
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    Status loaded = loadCheckpoint(path, named, nullptr);
    ASSERT_TRUE(loaded.ok()) << loaded.getMessage();
    for (uint64_t value : data)
      ASSERT_EQ(value, data[0]);
    ASSERT_GE(data[0], last);
    if (data[0] != last)
      ++changes;
    else
      patience = std::min(2 * patience, 500000u);
    last = data[0];
  }
  EXPECT_GT(changes, 0);
  unlink((path + ".partial").c_str());
}

TEST(Checkpoint, TwoWritersKeepOutOfEachOthersWay) {
  std::string path = makePath(".safetensors");
  std::vector<pid_t> children;
  for (uint64_t writer = 1; writer <= 3; ++writer) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::vector<uint64_t> data(1 << 12, writer);
      std::vector<NamedTensor> named = {
          {"x", view(data, DataType::UInt64, {1 << 12})}};
      for (int i = 0; i < 50; ++i)
        (void)saveCheckpoint(path, named, {});
      _exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children)
    waitpid(child, nullptr, 0);
  std::vector<uint64_t> data(1 << 12);
  Status loaded = loadCheckpoint(
      path, {{"x", view(data, DataType::UInt64, {1 << 12})}}, nullptr);
  ASSERT_TRUE(loaded.ok()) << loaded.getMessage();
  for (uint64_t value : data)
    ASSERT_EQ(value, data[0]);
}

TEST(Checkpoint, FollowsLinksAndKeepsRights) {
  std::string path = makePath(".safetensors"), link = makePath(".link");
  std::vector<float> data = {1};
  std::vector<NamedTensor> named = {{"x", view(data, DataType::Float, {1})}};
  ASSERT_TRUE(saveCheckpoint(path, named, {}).ok());
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  data[0] = 2;
  ASSERT_TRUE(saveCheckpoint(link, named, {}).ok());
  struct stat status;
  ASSERT_EQ(lstat(link.c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  data[0] = 0;
  ASSERT_TRUE(loadCheckpoint(path, named, nullptr).ok());
  EXPECT_EQ(data[0], 2);
}

} // namespace
