//===- AutocastModels.h - autocast for linalg on tensors --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_LINALG_AUTOCASTMODELS_H
#define AMP_DIALECT_LINALG_AUTOCASTMODELS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace amp {

/// Each lets the operations of one dialect implement AutocastOpInterface, when
/// the dialect is loaded, as far as they work on tensors. Policies know them as
/// `linalg:matmul`, `arith:addf`, `math:exp`, `tensor:extract_slice`; a
/// `linalg.elementwise` by its kind, `linalg:exp`. Those of scf are control
/// flow, which a policy can keep.
///
/// Of linalg, what adds up (matmul, convolutions, pooling) moves its inputs
/// and keeps its accumulator, `outs`, in float32. Its result is rounded for
/// those who want it low, unless the sum goes on: it began with a value that is
/// no constant. Other named operations move as a whole. `generic`, `map` and
/// `reduce`, of whose bodies nothing is known, read inputs of the low format
/// and compute and give what they did before.
void registerLinalgAutocastModels(mlir::DialectRegistry &registry);
void registerArithAutocastModels(mlir::DialectRegistry &registry);
void registerMathAutocastModels(mlir::DialectRegistry &registry);
void registerScfAutocastModels(mlir::DialectRegistry &registry);
void registerTensorAutocastModels(mlir::DialectRegistry &registry);

} // namespace amp

#endif // AMP_DIALECT_LINALG_AUTOCASTMODELS_H
