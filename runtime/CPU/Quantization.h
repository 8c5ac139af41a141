//===- Quantization.h - real numbers as small integers ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_QUANTIZATION_H
#define AMP_RUNTIME_CPU_QUANTIZATION_H

#include "CPU/Conversion.h"
#include "CPU/Elements.h"

#include "amp/Runtime/Status.h"
#include "amp/Runtime/Tensor.h"

#include <cstdint>

namespace amp::runtime {

/// The smallest and the largest value of an integer type of at most 16 bits;
/// false for other types.
bool getRange(DataType type, float &low, float &high);

/// Rounds values to the nearest integer, adds zero points, saturates and
/// writes them; a type that is no integer is rounded to as Cast does. `values`
/// are overwritten.
void quantizeElements(float *values, const float *zeroPoints, int64_t count,
                      DataType type, void *result,
                      const CastSettings &settings = {});

/// An element of a numeric tensor, `otherwise` if the tensor is left out.
float getFloat(const TensorView &tensor, int64_t index, float otherwise);

/// Scales or zero points of a matrix's rows or columns: one for all, or
/// `count`; an error names what it is about.
Status checkPerLine(const TensorView &tensor, const char *what, int64_t count);

/// Elements of 8 bits as numbers to compute with.
template <typename Number> struct ByteTable {
  Number values[256];
  explicit ByteTable(DataType type) {
    uint8_t codes[256];
    for (int i = 0; i < 256; ++i)
      codes[i] = static_cast<uint8_t>(i);
    convertElements(type, codes, dataTypeOf<Number>, values, 256);
  }
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_QUANTIZATION_H
