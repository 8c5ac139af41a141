//===- ExternalDataTest.cpp - What a model may and may not refer to -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Target/ONNX/ExternalData.h"

#include "Scratch.h"
#include "gtest/gtest.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace amp;
using namespace amp::test;

namespace {

class ExternalData : public testing::Test {
protected:
  void SetUp() override {
    folder.write("secret", std::string(64, 'S'));
    folder.write("in/w.bin", weights);
    folder.write("in/sub/w.bin", weights);
    folder.write("in/w..bin", weights);
    folder.write("in/empty", "");
    (void)::symlink("../secret", folder.path("in/out_link").c_str());
    (void)::symlink("w.bin", folder.path("in/in_link").c_str());
    (void)::symlink("..", folder.path("in/folder_link").c_str());
    (void)::symlink("loop", folder.path("in/loop").c_str());
    (void)::link(folder.path("secret").c_str(),
                 folder.path("in/hard_link").c_str());
    ::mkfifo(folder.path("in/fifo").c_str(), 0666);
    for (int i = 0; i < 64; ++i)
      weights[i] = static_cast<char>(i);
    folder.write("in/w.bin", weights);
    folder.write("in/sub/w.bin", weights);
    folder.write("in/w..bin", weights);
  }

  std::string model() const { return folder.path("in/model.onnx"); }

  /// The error for a tensor of 16 bytes, without what all have in common.
  std::string refused(ExternalDataReference reference) {
    ExternalDataFiles files(model());
    std::string error = text(files.resolve(reference, 16, "I"));
    EXPECT_EQ(error.find("tensor 'I': external data "), 0u) << error;
    return error.substr(std::min<size_t>(error.size(), 26));
  }
  std::string refusedAt(StringRef location) {
    return refused({location, std::nullopt, std::nullopt});
  }
  std::string refusedRange(StringRef offset, StringRef length) {
    return refused({StringRef("w.bin"), offset, length});
  }

  ScratchFolder folder;
  std::string weights = std::string(64, 'w');
};

} // namespace

TEST_F(ExternalData, ResolvesViews) {
  ExternalDataFiles files(model());
  auto bytes = [&](ExternalDataReference reference, uint64_t size) {
    auto view = files.resolve(reference, size, "I");
    return view ? view->bytes.str() : text(view.takeError());
  };
  EXPECT_EQ(bytes({StringRef("w.bin"), {}, {}}, 64), weights);
  EXPECT_EQ(bytes({StringRef("w.bin"), {}, {}}, 16), weights.substr(0, 16));
  EXPECT_EQ(bytes({StringRef("w.bin"), StringRef("3"), StringRef("16")}, 16),
            weights.substr(3, 16));
  EXPECT_EQ(bytes({StringRef("./w.bin"), StringRef("00048"), {}}, 16),
            weights.substr(48));
  EXPECT_EQ(bytes({StringRef("sub//./w.bin"), {}, {}}, 64), weights);
  EXPECT_EQ(bytes({StringRef("w..bin"), {}, {}}, 64), weights);
  // A tensor without elements, at the end and in an empty file.
  EXPECT_EQ(bytes({StringRef("w.bin"), StringRef("64"), StringRef("0")}, 0),
            "");
  EXPECT_EQ(bytes({StringRef("empty"), {}, {}}, 0), "");
  // One file by two names is mapped once.
  EXPECT_EQ(files.files().size(), 4u);
  auto one = files.resolve({StringRef("w.bin"), {}, {}}, 16, "I");
  auto two = files.resolve({StringRef("./w.bin"), {}, {}}, 16, "I");
  ASSERT_TRUE(static_cast<bool>(one));
  ASSERT_TRUE(static_cast<bool>(two));
  EXPECT_EQ(one->file, two->file);
}

TEST_F(ExternalData, MissingFilesAreZerosIfAccepted) {
  ExternalDataFiles::Options options;
  options.acceptMissing = true;
  ExternalDataFiles files(model(), options);
  for (StringRef location : {"gone.bin", "gone/w.bin", "gone.bin"}) {
    auto view = files.resolve({location, StringRef("48"), {}}, 16, "I");
    ASSERT_EQ(text(view.takeError()), "");
    EXPECT_EQ(view->bytes, StringRef(std::string(16, '\0')));
  }
  EXPECT_EQ(files.missing(),
            (std::set<std::string, std::less<>>{"gone.bin", "gone/w.bin"}));
  // What is there has to be right.
  EXPECT_NE(
      text(files.resolve({StringRef("w.bin"), StringRef("60"), {}}, 16, "I")),
      "");
  EXPECT_NE(text(files.resolve({StringRef("../secret"), {}, {}}, 16, "I")), "");
  EXPECT_NE(text(files.resolve({StringRef("gone.bin"), {}, {}},
                               UINT64_C(1) << 62, "I")),
            "");
}

