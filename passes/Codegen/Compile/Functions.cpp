//===- Functions.cpp - elementary functions -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What networks compute much of (exp, tanh, erf) is done in float; the others
// in double, which leaves one rounding for float and makes short formulas good
// enough.
//
//===----------------------------------------------------------------------===//

#include "Functions.h"

#include <limits>

using namespace mlir;
using namespace amp::codegen;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
using P = arith::CmpFPredicate;
using IP = arith::CmpIPredicate;

//===----------------------------------------------------------------------===//
// In float
//===----------------------------------------------------------------------===//

/// x within [low, high]; NaN stays.
static Value clamp(Arithmetic &a, Value x, double low, double high) {
  x = a.select(a.cmp(P::OLT, x, low), a.number(x, low), x);
  return a.select(a.cmp(P::OGT, x, high), a.number(x, high), x);
}

/// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
static Value expTail32(Arithmetic &a, Value r) {
  return a.polynomial(r, {0x1.6d110ap-10, 0x1.120b6ep-7, 0x1.55551ap-5,
                          0x1.5554dcp-3, 0x1.000000p-1});
}

namespace {
/// x = n * ln(2) + r.
struct Reduced {
  Value r;
  /// n where a float's exponent is, to be added to its bits.
  Value exponent;
};
} // namespace

static Reduced reduce32(Arithmetic &a, Value x) {
  // The sum's last bit is that of 1, so that its bits end with n.
  Value sum = a.add(a.mul(x, 0x1.715476p+0), 0x1.8p23);
  Value n = a.add(sum, -0x1.8p23);
  Value r = a.fma(n, -0x1.62e400p-1, x);
  return {a.fma(n, -0x1.7f7d1cp-20, r), a.shl(a.bits(sum), 23)};
}

static Value expOfReduced32(Arithmetic &a, Value r) {
  return a.add(a.fma(expTail32(a, r), a.mul(r, r), r), 1.0);
}

/// 2^(n + offset).
static Value powerOfTwo32(Arithmetic &a, Value exponent, int64_t offset) {
  return a.fromBits(a.addi(exponent, (offset + 127) << 23), a.f32());
}

/// e^x for x of [-87, 88].
static Value expCore32(Arithmetic &a, Value x) {
  Reduced reduced = reduce32(a, x);
  return a.mul(expOfReduced32(a, reduced.r),
               powerOfTwo32(a, reduced.exponent, 0));
}

/// y * 2^n for y of [0.7, 1.5] and any n of a result that is not infinite.
static Value scale32(Arithmetic &a, Value y, Value exponent, Value isSmall) {
  // Denormal results are rounded by a multiplication.
  Value up = a.select(isSmall, a.integer(exponent, int64_t(64) << 23),
                      a.integer(exponent, 0));
  y = a.fromBits(a.addi(a.bits(y), a.addi(exponent, up)), a.f32());
  return a.mul(y, a.select(isSmall, a.number(y, 0x1p-64), a.number(y, 1.0)));
}

static Value exp32(Arithmetic &a, Value x) {
  Value clamped = a.select(a.cmp(P::OLT, x, -104.0), a.number(x, -104.0), x);
  Reduced reduced = reduce32(a, clamped);
  Value y = scale32(a, expOfReduced32(a, reduced.r), reduced.exponent,
                    a.cmp(P::OLT, x, -86.0));
  // Infinity or NaN.
  return a.select(a.cmp(P::UGT, x, 0x1.62e42ep+6), a.add(x, kInfinity), y);
}

static Value exp2_32(Arithmetic &a, Value x) {
  Value clamped = a.select(a.cmp(P::OLT, x, -151.0), a.number(x, -151.0), x);
  Value sum = a.add(clamped, 0x1.8p23);
  // The product's error is of the order of the last place of 1.
  Value r = a.mul(a.sub(clamped, a.add(sum, -0x1.8p23)), 0x1.62e430p-1);
  Value y = scale32(a, expOfReduced32(a, r), a.shl(a.bits(sum), 23),
                    a.cmp(P::OLT, x, -125.0));
  return a.select(a.cmp(P::UGE, x, 128.0), a.add(x, kInfinity), y);
}

