//===- ProcessSetupTest.cpp - Signals and closed descriptors --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Target/ONNX/ProcessSetup.h"

#include "Scratch.h"
#include "amp/Target/ONNX/MappedFile.h"
#include "amp/Target/ONNX/OutputFile.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace amp;
using namespace amp::test;

using Names = std::vector<std::string>;

namespace {

/// Bytes that do something when the first piece is asked for.
class Interrupting : public LazyBytes {
public:
  explicit Interrupting(function_ref<void()> act) : act(act) {}
  void fill(uint64_t offset, MutableArrayRef<char>) const override {
    if (offset == 0)
      act();
  }

private:
  function_ref<void()> act;
};

/// Writes an output in a child with our handlers; `act` happens on the way.
int writeAndMeanwhile(const ScratchFolder &folder, function_ref<void()> act,
                      std::string *errors, bool oldKernel = false) {
  return inChild(
      [&] {
        if (oldKernel && !forgetNewSystemCalls())
          return 42;
        ::signal(SIGHUP, SIG_DFL); // ignored under nohup, and then it stays so
        installSignalHandlers("tool");
        auto file = OutputFile::open(folder.path("out"));
        if (!file)
          return 1;
        WireWriter writer;
        writer.rawLazy(8 << 20, std::make_shared<Interrupting>(act));
        if (Error error = file->write(writer)) {
          errs() << text(std::move(error));
          return 2;
        }
        return OutputFile::commit(&*file) ? 3 : 0;
      },
      errors);
}

} // namespace

TEST(ProcessSetup, RemovesOutputsBeforeDyingBySignal) {
  // A shell that runs tests in the background has them ignore some.
  for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT})
    ::signal(signal, SIG_DFL);
  for (bool oldKernel : {false, true}) {
    for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
      ScratchFolder folder;
      folder.write("out", "old");
      Names during;
      std::string errors;
      int status = writeAndMeanwhile(
          folder,
          [&] {
            // Old kernels need a name for it.
            if (folder.names().size() == (oldKernel ? 2 : 1))
              ::raise(signal);
          },
          &errors, oldKernel);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 42)
        GTEST_SKIP() << "no seccomp here";
      ASSERT_TRUE(WIFSIGNALED(status)) << status << errors;
      EXPECT_EQ(WTERMSIG(status), signal);
      EXPECT_EQ(folder.read("out"), "old");
      EXPECT_EQ(folder.names(), (Names{"out"}));
    }
  }
}

TEST(ProcessSetup, KeepsIgnoredSignalsIgnored) {
  EXPECT_EQ(inChild([] {
              ::signal(SIGHUP, SIG_IGN);
              installSignalHandlers("tool");
              ::raise(SIGHUP);
              ::raise(SIGPIPE);
              ::raise(SIGXFSZ);
              return 0;
            }),
            0);
}

TEST(ProcessSetup, TellsOfAnInputThatGotShorter) {
  for (bool oldKernel : {false, true}) {
    ScratchFolder folder;
    std::string path = folder.write("model.onnx", std::string(4 << 20, 'm'));
    auto source = MappedFile::open(path);
    ASSERT_TRUE(static_cast<bool>(source));
    std::string errors;
    int status = writeAndMeanwhile(
        folder,
        [&] {
          if (::truncate(path.c_str(), 4096) == 0)
            (void)*static_cast<const volatile char *>((*source)->bytes().end() -
                                                      1);
        },
        &errors, oldKernel);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 42)
      GTEST_SKIP() << "no seccomp here";
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_EQ(errors.find("tool: error: '"), 0u) << errors;
    EXPECT_NE(errors.find("model.onnx' changed while it was read\n"),
              std::string::npos)
        << errors;
    EXPECT_EQ(folder.names(), (Names{"model.onnx"}));
  }
}

TEST(ProcessSetup, LeavesOtherBusErrorsAlone) {
  int status = inChild([] {
    ::signal(SIGBUS, SIG_DFL);
    installSignalHandlers("tool");
    ::raise(SIGBUS);
    ::raise(SIGBUS);
    return 0;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGBUS);
}

TEST(ProcessSetup, GuardsStandardDescriptors) {
  ScratchFolder folder;
  std::string path = folder.write("model.onnx", std::string(4 << 20, 'm'));
  EXPECT_EQ(inChild([&] {
              for (int fd : {0, 1, 2})
                ::close(fd);
              guardStandardDescriptors();
              auto file = MappedFile::open(path);
              if (!file || (*file)->descriptor() < 3)
                return 1;
              auto out = OutputFile::open("-");
              WireWriter writer;
              writer.raw("x");
              if (!out ||
                  text(out->write(writer)) !=
                      "cannot write standard output: bad file descriptor")
                return 2;
              return text(MappedFile::open("-")) ==
                             "cannot read standard input: cannot be read: bad "
                             "file descriptor"
                         ? 0
                         : 3;
            }),
            0);
  // What is open stays what it is.
  std::string output;
  EXPECT_EQ(inChild(
                [] {
                  ::close(0);
                  guardStandardDescriptors();
                  return ::write(1, "kept", 4) == 4 ? 0 : 1;
                },
                nullptr, &output),
            0);
  EXPECT_EQ(output, "kept");
}

TEST(ProcessSetup, FinishesStandardStreams) {
  std::string errors;
  auto finish = [&](const char *path) {
    return WEXITSTATUS(inChild(
        [&] {
          installSignalHandlers("tool");
          int ends[2];
          if (path) {
            ::dup2(::open(path, O_WRONLY), 1);
          } else if (::pipe(ends) == 0) {
            ::close(ends[0]);
            ::dup2(ends[1], 1);
          }
          outs() << "a report";
          return finishStandardStreams(0);
        },
        &errors));
  };
  EXPECT_EQ(finish("/dev/null"), 0);
  EXPECT_EQ(errors, "");
  EXPECT_EQ(finish("/dev/full"), 1);
  EXPECT_EQ(errors, "tool: error: cannot write standard output: no space left "
                    "on device\n");
  EXPECT_EQ(finish(nullptr), 0);
  EXPECT_EQ(errors, "");
}
