//===- LLVMStatistics.h - statistics as LLVM was built with -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included before everything else in passes/. With assertions on, LLVM's header
// makes a statistic larger; its constructor is in a library that was built
// without them and would leave the rest uninitialized.
//
//===----------------------------------------------------------------------===//

#ifndef NDEBUG
#define NDEBUG
#include "llvm/ADT/Statistic.h"
#undef NDEBUG
#endif
