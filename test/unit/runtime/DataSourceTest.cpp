//===- DataSourceTest.cpp - arrays of samples from files ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataSource.h"
#include "Lossless.h"
#include "TrainingTesting.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <minizip/zip.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace amp::run;
using namespace amp::run::test;
using namespace amp::runtime;
using namespace amp::runtime::test;
using Floats = std::vector<float>;
using Names = std::vector<std::string_view>;

namespace {

constexpr DataType f32 = DataType::Float;

bool wantAll(std::string_view) { return true; }

Result<DataSource> openAll(const std::vector<std::string> &places) {
  return DataSource::open(places, wantAll);
}

std::string openError(const std::string &place) {
  return openAll({place}).getMessage();
}

Floats read(const TensorView *tensor) {
  // Elements may begin anywhere.
  Floats elements(static_cast<size_t>(tensor->getElementCount()));
  std::memcpy(elements.data(), tensor->data, elements.size() * sizeof(float));
  return elements;
}

/// A folder that is gone in the end.
struct Folder {
  Folder() {
    char pattern[] = "/tmp/amp-data-test-XXXXXX";
    path = mkdtemp(pattern);
  }
  ~Folder() { std::system(("rm -r " + path).c_str()); }
  std::string path;
};

/// A .npz file with one array, compressed.
std::string writeCompressed(const std::string &name, const std::string &npy) {
  std::string path = makePath(".npz");
  zipFile zip = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  zip_fileinfo info = {};
  zipOpenNewFileInZip64(zip, (name + ".npy").c_str(), &info, nullptr, 0,
                        nullptr, 0, nullptr, /*deflated*/ 8, 6, 0);
  zipWriteInFileInZip(zip, npy.data(), static_cast<unsigned>(npy.size()));
  zipCloseFileInZip(zip);
  zipClose(zip, nullptr);
  return path;
}

TEST(DataSource, ReadsNpzInPlace) {
  Floats x = {1, 2, 3, 4, 5, 6}, y = {7, 8};
  std::string path = makePath(".npz");
  ASSERT_TRUE(writeArrays(path, {{"x", view(x, f32, {3, 2})},
                                 {"other", view(y, f32, {2})}})
                  .ok());
  Result<DataSource> source = openAll({path});
  ASSERT_TRUE(source.ok()) << source.getMessage();
  EXPECT_EQ(source->getNames(), (Names{"x", "other"}));
  EXPECT_EQ(read(source->find("x")), x);
  EXPECT_EQ(read(source->find("other")), y);
  EXPECT_EQ(source->find("X"), nullptr);
  // Nothing is copied, wherever in the file it begins.
  ArrayFileOptions options;
  options.mustAlign = false;
  EXPECT_EQ(ArrayFile::read(path, options)->getCopyCount(), 0u);
}

TEST(DataSource, ReadsOnlyWhatIsWanted) {
  Floats x = {1, 2};
  std::string path = writeNpy(view(x, f32, {2}), "only_x");
  auto source = DataSource::open(
      {path}, [](std::string_view name) { return name != "only_x"; });
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->getNames(), Names{"only_x"});
  EXPECT_EQ(source->find("only_x"), nullptr);
  unlink(path.c_str());
}

TEST(DataSource, ReadsCompressedArraysIntoMemory) {
  Floats x(100000, 1.5f);
  std::string npy = readFile(writeNpy(view(x, f32, {100000})));
  std::string path = writeCompressed("x", npy);
  EXPECT_LT(readFile(path).size(), npy.size() / 10);
  Result<DataSource> source = openAll({path});
  ASSERT_TRUE(source.ok()) << source.getMessage();
  EXPECT_EQ(read(source->find("x")), x);
  ArrayFileOptions options;
  options.maxInflated = 1000;
  EXPECT_EQ(ArrayFile::read(path, options).getMessage(),
            "'" + path + "': array 'x': it is compressed and takes " +
                std::to_string(npy.size()) +
                " bytes in memory, where 1000 may be used; save it with "
                "np.savez or np.save, whose files are read in place");
}

TEST(DataSource, ReadsNpyFilesByTheirNames) {
  Floats x = {1, 2}, y = {3, 4, 5};
  std::string one = writeNpy(view(x, f32, {2, 1}), "images");
  std::string two = writeNpy(view(y, f32, {3}));
  Result<DataSource> source = openAll({one, "weights=" + two});
  ASSERT_TRUE(source.ok()) << source.getMessage();
  EXPECT_EQ(source->getNames(), (Names{"images", "weights"}));
  EXPECT_EQ(read(source->find("images")), x);
  EXPECT_EQ(source->find("images")->shape, (Shape{2, 1}));
  EXPECT_EQ(read(source->find("weights")), y);
  // A file whose name has "=".
  std::string odd = one.substr(0, one.rfind('/')) + "/a=b.npy";
  ASSERT_EQ(rename(one.c_str(), odd.c_str()), 0);
  source = openAll({odd});
  ASSERT_TRUE(source.ok()) << source.getMessage();
  EXPECT_EQ(source->getNames(), Names{"a=b"});
  unlink(odd.c_str());
}

