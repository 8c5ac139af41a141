//===- ModelFile.cpp - models from and to files ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelFile.h"

#include "amp/Target/ONNX/MappedFile.h"

using namespace amp;
using namespace mlir;

MLIRContext &amp::makeContext() {
  auto *context = new MLIRContext(MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
  return *context;
}

static bool isText(StringRef path) { return path.ends_with(".onnxtxt"); }

bool amp::isStandardOutput(StringRef path) {
  return path == "-" || path == "/dev/stdout";
}

static LogicalResult report(MLIRContext *context, llvm::Error error) {
  if (!error)
    return success();
  return emitError(UnknownLoc::get(context))
         << llvm::toString(std::move(error));
}

OwningOpRef<ModuleOp> amp::readModel(StringRef path, MLIRContext *context,
                                     const ImportOptions &options,
                                     uint64_t &size) {
  llvm::Expected<std::shared_ptr<MappedFile>> file = MappedFile::open(path);
  if (!file)
    return (void)report(context, file.takeError()), nullptr;
  StringRef bytes = (*file)->bytes();
  size = bytes.size();
  if (isText(path))
    return importONNXText(bytes, path, context, options);
  return importONNX(bytes, *file, path, context, options);
}

FailureOr<ExportedSizes> amp::writeModel(ModuleOp module, StringRef path,
                                         const ExportOptions &options) {
  if (!isText(path))
    return exportONNX(module, path, options);
  OutputOptions outputOptions;
  outputOptions.durable = options.durable;
  outputOptions.inputs = options.inputs;
  llvm::Expected<OutputFile> file = OutputFile::open(path, outputOptions);
  if (!file)
    return report(module.getContext(), file.takeError());
  std::string text;
  if (failed(exportONNXText(module, text, options.rounding)))
    return failure();
  WireWriter writer;
  writer.rawView(text);
  if (failed(report(module.getContext(), file->write(writer))))
    return failure();
  ExportedSizes sizes;
  sizes.model = text.size();
  SmallVector<OutputFile *, 2> files = {&*file};
  if (options.addFiles &&
      failed(report(module.getContext(), options.addFiles(sizes, files))))
    return failure();
  if (failed(report(module.getContext(), OutputFile::commit(files))))
    return failure();
  return sizes;
}

LogicalResult amp::writeModels(ModuleOp first, StringRef firstPath,
                               ModuleOp second, StringRef secondPath,
                               const ExportOptions &options) {
  // When the first is written, and has no name yet, the second is; that one
  // gives all files their names.
  LogicalResult secondDone = failure();
  ExportOptions inner = options, outer = options;
  outer.addFiles = [&](const ExportedSizes &,
                       SmallVectorImpl<OutputFile *> &firstFiles) {
    inner.addFiles = [&](const ExportedSizes &,
                         SmallVectorImpl<OutputFile *> &files) {
      files.insert(files.begin(), firstFiles.begin(), firstFiles.end());
      return llvm::Error::success();
    };
    secondDone = writeModel(second, secondPath, inner);
    firstFiles.clear();
    return llvm::Error::success();
  };
  return success(succeeded(writeModel(first, firstPath, outer)) &&
                 succeeded(secondDone));
}