TEST_F(ExternalData, ViewsOutliveTheFiles) {
  ExternalDataView view;
  {
    ExternalDataFiles files(model());
    auto result = files.resolve({StringRef("w.bin"), {}, {}}, 64, "I");
    ASSERT_TRUE(static_cast<bool>(result));
    view = *result;
  }
  EXPECT_EQ(view.bytes, weights);
}

TEST_F(ExternalData, StaysInTheFolder) {
  std::string dots = "has a '..', which may lead outside the model's folder";
  std::string absolute = "is absolute, not beneath the model's folder";
  EXPECT_EQ(refusedAt("../secret"), "'../secret' " + dots);
  EXPECT_EQ(refusedAt("./.././secret"), "'./.././secret' " + dots);
  EXPECT_EQ(refusedAt("sub/../w.bin"), "'sub/../w.bin' " + dots);
  EXPECT_EQ(refusedAt("sub/.."), "'sub/..' " + dots);
  EXPECT_EQ(refusedAt("/etc/passwd"), "'/etc/passwd' " + absolute);
  EXPECT_EQ(refusedAt("//etc/passwd"), "'//etc/passwd' " + absolute);
  std::string missing = "cannot be opened: no such file or directory";
  EXPECT_EQ(refusedAt("file:///etc/passwd"), "'file:///etc/passwd' " + missing);
  EXPECT_EQ(refusedAt("~/w.bin"), "'~/w.bin' " + missing);
  EXPECT_EQ(refusedAt("C:\\w.bin"), "'C:\\\\w.bin' " + missing);
  EXPECT_EQ(refusedAt("..\\secret"), "'..\\\\secret' " + missing);
  EXPECT_EQ(refusedAt("*/_ORT_MEM_ADDR_/*"), "'*/_ORT_MEM_ADDR_/*' " + missing);
}

TEST_F(ExternalData, FollowsNoLinks) {
  std::string link =
      "is reached through a symbolic link (accepted with --allow-links)";
  EXPECT_EQ(refusedAt("out_link"), "'out_link' " + link);
  EXPECT_EQ(refusedAt("in_link"), "'in_link' " + link);
  EXPECT_EQ(refusedAt("folder_link/secret"), "'folder_link/secret' " + link);
  EXPECT_EQ(refusedAt("loop"), "'loop' " + link);
  EXPECT_EQ(refusedAt("hard_link"),
            "'hard_link' has 2 hard links (accepted with --allow-links)");
}

TEST_F(ExternalData, FollowsLinksIfAllowed) {
  ExternalDataFiles::Options options;
  options.allowLinks = true;
  ExternalDataFiles files(model(), options);
  for (StringRef location :
       {"out_link", "in_link", "folder_link/secret", "hard_link", "w.bin"})
    EXPECT_EQ(text(files.resolve({location, {}, {}}, 64, "I")), "")
        << location.str();
  // w.bin and the secret.
  EXPECT_EQ(files.files().size(), 2u);
  EXPECT_NE(text(files.resolve({StringRef("../secret"), {}, {}}, 64, "I")), "");
  EXPECT_EQ(text(files.resolve({StringRef("loop"), {}, {}}, 64, "I")),
            "tensor 'I': external data 'loop' cannot be opened: too many "
            "levels of symbolic links");
}

TEST_F(ExternalData, OpensOnlyRegularFiles) {
  EXPECT_EQ(refusedAt("fifo"), "'fifo' is a FIFO, not a regular file");
  EXPECT_EQ(refusedAt("sub"), "'sub' is a directory, not a regular file");
  EXPECT_EQ(refusedAt("w.bin/"), "'w.bin/' cannot be opened: not a directory");
  EXPECT_EQ(refusedAt(""), "'' is empty");
  EXPECT_EQ(refusedAt(StringRef("w.bin\0x", 7)),
            "'w.bin\\x00x' contains a zero byte");
  EXPECT_EQ(refusedAt("a\nb"),
            "'a\\nb' cannot be opened: no such file or directory");
  EXPECT_EQ(refusedAt("empty"),
            "'empty' has 0 bytes, but the tensor takes 16 from byte 0");
  EXPECT_EQ(refused({}), "has no location");
  EXPECT_NE(refusedAt(std::string(5000, 'x')).find("file name too long"),
            std::string::npos);
}

