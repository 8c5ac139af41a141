//===- OutputFileTest.cpp - Whole outputs, or none ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Target/ONNX/OutputFile.h"

#include "Scratch.h"
#include "amp/Target/ONNX/ProcessSetup.h"
#include "gtest/gtest.h"
#include <csignal>
#include <fcntl.h>
#include <list>
#include <random>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace amp;
using namespace amp::test;

using Names = std::vector<std::string>;

/// Opens, writes and commits one output.
static std::string save(StringRef path, const WireWriter &contents,
                        OutputOptions options = {}) {
  auto file = OutputFile::open(path, std::move(options));
  if (!file)
    return text(file.takeError());
  if (Error error = file->write(contents))
    return text(std::move(error));
  return text(OutputFile::commit(&*file));
}

static WireWriter contentsOf(StringRef bytes) {
  WireWriter writer;
  writer.raw(bytes);
  return writer;
}

/// What follows "cannot write 'PATH': ".
static std::string reasonOf(const std::string &error) {
  size_t colon = error.find("': ");
  EXPECT_EQ(error.find("cannot write '"), 0u) << error;
  return colon == std::string::npos ? error : error.substr(colon + 3);
}

static mode_t modeOf(const std::string &path) {
  struct stat status = {};
  ::lstat(path.c_str(), &status);
  return status.st_mode & 07777;
}

namespace {

/// All kinds of contents: short and long, views into a mapped file and into
/// memory, lazy bytes of odd sizes.
class MixedContents {
public:
  explicit MixedContents(const ScratchFolder &folder) {
    std::mt19937 random(11);
    std::string bytes(5 << 20, '\0');
    for (char &c : bytes)
      c = static_cast<char>(random());
    auto opened = MappedFile::open(folder.write("source", bytes));
    EXPECT_TRUE(static_cast<bool>(opened));
    source = *opened;
    StringRef mapped = source->bytes();
    for (int i = 0; i < 40; ++i) {
      uint64_t size = random() % 5 ? random() % 20000 : random() % (3 << 20);
      uint64_t from = random() % (mapped.size() - size);
      writer.message(5, [&] {
        writer.bytes(8, "tensor " + std::to_string(i));
        if (i % 3 == 0)
          writer.view(9, mapped.substr(from, size));
        else if (i % 3 == 1)
          writer.lazy(9, size, lazy);
        else
          writer.view(9, memory.emplace_back(mapped.substr(from, size).str()));
      });
    }
    memory.emplace_back(2 << 20, 'm');
    writer.view(9, memory.back());
    expected = flatten(writer);
  }

  WireWriter writer;
  std::string expected;

private:
  std::shared_ptr<MappedFile> source;
  std::shared_ptr<NumberedBytes> lazy = std::make_shared<NumberedBytes>();
  std::list<std::string> memory;
};

} // namespace

TEST(OutputFile, WritesTheSameWithAnyNumberOfThreads) {
  ScratchFolder folder;
  MixedContents mixed(folder);
  for (unsigned threads : {1, 2, 7, 0}) {
    std::atomic<uint64_t> progress{0};
    OutputOptions options;
    options.threads = threads;
    options.progress = &progress;
    ASSERT_EQ(save(folder.path("out"), mixed.writer, options), "");
    EXPECT_TRUE(folder.read("out") == mixed.expected) << threads;
    EXPECT_EQ(progress, mixed.expected.size());
  }
  EXPECT_EQ(folder.names(), (Names{"out", "source"}));
}

TEST(OutputFile, WritesTheSameOnOldKernels) {
  ScratchFolder folder;
  MixedContents mixed(folder);
  folder.write("out", "old");
  std::string errors;
  int status = inChild(
      [&] {
        if (!forgetNewSystemCalls())
          return 42;
        auto file = OutputFile::open(folder.path("out"));
        if (!file || file->write(mixed.writer))
          return 1;
        // There is a file, but not with this name.
        if (folder.names().size() != 3 || folder.read("out") != "old")
          return 2;
        if (Error error = OutputFile::commit(&*file)) {
          errs() << text(std::move(error));
          return 3;
        }
        return 0;
      },
      &errors);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 42)
    GTEST_SKIP() << "no seccomp here";
  EXPECT_EQ(status, 0) << errors;
  EXPECT_TRUE(folder.read("out") == mixed.expected);
  EXPECT_EQ(folder.names(), (Names{"out", "source"}));
}

