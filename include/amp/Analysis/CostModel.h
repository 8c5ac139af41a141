//===- CostModel.h - how many bytes a program moves -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What placements are compared by. A program moves
//
//   sum over operations  runs * elements * (2 if low, else 4)
//     + sum over casts   runs * elements * 6 (4 between two low formats)
//
// bytes, where the elements of an operation are those that it reads and writes
// and that may be low, and a cast reads one format and writes the other.
// Constants are converted at compile time: no cast of one costs anything, and
// none to the type that its operand has.
//
// countMovedBytes() counts this for a program as it is, whoever chose its
// formats: an element counts as many bytes as its float type has.
//
// Sizes that the program does not say are those of CostOptions. Any fixed value
// does, as long as equal sizes get equal values.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_ANALYSIS_COSTMODEL_H
#define AMP_ANALYSIS_COSTMODEL_H

#include "amp/Analysis/FunctionFlow.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace amp {

class AutocastOpInterface;

/// What unknown sizes are taken for.
struct CostOptions {
  /// Dynamic dimensions by name (DimensionNamesInterface).
  llvm::StringMap<int64_t> dimensions;
  /// All others.
  int64_t dimension = 8;
  /// The elements of a value without known rank.
  int64_t elements = 4096;
  /// How often a loop runs its body, unless the operation says it, or the
  /// sizes of what it takes and gives slice by slice.
  int64_t iterations = 8;

  /// Adds "NAME=SIZE" to the dimensions. Fails, with one line, if it is not
  /// that.
  llvm::Error addDimension(llvm::StringRef text);

  /// What the size of a dimension is taken for; its own if it is known.
  int64_t getSize(mlir::RankedTensorType type, unsigned dimension) const;
};

/// Costs in bytes, of one module. Numbers are estimates and saturate.
class CostModel {
public:
  CostModel(const FunctionFlow &functions, CostOptions options);

  /// What an operation in `block` moves less if values of this type are low.
  int64_t getSaving(mlir::Type type, mlir::Block *block);

  /// As far as known; one at least.
  int64_t getElements(mlir::Type type);

  /// What an operation in `block` moves by reading or writing a value of this
  /// type as it is; 0 for what holds no floats.
  int64_t getMoved(mlir::Type type, mlir::Block *block);

  /// A cast of the value, which stands where the value is defined. What is no
  /// tensor can hardly be cast: the cost is out of all proportion.
  int64_t getCastCost(mlir::Value value);

private:
  int64_t countElements(mlir::Type type) const;
  int64_t getRuns(mlir::Region *region);
  int64_t getIterations(mlir::Region &region) const;
  int64_t countSlices(AutocastOpInterface op) const;
  void countCalls(const FunctionFlow &functions);

  CostOptions options;
  llvm::DenseMap<mlir::Type, int64_t> elements;
  /// How often the code in a region runs for each run of the program.
  llvm::DenseMap<mlir::Region *, int64_t> runs;
};

/// What a program moves in each run.
struct MovedBytes {
  int64_t operations = 0;
  int64_t casts = 0;

  int64_t total() const { return operations + casts; }
};

/// How an operation with AutocastOpInterface moves its operands.
enum class Movement {
  Computes, ///< reads and writes
  Casts,    ///< does nothing but convert floats
  None,     ///< asks for their shapes alone
};

/// `amp.cast` is known, `classify` says it of all others.
MovedBytes
countMovedBytes(mlir::ModuleOp module, CostOptions options,
                llvm::function_ref<Movement(mlir::Operation *)> classify);

} // namespace amp

#endif // AMP_ANALYSIS_COSTMODEL_H