/// e^x - 1 for x of [-20, 89].
static Value expm1Core32(Arithmetic &a, Value x) {
  Reduced reduced = reduce32(a, x);
  Value r = reduced.r;
  Value p = a.fma(expTail32(a, r), a.mul(r, r), r);
  // Half of 2^n, for 2^128 is none.
  Value s = powerOfTwo32(a, reduced.exponent, -1);
  return a.mul(a.fma(s, p, a.add(s, -0.5)), 2.0);
}

static Value expm1_32(Arithmetic &a, Value x) {
  Value y = expm1Core32(a, clamp(a, x, -20.0, 89.0));
  // The sign of zero.
  return a.select(a.cmp(P::OEQ, x, 0.0), x, y);
}

static Value tanh32(Arithmetic &a, Value x) {
  // 1 - 2 / (e^2x + 1), which is 1 in float from 9.02 on.
  Value magnitude = a.abs(x);
  Value e = expCore32(a, clamp(a, a.mul(magnitude, 2.0), 0.0, 20.0));
  Value large = a.sub(a.number(x, 1.0), a.div(a.number(x, 2.0), a.add(e, 1.0)));
  // Cephes' tanhf.
  Value z = a.mul(x, x);
  Value p =
      a.polynomial(z, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                       1.33314422036e-1, -3.33332819422e-1});
  Value small = a.fma(p, a.mul(z, magnitude), magnitude);
  return a.copysign(a.select(a.cmp(P::OLT, magnitude, 0.625), small, large), x);
}

static Value erf32(Arithmetic &a, Value x) {
  Value t = a.abs(x), s = a.mul(x, x);
  // 1 - e^p(t), which is 1 in float from 3.92 on.
  Value u = a.select(a.cmp(P::OGT, t, 4.0), a.number(t, 4.0), t);
  Value r = a.fma(u, -0x1.220000p-16, 0x1.91cfb2p-12);
  Value q = a.fma(u, -0x1.fd1438p-9, 0x1.8d6342p-6);
  r = a.fma(r, a.mul(u, u), q);
  for (double c : {-0x1.b55cb8p-4, -0x1.450aa0p-1, -0x1.079d0cp-3})
    r = a.fma(r, u, c);
  r = a.fma(r, u, a.neg(u));
  Value large = a.sub(a.number(x, 1.0), expCore32(a, r));
  large = a.copysign(large, x);
  Value small = a.polynomial(s, {-0x1.38e000p-11, 0x1.471a58p-8, -0x1.b691b2p-6,
                                 0x1.ce1c44p-4, -0x1.812700p-2, 0x1.06eba8p-3});
  return a.select(a.cmp(P::OGT, t, 475.0 / 512.0), large, a.fma(small, x, x));
}

/// An odd function as x * P(x^2) / Q(x^2) for |x| up to where it is 1.
static Value odd32(Arithmetic &a, Value x, double most, ArrayRef<double> p,
                   ArrayRef<double> q) {
  x = clamp(a, x, -most, most);
  Value z = a.mul(x, x);
  return a.div(a.mul(x, a.polynomial(z, p)), a.polynomial(z, q));
}

static Value tanhNear32(Arithmetic &a, Value x) {
  return odd32(
      a, x, 8.6,
      {0x1.e3df7ap-27, 0x1.626032p-16, 0x1.ce3686p-9, 0x1.1292a8p-3, 1.0},
      {0x1.b14a76p-21, 0x1.5dd57ap-12, 0x1.a9e260p-6, 0x1.de9ea2p-2, 1.0});
}

static Value erfNear32(Arithmetic &a, Value x) {
  return odd32(a, x, 3.8,
               {0x1.20b596p-19, 0x1.2c6d5ap-12, 0x1.d9d53cp-9, 0x1.ac8772p-5,
                0x1.7d7028p-3, 0x1.20dd74p+0},
               {0x1.48f2d0p-15, 0x1.298f32p-10, 0x1.e09dacp-7, 0x1.ccc42ap-4,
                0x1.fe5a72p-2, 1.0});
}

