//===- DeadNodes.h - what gradients left behind -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_DEADNODES_H
#define AMP_PASSES_TRAINING_DEADNODES_H

#include "mlir/IR/Block.h"

namespace amp {

/// Erases, in a block and the subgraphs in it, nodes that nobody reads and that
/// no model named: gradients of nothing. Outputs of control flow without name
/// and readers go with what makes them.
void eraseDeadNodes(mlir::Block &block);

} // namespace amp

#endif // AMP_PASSES_TRAINING_DEADNODES_H
