//===- Lossless.cpp - types whose values another type has -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lossless.h"

using namespace amp::run;
using namespace amp::runtime;

namespace {
/// A type whose values are up to 2^exponent, in steps of 2^-digits of their
/// size.
struct Range {
  bool isKnown = false, isFloat = false, isSigned = false;
  int digits = 0, exponent = 0;
};
} // namespace

static Range integer(int digits, bool isSigned) {
  return {true, false, isSigned, digits, digits};
}

static Range floating(int digits, int exponent) {
  return {true, true, true, digits, exponent};
}

static Range getRange(DataType type) {
  switch (type) {
  case DataType::Bool:
    return integer(1, false);
  case DataType::UInt8:
    return integer(8, false);
  case DataType::Int8:
    return integer(7, true);
  case DataType::UInt16:
    return integer(16, false);
  case DataType::Int16:
    return integer(15, true);
  case DataType::UInt32:
    return integer(32, false);
  case DataType::Int32:
    return integer(31, true);
  case DataType::UInt64:
    return integer(64, false);
  case DataType::Int64:
    return integer(63, true);
  case DataType::Float16:
    return floating(11, 16);
  case DataType::BFloat16:
    return floating(8, 128);
  case DataType::Float:
    return floating(24, 128);
  case DataType::Double:
    return floating(53, 1024);
  default:
    return {};
  }
}

bool amp::run::isLossless(DataType from, DataType to) {
  if (from == to)
    return true;
  Range a = getRange(from), b = getRange(to);
  if (!a.isKnown || !b.isKnown || to == DataType::Bool)
    return false;
  return (!a.isFloat || b.isFloat) && (!a.isSigned || b.isSigned) &&
         a.digits <= b.digits && a.exponent <= b.exponent;
}
