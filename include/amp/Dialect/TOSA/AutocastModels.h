//===- AutocastModels.h - autocast for the tosa dialect ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_TOSA_AUTOCASTMODELS_H
#define AMP_DIALECT_TOSA_AUTOCASTMODELS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace amp {

/// Lets the operations of the tosa dialect implement AutocastOpInterface, when
/// the dialect is loaded. Policies know them as `tosa:matmul`; a `tosa.custom`
/// by its own domain and name.
void registerTosaAutocastModels(mlir::DialectRegistry &registry);

} // namespace amp

#endif // AMP_DIALECT_TOSA_AUTOCASTMODELS_H
