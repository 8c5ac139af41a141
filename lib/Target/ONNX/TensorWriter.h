//===- TensorWriter.h - TensorProto out -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_TENSORWRITER_H
#define AMP_LIB_TARGET_ONNX_TENSORWRITER_H

#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Target/ONNX.h"
#include "amp/Target/ONNX/ExternalData.h"
#include "amp/Target/ONNX/WireWriter.h"

namespace amp {

class RoundedBytes;

/// Writes tensors, inside the model or into a data file beside it.
class TensorWriter {
public:
  /// `dataFile` names the data file in the tensors that go there; `folder` is
  /// the output's, where data that stays where it was must be found again
  /// (null: nothing can stay). With `measureRounding` constants are measured as
  /// they are rounded.
  TensorWriter(ExternalData mode, std::string dataFile,
               ExternalDataFiles *folder, bool measureRounding)
      : mode(mode), dataFile(std::move(dataFile)), folder(folder),
        measureRounding(measureRounding) {}

  /// Writes the contents of a TensorProto. `name` replaces the attribute's own.
  void write(onnx::TensorAttr tensor, WireWriter &writer,
             std::optional<llvm::StringRef> name = std::nullopt);
  void writeSparse(onnx::SparseTensorAttr tensor, WireWriter &writer,
                   std::optional<llvm::StringRef> name = std::nullopt);

  /// The data file's contents; empty if no tensor went there.
  const WireWriter &data() const { return dataWriter; }

  /// Bytes of the tensors that stay in data files that are there.
  uint64_t keptBytes() const { return kept; }

  /// What rounding did, when everything has been written.
  void recordRounding(RoundingRecord &record) const;

  /// What is wrong with the first tensor whose data does not fit its type (an
  /// elided resource, say); "" if nothing.
  llvm::StringRef problem() const { return firstProblem; }

private:
  void writeBytes(mlir::TypedAttr value, uint64_t size, uint32_t field,
                  WireWriter &writer);
  std::string checkedBytes(mlir::TypedAttr value, uint64_t size);
  bool staysExternal(onnx::TensorAttr tensor, uint64_t size);
  bool goesExternal(onnx::TensorAttr tensor, uint64_t size, bool wasExternal);
  void writeExternal(mlir::TypedAttr value, uint64_t size, WireWriter &writer);

  ExternalData mode;
  std::string dataFile;
  ExternalDataFiles *folder;
  bool measureRounding;
  WireWriter dataWriter;
  uint64_t kept = 0;
  /// By #amp.rounded, which several tensors may have.
  llvm::DenseMap<mlir::Attribute, std::shared_ptr<RoundedBytes>> rounded;
  std::string firstProblem;
};

} // namespace amp

#endif // AMP_LIB_TARGET_ONNX_TENSORWRITER_H
