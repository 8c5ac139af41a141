//===- Candidates.h - ways to run a node ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_EXECUTABLE_CANDIDATES_H
#define AMP_PASSES_EXECUTABLE_CANDIDATES_H

#include "mlir/IR/Builders.h"

namespace amp {

/// A way to run a node: builds what runs it in front of it, and returns a value
/// for each result. Failure, with nothing built, if it does not accept the
/// node; `why` says why then, unless its operator is none of its own.
struct Candidate {
  llvm::StringLiteral name;
  /// The operators that it is for, as operations ("onnx.If"); none if it looks
  /// for itself.
  llvm::ArrayRef<llvm::StringLiteral> ops;
  llvm::FailureOr<llvm::SmallVector<mlir::Value>> (*select)(
      mlir::Operation *op, mlir::OpBuilder &builder, std::string &why);
};

/// All of them; the first that accepts a node is taken.
llvm::ArrayRef<Candidate> getCandidates();

/// Attention, with the keys and values of earlier positions before its own.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
selectAttention(mlir::Operation *op, mlir::OpBuilder &builder,
                std::string &why);

/// FlexAttention, with its subgraphs between other nodes.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
selectFlexAttention(mlir::Operation *op, mlir::OpBuilder &builder,
                    std::string &why);

/// Scan, as a loop over slices of what it scans.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
selectScan(mlir::Operation *op, mlir::OpBuilder &builder, std::string &why);

} // namespace amp

#endif // AMP_PASSES_EXECUTABLE_CANDIDATES_H
