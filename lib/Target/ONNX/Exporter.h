//===- Exporter.h - operations into a model's messages ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_EXPORTER_H
#define AMP_LIB_TARGET_ONNX_EXPORTER_H

#include "TensorWriter.h"
#include "ValueNames.h"

#include "amp/Target/ONNX/WireWriter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace amp {

/// Writes a module as a ModelProto. Emits one error where an operation has no
/// counterpart in ONNX.
class Exporter {
public:
  Exporter(mlir::ModuleOp module, TensorWriter &tensors, WireWriter &writer)
      : module(module), symbols(module), tensors(tensors), writer(writer),
        names(module) {}

  mlir::LogicalResult writeModel();

private:
  mlir::LogicalResult writeGraph(mlir::Block &block,
                                 mlir::DictionaryAttr fields);
  mlir::LogicalResult writeFunction(mlir::func::FuncOp func,
                                    mlir::DictionaryAttr fields);
  mlir::LogicalResult writeTraining(mlir::DictionaryAttr fields,
                                    llvm::ArrayRef<mlir::func::FuncOp> graphs);
  mlir::LogicalResult writeNodes(mlir::Block &block, uint32_t field);
  mlir::LogicalResult writeNode(mlir::Operation *op);
  mlir::LogicalResult writeAttributes(mlir::Operation *op,
                                      mlir::DictionaryAttr nodeFields);
  mlir::LogicalResult writeAttribute(llvm::StringRef name,
                                     mlir::Attribute value,
                                     llvm::ArrayRef<mlir::Region *> graphs,
                                     mlir::DictionaryAttr fields,
                                     mlir::Operation *op);
  mlir::LogicalResult writeInitializers(mlir::Block &block);
  /// A value's entry among inputs, outputs (type null: the value's) or
  /// value_info (type: what the entry declares).
  void writeValueInfo(uint32_t field, llvm::StringRef name,
                      mlir::DictionaryAttr entry, mlir::Type type);
  void writeValueInfos(mlir::Block &block, uint32_t field,
                       mlir::ArrayAttr entries);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  TensorWriter &tensors;
  WireWriter &writer;
  ValueNames names;
};

} // namespace amp

#endif // AMP_LIB_TARGET_ONNX_EXPORTER_H
