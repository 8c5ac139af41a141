//===- ReferenceNames.h - names that other graphs know values by *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_REFERENCENAMES_H
#define AMP_PASSES_TRAINING_REFERENCENAMES_H

#include "GraphSlice.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

namespace amp {

/// The names that values of a part of a graph have once it is exported: those
/// of outputs first, then recorded ones as far as they are of one value.
class ReferenceNames {
public:
  /// The part ends in the first `numOutputs` outputs.
  ReferenceNames(mlir::func::FuncOp graph, const GraphSlice &part,
                 unsigned numOutputs);

  const GraphSlice &getPart() const { return part; }
  /// A name of the part's own; nothing else may have it.
  bool isTaken(llvm::StringRef name) const {
    return interface.contains(name) || recordedCounts.contains(name);
  }
  /// The name of a value of the part. Those without one get one.
  std::string get(mlir::Value value);

private:
  std::string makeName(mlir::OpResult value, llvm::StringRef recorded);

  mlir::func::FuncOp graph;
  const GraphSlice &part;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::StringMap<unsigned> recordedCounts; ///< in the part
  llvm::StringSet<> interface, taken;
};

} // namespace amp

#endif // AMP_PASSES_TRAINING_REFERENCENAMES_H
