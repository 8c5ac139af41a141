//===- DimensionNames.h - encodings that name sizes -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_INTERFACES_DIMENSIONNAMES_H
#define AMP_INTERFACES_DIMENSIONNAMES_H

#include "mlir/IR/Attributes.h"

#include "amp/Interfaces/DimensionNamesInterface.h.inc"

#endif // AMP_INTERFACES_DIMENSIONNAMES_H
