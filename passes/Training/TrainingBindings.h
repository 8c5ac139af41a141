//===- TrainingBindings.h - what TrainingInfoProtos assign ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_TRAININGBINDINGS_H
#define AMP_PASSES_TRAINING_TRAININGBINDINGS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace amp {

/// An initializer, and the output that is assigned to it.
struct Binding {
  std::string key, value;
};

/// A TrainingInfoProto. Either graph may be null.
struct TrainingInfo {
  mlir::func::FuncOp initialization, algorithm;
  llvm::SmallVector<Binding> initializationBindings, updateBindings;
};

std::vector<TrainingInfo> readTrainingInfos(mlir::ModuleOp module);

/// Sees that TrainingInfoProtos keep the rules that onnx.proto states; emits
/// one error if not.
mlir::LogicalResult verifyTrainingInfos(mlir::func::FuncOp main,
                                        llvm::ArrayRef<TrainingInfo> infos);

/// Replaces the module's list of bindings; an empty one goes.
void writeBindings(mlir::ModuleOp module, llvm::ArrayRef<TrainingInfo> infos);

/// The value, which may be null, if it is an initializer or an input with a
/// default; null otherwise.
mlir::Value asInitializer(mlir::Value value);

/// The names of a graph's inputs or outputs, "input" or "output".
llvm::SmallVector<std::string> getEntryNames(mlir::func::FuncOp graph,
                                             llvm::StringRef key);

} // namespace amp

#endif // AMP_PASSES_TRAINING_TRAININGBINDINGS_H