TEST_F(ExternalData, ChecksOffsetAndLength) {
  std::string notANumber = ", not a number from 0 to 9223372036854775807";
  for (StringRef bad : {"-1", "abc", "1e1", "0;16", " 0", "+0", "", "0x0", "٠",
                        "9223372036854775808", "18446744073709551616",
                        "999999999999999999999999"}) {
    EXPECT_EQ(refusedRange(bad, "16"),
              "'w.bin' has offset '" + bad.str() + "'" + notANumber);
    EXPECT_EQ(refusedRange("0", bad),
              "'w.bin' has length '" + bad.str() + "'" + notANumber);
  }
  EXPECT_EQ(refusedRange("9223372036854775807", "16"),
            "'w.bin' has 64 bytes, but the tensor takes 16 from byte "
            "9223372036854775807");
  EXPECT_EQ(refusedRange("49", "16"),
            "'w.bin' has 64 bytes, but the tensor takes 16 from byte 49");
  EXPECT_EQ(refusedRange("16", "9223372036854775807"),
            "'w.bin' has length 9223372036854775807, but type and shape need "
            "16 bytes");
  EXPECT_EQ(refusedRange("0", "0"),
            "'w.bin' has length 0, but type and shape need 16 bytes");
  EXPECT_EQ(refusedRange("0", "8"),
            "'w.bin' has length 8, but type and shape need 16 bytes");
  ExternalDataFiles files(model());
  EXPECT_NE(text(files.resolve({StringRef("w.bin"), {}, {}}, UINT64_MAX, "I")),
            "");
}

TEST_F(ExternalData, WorksFromTheCurrentFolder) {
  EXPECT_EQ(
      inChild([&] {
        if (::chdir(folder.path("in").c_str()) != 0)
          return 1;
        for (StringRef name : {"model.onnx", "./model.onnx", "-"}) {
          ExternalDataFiles files(name);
          if (!text(files.resolve({StringRef("w.bin"), {}, {}}, 64, "I"))
                   .empty())
            return 2;
          // A bare name must not switch the checks off.
          if (text(files.resolve({StringRef("folder_link/secret"), {}, {}}, 64,
                                 "I"))
                  .empty())
            return 3;
        }
        return 0;
      }),
      0);
}

TEST_F(ExternalData, IsAsStrictOnOldKernels) {
  std::string errors;
  int status = inChild(
      [&] {
        if (!forgetNewSystemCalls())
          return 42;
        ExternalDataFiles files(model());
        auto accepted = [&](StringRef location) {
          return text(files.resolve({location, {}, {}}, 64, "I")).empty();
        };
        for (StringRef good : {"w.bin", "./w.bin", "sub/w.bin", "sub//./w.bin"})
          if (!accepted(good))
            return 1;
        for (StringRef bad :
             {"out_link", "in_link", "folder_link/secret", "loop", "hard_link",
              "../secret", "/etc/passwd", "w.bin/", "w.bin/.", "sub", ".", "",
              "fifo", "sub/gone", "gone/w.bin"})
          if (accepted(bad)) {
            errs() << bad << " was accepted\n";
            return 2;
          }
        return 0;
      },
      &errors);
  if (WEXITSTATUS(status) == 42)
    GTEST_SKIP() << "no seccomp here";
  EXPECT_EQ(status, 0) << errors;
}

TEST_F(ExternalData, NeedsFewDescriptors) {
  // Big enough to be mapped.
  std::string big((1 << 20) + 4096, 'b');
  for (int i = 0; i < 40; ++i)
    folder.write("in/many/" + std::to_string(i), big);
  ScopedLimit limit(RLIMIT_NOFILE, 32);
  ExternalDataFiles files(model());
  std::vector<ExternalDataView> views;
  for (int i = 0; i < 40; ++i) {
    std::string location = "many/" + std::to_string(i);
    auto view = files.resolve({StringRef(location), {}, {}}, big.size(), "I");
    ASSERT_TRUE(static_cast<bool>(view)) << text(view.takeError());
    views.push_back(*view);
  }
  for (const ExternalDataView &view : views)
    EXPECT_EQ(view.bytes, big);
}
