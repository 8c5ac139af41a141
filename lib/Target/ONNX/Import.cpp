//===- Import.cpp - ONNX files in -----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"

#include "amp/Dialect/ONNX/TypeInference.h"
#include "amp/Support/Quoted.h"
#include "amp/Target/ONNX.h"
#include "amp/Target/ONNX/MappedFile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

#include "onnx/defs/parser.h"

using namespace mlir;

namespace amp {

namespace {

OwningOpRef<ModuleOp> importBytes(StringRef bytes, std::shared_ptr<void> owner,
                                  StringRef quotedName, StringRef path,
                                  MLIRContext *context,
                                  const ImportOptions &options) {
  context->loadDialect<onnx::ONNXDialect, func::FuncDialect>();
  Location location = UnknownLoc::get(context);
  ExternalDataFiles::Options dataOptions;
  dataOptions.allowLinks = options.allowLinks;
  dataOptions.acceptMissing = options.missingData != nullptr;
  ExternalDataFiles externalData(path, dataOptions);
  Importer importer(context, bytes, std::move(owner), externalData);
  llvm::Expected<OwningOpRef<ModuleOp>> module = importer.importModel();
  if (!module) {
    emitError(location) << quotedName << ": "
                        << llvm::toString(module.takeError());
    return {};
  }
  if (options.missingData)
    llvm::append_range(*options.missingData, externalData.missing());
  if (options.dataFiles)
    options.dataFiles->assign(externalData.files().begin(),
                              externalData.files().end());

  // From here on faults are told by diagnostics that do not know the file.
  bool failed = false;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error || failed)
      return success(failed); // one error is told, and no second one
    failed = true;
    std::string text = diagnostic.str();
    diagnostic =
        Diagnostic(diagnostic.getLocation(), DiagnosticSeverity::Error);
    diagnostic << quotedName << ": " << text;
    return failure();
  });
  if (options.inferTypes && mlir::failed(onnx::inferTypes(**module)))
    return {};
  if (mlir::failed(verify(**module)))
    return {};
  return std::move(*module);
}

/// How deep the brackets of ONNX's text form nest, outside of strings and
/// comments. Its parser recurses for each of them.
unsigned nestingOf(StringRef text) {
  unsigned depth = 0, deepest = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
    case '"':
      for (++i; i < text.size() && text[i] != '"'; ++i)
        i += text[i] == '\\';
      break;
    case '#':
      i = std::min(text.find('\n', i), text.size());
      break;
    case '(':
    case '[':
    case '{':
      deepest = std::max(deepest, ++depth);
      break;
    case ')':
    case ']':
    case '}':
      depth -= depth > 0;
      break;
    default:
      break;
    }
  }
  return deepest;
}

} // namespace

OwningOpRef<ModuleOp> importONNX(StringRef path, MLIRContext *context,
                                 const ImportOptions &options) {
  llvm::Expected<std::shared_ptr<MappedFile>> file = MappedFile::open(path);
  if (!file) {
    emitError(UnknownLoc::get(context)) << llvm::toString(file.takeError());
    return {};
  }
  return importBytes((*file)->bytes(), *file, (*file)->name(), path, context,
                     options);
}

OwningOpRef<ModuleOp> importONNX(StringRef bytes, std::shared_ptr<void> owner,
                                 StringRef path, MLIRContext *context,
                                 const ImportOptions &options) {
  return importBytes(bytes, std::move(owner), quoted(path), path, context,
                     options);
}

OwningOpRef<ModuleOp> importONNXText(StringRef text, StringRef name,
                                     MLIRContext *context,
                                     const ImportOptions &options) {
  // Far more than the importer's 32 subgraphs take.
  constexpr unsigned maxNesting = 256;
  std::string quotedName = quoted(name);
  if (unsigned nesting = nestingOf(text); nesting > maxNesting) {
    emitError(UnknownLoc::get(context))
        << quotedName << ": not a valid ONNX text: its brackets nest "
        << nesting << " deep, expected at most " << maxNesting;
    return {};
  }
  auto bytes = std::make_shared<std::string>();
  std::string problem;
  try {
    ::onnx::ModelProto model;
    std::string copy = text.str();
    ::onnx::OnnxParser parser(copy.c_str());
    auto status = parser.Parse(model);
    if (!status.IsOK())
      problem = status.ErrorMessage();
    else if (!parser.EndOfInput())
      problem = "there is text behind the model";
    else if (!model.SerializeToString(bytes.get()))
      problem = "the model is too big";
  } catch (const std::exception &exception) {
    problem = exception.what();
  }
  if (!problem.empty()) {
    StringRef line = StringRef(problem).trim();
    emitError(UnknownLoc::get(context))
        << quotedName << ": not a valid ONNX text: " << quoted(line, 300);
    return {};
  }
  StringRef view = *bytes;
  return importBytes(view, std::move(bytes), quotedName, name, context,
                     options);
}

} // namespace amp
