//===- PrecisionAnalysis.h - what runs in which format ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Eager placement is a forward data-flow analysis over the lattice of float
// formats (see FloatFormat.h). It gives each operation the format that
// PyTorch's dispatcher would give it, operation by operation. Optimal placement
// chooses what the policy leaves free for all operations at once: no other
// choice that obeys the policy moves less bytes (CostModel.h). The format of a
// type variable is
//
//   category   eager                        optimal
//   allow      the low format               the low format
//   deny       float32                      float32
//   promote    the join of its operands'    low only if its operands are
//   follow     the same                     free
//   clear      the same; on constants       free; on constants alone, low only
//              alone, what its users ask    if its users are
//   keep       as it was                    as it was
//
// The low format is the program's, or what a rule of the policy says of the
// operation: an operation is low in its own low format or not at all, and data
// in another low format counts as float32. tf32 is a format to multiply in,
// stored as float32: where it is the low format, no type changes.
//
// An operation that is never a reason to round (`no_pull`) is low only if its
// operands are, in either, and its bytes do not count. Where no operation is
// low by policy, those around it that are free stay float32, unless
// `keepIslands` is false.
//
// Only float32 moves. float64 is never touched, and what is in 16 bits already
// stays there. Constants adopt the format of each user and do not count in a
// join; a variable that has nothing else is float32. A variable stays float32
// if its operator does not admit the low format, if the policy pins one of its
// operands, if a constant among its operands does not fit, if one of its values
// was measured to be too large, or is by bounds or statistics that the program
// has, or if by these its errors would count for too much (docs/numerics.md).
//
// A forward operation and what its gradient is made of (`amp.pair`) run in one
// format: that of the forward operation, by its category and its inputs;
// float32 where the policy denies one of them, or something else keeps it
// there.
//
// What meets in a region operation (branches, initial and carried values) or in
// a function (its callers) is joined, to a fixpoint. Code that never runs has
// to type-check as well, so every branch counts as taken. A constant adopts the
// low format if everything else that meets there is low even where the constant
// is float32. In optimal placement only what a loop carries around and back,
// past no operation of a fixed format, is joined, constants included: a sum
// stays as precise as it begins. All else that meets is free. Whether callers
// meet in a function at all is not for the analysis to say:
// amp-annotate-precision gives calls copies of it.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_ANALYSIS_PRECISIONANALYSIS_H
#define AMP_ANALYSIS_PRECISIONANALYSIS_H

#include "amp/Analysis/CostModel.h"
#include "amp/Analysis/FunctionFlow.h"
#include "amp/Analysis/Placement.h"
#include "amp/Policy/FloatRounding.h"
#include "amp/Policy/Policy.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace amp {

struct PrecisionOptions {
  /// The low format: fp16, bf16 or tf32. Rules of the policy may ask for
  /// another one.
  FloatFormat low = FloatFormat::fp16();
  /// Arguments and results of functions that others may call keep their types;
  /// otherwise those of float32 become low. By default what the policy says.
  std::optional<bool> keepIOTypes;
  Placement placement = Placement::Eager;
  /// For optimal placement.
  CostOptions costs;
  /// The same: operations that are free stay float32 where no operation near
  /// them is low by policy.
  bool keepIslands = true;
  /// A value stays float32 if its measured range (amp.ranges), times this, is
  /// beyond the low format's. The data that it was measured on is a sample: the
  /// default leaves one binary exponent for what was not seen.
  double rangeMargin = 2;
  /// What statistics that are constants of the program say of ranges and errors
  /// is a reason for float32.
  bool useEstimates = true;
};

/// The operations that the policy allows to be low, and that are float32 only
/// because their operators do not admit their low format, with that. Fails,
/// with a diagnostic, if the policy bans an operation.
llvm::FailureOr<
    llvm::SmallVector<std::pair<mlir::Operation *, mlir::FloatType>>>
findUnsupported(mlir::ModuleOp module, const Policy &policy,
                const PrecisionOptions &options);

/// What was decided for one operation, and why.
struct PrecisionDecision {
  mlir::Operation *operation;
  Category category;
  /// Some type variable is float32, and not kept by the policy.
  bool moves;
  /// Per type variable the element type that it takes; null if it keeps its
  /// own.
  llvm::SmallVector<mlir::FloatType, 2> elementTypes;
  /// It multiplies in tf32, although what it reads and writes is float32.
  bool computesTF32 = false;
  /// It moves data only, and nothing holds it in the format that it has.
  bool isTransparent = false;
  /// One line, for people.
  mlir::StringAttr reason;
  /// What the policy says, where the reason does not begin with it; else null.
  mlir::StringAttr rule;
};

/// The decisions for a module. A snapshot: it refers to the module's operations
/// and values as they were when it was computed.
class PrecisionAnalysis {
public:
  /// Analyses a module. Fails, with a diagnostic at the operation, if the
  /// policy bans one. Takes time linear in operations, operands and the bytes
  /// of constants, each of which is read once, by several threads. `originals`
  /// tells which functions are copies for single calls.
  static llvm::FailureOr<PrecisionAnalysis>
  compute(mlir::ModuleOp module, const Policy &policy,
          const PrecisionOptions &options,
          const FunctionFlow::Originals &originals = FunctionFlow::Originals());

  /// One for each operation with AutocastOpInterface and float operands or
  /// results, in program order; constants and operations with control flow
  /// have none.
  llvm::ArrayRef<PrecisionDecision> getDecisions() const { return decisions; }

  /// The element type that a block argument or the result of a region operation
  /// takes; null if it keeps its own.
  mlir::FloatType getNewElementType(mlir::Value value) const {
    return valueTypes.lookup(value);
  }

  /// The same for the result of a function.
  mlir::FloatType getNewResultElementType(mlir::FunctionOpInterface function,
                                          unsigned result) const {
    return resultTypes.lookup({function, result});
  }

  /// Constants with finite values beyond the low format's range that some
  /// operation takes in it all the same, and what becomes of those values.
  const llvm::MapVector<mlir::Operation *, Overflow> &getOverflows() const {
    return overflows;
  }

private:
  friend class PrecisionPlanner;
  llvm::SmallVector<PrecisionDecision, 0> decisions;
  llvm::DenseMap<mlir::Value, mlir::FloatType> valueTypes;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, mlir::FloatType>
      resultTypes;
  llvm::MapVector<mlir::Operation *, Overflow> overflows;
};

} // namespace amp

#endif // AMP_ANALYSIS_PRECISIONANALYSIS_H
