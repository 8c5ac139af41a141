//===- Translate.cpp - the translations of amp-translate ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Target/ONNX.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace amp {

namespace {

using Source = std::shared_ptr<llvm::SourceMgr>;

llvm::cl::opt<bool> emitBytecode(
    "emit-bytecode",
    llvm::cl::desc("Write the module as bytecode, weights unchanged, not as "
                   "text"),
    llvm::cl::init(false));

llvm::cl::opt<bool>
    inferTypes("infer-types",
               llvm::cl::desc("Infer the types of values that declare none"),
               llvm::cl::init(true));

llvm::cl::opt<std::string> externalDataFolder(
    "external-data-folder",
    llvm::cl::desc("Folder that the written model is for: tensors whose "
                   "external data is there keep their reference"),
    llvm::cl::value_desc("folder"));

const llvm::MemoryBuffer &bufferOf(const Source &source) {
  return *source->getMemoryBuffer(source->getMainFileID());
}

ImportOptions importOptions() {
  ImportOptions options;
  options.inferTypes = inferTypes;
  return options;
}

LogicalResult print(OwningOpRef<ModuleOp> module, llvm::raw_ostream &output) {
  if (!module)
    return failure();
  if (emitBytecode)
    return writeBytecodeToFile(*module, output);
  module->print(output);
  output << '\n';
  return success();
}

OwningOpRef<ModuleOp> parse(const Source &source, MLIRContext *context) {
  DialectRegistry registry;
  registry.insert<AMPDialect, onnx::ONNXDialect, func::FuncDialect>();
  context->appendDialectRegistry(registry);
  return parseSourceFile<ModuleOp>(source, ParserConfig(context));
}

LogicalResult onnxToMLIR(const Source &source, llvm::raw_ostream &output,
                         MLIRContext *context) {
  const llvm::MemoryBuffer &buffer = bufferOf(source);
  return print(importONNX(buffer.getBuffer(), source,
                          buffer.getBufferIdentifier(), context,
                          importOptions()),
               output);
}

LogicalResult onnxTextToMLIR(const Source &source, llvm::raw_ostream &output,
                             MLIRContext *context) {
  const llvm::MemoryBuffer &buffer = bufferOf(source);
  return print(importONNXText(buffer.getBuffer(), buffer.getBufferIdentifier(),
                              context, importOptions()),
               output);
}

LogicalResult mlirToONNX(const Source &source, llvm::raw_ostream &output,
                         MLIRContext *context) {
  OwningOpRef<ModuleOp> module = parse(source, context);
  std::string bytes;
  if (!module || failed(exportONNX(*module, bytes, externalDataFolder)))
    return failure();
  output << bytes;
  return success();
}

LogicalResult mlirToONNXText(const Source &source, llvm::raw_ostream &output,
                             MLIRContext *context) {
  OwningOpRef<ModuleOp> module = parse(source, context);
  std::string text;
  if (!module || failed(exportONNXText(*module, text)))
    return failure();
  output << text;
  return success();
}

} // namespace

void registerONNXTranslations() {
  static TranslateRegistration registrations[] = {
      {"onnx-to-mlir", "ONNX model to MLIR", onnxToMLIR},
      {"onnxtext-to-mlir", "ONNX text (onnx/defs/parser.h) to MLIR",
       onnxTextToMLIR},
      {"mlir-to-onnx", "MLIR to ONNX model", mlirToONNX},
      {"mlir-to-onnxtext", "MLIR to ONNX text", mlirToONNXText},
  };
  (void)registrations;
}

} // namespace amp
