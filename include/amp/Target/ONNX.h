//===- ONNX.h - ONNX files in and out ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TARGET_ONNX_H
#define AMP_TARGET_ONNX_H

#include "amp/Policy/FloatRounding.h"
#include "amp/Target/ONNX/OutputFile.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <string>

namespace amp {

struct ImportOptions {
  /// Accept external data behind symbolic and hard links.
  bool allowLinks = false;
  /// Give values without a declared type the element type that ONNX's
  /// inference functions find.
  bool inferTypes = true;
  /// If not null, gets the identities of the external data files that were
  /// read: no output may replace them.
  std::vector<FileIdentity> *dataFiles = nullptr;
  /// If not null, gets the locations of external data that is not there; what
  /// it should hold counts as zeros. Else that is an error.
  std::vector<std::string> *missingData = nullptr;
};

/// Reads a model file ("-" is standard input) into a module of the onnx
/// dialect. The file is mapped; weights are resources that point into the
/// mapping, which lives as long as the context's resources. The result is
/// verified. On failure returns null, after one error whose text names the
/// file and, where there is one, the node.
mlir::OwningOpRef<mlir::ModuleOp> importONNX(llvm::StringRef path,
                                             mlir::MLIRContext *context,
                                             const ImportOptions &options = {});

/// The same for a model in memory, which `owner` keeps alive. `path` is what
/// errors call it and where external data is looked for.
mlir::OwningOpRef<mlir::ModuleOp> importONNX(llvm::StringRef bytes,
                                             std::shared_ptr<void> owner,
                                             llvm::StringRef path,
                                             mlir::MLIRContext *context,
                                             const ImportOptions &options = {});

/// The same for a model in ONNX's text form (onnx/defs/parser.h) in memory.
mlir::OwningOpRef<mlir::ModuleOp>
importONNXText(llvm::StringRef text, llvm::StringRef name,
               mlir::MLIRContext *context, const ImportOptions &options = {});

/// Where the bytes of big tensors go.
enum class ExternalData {
  Auto,   ///< where they were; into one data file if the model passes 2 GiB
  Keep,   ///< where they were, at the same place in the same file
  Inline, ///< into the model file
  File,   ///< into one data file beside the model
};

/// What rounding did to the `#amp.rounded` constants of a module, once each.
using RoundingRecord = llvm::DenseMap<mlir::Attribute, RoundingStats>;

/// In bytes.
struct ExportedSizes {
  /// The model file.
  uint64_t model = 0;
  /// The data file that was written beside it; 0 if there is none.
  uint64_t data = 0;
  /// Tensors in data files that were there before, to which the model refers.
  uint64_t keptData = 0;
};

struct ExportOptions {
  ExternalData externalData = ExternalData::Auto;
  /// For the output files.
  bool durable = false;
  /// Files that must not be replaced: the model's data files.
  std::vector<FileIdentity> inputs;
  std::atomic<uint64_t> *progress = nullptr;
  /// If not null, gets what rounding does to the constants as they are written.
  RoundingRecord *rounding = nullptr;
  /// If set, is called when the model is written but has no name yet. The files
  /// that it adds get their names together with the model, or none does.
  std::function<llvm::Error(const ExportedSizes &,
                            llvm::SmallVectorImpl<OutputFile *> &)>
      addFiles;
};

/// Writes a module as a model file ("-" is standard output), whole or not at
/// all. On failure emits one error.
mlir::FailureOr<ExportedSizes> exportONNX(mlir::ModuleOp module,
                                          llvm::StringRef path,
                                          const ExportOptions &options = {});

/// Appends the model to `bytes`. All tensors are inside, except those whose
/// external data is found in `folder`, where the model will be put. `rounding`
/// is as in ExportOptions.
mlir::LogicalResult exportONNX(mlir::ModuleOp module, std::string &bytes,
                               llvm::StringRef folder = {},
                               RoundingRecord *rounding = nullptr);

/// Appends the model in ONNX's text form.
mlir::LogicalResult exportONNXText(mlir::ModuleOp module, std::string &text,
                                   RoundingRecord *rounding = nullptr);

/// Registers onnx-to-mlir, mlir-to-onnx, onnxtext-to-mlir and mlir-to-onnxtext
/// for amp-translate.
void registerONNXTranslations();

} // namespace amp

#endif // AMP_TARGET_ONNX_H
