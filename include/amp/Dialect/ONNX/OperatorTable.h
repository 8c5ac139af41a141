//===- OperatorTable.h - how an operation maps to an operator ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_OPERATORTABLE_H
#define AMP_DIALECT_ONNX_OPERATORTABLE_H

#include "mlir/IR/OperationSupport.h"

namespace amp::onnx {

/// What the generator knows of an operation: static data, printed from the
/// schemas. Kinds are one letter a parameter: 's'ingle, 'o'ptional, 'v'ariadic.
struct OperatorInfo {
  llvm::StringLiteral operationName; ///< "onnx.Conv"
  llvm::StringLiteral domain;        ///< "" for ai.onnx
  llvm::StringLiteral name;          ///< "Conv"
  llvm::StringLiteral operandKinds;
  llvm::StringLiteral resultKinds;
  llvm::StringLiteral
      regions; ///< graph attributes, sorted: "else_branch,then_branch"
  llvm::StringLiteral unmerged; ///< versions the operation can't hold: "8"

  /// True if nodes of this schema version are onnx.Custom.
  bool isUnmerged(int64_t sinceVersion) const;
  /// The graph attributes in the order of the operation's regions.
  llvm::SmallVector<llvm::StringRef, 2> regionNames() const;
};

/// Lets lookupOperator() find the dialect's operations; called when the dialect
/// is loaded, with a context that has them.
void registerOperatorTable(mlir::MLIRContext *context);

/// The operator of an operation, or nullptr if it is none.
const OperatorInfo *lookupOperator(mlir::OperationName name);

/// The operator of this domain ("" is ai.onnx) and name, or nullptr.
const OperatorInfo *lookupOperator(llvm::StringRef domain,
                                   llvm::StringRef name);

/// The sizes of the operand groups of an operation, in the order of its
/// operator's parameters.
llvm::SmallVector<int32_t, 8> operandGroupSizes(mlir::Operation *op,
                                                const OperatorInfo &info);
/// The same for its results.
llvm::SmallVector<int32_t, 8> resultGroupSizes(mlir::Operation *op,
                                               const OperatorInfo &info);

/// For each operand of an operation its position in the node's list of inputs,
/// where omitted inputs count.
llvm::SmallVector<unsigned, 8> inputPositions(mlir::Operation *op);
/// For each result its position in the node's list of outputs.
llvm::SmallVector<unsigned, 8> outputPositions(mlir::Operation *op);

/// The position of one operand or result, without making the whole list where
/// that can be helped: nodes with very many inputs are asked for each of them.
unsigned inputPosition(mlir::Operation *op, unsigned operand);
unsigned outputPosition(mlir::Operation *op, unsigned result);

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_OPERATORTABLE_H
