//===- NumberText.h - numbers as text ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_NUMBERTEXT_H
#define AMP_RUNTIME_CPU_NUMBERTEXT_H

#include "CPU/Conversion.h"

#include <string>
#include <string_view>

namespace amp::runtime {

/// Writes a number of a numeric type as Python does, with the fewest digits
/// that read back as the same number: "1.0", "inf", "nan", "True"; with an
/// exponent, "1e-05", only below 1e-4 and from 1e16 on.
std::string formatNumber(DataType type, const void *element);

/// Reads a decimal number, an infinity or NaN into an element; false if the
/// text is something else.
bool parseNumber(std::string_view text, DataType type, void *element,
                 const CastSettings &settings);

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_NUMBERTEXT_H
