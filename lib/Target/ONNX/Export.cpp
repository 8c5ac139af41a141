//===- Export.cpp - ONNX files out ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Exporter.h"

#include "amp/Target/ONNX.h"
#include "amp/Target/ONNX/OutputFile.h"

#include "llvm/Support/Path.h"

#include "onnx/defs/printer.h"
#include "onnx/onnx_pb.h"

#include <sstream>

using namespace mlir;

namespace amp {

namespace {

/// The most that protobuf reads as one message.
constexpr uint64_t maxMessageSize = (uint64_t(1) << 31) - 1;

LogicalResult write(ModuleOp module, TensorWriter &tensors,
                    WireWriter &writer) {
  if (failed(Exporter(module, tensors, writer).writeModel()))
    return failure();
  if (!tensors.problem().empty())
    return module.emitError() << tensors.problem();
  return success();
}

LogicalResult fail(ModuleOp module, llvm::Error error) {
  return emitError(module.getLoc()) << llvm::toString(std::move(error));
}

LogicalResult report(ModuleOp module, llvm::Error error) {
  return error ? fail(module, std::move(error)) : success();
}

void append(const WireWriter &writer, std::string &bytes) {
  uint64_t at = 0;
  StringRef buffer = writer.bufferBytes();
  for (const WireSegment &segment : writer.segments()) {
    bytes += buffer.slice(at, segment.bufferOffset);
    at = segment.bufferOffset;
    if (segment.data) {
      bytes.append(segment.data, segment.size);
    } else {
      size_t before = bytes.size();
      bytes.resize(before + segment.size);
      segment.producer->fill(
          0, llvm::MutableArrayRef<char>(bytes.data() + before, segment.size));
    }
  }
  bytes += buffer.drop_front(at);
}

} // namespace

FailureOr<ExportedSizes> exportONNX(ModuleOp module, StringRef path,
                                    const ExportOptions &options) {
  OutputOptions outputOptions;
  outputOptions.durable = options.durable;
  outputOptions.inputs = options.inputs;
  outputOptions.progress = options.progress;
  llvm::Expected<OutputFile> model = OutputFile::open(path, outputOptions);
  if (!model)
    return fail(module, model.takeError());

  bool stream = model->isStandardOutput();
  std::string dataPath = stream ? "" : (path + ".data").str();
  std::string dataName = llvm::sys::path::filename(dataPath).str();
  std::optional<ExternalDataFiles> folder;
  if (!stream)
    folder.emplace(path);
  auto build = [&](ExternalData mode, WireWriter &writer) {
    auto tensors = std::make_unique<TensorWriter>(
        mode, stream ? "" : dataName, folder ? &*folder : nullptr,
        /*measureRounding=*/options.rounding != nullptr);
    if (failed(write(module, *tensors, writer)))
      tensors = nullptr;
    return tensors;
  };
  auto writer = std::make_unique<WireWriter>();
  std::unique_ptr<TensorWriter> tensors = build(options.externalData, *writer);
  if (tensors && writer->size() > maxMessageSize && !stream &&
      options.externalData == ExternalData::Auto) {
    writer = std::make_unique<WireWriter>();
    tensors = build(ExternalData::File, *writer);
  }
  if (!tensors)
    return failure();
  if (writer->size() > maxMessageSize)
    return emitError(module.getLoc())
           << "the model takes " << writer->size()
           << " bytes, more than the 2 GiB that protobuf can read; use "
              "--external-data=file";

  ExportedSizes sizes;
  sizes.model = writer->size();
  sizes.data = tensors->data().size();
  sizes.keptData = tensors->keptBytes();
  SmallVector<OutputFile *, 2> files;
  std::optional<OutputFile> data;
  if (sizes.data != 0) {
    llvm::Expected<OutputFile> file = OutputFile::open(dataPath, outputOptions);
    if (!file)
      return fail(module, file.takeError());
    data.emplace(std::move(*file));
    if (failed(report(module, data->write(tensors->data()))))
      return failure();
    files.push_back(&*data);
  }
  files.push_back(&*model);
  if (failed(report(module, model->write(*writer))))
    return failure();
  if (options.rounding)
    tensors->recordRounding(*options.rounding);
  if (options.addFiles &&
      failed(report(module, options.addFiles(sizes, files))))
    return failure();
  if (failed(report(module, OutputFile::commit(files))))
    return failure();
  return sizes;
}

LogicalResult exportONNX(ModuleOp module, std::string &bytes, StringRef folder,
                         RoundingRecord *rounding) {
  WireWriter writer;
  std::optional<ExternalDataFiles> dataFiles;
  if (!folder.empty())
    dataFiles.emplace((folder + "/model.onnx").str());
  TensorWriter tensors(dataFiles ? ExternalData::Keep : ExternalData::Inline,
                       "", dataFiles ? &*dataFiles : nullptr,
                       /*measureRounding=*/rounding != nullptr);
  if (failed(write(module, tensors, writer)))
    return failure();
  append(writer, bytes);
  if (rounding)
    tensors.recordRounding(*rounding);
  return success();
}

LogicalResult exportONNXText(ModuleOp module, std::string &text,
                             RoundingRecord *rounding) {
  std::string bytes;
  if (failed(exportONNX(module, bytes, /*folder=*/{}, rounding)))
    return failure();
  ::onnx::ModelProto model;
  if (!model.ParseFromString(bytes))
    return emitError(module.getLoc())
           << "the model is too big, or nested too deep, for ONNX's text form";
  std::string problem;
  try {
    std::ostringstream stream;
    stream << model;
    text += stream.str();
    text += '\n';
  } catch (const std::exception &exception) {
    problem = exception.what();
  }
  if (!problem.empty())
    return emitError(module.getLoc())
           << "the model can't be printed as ONNX text: " << problem;
  return success();
}

} // namespace amp
