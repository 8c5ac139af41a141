//===- SideFiles.cpp - files written beside the model ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SideFiles.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace amp;

llvm::Error SideFiles::check(llvm::StringRef path) const {
  return OutputFile::open(path, options).takeError();
}

llvm::Error SideFiles::write(llvm::StringRef path, llvm::StringRef contents) {
  llvm::Expected<OutputFile> file = OutputFile::open(path, options);
  if (!file)
    return file.takeError();
  WireWriter writer;
  writer.rawView(contents);
  if (llvm::Error error = file->write(writer))
    return error;
  files.push_back(std::move(*file));
  return llvm::Error::success();
}

void SideFiles::addTo(llvm::SmallVectorImpl<OutputFile *> &all) {
  for (OutputFile &file : files)
    all.push_back(&file);
}

bool amp::isSameOutput(llvm::StringRef one, llvm::StringRef other) {
  if (one == other)
    return true;
  auto resolve = [](llvm::StringRef path) {
    llvm::SmallString<256> real;
    // Outputs may be links; what is not there has a folder that is.
    if (!llvm::sys::fs::real_path(path, real))
      return real;
    llvm::StringRef folder = llvm::sys::path::parent_path(path);
    if (llvm::sys::fs::real_path(folder.empty() ? "." : folder, real))
      return llvm::SmallString<256>(path);
    llvm::sys::path::append(real, llvm::sys::path::filename(path));
    return real;
  };
  return resolve(one) == resolve(other);
}