TEST(OutputFile, IsNotThereBeforeItIsWhole) {
  ScratchFolder folder;
  folder.write("out", "old");
  {
    auto file = OutputFile::open(folder.path("out"));
    ASSERT_EQ(text(file.takeError()), "");
    ASSERT_EQ(text(file->write(contentsOf("new"))), "");
    EXPECT_EQ(file->size(), 3u);
    EXPECT_EQ(folder.read("out"), "old");
  }
  EXPECT_EQ(folder.read("out"), "old");
  EXPECT_EQ(folder.names(), (Names{"out"}));
  ASSERT_EQ(save(folder.path("out"), contentsOf("new")), "");
  EXPECT_EQ(folder.read("out"), "new");
  EXPECT_EQ(folder.names(), (Names{"out"}));
}

TEST(OutputFile, LeavesNothingWhenTheDiskIsFull) {
  ScratchFolder folder;
  folder.write("out", "old");
  ::signal(SIGXFSZ, SIG_IGN);
  auto lazy = std::make_shared<NumberedBytes>();
  // Known before the work, and met while working.
  for (uint64_t size : {uint64_t(8 << 20), uint64_t(900 << 10)}) {
    WireWriter writer;
    writer.lazy(9, size, lazy);
    for (const char *name : {"out", "fresh"}) {
      ScopedLimit limit(RLIMIT_FSIZE, 512 << 10);
      EXPECT_EQ(reasonOf(save(folder.path(name), writer)), "file too large");
    }
  }
  EXPECT_EQ(folder.read("out"), "old");
  EXPECT_EQ(folder.names(), (Names{"out"}));
  EXPECT_EQ(save("/dev/full", WireWriter()),
            "cannot write '/dev/full': is a device, not a regular file");
}

TEST(OutputFile, RefusesBeforeTheWork) {
  ScratchFolder folder;
  auto refused = [&](const std::string &name) {
    std::string error = text(OutputFile::open(folder.path(name)));
    EXPECT_NE(error.find("cannot write '"), std::string::npos);
    return error.substr(error.find("': ") + 3);
  };
  ::mkdir(folder.path("folder").c_str(), 0777);
  ::mkfifo(folder.path("fifo").c_str(), 0666);
  folder.write("file", "x");
  (void)::symlink("loop", folder.path("loop").c_str());
  EXPECT_EQ(refused("gone/out"),
            "its folder cannot be opened: no such file or directory");
  EXPECT_EQ(refused("file/out"),
            "its folder cannot be opened: not a directory");
  EXPECT_EQ(refused("folder"), "is a directory, not a regular file");
  EXPECT_EQ(refused("folder/"), "is a directory");
  EXPECT_EQ(refused("folder/.."), "is a directory");
  EXPECT_EQ(refused("fifo"), "is a FIFO, not a regular file");
  EXPECT_EQ(refused("loop"), "too many levels of symbolic links");
  EXPECT_EQ(refused(std::string(300, 'o')), "file name too long");
  EXPECT_EQ(text(OutputFile::open("")),
            "cannot write '': no such file or directory");
  EXPECT_EQ(text(OutputFile::open(StringRef("a\0b", 3))),
            "cannot write 'a\\x00b': no such file or directory");
  EXPECT_EQ(folder.names(), (Names{"fifo", "file", "folder", "loop"}));
}

TEST(OutputFile, RefusesReadOnlyPlaces) {
  ScratchFolder folder;
  ::chmod(folder.path("").c_str(), 0755);
  folder.write("protected", "x");
  folder.write("folder/x", "x");
  ::chmod(folder.path("protected").c_str(), 0444);
  ::chmod(folder.path("folder").c_str(), 0555);
  std::string errors;
  inChild(
      [&] {
        // Nothing is read-only for root.
        if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0)
          return 1;
        errs() << reasonOf(text(OutputFile::open(folder.path("protected"))))
               << "\n"
               << reasonOf(text(OutputFile::open(folder.path("folder/new"))));
        return 0;
      },
      &errors);
  EXPECT_EQ(errors, "permission denied\n"
                    "its folder cannot be written: permission denied");
  ::chmod(folder.path("folder").c_str(), 0755);
}

