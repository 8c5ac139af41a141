//===- Executable.cpp - a compiled model ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Executable.h"

#include "CPU/HostCPU.h"
#include "CodeSegment.h"
#include "ExecutableFile.h"
#include "ExecutableLoader.h"
#include "Module.h"
#include "Quote.h"
#include "amp/Runtime/ExecutableFormat.h"

#include "Executable.pb.h"

#include <cstring>

using namespace amp;
using namespace amp::runtime;

/// What must last as long as sessions: the mappings.
struct Executable::File {
  MappedFile file;
  CodeSegment code;
};

Executable::Executable(std::unique_ptr<File> file,
                       std::unique_ptr<Module> module)
    : file(std::move(file)), module(std::move(module)) {}
Executable::~Executable() = default;

const std::vector<TensorInfo> &Executable::getInputs() const {
  return module->inputInfos;
}
const std::vector<TensorInfo> &Executable::getOutputs() const {
  return module->outputInfos;
}
const std::vector<TensorInfo> &Executable::getStates() const {
  return module->stateInfos;
}
const std::map<std::string, std::string> &Executable::getMetadata() const {
  return module->metadata;
}
uint64_t Executable::getChecksum() const {
  // The header has those of all blobs.
  ExecutablePrelude prelude;
  std::memcpy(&prelude, file->file.getData(), sizeof(prelude));
  return prelude.checksum;
}
const std::string &Executable::getProducer() const { return module->producer; }

std::string amp::runtime::describeDims(const TensorInfo &info) {
  if (!info.hasRank)
    return "any dimensions";
  if (info.dims.empty())
    return "scalar";
  std::string text;
  for (size_t axis = 0; axis < info.dims.size(); ++axis) {
    text += axis == 0 ? "" : "x";
    if (info.dims[axis] >= 0)
      text += std::to_string(info.dims[axis]);
    else
      text += info.symbols[axis].empty() ? "?" : info.symbols[axis];
  }
  return text;
}

/// The best code that this machine can run; -1 without code.
static Result<int> chooseCode(const executable::Header &header) {
  int best = -1;
  unsigned bestRating = 0;
  std::string there;
  for (int i = 0; i < header.codes_size(); ++i) {
    const std::string &cpu = header.codes(i).cpu();
    there += (i == 0 ? "" : ", ") + quote(cpu);
    std::optional<unsigned> rating = rateCode(cpu);
    if (rating && *rating > bestRating) {
      best = i;
      bestRating = *rating;
    }
  }
  if (best < 0 && header.codes_size() > 0)
    return Status::error("the executable has code for " + there +
                         ", but this machine is " + describeHost() +
                         "; compile the model with --cpu for it");
  return best;
}

static Status verifyConstants(const ExecutableFile &file) {
  size_t index = 0;
  for (const executable::Blob &blob : file.getHeader().constants())
    if (Status status =
            file.checkBytes(blob, "constant " + std::to_string(index++));
        !status.ok())
      return status;
  return {};
}

static Result<CodeSegment> mapCode(const ExecutableFile &file, int index) {
  for (const executable::Code &code : file.getHeader().codes())
    if (Status status = file.checkBounds(code.blob(), codeAlignment,
                                         "the code for " + quote(code.cpu()));
        !status.ok())
      return status;
  if (index < 0)
    return CodeSegment();
  const executable::Code &code = file.getHeader().codes(index);
  if (Status status =
          file.checkBytes(code.blob(), "the code for " + quote(code.cpu()));
      !status.ok())
    return status;
  return CodeSegment::map(file.getMappedFile(), code.blob().offset(),
                          code.blob().size());
}

Result<std::shared_ptr<const Executable>>
ExecutableLoader::load(const std::string &path, const LoadOptions &options,
                       KernelLookup lookup) {
  auto fail = [&](const Status &status) {
    return Status::error(quote(path) + ": " + status.getMessage());
  };
  Result<ExecutableFile> file = ExecutableFile::open(path);
  if (!file.ok())
    return fail(file.getStatus());
  Result<int> chosen = chooseCode(file->getHeader());
  if (!chosen.ok())
    return fail(chosen.getStatus());
  Result<CodeSegment> segment = mapCode(*file, *chosen);
  if (!segment.ok())
    return fail(segment.getStatus());
  Result<std::unique_ptr<Module>> module =
      readModule(*file, {*chosen, segment->getData()}, lookup);
  if (!module.ok())
    return fail(module.getStatus());
  // Their bounds are known to be right now.
  if (options.verifyConstants)
    if (Status status = verifyConstants(*file); !status.ok())
      return fail(status);
  auto mappings = std::make_unique<Executable::File>(
      Executable::File{file->takeMappedFile(), std::move(*segment)});
  return std::shared_ptr<const Executable>(
      new Executable(std::move(mappings), std::move(*module)));
}

Result<std::shared_ptr<const Executable>>
Executable::load(const std::string &path, const LoadOptions &options) {
  return ExecutableLoader::load(path, options, findKernel);
}
