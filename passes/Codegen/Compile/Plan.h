//===- Plan.h - how a kernel runs -------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An outer iteration is a list of stages, each one nest of loops along some
// inner dimensions. A stage ends where a reduction's result is needed. Whatever
// is neither reduced nor a result is computed where it is used, again in each
// stage, unless that costs more than to keep it in scratch memory.
//
// softmax:  stage 0: max    stage 1: e kept, sum    stage 2: e / sum stored
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_CODEGEN_COMPILE_PLAN_H
#define AMP_PASSES_CODEGEN_COMPILE_PLAN_H

#include "Kernel.h"

namespace amp::codegen {

/// Lanes of a vector, and vectors that a reduction has accumulators for.
constexpr int64_t kLanes = 16;
constexpr int64_t kVectors = 4;

struct Stage {
  llvm::SmallVector<unsigned> space;
  /// Reductions, and what is stored or kept; in the order of the body.
  llvm::SmallVector<unsigned> roots;
};

/// A value along inner dimensions that later stages read from scratch memory.
struct Kept {
  unsigned stage;
  int64_t offset;
};

struct Plan {
  /// The dimension whose indices lanes have, if any.
  std::optional<unsigned> lanes;
  /// Vectors side by side when lanes are of an outer dimension.
  int64_t vectors = 1;
  llvm::SmallVector<Stage> stages;
  llvm::DenseMap<mlir::Value, Kept> kept;
  /// The stage in which a result's value is stored.
  llvm::DenseMap<mlir::Value, unsigned> storedIn;
  int64_t scratch = 0;

  // What the runtime is told.
  llvm::SmallVector<Axis> sizes;
  /// For each result the arguments in whose memory it may be made.
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>> aliases;
  int64_t grain = 1;
  std::optional<int64_t> bytes, operations; // per iteration
};

std::optional<Refusal> planKernel(Kernel &kernel, Plan &plan);

} // namespace amp::codegen

#endif // AMP_PASSES_CODEGEN_COMPILE_PLAN_H
