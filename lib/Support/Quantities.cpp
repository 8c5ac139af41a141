//===- Quantities.cpp - numbers for people --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Support/Quantities.h"

#include "amp/Support/Quoted.h"

#include "llvm/ADT/StringExtras.h"
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

llvm::Expected<int64_t> amp::parseBytes(llvm::StringRef text) {
  size_t end = text.find_first_not_of("0123456789.");
  llvm::StringRef number = text.take_front(end);
  llvm::StringRef unit = text.substr(number.size()).ltrim();
  double count;
  bool isNumber = !number.getAsDouble(count);
  double factor = 1;
  if (unit.consume_back("B") && !unit.empty()) {
    double base = unit.consume_back("i") ? 1024 : 1000;
    size_t power = unit.size() == 1 ? llvm::StringRef("kMGT").find(unit[0])
                                    : llvm::StringRef::npos;
    // Only the small letter is SI's, but many write the other.
    if (unit == "K")
      power = 0;
    if (power == llvm::StringRef::npos)
      isNumber = false;
    else
      for (size_t i = 0; i <= power; ++i)
        factor *= base;
  } else if (!unit.empty()) {
    isNumber = false;
  }
  if (!isNumber || !(count * factor >= 1) || !(count * factor < 1e18))
    return llvm::createStringError(
        "expects a number of bytes, as in 1048576, 100MB or 1.5GiB, but got " +
        quoted(text));
  return int64_t(count * factor);
}

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
