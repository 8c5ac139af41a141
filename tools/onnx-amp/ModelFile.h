//===- ModelFile.h - models from and to files -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_MODELFILE_H
#define AMP_TOOLS_ONNX_AMP_MODELFILE_H

#include "amp/Target/ONNX.h"

namespace amp {

/// A context to read a model into. Neither is ever freed: that would take as
/// long as building them, and the process ends. It has no threads: without them
/// types and attributes are made without locks.
mlir::MLIRContext &makeContext();

/// Reads a model, in ONNX's text form if the name ends in ".onnxtxt"; "-" is
/// standard input. Null after an error, which the context's handler gets. Sets
/// `size` to that of the file.
mlir::OwningOpRef<mlir::ModuleOp> readModel(llvm::StringRef path,
                                            mlir::MLIRContext *context,
                                            const ImportOptions &options,
                                            uint64_t &size);

/// Writes a model, whole or not at all, in ONNX's text form if the name ends in
/// ".onnxtxt"; "-" is standard output. Fails after an error, as above.
mlir::FailureOr<ExportedSizes> writeModel(mlir::ModuleOp module,
                                          llvm::StringRef path,
                                          const ExportOptions &options);

/// The same for two models, which are both written, or neither is; standard
/// output can only be that of the second.
mlir::LogicalResult writeModels(mlir::ModuleOp first, llvm::StringRef firstPath,
                                mlir::ModuleOp second,
                                llvm::StringRef secondPath,
                                const ExportOptions &options);

/// True for the names that mean standard output.
bool isStandardOutput(llvm::StringRef path);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_MODELFILE_H
