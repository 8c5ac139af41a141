//===- LoopShapes.h - shapes of what loops carry ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_LOOPSHAPES_H
#define AMP_PASSES_TRAINING_LOOPSHAPES_H

#include "mlir/IR/Block.h"

namespace amp {

/// Finds the shapes of values in the bodies of the Loops and Scans of a block,
/// at any depth. ONNX's inference assumes that what is carried has another
/// shape in each iteration; gradients that stack it would be no use then. Here,
/// it is assumed to stay, and what an iteration makes of it is compared.
void inferLoopShapes(mlir::Block &block);

} // namespace amp

#endif // AMP_PASSES_TRAINING_LOOPSHAPES_H
