//===- NumberText.cpp - numbers as text -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/NumberText.h"

#include "CPU/Elements.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

using namespace amp::runtime;

static bool isFloat(DataType type) {
  return type == DataType::Float || type == DataType::Double ||
         type == DataType::Float16 || type == DataType::BFloat16 ||
         (type >= DataType::Float8E4M3FN && type <= DataType::Float8E5M2FNUZ) ||
         type == DataType::Float4E2M1 || type == DataType::Float8E8M0;
}

/// The value with so many significant digits, as d.ddde±xx.
static std::string toScientific(double value, int digits) {
  char text[64];
  auto end = std::to_chars(text, text + sizeof(text), value,
                           std::chars_format::scientific, digits - 1);
  return std::string(text, end.ptr);
}

/// Moves the decimal point where Python has it.
static std::string toPlain(const std::string &scientific) {
  size_t mark = scientific.find('e');
  int exponent = std::atoi(scientific.c_str() + mark + 1);
  if (exponent < -4 || exponent >= 16)
    return scientific;
  bool negative = scientific[0] == '-';
  std::string digits = scientific.substr(negative, mark - negative);
  digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
  auto point = static_cast<size_t>(std::max(exponent + 1, 1));
  if (exponent < 0)
    digits.insert(0, static_cast<size_t>(-exponent), '0');
  if (digits.size() <= point)
    digits.append(point + 1 - digits.size(), '0');
  digits.insert(point, ".");
  return (negative ? "-" : "") + digits;
}

std::string amp::runtime::formatNumber(DataType type, const void *element) {
  if (type == DataType::Bool)
    return *static_cast<const uint8_t *>(element) ? "True" : "False";
  if (type == DataType::UInt64)
    return std::to_string(*static_cast<const uint64_t *>(element));
  if (!isFloat(type)) {
    int64_t value;
    convertElements(type, element, DataType::Int64, &value, 1);
    return std::to_string(value);
  }
  double value;
  convertElements(type, element, DataType::Double, &value, 1);
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    text = toScientific(value, digits);
    uint64_t again = 0;
    if (parseNumber(text, type, &again, {}) &&
        std::equal(static_cast<const char *>(element),
                   static_cast<const char *>(element) + getByteSize(type),
                   reinterpret_cast<const char *>(&again)))
      break;
  }
  return toPlain(text);
}

/// Reads a whole text as a number of that type; 0 or infinity beyond its range.
template <typename Float>
static bool parseFloat(std::string_view text, Float &value) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size())
    return false;
  if (error == std::errc::result_out_of_range) {
    // Which end of the range is not said; the exponent's sign is enough unless
    // hundreds of digits stand before the point or zeros behind it.
    bool isSmall = text.find("e-") != text.npos || text.find("E-") != text.npos;
    value = isSmall ? Float(0) : std::numeric_limits<Float>::infinity();
    if (text[0] == '-')
      value = -value;
  }
  return true;
}

bool amp::runtime::parseNumber(std::string_view text, DataType type,
                               void *element, const CastSettings &settings) {
  auto isSpace = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && isSpace(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && isSpace(text.back()))
    text.remove_suffix(1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-')
    text.remove_prefix(1);
  // Integers first: float64 does not hold all of them.
  int64_t integer;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), integer);
  if (error == std::errc() && end == text.data() + text.size() &&
      !isFloat(type)) {
    convertElements(DataType::Int64, &integer, type, element, 1, settings);
    return true;
  }
  if (type == DataType::UInt64) {
    uint64_t natural;
    auto [last, problem] =
        std::from_chars(text.data(), text.data() + text.size(), natural);
    if (problem == std::errc() && last == text.data() + text.size()) {
      std::memcpy(element, &natural, sizeof(natural));
      return true;
    }
  }
  if (type == DataType::Float) {
    float value;
    if (!parseFloat(text, value))
      return false;
    std::memcpy(element, &value, sizeof(value));
    return true;
  }
  double value;
  if (!parseFloat(text, value))
    return false;
  convertElements(DataType::Double, &value, type, element, 1, settings);
  return true;
}
