//===- DimensionNames.cpp - encodings that name sizes ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Interfaces/DimensionNames.h"

#include "amp/Interfaces/DimensionNamesInterface.cpp.inc"
