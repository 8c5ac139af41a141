//===- Quantities.cpp - numbers for people --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Quantities.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace amp;

/// Three digits and the letter of their power of 1000.
static std::string scale(uint64_t number, llvm::StringRef unit) {
  if (number < 1000)
    return llvm::formatv("{0} {1}", number, unit).str();
  constexpr char letters[] = "kMGTPE";
  double scaled = double(number) / 1000;
  unsigned power = 0;
  // What would be rounded to 1000 takes the next letter.
  for (; scaled >= 999.5; ++power)
    scaled /= 1000;
  const char *format = scaled < 9.995   ? "{0:f2} {1}{2}"
                       : scaled < 99.95 ? "{0:f1} {1}{2}"
                                        : "{0:f0} {1}{2}";
  return llvm::formatv(/*Validate=*/false, format, scaled, letters[power], unit)
      .str();
}

std::string amp::formatBytes(uint64_t bytes) { return scale(bytes, "B"); }

std::string amp::formatCount(uint64_t count) {
  return llvm::StringRef(scale(count, "")).rtrim().str();
}

std::string amp::formatSeconds(double seconds) {
  if (seconds < 0.9995)
    return llvm::formatv("{0:f0} ms", seconds * 1000).str();
  return llvm::formatv("{0:f2} s", seconds).str();
}

std::string amp::formatNumber(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4g", number);
  return text;
}

std::string amp::formatPlural(uint64_t count, llvm::StringRef noun) {
  return llvm::formatv("{0} {1}{2}", count, noun, count == 1 ? "" : "s").str();
}
