//===- TrainingInfo.h - TrainingInfoProto as one graph, and back -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A TrainingInfoProto has a graph, the algorithm, that names values of the main
// graph; ONNX says that both together are one graph. Passes work on that one:
// join() makes it, split() or flatten() ends it.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAININGINFO_H
#define AMP_PASSES_TRAININGINFO_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace amp {

/// True if a model has a TrainingInfoProto.
bool hasTrainingInfo(mlir::ModuleOp module);

/// The main graph of a module together with its algorithms, as @main. What
/// bindings assign to is an input with a default: it is no constant. Other
/// inputs and outputs are those of the main graph, then those of each algorithm
/// in turn. Algorithms see the main graph alike, as if none had updated it.
class JoinedTraining {
public:
  /// Joins the graphs of a module whose TrainingInfoProtos keep ONNX's rules;
  /// emits an error otherwise, and leaves the module as it was.
  static mlir::FailureOr<JoinedTraining> join(mlir::ModuleOp module);
  /// Joins a training step, with `amp.state`, and the model that it trains,
  /// whose initializers are the first values of the state. What both compute
  /// alike is computed there. The step's module becomes the result.
  static mlir::FailureOr<JoinedTraining> join(mlir::ModuleOp step,
                                              mlir::ModuleOp forward);

  /// Parts the graphs again. @main is what its outputs depend on, and the nodes
  /// that it had; algorithms are the rest.
  void split();

  /// Makes @main a step: one algorithm works on what the one before updated,
  /// and `amp.state` says which output is the next value of which input.
  /// Gradient nodes are expanded, as far as they can; fails with an error.
  mlir::LogicalResult flatten();

private:
  /// What is kept of a TrainingInfoProto. The function of an algorithm has no
  /// body meanwhile.
  struct Algorithm {
    mlir::OwningOpRef<mlir::func::FuncOp> initialization, function;
    llvm::SmallVector<unsigned> inputs; ///< arguments of @main
    unsigned firstOutput = 0, numOutputs = 0;
    /// Initializers, and the outputs that are assigned to them.
    llvm::SmallVector<std::pair<std::string, std::string>> updates;
  };
  /// An initializer that bindings assign to.
  struct State {
    std::string name;
    unsigned graph; ///< 0 is the main graph, 1 the first algorithm
    unsigned argument;
    /// It was an input with a default all along.
    bool wasInput;
  };
  class StepJoiner;

  explicit JoinedTraining(mlir::ModuleOp module) : module(module) {}

  mlir::Block &getBlock() { return main.getBody().front(); }
  void addAlgorithm(mlir::func::FuncOp function, Algorithm &algorithm,
                    llvm::StringSet<> &names,
                    llvm::StringMap<unsigned> &inputs);
  void addState(mlir::Value value, llvm::StringRef name, unsigned graph);
  mlir::DenseSet<mlir::Operation *> findMainGraph();
  void splitAlgorithm(unsigned index, class ReferenceNames &names);
  void endStates();
  void update(unsigned index, mlir::IRMapping &state,
              mlir::DenseSet<mlir::Operation *> &stale);

  mlir::ModuleOp module;
  mlir::func::FuncOp main;
  /// Of the main graph alone.
  unsigned numInputs = 0, numOutputs = 0;
  std::vector<Algorithm> algorithms;
  std::vector<State> states;
  llvm::StringSet<> nodeNames;
};

/// Turns a training step into a model with a TrainingInfoProto: its graph is
/// `forward`, the model that the step trains, at the same opset; its algorithm
/// makes what the step returns of batch and state, which are initializers of
/// either graph; its initialization resets what the optimizer keeps.
mlir::LogicalResult makeTrainingInfo(mlir::ModuleOp step,
                                     mlir::ModuleOp forward);

} // namespace amp

#endif // AMP_PASSES_TRAININGINFO_H
