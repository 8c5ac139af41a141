//===- Conversion.h - elements of one type as another -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_CONVERSION_H
#define AMP_RUNTIME_CPU_CONVERSION_H

#include "kernels/SmallFloats.h"

#include "amp/Runtime/DataType.h"

#include <cstddef>
#include <cstdint>

namespace amp::runtime {

/// The loops between float32, float64 and the 16-bit formats, the best ones
/// that this machine can run; see FloatConversion.h.
struct ConversionLoops {
  using Round = void (*)(const char *source, char *destination, size_t count,
                         bool saturate);
  using Widen = void (*)(const char *source, char *destination, size_t count);

  Round float32ToFloat16, float32ToBFloat16;
  Round float64ToFloat16, float64ToBFloat16;
  Widen float16ToFloat32, bfloat16ToFloat32;
};
const ConversionLoops &getConversionLoops();

extern const ConversionLoops portableConversionLoops;
#ifdef AMP_X86_KERNELS
extern const ConversionLoops avx2ConversionLoops;
extern const ConversionLoops avx512ConversionLoops;
#endif

/// The attributes of Cast.
struct CastSettings {
  /// Of floats of 8 bits.
  bool saturate = true;
  /// Of E8M0.
  ScaleRounding rounding = ScaleRounding::Up;
};

/// Whether elements of this type are numbers: not strings, nor complex.
bool isNumeric(DataType type);

/// Converts between numeric types as ONNX's Cast does. Everything rounds once.
/// Floats out of an integer type's range, which ONNX leaves undefined, become
/// what x86's own conversion and a truncation make of them. The arrays may be
/// the same if elements are of the same size, else they must not overlap.
void convertElements(DataType from, const void *source, DataType to,
                     void *destination, int64_t count,
                     const CastSettings &settings = {});

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_CONVERSION_H
