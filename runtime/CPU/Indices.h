//===- Indices.h - checks of indices ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_INDICES_H
#define AMP_RUNTIME_CPU_INDICES_H

#include "amp/Runtime/Status.h"
#include "amp/Runtime/Tensor.h"

#include <cstdint>

namespace amp::runtime {

class ThreadPool;

/// Looks for the first index that is not in [-extent, extent); element i is
/// held against extents[i % count]. Kernels do this before they move anything.
Status checkIndices(const TensorView &indices, const int64_t *extents,
                    int64_t count, ThreadPool &threads);

/// A checked index, counted from the beginning.
inline int64_t wrapIndex(int64_t index, int64_t extent) {
  return index < 0 ? index + extent : index;
}

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_INDICES_H