TEST(OutputFile, RefusesToReplaceTheInputsData) {
  ScratchFolder folder;
  std::string data = folder.write("model.data", "weights");
  (void)::symlink("model.data", folder.path("link").c_str());
  struct stat status;
  ASSERT_EQ(::stat(data.c_str(), &status), 0);
  OutputOptions options;
  options.inputs = {{status.st_dev, status.st_ino}};
  for (const char *name : {"model.data", "link"})
    EXPECT_EQ(reasonOf(save(folder.path(name), contentsOf("x"), options)),
              "it holds data of the input model");
  EXPECT_EQ(save(folder.path("other"), contentsOf("x"), options), "");
  EXPECT_EQ(folder.read("model.data"), "weights");
}

TEST(OutputFile, TakesTheLongestName) {
  ScratchFolder folder;
  std::string name(255, 'o');
  ASSERT_EQ(save(folder.path(name), contentsOf("x")), "");
  EXPECT_EQ(folder.names(), (Names{name}));
}

TEST(OutputFile, FollowsSymbolicLinks) {
  ScratchFolder folder;
  folder.write("sub/target", "old");
  (void)::symlink("sub/target", folder.path("link").c_str());
  (void)::symlink("fresh", folder.path("sub/dangling").c_str());
  (void)::symlink("sub/dangling", folder.path("chain").c_str());
  ASSERT_EQ(save(folder.path("link"), contentsOf("new")), "");
  EXPECT_EQ(folder.read("sub/target"), "new");
  ASSERT_EQ(save(folder.path("chain"), contentsOf("fresh")), "");
  EXPECT_EQ(folder.read("sub/fresh"), "fresh");
  EXPECT_EQ(folder.names(), (Names{"chain", "link", "sub"}));
}

TEST(OutputFile, LeavesOtherHardLinksAlone) {
  ScratchFolder folder;
  folder.write("input", "old");
  ASSERT_EQ(::link(folder.path("input").c_str(), folder.path("out").c_str()),
            0);
  ASSERT_EQ(save(folder.path("out"), contentsOf("new")), "");
  EXPECT_EQ(folder.read("input"), "old");
  EXPECT_EQ(folder.read("out"), "new");
}

TEST(OutputFile, KeepsPermissions) {
  ScratchFolder folder;
  folder.write("out", "old");
  ::chmod(folder.path("out").c_str(), 0640);
  ASSERT_EQ(save(folder.path("out"), contentsOf("new")), "");
  EXPECT_EQ(modeOf(folder.path("out")), 0640u);
  mode_t old = ::umask(027);
  ASSERT_EQ(save(folder.path("fresh"), contentsOf("new")), "");
  ::umask(old);
  EXPECT_EQ(modeOf(folder.path("fresh")), 0640u);
}

TEST(OutputFile, SyncsIfAsked) {
  ScratchFolder folder;
  OutputOptions options;
  options.durable = true;
  ASSERT_EQ(save(folder.path("out"), contentsOf("x"), options), "");
  EXPECT_EQ(folder.read("out"), "x");
}

TEST(OutputFile, ReplacesTheMappedInput) {
  ScratchFolder folder;
  MixedContents mixed(folder);
  ASSERT_EQ(save(folder.path("source"), mixed.writer), "");
  EXPECT_TRUE(folder.read("source") == mixed.expected);
}

namespace {
class Nothing : public LazyBytes {
public:
  void fill(uint64_t offset, MutableArrayRef<char> out) const override {
    if (offset % granularity != 0 || offset + out.size() > size ||
        (out.size() % granularity != 0 && offset + out.size() != size))
      wrong = true;
    total += out.size();
  }
  static constexpr uint64_t size = (5ull << 30) + 7;
  mutable std::atomic<uint64_t> total{0};
  mutable std::atomic<bool> wrong{false};
};
} // namespace

/// Into a place that is big enough.
TEST(OutputFile, WritesMoreThanFourGiB) {
  auto nothing = std::make_shared<Nothing>();
  WireWriter writer;
  writer.bytes(1, "unaligned");
  writer.lazy(9, Nothing::size, nothing);
  std::atomic<uint64_t> progress{0};
  OutputOptions options;
  options.progress = &progress;
  ASSERT_EQ(save("/dev/null", writer, options), "");
  EXPECT_EQ(progress, writer.size());
  EXPECT_GE(nothing->total, +Nothing::size);
  EXPECT_LT(nothing->total, Nothing::size / 100 * 105);
  EXPECT_FALSE(nothing->wrong);
}