//===----------------------------------------------------------------------===//
// In double. Algorithms are those of FreeBSD's msun (fdlibm), which need no
// fused multiplication.
//===----------------------------------------------------------------------===//

static constexpr double kLn2High = 6.93147180369123816490e-01;
static constexpr double kLn2Low = 1.90821492927058770002e-10;
static constexpr double kInvLn2 = 1.44269504088896338700e+00;

static Value powerOfTwo64(Arithmetic &a, Value n) {
  return a.fromBits(a.shl(a.addi(n, 1023), 52), a.f64());
}

/// An integral double as an integer: without instructions for 64 bits before
/// AVX-512, by the bits of a sum.
static Value toInt64(Arithmetic &a, Value n) {
  Value shifted = a.bits(a.add(n, 0x1.8p52));
  return a.subi(shifted, a.integer(shifted, 0x4338000000000000));
}

static Value fromInt64(Arithmetic &a, Value n) {
  Value biased = a.addi(n, 0x4338000000000000);
  return a.add(a.fromBits(biased, a.f64()), -0x1.8p52);
}

static Value scale64(Arithmetic &a, Value y, Value n) {
  // An arithmetic shift of 64 bits is slow before AVX-512.
  Value half = a.addi(a.shr(a.addi(n, 4096), 1), -2048);
  return a.mul(a.mul(y, powerOfTwo64(a, half)),
               powerOfTwo64(a, a.subi(n, half)));
}

/// e^(high - low) - 1 is high - low + r * c / (2 - c) and so on.
static Value expPolynomial64(Arithmetic &a, Value r) {
  Value t = a.mul(r, r);
  Value p =
      a.polynomial(t, {4.13813679705723846039e-08, -1.65339022054652515390e-06,
                       6.61375632143793436117e-05, -2.77777777770155933842e-03,
                       1.66666666666666019037e-01});
  return a.sub(r, a.mul(t, p));
}

static Value exp64(Arithmetic &a, Value x) {
  x = clamp(a, x, -746.0, 710.0);
  Value n = a.roundeven(a.mul(x, kInvLn2));
  Value high = a.sub(x, a.mul(n, kLn2High)), low = a.mul(n, kLn2Low);
  Value r = a.sub(high, low);
  Value c = expPolynomial64(a, r);
  Value quotient = a.div(a.mul(r, c), a.sub(a.number(c, 2.0), c));
  Value y = a.sub(a.number(x, 1.0), a.sub(a.sub(low, quotient), high));
  return scale64(a, y, toInt64(a, n));
}

/// e^x - 1; near 0 the sum's terms are kept apart.
static Value expm1_64(Arithmetic &a, Value x) {
  Value clamped = clamp(a, x, -40.0, 710.0);
  Value n = a.roundeven(a.mul(clamped, kInvLn2));
  Value high = a.sub(clamped, a.mul(n, kLn2High)), low = a.mul(n, kLn2Low);
  Value r = a.sub(high, low);
  Value c = expPolynomial64(a, r);
  Value quotient = a.div(a.mul(r, c), a.sub(a.number(c, 2.0), c));
  Value p = a.sub(high, a.sub(low, quotient));
  Value s = powerOfTwo64(a, a.addi(toInt64(a, n), -1));
  Value y = a.mul(a.add(a.mul(s, p), a.add(s, -0.5)), 2.0);
  return a.select(a.cmp(P::OEQ, x, 0.0), x, y);
}

namespace {
/// x = 2^k * (1 + f), 1 + f between sqrt(1/2) and sqrt(2).
struct Logarithm {
  Value k, f;
  /// log(1 + f) = f - (half - tail), half = f * f / 2.
  Value half, tail;
};
} // namespace

