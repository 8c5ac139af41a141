//===- FloatTypes.cpp - float formats as element types --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMP/FloatTypes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace amp;

std::optional<FloatFormat> amp::getFloatFormat(FloatType type) {
  using Format = std::optional<FloatFormat>;
  return llvm::TypeSwitch<Type, Format>(type)
      .Case<Float8E4M3FNType>([](Type) { return FloatFormat::e4m3(); })
      .Case<Float8E5M2Type>([](Type) { return FloatFormat::e5m2(); })
      .Case<Float16Type>([](Type) { return FloatFormat::fp16(); })
      .Case<BFloat16Type>([](Type) { return FloatFormat::bf16(); })
      .Case<Float32Type>([](Type) { return FloatFormat::fp32(); })
      .Case<Float64Type>([](Type) { return FloatFormat::fp64(); })
      .Default([](Type) -> Format { return std::nullopt; });
}

FloatType amp::getFloatType(MLIRContext *context, FloatFormat format) {
  if (format == FloatFormat::e4m3())
    return Float8E4M3FNType::get(context);
  if (format == FloatFormat::e5m2())
    return Float8E5M2Type::get(context);
  if (format == FloatFormat::fp16())
    return Float16Type::get(context);
  if (format == FloatFormat::bf16())
    return BFloat16Type::get(context);
  if (format == FloatFormat::fp32())
    return Float32Type::get(context);
  if (format == FloatFormat::fp64())
    return Float64Type::get(context);
  return {};
}

bool amp::isExactCast(FloatType from, FloatType to) {
  if (from == to)
    return true;
  std::optional<FloatFormat> source = getFloatFormat(from);
  std::optional<FloatFormat> result = getFloatFormat(to);
  // Only e4m3 lacks infinities among these, and nothing but itself is in it.
  return source && result && result->contains(*source);
}
