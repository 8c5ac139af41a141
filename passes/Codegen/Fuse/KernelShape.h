//===- KernelShape.h - what may be in one kernel ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place that says which loops amp-compile-kernels makes one kernel of,
// and when that is worth it. A kernel is one of
//
//   elementwise   all loops are shared by all results
//   rows          results share outer loops; within one of their iterations
//                 there are loops along rows, reductions among them
//   columns       reductions of outer loops, with what they read elementwise;
//                 all results are reduced
//
// What threads share are the loops that all results and all reductions have and
// nothing reduces.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_CODEGEN_FUSE_KERNELSHAPE_H
#define AMP_PASSES_CODEGEN_FUSE_KERNELSHAPE_H

#include "Sizes.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace amp::codegen {

/// Iterations that threads and lanes can share well, and work that needs no
/// sharing.
constexpr int64_t kEnoughIterations = 64;
constexpr int64_t kLittleWork = 1 << 15;

struct KernelShape {
  /// Iterations that are independent of each other, and of all loops together;
  /// guessed where sizes are not known.
  int64_t iterations = 1, work = 0;
};

/// The shape of a kernel of these operations, in the order of the block; none
/// if they make none. `isStored` says which of their results are the kernel's.
std::optional<KernelShape>
getKernelShape(llvm::ArrayRef<mlir::linalg::GenericOp> members,
               const Sizes &sizes,
               llvm::function_ref<bool(mlir::Value)> isStored);

/// True if a kernel of this shape is as good as two of the others.
bool isWorthJoining(const KernelShape &whole, const KernelShape &a,
                    const KernelShape &b);

/// What an iteration of an operation costs, in additions.
int64_t getBodyCost(mlir::linalg::GenericOp op);

/// True if an operation can be in a kernel at all.
bool isFusible(mlir::Operation *op);

} // namespace amp::codegen

#endif // AMP_PASSES_CODEGEN_FUSE_KERNELSHAPE_H
