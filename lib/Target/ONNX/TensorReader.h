//===- TensorReader.h - TensorProto in --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_TENSORREADER_H
#define AMP_LIB_TARGET_ONNX_TENSORREADER_H

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Target/ONNX/ExternalData.h"
#include "amp/Target/ONNX/WireReader.h"

#include <memory>

namespace amp {

/// Reads tensors into attributes. Big ones become resources that point into
/// the mapped file; small ones, strings, and what protobuf spreads over
/// varints is copied.
///
/// This is the only door for tensor data: the type is known, no dimension is
/// negative, sizes do not overflow, and the data has exactly the bytes that
/// type and shape ask for.
class TensorReader {
public:
  /// `owner` keeps the bytes of `input` alive; the resources share it.
  TensorReader(mlir::MLIRContext *context, WireInput &input,
               std::shared_ptr<void> owner, ExternalDataFiles &externalData)
      : context(context), input(input), owner(std::move(owner)),
        externalData(externalData) {}

  /// Reads a TensorProto. With `name`, its name goes there instead of into the
  /// attribute. Errors are one line that begins with "tensor 'NAME'".
  llvm::Expected<onnx::TensorAttr> read(llvm::StringRef message,
                                        mlir::StringAttr *name = nullptr);

  /// Reads a SparseTensorProto; `name` is that of its values.
  llvm::Expected<onnx::SparseTensorAttr>
  readSparse(llvm::StringRef message, mlir::StringAttr *name = nullptr);

private:
  struct Parts;
  llvm::Expected<mlir::TypedAttr> elements(const Parts &parts,
                                           mlir::RankedTensorType type,
                                           llvm::StringRef &storage);
  mlir::TypedAttr constant(mlir::RankedTensorType type,
                           onnx::ElementType element, llvm::StringRef bytes,
                           std::shared_ptr<void> bytesOwner);
  mlir::TypedAttr copied(mlir::RankedTensorType type, onnx::ElementType element,
                         llvm::StringRef bytes);

  mlir::MLIRContext *context;
  WireInput &input;
  std::shared_ptr<void> owner;
  ExternalDataFiles &externalData;
};

} // namespace amp

#endif // AMP_LIB_TARGET_ONNX_TENSORREADER_H