TEST(DataSource, ReadsFolders) {
  Folder folder;
  EXPECT_EQ(openError(folder.path),
            "the folder '" + folder.path + "' has no .npy files");
  Floats x = {1, 2};
  std::string file = writeNpy(view(x, f32, {2}));
  for (const char *name : {"b", "a", "c"})
    std::ofstream(folder.path + "/" + name + ".npy") << readFile(file);
  std::ofstream(folder.path + "/readme.txt") << "text";
  Result<DataSource> source = openAll({folder.path});
  ASSERT_TRUE(source.ok()) << source.getMessage();
  EXPECT_EQ(source->getNames(), (Names{"a", "b", "c"}));
  EXPECT_EQ(openAll({folder.path, "b=" + file}).getMessage(),
            "array 'b' is in '" + folder.path + "/b.npy' and in '" + file +
                "'");
  if (geteuid() != 0) {
    chmod(folder.path.c_str(), 0);
    EXPECT_EQ(openError(folder.path), "cannot read the folder '" + folder.path +
                                          "': Permission denied");
    chmod(folder.path.c_str(), 0700);
  }
}

TEST(DataSource, SaysWhatIsWrong) {
  EXPECT_EQ(openError("/nowhere.npz"),
            "cannot read '/nowhere.npz': No such file or directory");
  EXPECT_EQ(openError("x=/nowhere.npy"),
            "cannot read '/nowhere.npy': No such file or directory");
  std::string text = makePath(".npy");
  std::ofstream(text) << "text";
  EXPECT_EQ(openError(text), "'" + text + "': neither a .npz nor a .npy file");
  Floats x = {1, 2, 3};
  std::string npy = readFile(writeNpy(view(x, f32, {3})));
  std::string cut = makePath(".npy");
  std::ofstream(cut) << npy.substr(0, npy.size() - 1);
  EXPECT_EQ(openError(cut), "'" + cut +
                                "': it is cut: 3 of float32 takes 12 bytes, "
                                "but there are 11");
  std::string header = makePath(".npy");
  std::ofstream(header) << npy.substr(0, 20);
  EXPECT_EQ(openError(header),
            "'" + header +
                "': not an array of NumPy: its header is cut, or of another "
                "version");
  std::string npz = makePath(".npz");
  ASSERT_TRUE(writeArrays(npz, {{"x", view(x, f32, {3})}}).ok());
  EXPECT_EQ(openError("y=" + npz),
            "'" + npz +
                "' is a .npz file, whose arrays have names; give the "
                "file by --data '" +
                npz + "', and --array y=ARRAY");
}

TEST(Lossless, IsWhatKeepsEveryValue) {
  using T = DataType;
  for (auto [from, to] : std::vector<std::pair<T, T>>{{T::Int32, T::Int64},
                                                      {T::UInt8, T::Int64},
                                                      {T::UInt8, T::Float},
                                                      {T::Int16, T::Float},
                                                      {T::UInt16, T::Float},
                                                      {T::UInt8, T::Float16},
                                                      {T::UInt8, T::BFloat16},
                                                      {T::Int32, T::Double},
                                                      {T::Float16, T::Float},
                                                      {T::BFloat16, T::Float},
                                                      {T::Float, T::Double},
                                                      {T::Bool, T::Float},
                                                      {T::Bool, T::Int64},
                                                      {T::UInt32, T::Int64},
                                                      {T::String, T::String},
                                                      {T::Bool, T::Bool}})
    EXPECT_TRUE(isLossless(from, to)) << getName(from) << " " << getName(to);
  for (auto [from, to] : std::vector<std::pair<T, T>>{{T::Int64, T::Int32},
                                                      {T::Int8, T::UInt8},
                                                      {T::Int8, T::UInt64},
                                                      {T::UInt64, T::Int64},
                                                      {T::Int32, T::Float},
                                                      {T::Int64, T::Double},
                                                      {T::Double, T::Float},
                                                      {T::Float, T::Float16},
                                                      {T::Float16, T::BFloat16},
                                                      {T::BFloat16, T::Float16},
                                                      {T::UInt16, T::Float16},
                                                      {T::Float, T::Int64},
                                                      {T::UInt8, T::Bool},
                                                      {T::String, T::Int64},
                                                      {T::Complex64, T::Float},
                                                      {T::UInt16, T::BFloat16}})
    EXPECT_FALSE(isLossless(from, to)) << getName(from) << " " << getName(to);
}

} // namespace
