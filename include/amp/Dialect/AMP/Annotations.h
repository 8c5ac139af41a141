//===- Annotations.h - decisions as attributes ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attributes are described with the amp dialect (AMPDialect.td).
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_ANNOTATIONS_H
#define AMP_DIALECT_AMP_ANNOTATIONS_H

#include "amp/Dialect/AMP/AMPDialect.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace amp {

/// Removes the annotations of this name from `root` and all operations inside.
void removeAnnotations(mlir::Operation *root,
                       llvm::ArrayRef<llvm::StringRef> names);

/// Removes every annotation, reasons included, but `amp.compute`, which is part
/// of the program.
void removeAnnotations(mlir::Operation *root);

/// Adds annotations that `op` does not have yet.
void addAnnotations(mlir::Operation *op,
                    llvm::ArrayRef<mlir::NamedAttribute> annotations);

/// Entry `index` of an array of element types and units; null for a unit, for a
/// missing entry, and if `elementTypes` is null.
mlir::FloatType getAnnotatedType(mlir::ArrayAttr elementTypes, unsigned index);

} // namespace amp

#endif // AMP_DIALECT_AMP_ANNOTATIONS_H
