//===- ConstantFit.cpp - constants that a low format can't hold -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantFit.h"

#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Support/Quoted.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace amp;

/// A value has lost its meaning when rounding may change it by more than this:
/// an epsilon of 1e-7 is 1.2e-7 in float16.
static constexpr double kLargestRelativeError = 1.0 / 32;

bool amp::overflows(const FloatRange &range, FloatFormat format) {
  // The midpoint between the largest finite value and what would follow it
  // rounds to even, that is up.
  double largest = format.maxFinite();
  double halfUlp =
      std::ldexp(1.0, std::ilogb(largest) - int(format.mantissaBits) - 1);
  return range.absmax >= largest + halfUlp;
}

/// True if the smallest subnormal is too coarse for `value`.
static bool underflows(double value, FloatFormat format) {
  return value * 2 * kLargestRelativeError < format.smallestSubnormal();
}

/// Six digits, in the shorter of the two notations.
static std::string spell(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

static std::string describe(llvm::StringRef name) {
  return name.empty() ? "a constant operand" : "constant " + quoted(name);
}

static std::string explainOverflow(const FloatRange &range,
                                   llvm::StringRef name, FloatFormat format,
                                   const Decision &decision) {
  if (!overflows(range, format) || decision.outOfRange == OutOfRange::Convert ||
      decision.outOfRange == OutOfRange::Clamp)
    return {};
  if (decision.outOfRange == OutOfRange::Saturate &&
      decision.category != Category::Allow &&
      range.absmax >= kStandsForInfinity)
    return {};
  return llvm::formatv("{0} is out of the range of {1}: absmax {2} > {3}",
                       describe(name), spellFormat(format), spell(range.absmax),
                       spell(format.maxFinite()));
}

static std::string explainUnderflow(const FloatRange &range,
                                    llvm::StringRef name, FloatFormat format,
                                    const Decision &decision) {
  bool isParameter =
      range.count <= kParameterElements && decision.category != Category::Allow;
  double value = isParameter ? range.smallestNonzero : range.absmax;
  if (decision.underflow != Underflow::KeepFloat32 || range.absmax == 0 ||
      !underflows(value, format))
    return {};
  return llvm::formatv("{0} underflows in {1}: {2}{3}", describe(name),
                       spellFormat(format), isParameter ? "" : "absmax ",
                       spell(value));
}

std::string amp::explainMisfit(const FloatRange &range, llvm::StringRef name,
                               FloatFormat format, const Decision &decision) {
  std::string overflow = explainOverflow(range, name, format, decision);
  return overflow.empty() ? explainUnderflow(range, name, format, decision)
                          : overflow;
}

std::string amp::spellFormat(FloatFormat format) {
  if (format == FloatFormat::fp16())
    return "float16";
  if (format == FloatFormat::bf16())
    return "bfloat16";
  if (format == FloatFormat::fp32())
    return "float32";
  if (format == FloatFormat::fp64())
    return "float64";
  return format.name();
}

std::string amp::describeOperation(mlir::Operation *op) {
  auto autocast = llvm::dyn_cast<AutocastOpInterface>(op);
  if (!autocast)
    return op->getName().getStringRef().str();
  llvm::StringRef name = autocast.getAutocastNodeName();
  if (name.empty() && op->getNumResults() > 0)
    name = autocast.getAutocastResultName(0);
  return autocast.getAutocastName().str() +
         (name.empty() ? "" : " " + quoted(name));
}
