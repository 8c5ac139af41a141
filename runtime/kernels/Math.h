//===- Math.h - elementary functions of vectors -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Polynomials fitted for the least largest error (Remez); the tests measure the
// error in units in the last place (ULP) over all floats or a dense sample.
// NaN stays NaN, infinities give limits.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_KERNELS_MATH_H
#define AMP_RUNTIME_KERNELS_MATH_H

#include "kernels/Vector.h"

namespace amp::runtime {
namespace {

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-function"

/// e to the power x, within 1.1 ULP; subnormal results are kept.
AMP_INLINE FloatVector exponential(FloatVector x) {
  // Beyond these all results are infinite or zero.
  FloatVector clamped =
      minimum(maximum(x, broadcast(-105.0f)), broadcast(90.0f));
  // n = x / ln(2), to the nearest integer by adding 1.5 * 2^23.
  FloatVector shifted =
      multiplyAdd(clamped, broadcast(0x1.715476p+0f), broadcast(0x1.8p23f));
  FloatVector n = shifted - 0x1.8p23f;
  FloatVector r = multiplyAdd(n, broadcast(-0x1.62e400p-1f), clamped);
  r = multiplyAdd(n, broadcast(-0x1.7f7d1cp-20f), r);
  FloatVector p = broadcast(0x1.6a2430p-10f);
  p = multiplyAdd(p, r, broadcast(0x1.1239e4p-7f));
  p = multiplyAdd(p, r, broadcast(0x1.5558f2p-5f));
  p = multiplyAdd(p, r, broadcast(0x1.555492p-3f));
  p = multiplyAdd(p, r, broadcast(0x1.fffffcp-2f));
  p = multiplyAdd(p, r * r, r) + 1.0f;
  // 2^n in two factors, as 2^128 and 2^-150 are no floats.
  IntVector exponent = bitsOf(shifted) - 0x4b400000;
  IntVector half = exponent >> 1;
  FloatVector low = fromBits((half + 127) << 23);
  FloatVector high = fromBits((exponent - half + 127) << 23);
  return select(x == x, p * low * high, x);
}

/// 1 / (1 + e^-x), within 2.5 ULP.
AMP_INLINE FloatVector logistic(FloatVector x) {
  // Of -|x|, as 1 / (1 + e^100) would be 0 where the result is subnormal.
  FloatVector e = exponential(-absolute(x));
  return select(x < 0.0f, e, broadcast(1.0f)) / (1.0f + e);
}

/// Within 1.5 ULP.
AMP_INLINE FloatVector hyperbolicTangent(FloatVector x) {
  FloatVector magnitude = absolute(x);
  FloatVector s = x * x;
  FloatVector p = broadcast(-0x1.75e1dcp-8f);
  p = multiplyAdd(p, s, broadcast(0x1.52269ep-6f));
  p = multiplyAdd(p, s, broadcast(-0x1.b83c5ap-5f));
  p = multiplyAdd(p, s, broadcast(0x1.110726p-3f));
  p = multiplyAdd(p, s, broadcast(-0x1.555532p-2f));
  p = multiplyAdd(p * s, magnitude, magnitude);
  FloatVector e = exponential(2.0f * magnitude);
  FloatVector large = 1.0f - 2.0f / (e + 1.0f);
  return copySign(select(magnitude < 0.625f, p, large), x);
}

/// The error function, within 1.5 ULP.
AMP_INLINE FloatVector errorFunction(FloatVector x) {
  FloatVector magnitude = absolute(x);
  FloatVector s = x * x;
  FloatVector p = broadcast(-0x1.395a4ep-11f);
  p = multiplyAdd(p, s, broadcast(0x1.470dcap-8f));
  p = multiplyAdd(p, s, broadcast(-0x1.b683a4p-6f));
  p = multiplyAdd(p, s, broadcast(0x1.ce19e6p-4f));
  p = multiplyAdd(p, s, broadcast(-0x1.8126e2p-2f));
  p = multiplyAdd(p, s, broadcast(0x1.06eba6p-3f));
  p = multiplyAdd(p, magnitude, magnitude);
  // The logarithm of 1 - erf(t), for t up to 4, where erf is 1.
  FloatVector t = minimum(magnitude, broadcast(4.0f));
  FloatVector q = broadcast(0x1.c06920p-13f);
  q = multiplyAdd(q, t, broadcast(-0x1.a535f2p-9f));
  q = multiplyAdd(q, t, broadcast(0x1.76f4f4p-6f));
  q = multiplyAdd(q, t, broadcast(-0x1.af1fccp-4f));
  q = multiplyAdd(q, t, broadcast(-0x1.457d90p-1f));
  q = multiplyAdd(q, t, broadcast(-0x1.0731b8p-3f));
  FloatVector large = 1.0f - exponential(multiplyAdd(q, t, -t));
  return copySign(select(magnitude < 0.925f, p, large), x);
}

#pragma clang diagnostic pop

} // namespace
} // namespace amp::runtime

#endif // AMP_RUNTIME_KERNELS_MATH_H
