//===- OpsetUpgrade.h - nodes of a later operator set -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_OPSETUPGRADE_H
#define AMP_DIALECT_ONNX_OPSETUPGRADE_H

#include "mlir/IR/PatternMatch.h"

namespace amp::onnx {

/// Why a node of ai.onnx can't mean the same in a later version of the operator
/// set: "it rounds differently from opset 18 on". Empty if it can. Operations
/// that are no node, and nodes of other domains, can.
std::string explainNoUpgrade(mlir::Operation *op, int64_t from, int64_t to);

/// Rewrites a node, for which explainNoUpgrade() says nothing, so that it means
/// in version `to` what it meant in version `from`: attributes become inputs
/// where they have, defaults that changed are written out. The node's name and
/// those of its outputs stay. `op` may be replaced by another operation.
void upgrade(mlir::RewriterBase &rewriter, mlir::Operation *op, int64_t from,
             int64_t to);

/// The fields of a model or a function (ONNXDialect::kModel, kFunction), with
/// this version of ai.onnx among their `opset_import`.
mlir::DictionaryAttr withOpsetVersion(mlir::DictionaryAttr fields,
                                      int64_t version);

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_OPSETUPGRADE_H