static Logarithm logParts64(Arithmetic &a, Value x) {
  Value tiny = a.cmp(P::OLT, x, 0x1p-1022);
  Value u = a.bits(a.select(tiny, a.mul(x, 0x1p54), x));
  // By the bits above sqrt(1/2).
  Value moved = a.addi(u, 0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
  Value k = a.addi(a.shr(moved, 52), -1023);
  Value m = a.fromBits(
      a.addi(a.andi(moved, 0x000fffffffffffff), 0x3fe6a09e667f3bcd), a.f64());
  Logarithm parts;
  parts.k = a.sub(fromInt64(a, k),
                  a.select(tiny, a.number(x, 54.0), a.number(x, 0.0)));
  parts.f = a.add(m, -1.0);
  Value s = a.div(parts.f, a.add(parts.f, 2.0));
  Value z = a.mul(s, s), w = a.mul(z, z);
  Value even = a.mul(
      w, a.polynomial(w, {1.531383769920937332e-01, 2.222219843214978396e-01,
                          3.999999999940941908e-01}));
  Value odd = a.mul(
      z, a.polynomial(w, {1.479819860511658591e-01, 1.818357216161805012e-01,
                          2.857142874366239149e-01, 6.666666666666735130e-01}));
  parts.half = a.mul(a.mul(parts.f, parts.f), 0.5);
  parts.tail = a.mul(s, a.add(parts.half, a.add(even, odd)));
  return parts;
}

/// What is no logarithm of a positive finite number.
static Value logEdges(Arithmetic &a, Value x, Value y) {
  y = a.select(a.cmp(P::OEQ, x, kInfinity), x, y);
  y = a.select(a.cmp(P::OEQ, x, 0.0), a.number(x, -kInfinity), y);
  return a.select(a.cmp(P::UGE, x, 0.0), y, a.number(x, kNaN));
}

static Value keepNaN(Arithmetic &a, Value x, Value y) {
  return a.select(a.isNaN(x), x, y);
}

static Value log64(Arithmetic &a, Value x) {
  Logarithm l = logParts64(a, x);
  Value y =
      a.sub(a.mul(l.k, kLn2High),
            a.sub(a.sub(l.half, a.add(l.tail, a.mul(l.k, kLn2Low))), l.f));
  return keepNaN(a, x, logEdges(a, x, y));
}

/// The logarithm to a base of which the logarithm of 2 is `two`, of e `e`.
static Value logTo64(Arithmetic &a, Value x, double e, double two) {
  Logarithm l = logParts64(a, x);
  Value y = a.sub(l.f, a.sub(l.half, l.tail));
  y = a.add(a.mul(l.k, two), a.mul(y, e));
  return keepNaN(a, x, logEdges(a, x, y));
}

static Value log1p64(Arithmetic &a, Value x) {
  // Kahan: what 1 + x loses, log(1 + x) / x loses, too.
  Value u = a.add(x, 1.0);
  Value d = a.add(u, -1.0);
  Value y = a.mul(log64(a, u), a.div(x, d));
  y = a.select(a.cmp(P::OEQ, d, 0.0), x, y);
  y = a.select(a.cmp(P::OEQ, u, kInfinity), u, y);
  return a.select(a.cmp(P::OEQ, u, 0.0), a.number(x, -kInfinity), y);
}

static Value tanh64(Arithmetic &a, Value x) {
  Value t = expm1_64(a, clamp(a, a.mul(a.abs(x), 2.0), 0.0, 44.0));
  return a.copysign(a.div(t, a.add(t, 2.0)), x);
}

static Value sinh64(Arithmetic &a, Value x) {
  // With t = e^|x| - 1: (t + t / (t + 1)) / 2; where t is infinite, e^(|x|/2)
  // twice.
  Value magnitude = a.abs(x);
  Value t = expm1_64(a, magnitude);
  Value y = a.mul(a.add(t, a.div(t, a.add(t, 1.0))), 0.5);
  Value root = exp64(a, a.mul(magnitude, 0.5));
  y = a.select(a.cmp(P::OGT, magnitude, 700.0), a.mul(a.mul(root, 0.5), root),
               y);
  return a.copysign(keepNaN(a, x, y), x);
}

static Value cosh64(Arithmetic &a, Value x) {
  Value magnitude = a.abs(x);
  Value root = exp64(a, a.mul(magnitude, 0.5));
  Value e = exp64(a, magnitude);
  Value y = a.mul(a.add(e, a.div(a.number(e, 1.0), e)), 0.5);
  return a.select(a.cmp(P::OGT, magnitude, 700.0),
                  a.mul(a.mul(root, 0.5), root), y);
}

static Value asinh64(Arithmetic &a, Value x) {
  Value t = a.abs(x);
  Value s = a.mul(t, t);
  Value y = a.add(t, a.div(s, a.add(a.sqrt(a.add(s, 1.0)), 1.0)));
  Value large = a.add(log64(a, t), 0x1.62e42fefa39efp-1);
  y = a.select(a.cmp(P::OGT, t, 0x1p28), large, log1p64(a, y));
  return a.copysign(keepNaN(a, x, y), x);
}

static Value acosh64(Arithmetic &a, Value x) {
  Value t = a.add(x, -1.0);
  Value y = log1p64(a, a.add(t, a.sqrt(a.add(a.mul(t, 2.0), a.mul(t, t)))));
  Value large = a.add(log64(a, x), 0x1.62e42fefa39efp-1);
  y = a.select(a.cmp(P::OGT, x, 0x1p28), large, y);
  return a.select(a.cmp(P::OLT, x, 1.0), a.number(x, kNaN), y);
}

static Value atanh64(Arithmetic &a, Value x) {
  Value t = a.abs(x);
  Value y =
      a.mul(log1p64(a, a.div(a.mul(t, 2.0), a.sub(a.number(t, 1.0), t))), 0.5);
  return a.copysign(keepNaN(a, x, y), x);
}

/// Cephes' atan.
static Value atan64(Arithmetic &a, Value x) {
  Value t = a.abs(x);
  Value large = a.cmp(P::OGT, t, 2.41421356237309504880);
  Value middle = a.cmp(P::OGT, t, 0.66);
  Value r = a.select(middle, a.div(a.add(t, -1.0), a.add(t, 1.0)), t);
  r = a.select(large, a.div(a.number(t, -1.0), t), r);
  Value offset =
      a.select(middle, a.number(t, 0x1.921fb54442d18p-1), a.number(t, 0.0));
  offset = a.select(large, a.number(t, 0x1.921fb54442d18p+0), offset);
  Value rest =
      a.select(middle, a.number(t, 3.061616997868383e-17), a.number(t, 0.0));
  rest = a.select(large, a.number(t, 6.123233995736766e-17), rest);
  Value z = a.mul(r, r);
  Value p =
      a.polynomial(z, {-8.750608600031904122785e-1, -1.615753718733365076637e1,
                       -7.500855792314704667340e1, -1.228866684490136173410e2,
                       -6.485021904942025371773e1});
  Value q =
      a.polynomial(z, {1.0, 2.485846490142306297962e1,
                       1.650270098316988542046e2, 4.328810604912902668951e2,
                       4.853903996359136964868e2, 1.945506571482613964425e2});
  Value y = a.add(a.mul(r, a.mul(z, a.div(p, q))), r);
  return a.copysign(a.add(a.add(y, rest), offset), x);
}

static Value asin64(Arithmetic &a, Value x) {
  Value one = a.number(x, 1.0);
  return atan64(a, a.div(x, a.sqrt(a.mul(a.sub(one, x), a.add(one, x)))));
}

static Value acos64(Arithmetic &a, Value x) {
  Value one = a.number(x, 1.0);
  return a.mul(atan64(a, a.sqrt(a.div(a.sub(one, x), a.add(one, x)))), 2.0);
}

static Value atan2_64(Arithmetic &a, Value y, Value x) {
  constexpr double pi = 0x1.921fb54442d18p+1;
  Value ay = a.abs(y), ax = a.abs(x);
  // Equal infinities, and equal zeros, have the quotients 1 and 0.
  Value quotient = a.div(ay, ax);
  Value both =
      a.andi(a.cmp(P::OEQ, ay, kInfinity), a.cmp(P::OEQ, ax, kInfinity));
  quotient = a.select(both, a.number(y, 1.0), quotient);
  quotient = a.select(a.cmp(P::OEQ, ay, 0.0), ay, quotient);
  Value angle = atan64(a, quotient);
  Value negative = a.cmp(IP::slt, a.bits(x), 0);
  angle = a.select(negative, a.sub(a.number(x, pi), angle), angle);
  angle = a.select(a.isNaN(x), x, angle);
  return a.select(a.isNaN(y), y, a.copysign(angle, y));
}

/// x^y of floats, held as doubles.
static Value pow32(Arithmetic &a, Value x, Value y) {
  Value one = a.number(x, 1.0);
  Value t = a.abs(x);
  Value power = exp64(a, a.mul(y, log64(a, t)));
  // Integers, and odd ones among them.
  Value whole = a.cmp(P::OEQ, a.make<math::TruncOp>(y), y);
  Value half = a.mul(y, 0.5);
  Value odd = a.andi(whole, a.cmp(P::ONE, a.make<math::TruncOp>(half), half));
  Value negative = a.cmp(IP::slt, a.bits(x), 0);
  power = a.select(a.andi(negative, odd), a.neg(power), power);
  Value undefined = a.andi(a.cmp(P::OLT, x, 0.0), a.cmp(P::OGT, t, 0.0));
  undefined = a.andi(undefined, a.cmp(P::OLT, t, kInfinity));
  undefined = a.andi(undefined, a.cmp(P::UNE, a.make<math::TruncOp>(y), y));
  power = a.select(undefined, a.number(x, kNaN), power);
  Value unit = a.cmp(P::OEQ, x, 1.0);
  unit = a.ori(
      unit, a.andi(a.cmp(P::OEQ, t, 1.0), a.cmp(P::OEQ, a.abs(y), kInfinity)));
  unit = a.ori(unit, a.cmp(P::OEQ, y, 0.0));
  return a.select(unit, one, power);
}

static Value cbrt32(Arithmetic &a, Value x) {
  Value y = exp64(a, a.mul(log64(a, a.abs(x)), 1.0 / 3.0));
  return a.copysign(y, x);
}

//===----------------------------------------------------------------------===//
// Sine and cosine of floats, held as doubles
//===----------------------------------------------------------------------===//

static Value sinCore(Arithmetic &a, Value r) {
  Value z = a.mul(r, r);
  Value p = a.polynomial(
      z, {1.58969099521155010221e-10, -2.50507602534068634195e-08,
          2.75573137070700676789e-06, -1.98412698298579493134e-04,
          8.33333333332248946124e-03, -1.66666666666666324348e-01});
  return a.add(a.mul(a.mul(z, r), p), r);
}

static Value cosCore(Arithmetic &a, Value r) {
  Value z = a.mul(r, r);
  Value p = a.polynomial(
      z, {-1.13596475577881948265e-11, 2.08757232129817482790e-09,
          -2.75573143513906633035e-07, 2.48015872894767294178e-05,
          -1.38888888888741095749e-03, 4.16666666666666019037e-02});
  Value rest = a.sub(a.mul(z, a.mul(z, p)), a.mul(z, 0.5));
  return a.add(rest, 1.0);
}

/// x = n * pi / 2 + r, for finite x of any size; n modulo 4, as i64. `given` is
/// x in float.
static std::pair<Value, Value> reducePi(Arithmetic &a, Value x, Value given) {
  // The product with the first part of pi / 2, of 33 bits, is exact.
  Value n = a.roundeven(a.mul(x, 6.36619772367581382433e-01));
  Value r = a.sub(x, a.mul(n, 1.57079632673412561417e+00));
  r = a.sub(r, a.mul(n, 6.07710050650619224932e-11));
  Value quadrant = toInt64(a, n);

  // Beyond 2^20 (Payne and Hanek): x = m * 2^e with an integral m. Of 2 / pi,
  // those digits matter that 2^e brings to the place of 2 and below, and of
  // these 96 are enough: above, m times a multiple of 4 is no part of n
  // modulo 4.
  static constexpr uint32_t digits[] = {0,          0xa2f9836e, 0x4e441529,
                                        0xfc2757d1, 0xf534ddc0, 0xdb629599,
                                        0x3c439041, 0xfe5163ab};
  Value u = a.zeroExtend(a.bits(given), 64);
  Value m = a.ori(a.andi(u, 0x7fffff), 0x800000);
  // The first digit, from the zeros on: 30 + e.
  Value first = a.addi(a.andi(a.shr(u, 23), 255), 30 - 150);
  Value word = a.shr(first, 5), shift = a.andi(first, 31);
  auto getWord = [&](unsigned offset) {
    Value result = a.integer(first, digits[offset]);
    for (unsigned index = 1; index < 5; ++index)
      result = a.select(a.cmp(IP::eq, word, index),
                        a.integer(first, digits[index + offset]), result);
    return result;
  };
  Value words[] = {getWord(0), getWord(1), getWord(2), getWord(3)};
  auto getDigits = [&](unsigned offset) {
    Value both = a.ori(a.shl(words[offset], 32), words[offset + 1]);
    return a.shr(a.make<arith::ShLIOp>(both, shift), 32);
  };
  // Two bits before the point, 62 behind.
  Value product = a.addi(
      a.shl(a.muli(m, getDigits(0)), 32),
      a.addi(a.muli(m, getDigits(1)), a.shr(a.muli(m, getDigits(2)), 32)));
  Value rounded = a.shr(a.addi(product, int64_t(1) << 61), 62);
  Value fraction = a.subi(product, a.shl(rounded, 62));
  Value negative = a.cmp(IP::slt, fraction, 0);
  Value magnitude =
      a.select(negative, a.subi(a.integer(first, 0), fraction), fraction);
  Value angle = a.add(a.mul(fromInt64(a, a.shr(magnitude, 32)), 0x1p32),
                      fromInt64(a, a.andi(magnitude, 0xffffffff)));
  angle = a.mul(angle, 0x1.921fb54442d18p-62);
  // The signs of the fraction and of x.
  Value below = a.cmp(IP::slt, a.bits(x), 0);
  angle = a.select(a.make<arith::XOrIOp>(negative, below), a.neg(angle), angle);
  rounded = a.select(below, a.subi(a.integer(rounded, 0), rounded), rounded);
  Value large = a.cmp(P::OGT, a.abs(x), 0x1p20);
  return {a.select(large, angle, r), a.select(large, rounded, quadrant)};
}

namespace {
struct SinCos {
  Value sin, cos;
};
} // namespace

static SinCos sinCos32(Arithmetic &a, Value given) {
  Value x = a.extend(given);
  auto [r, n] = reducePi(a, x, given);
  Value s = sinCore(a, r), c = cosCore(a, r);
  Value swap = a.cmp(IP::ne, a.andi(n, 1), 0);
  Value sine = a.select(swap, c, s), cosine = a.select(swap, s, c);
  Value sineSign = a.shl(a.andi(n, 2), 62);
  Value cosineSign = a.shl(a.andi(a.addi(n, 1), 2), 62);
  auto flip = [&](Value value, Value sign) {
    Value flipped = a.make<arith::XOrIOp>(a.bits(value), sign);
    // No angle of infinity or NaN.
    return a.select(a.cmp(P::OLT, a.abs(x), kInfinity),
                    a.fromBits(flipped, a.f64()), a.sub(x, x));
  };
  Value zero = a.cmp(P::OEQ, x, 0.0);
  return {a.select(zero, x, flip(sine, sineSign)), flip(cosine, cosineSign)};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static Value log2_64(Arithmetic &a, Value x) {
  return logTo64(a, x, 0x1.71547652b82fep+0, 1.0);
}

static Value log10_64(Arithmetic &a, Value x) {
  return logTo64(a, x, 0x1.bcb7b1526e50ep-2, 0x1.34413509f79ffp-2);
}

static Value sin32(Arithmetic &a, Value x) {
  return a.truncate(sinCos32(a, x).sin);
}

static Value cos32(Arithmetic &a, Value x) {
  return a.truncate(sinCos32(a, x).cos);
}

static Value tan32(Arithmetic &a, Value x) {
  SinCos parts = sinCos32(a, x);
  return a.truncate(a.div(parts.sin, parts.cos));
}

static Value rsqrt(Arithmetic &a, Value x) {
  return a.div(a.number(x, 1.0), a.sqrt(x));
}

namespace {
using Formula = Value (*)(Arithmetic &, ArrayRef<Value>);

struct Function {
  llvm::StringRef name;
  Formula ofFloat, ofDouble;
  /// Of float, less exact and faster, if there is one.
  Formula approximate;
};
} // namespace

template <Value (*formula)(Arithmetic &, Value)>
static Value unary(Arithmetic &a, ArrayRef<Value> x) {
  return formula(a, x[0]);
}

/// In double, rounded to float.
template <Value (*formula)(Arithmetic &, Value)>
static Value throughDouble(Arithmetic &a, ArrayRef<Value> x) {
  return a.truncate(formula(a, a.extend(x[0])));
}

template <Value (*formula)(Arithmetic &, Value, Value)>
static Value throughDouble(Arithmetic &a, ArrayRef<Value> x) {
  return a.truncate(formula(a, a.extend(x[0]), a.extend(x[1])));
}

template <Value (*formula)(Arithmetic &, Value)>
static Function both(llvm::StringRef name) {
  return {name, throughDouble<formula>, unary<formula>, nullptr};
}

static const Function *getFunction(Operation *op) {
  static const Function functions[] = {
      {math::AcosOp::getOperationName(), throughDouble<acos64>, nullptr,
       nullptr},
      both<acosh64>(math::AcoshOp::getOperationName()),
      {math::AsinOp::getOperationName(), throughDouble<asin64>, nullptr,
       nullptr},
      both<asinh64>(math::AsinhOp::getOperationName()),
      both<atan64>(math::AtanOp::getOperationName()),
      {math::Atan2Op::getOperationName(), throughDouble<atan2_64>, nullptr,
       nullptr},
      both<atanh64>(math::AtanhOp::getOperationName()),
      {math::CbrtOp::getOperationName(), throughDouble<cbrt32>, nullptr,
       nullptr},
      {math::CosOp::getOperationName(), unary<cos32>, nullptr, nullptr},
      both<cosh64>(math::CoshOp::getOperationName()),
      {math::ErfOp::getOperationName(), unary<erf32>, nullptr,
       unary<erfNear32>},
      {math::ExpOp::getOperationName(), unary<exp32>, unary<exp64>, nullptr},
      {math::Exp2Op::getOperationName(), unary<exp2_32>, nullptr, nullptr},
      {math::ExpM1Op::getOperationName(), unary<expm1_32>, unary<expm1_64>,
       nullptr},
      both<log64>(math::LogOp::getOperationName()),
      both<log10_64>(math::Log10Op::getOperationName()),
      both<log1p64>(math::Log1pOp::getOperationName()),
      both<log2_64>(math::Log2Op::getOperationName()),
      {math::PowFOp::getOperationName(), throughDouble<pow32>, nullptr,
       nullptr},
      {math::RsqrtOp::getOperationName(), unary<rsqrt>, unary<rsqrt>, nullptr},
      {math::SinOp::getOperationName(), unary<sin32>, nullptr, nullptr},
      both<sinh64>(math::SinhOp::getOperationName()),
      {math::TanOp::getOperationName(), unary<tan32>, nullptr, nullptr},
      {math::TanhOp::getOperationName(), unary<tanh32>, unary<tanh64>,
       unary<tanhNear32>},
  };
  const auto *found = llvm::find_if(functions, [&](const Function &function) {
    return function.name == op->getName().getStringRef();
  });
  return found == std::end(functions) ? nullptr : found;
}

bool amp::codegen::hasFunction(Operation *op, Type element) {
  const Function *function = getFunction(op);
  return function &&
         (element.isF32() || (element.isF64() && function->ofDouble));
}

Value amp::codegen::emitFunction(Arithmetic &a, Operation *op,
                                 ArrayRef<Value> operands) {
  const Function *function = getFunction(op);
  bool isDouble = Arithmetic::elementOf(operands[0]).isF64();
  auto flags = op->getAttrOfType<arith::FastMathFlagsAttr>("fastmath");
  if (!isDouble && function->approximate && flags &&
      bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::afn))
    return function->approximate(a, operands);
  return (isDouble ? function->ofDouble : function->ofFloat)(a, operands);
}