TEST(OutputFile, CommitsSeveralOrNone) {
  ScratchFolder folder;
  for (bool old : {false, true}) {
    for (const char *name : {"data", "model"}) {
      ::unlink(folder.path(name).c_str());
      ::rmdir(folder.path(name).c_str());
      if (old)
        folder.write(name, "old");
    }
    auto data = OutputFile::open(folder.path("data"));
    auto model = OutputFile::open(folder.path("model"));
    ASSERT_TRUE(data && model);
    ASSERT_EQ(text(data->write(contentsOf("new data"))), "");
    ASSERT_EQ(text(model->write(contentsOf("new model"))), "");
    // Something gets in the way of the last one.
    ::unlink(folder.path("model").c_str());
    ASSERT_EQ(::mkdir(folder.path("model").c_str(), 0777), 0);
    EXPECT_EQ(reasonOf(text(OutputFile::commit({&*data, &*model}))),
              "is a directory");
    EXPECT_EQ(folder.read("data"), old ? "old" : "(cannot be read)");
  }
  ::rmdir(folder.path("model").c_str());
  EXPECT_EQ(folder.names(), (Names{"data"}));

  auto data = OutputFile::open(folder.path("data"));
  auto model = OutputFile::open(folder.path("model"));
  ASSERT_TRUE(data && model);
  ASSERT_EQ(text(data->write(contentsOf("new data"))), "");
  ASSERT_EQ(text(model->write(contentsOf("new model"))), "");
  ASSERT_EQ(text(OutputFile::commit({&*data, &*model})), "");
  EXPECT_EQ(folder.read("data"), "new data");
  EXPECT_EQ(folder.read("model"), "new model");
  EXPECT_EQ(folder.names(), (Names{"data", "model"}));
}

TEST(OutputFile, NoticesAnInputThatGotShorter) {
  ScratchFolder folder;
  std::string path = folder.write("source", std::string(4 << 20, 's'));
  auto source = MappedFile::open(path);
  ASSERT_TRUE(static_cast<bool>(source));
  WireWriter writer;
  writer.view(9, (*source)->bytes());
  ASSERT_EQ(::truncate(path.c_str(), 4096), 0);
  EXPECT_EQ(reasonOf(save(folder.path("out"), writer)),
            "an input file changed while it was read");
  EXPECT_EQ(folder.names(), (Names{"source"}));
}

TEST(OutputFile, StreamsToStandardOutput) {
  ScratchFolder folder;
  MixedContents mixed(folder);
  for (const char *name : {"-", "/dev/stdout"}) {
    std::string output;
    EXPECT_EQ(inChild([&] { return save(name, mixed.writer).empty() ? 0 : 1; },
                      nullptr, &output),
              0);
    EXPECT_TRUE(output == mixed.expected);
  }
  std::string errors, output;
  auto saveTo = [&](const char *path) {
    inChild(
        [&] {
          installSignalHandlers("test");
          if (path) {
            ::dup2(::open(path, O_WRONLY), 1);
          } else {
            int ends[2];
            if (::pipe(ends) != 0)
              return 1;
            ::close(ends[0]);
            ::dup2(ends[1], 1);
          }
          errs() << save("-", mixed.writer);
          return 0;
        },
        &errors);
    return errors;
  };
  EXPECT_EQ(saveTo("/dev/full"),
            "cannot write standard output: no space left on device");
  EXPECT_EQ(saveTo(nullptr), "cannot write standard output: broken pipe");
}

TEST(OutputFile, IsWrittenByTwoAtOnce) {
  ScratchFolder folder;
  std::string one(3 << 20, '1'), two(3 << 20, '2');
  auto first = OutputFile::open(folder.path("out"));
  auto second = OutputFile::open(folder.path("out"));
  ASSERT_TRUE(first && second);
  ASSERT_EQ(text(first->write(contentsOf(one))), "");
  ASSERT_EQ(text(second->write(contentsOf(two))), "");
  ASSERT_EQ(text(OutputFile::commit(&*second)), "");
  ASSERT_EQ(text(OutputFile::commit(&*first)), "");
  EXPECT_EQ(folder.read("out"), one);
  EXPECT_EQ(folder.names(), (Names{"out"}));
}
