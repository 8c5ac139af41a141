//===- Float16.h - storage of 16-bit floating point -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_KERNELS_FLOAT16_H
#define AMP_RUNTIME_KERNELS_FLOAT16_H

#include <cstdint>

namespace amp::runtime {

/// IEEE binary16: 5 bits of exponent. Storage only; arithmetic is in float.
struct Float16 {
  uint16_t bits;
};

/// The upper half of a float. Storage only; arithmetic is in float.
struct BFloat16 {
  uint16_t bits;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_KERNELS_FLOAT16_H
