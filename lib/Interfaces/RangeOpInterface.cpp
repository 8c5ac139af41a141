//===- RangeOpInterface.cpp - what is known of values ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Interfaces/RangeOpInterface.h"

#include "amp/Interfaces/RangeOpInterface.cpp.inc"
