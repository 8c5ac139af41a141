//===- Lossless.h - types whose values another type has ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_LOSSLESS_H
#define AMP_TOOLS_AMPRUN_LOSSLESS_H

#include "amp/Runtime/DataType.h"

namespace amp::run {

/// Whether each value of one type is a value of the other: integers in wider
/// ones, and in floats that have all of them; floats in wider floats; true and
/// false in all numbers.
bool isLossless(runtime::DataType from, runtime::DataType to);

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_LOSSLESS_H
