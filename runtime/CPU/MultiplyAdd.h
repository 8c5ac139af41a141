//===- MultiplyAdd.h - a row times a matrix ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_MULTIPLYADD_H
#define AMP_RUNTIME_CPU_MULTIPLYADD_H

#include <cstdint>

namespace amp::runtime {

/// result[j] += sum of row[i] * matrix[i * stride + j], for j < count; the
/// compiler vectorises it over j.
template <typename C>
void multiplyAdd(const C *row, int64_t inner, const C *matrix, int64_t stride,
                 C *result, int64_t count) {
  int64_t i = 0;
  for (; i + 4 <= inner; i += 4) {
    const C *m0 = matrix + i * stride, *m1 = m0 + stride, *m2 = m1 + stride,
            *m3 = m2 + stride;
    C x0 = row[i], x1 = row[i + 1], x2 = row[i + 2], x3 = row[i + 3];
    for (int64_t j = 0; j < count; ++j)
      result[j] += (x0 * m0[j] + x1 * m1[j]) + (x2 * m2[j] + x3 * m3[j]);
  }
  for (; i < inner; ++i)
    for (int64_t j = 0; j < count; ++j)
      result[j] += row[i] * matrix[i * stride + j];
}

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_MULTIPLYADD_H
