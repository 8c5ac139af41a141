//===- MappedFileTest.cpp - Input files, good and strange -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Target/ONNX/MappedFile.h"

#include "Scratch.h"
#include "gtest/gtest.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace llvm;
using namespace amp;
using namespace amp::test;

TEST(MappedFile, CopiesSmallFilesAndMapsBigOnes) {
  ScratchFolder folder;
  for (size_t size : {size_t(1), size_t(MappedFile::maxCopiedSize),
                      size_t(MappedFile::maxCopiedSize + 1), size_t(3 << 20)}) {
    std::string contents(size, 'c');
    contents.back() = 'z';
    std::string path = folder.write("file", contents);
    auto file = MappedFile::open(path);
    ASSERT_EQ(text(file.takeError()), "");
    EXPECT_EQ((*file)->bytes(), contents);
    EXPECT_EQ((*file)->descriptor() >= 0, size > MappedFile::maxCopiedSize);
    EXPECT_TRUE((*file)->contains((*file)->bytes().data()));
    EXPECT_FALSE((*file)->contains((*file)->bytes().end()));
    struct stat status;
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ((*file)->identity(),
              (FileIdentity{status.st_dev, status.st_ino}));
  }
}

TEST(MappedFile, RefusesWhatIsNotAFile) {
  ScratchFolder folder;
  auto refused = [&](const std::string &name) {
    std::string error = text(MappedFile::open(folder.path(name)));
    EXPECT_EQ(error.find("cannot read '"), 0u);
    EXPECT_NE(error.find(name + "': "), std::string::npos);
    return error.substr(error.find("': ") + 3);
  };
  EXPECT_EQ(refused("missing"), "no such file or directory");
  folder.write("empty", "");
  EXPECT_EQ(refused("empty"), "is empty");
  ::mkdir(folder.path("folder").c_str(), 0777);
  EXPECT_EQ(refused("folder"), "is a directory, not a regular file");
  // Nobody writes into it: opening it must not wait.
  ::mkfifo(folder.path("fifo").c_str(), 0666);
  EXPECT_EQ(refused("fifo"), "is a FIFO, not a regular file");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::string path = folder.path("socket");
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(
      ::bind(socket, reinterpret_cast<sockaddr *>(&address), sizeof(address)),
      0);
  EXPECT_EQ(refused("socket"), "no such device or address");
  ::close(socket);
  (void)::symlink("loop", folder.path("loop").c_str());
  EXPECT_EQ(refused("loop"), "too many levels of symbolic links");
  EXPECT_EQ(text(MappedFile::open("/dev/zero")),
            "cannot read '/dev/zero': is a device, not a regular file");
  EXPECT_EQ(text(MappedFile::open(StringRef("a\0b", 3))),
            "cannot read 'a\\x00b': no such file or directory");
  EXPECT_EQ(text(MappedFile::open("")),
            "cannot read '': no such file or directory");
}

TEST(MappedFile, ReadsStandardInput) {
  ScratchFolder folder;
  std::string contents(3 << 20, 'i');
  contents[12345] = 'x';
  std::string path = folder.write("file", contents);

  auto reads = [&](int input, StringRef expected) {
    return inChild([&] {
      ::dup2(input, 0);
      auto file = MappedFile::open("-");
      if (!file)
        return text(file.takeError()) == expected ? 0 : 1;
      return (*file)->bytes() == expected ? 0 : 2;
    });
  };
  int whole = ::open(path.c_str(), O_RDONLY);
  EXPECT_EQ(reads(whole, contents), 0);
  // Begun by somebody else.
  ::lseek(whole, 100, SEEK_SET);
  EXPECT_EQ(reads(whole, StringRef(contents).drop_front(100)), 0);
  ::close(whole);

  int pipeEnds[2];
  ASSERT_EQ(::pipe2(pipeEnds, O_CLOEXEC), 0);
  pid_t feeder = ::fork();
  if (feeder == 0) {
    StringRef rest = contents;
    while (!rest.empty()) {
      ssize_t count = ::write(pipeEnds[1], rest.data(), rest.size());
      if (count <= 0)
        ::_exit(1);
      rest = rest.drop_front(count);
    }
    ::_exit(0);
  }
  ::close(pipeEnds[1]);
  EXPECT_EQ(reads(pipeEnds[0], contents), 0);
  ::close(pipeEnds[0]);

  int null = ::open("/dev/null", O_RDONLY);
  EXPECT_EQ(reads(null, "cannot read standard input: is empty"), 0);
  ::close(null);
  int closed = ::open(path.c_str(), O_WRONLY);
  ::lseek(closed, 1, SEEK_SET);
  EXPECT_EQ(reads(closed, "cannot read standard input: cannot be read: bad "
                          "file descriptor"),
            0);
  ::close(closed);
}
