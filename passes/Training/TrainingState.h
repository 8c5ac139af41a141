//===- TrainingState.h - what a training step carries -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step is functional: state goes in as inputs of the main graph, which have
// their initial values as defaults, and comes out as outputs. The model says in
// its metadata which output is the next value of which input:
//
//   amp.state = [{"input":"w","output":"w_next"},…]
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_TRAININGSTATE_H
#define AMP_PASSES_TRAINING_TRAININGSTATE_H

#include "amp/Dialect/ONNX/GraphNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/Support/JSON.h"

namespace amp {

/// The main graph of a model. Null, after an error, if there is none: none "to
/// train", as `purpose` says.
mlir::func::FuncOp findMainGraph(mlir::ModuleOp module,
                                 llvm::StringRef purpose = "train");

/// Adds inputs and outputs to a graph, behind those that it has. The graph's
/// type and names follow when it goes out of scope: at once for all, since each
/// time costs as much as there are.
class InterfaceUpdate {
public:
  explicit InterfaceUpdate(mlir::func::FuncOp graph) : graph(graph) {}
  ~InterfaceUpdate();
  InterfaceUpdate(const InterfaceUpdate &) = delete;
  InterfaceUpdate &operator=(const InterfaceUpdate &) = delete;

  /// Returns the argument.
  mlir::BlockArgument addInput(llvm::StringRef name, mlir::Type type);
  /// The same, with a default value, of which a TensorAttr says how it is
  /// stored.
  mlir::BlockArgument addInput(llvm::StringRef name, mlir::TypedAttr initial);
  void addOutput(llvm::StringRef name, mlir::Value value);

private:
  mlir::func::FuncOp graph;
  llvm::SmallVector<mlir::Attribute> inputs, outputs;
  llvm::SmallVector<mlir::Value> returned;
};

// The same for one.
mlir::BlockArgument addInput(mlir::func::FuncOp graph, llvm::StringRef name,
                             mlir::Type type);
mlir::BlockArgument addInput(mlir::func::FuncOp graph, llvm::StringRef name,
                             mlir::TypedAttr initial);
void addOutput(mlir::func::FuncOp graph, llvm::StringRef name,
               mlir::Value value);

using onnx::getInputName;
using onnx::getOutputName;
using onnx::nameOfInput;

/// Removes the outputs of a graph that are this value.
void removeOutputs(mlir::func::FuncOp graph, mlir::Value value);

/// Erases outputs of a graph.
void eraseOutputs(mlir::func::FuncOp graph, const llvm::BitVector &erased);

/// Erases inputs of a graph that nothing reads, and their defaults.
void eraseInputs(mlir::func::FuncOp graph, const llvm::BitVector &erased);

/// Brings a function's type in line with its block.
void updateType(mlir::func::FuncOp graph);

/// An input, and the output that is its next value.
using StatePair = std::pair<std::string, std::string>;

/// The pairs of the module's metadata.
llvm::SmallVector<StatePair> getStatePairs(mlir::ModuleOp module);
/// Adds pairs to those of the module's metadata.
void addStatePairs(mlir::ModuleOp module, llvm::ArrayRef<StatePair> pairs);
/// Takes them out of the metadata.
void clearStatePairs(mlir::ModuleOp module);
/// Makes these the pairs of the module's metadata.
void setStatePairs(mlir::ModuleOp module, llvm::ArrayRef<StatePair> pairs);

/// Sets an entry of the module's metadata.
void setMetadata(mlir::ModuleOp module, llvm::StringRef key,
                 llvm::json::Value value);

/// True for losses that amp-build-loss builds, false for names of values.
inline bool isBuiltLoss(llvm::StringRef loss) {
  return loss == "cross-entropy" || loss == "mse";
}
/// The name of the sum of several losses, and of what it builds; how the names
/// of its nodes begin, and a regular expression for them: they compute in
/// float32 under every policy.
inline constexpr llvm::StringLiteral kTotalLossName = "total_loss";
inline constexpr llvm::StringLiteral kLossName = "loss";
inline constexpr llvm::StringLiteral kLossNodePrefix = "amp.loss/";
inline constexpr llvm::StringLiteral kLossNodes = "amp\\.loss/.*";

/// The name of the loss scale.
inline constexpr llvm::StringLiteral kLossScaleName = "amp.scale";

/// Behind the name of a value, that of the output which is its gradient.
inline constexpr llvm::StringLiteral kGradientSuffix = "_grad";
inline std::string getGradientName(llvm::StringRef name) {
  return (name + kGradientSuffix).str();
}

/// An input `X` with an output `X_grad`.
struct TrainedInput {
  std::string name;
  mlir::BlockArgument value;
  unsigned gradient; ///< the number of the output
};

/// The inputs whose gradients are outputs, in the order of these. Fails with an
/// error if there are none, or if the shape of one is not known.
llvm::FailureOr<llvm::SmallVector<TrainedInput>>
findTrainedInputs(mlir::func::FuncOp graph);

/// The name of the sum of a parameter's gradients over micro-batches.
inline std::string getAccumulatorName(llvm::StringRef parameter) {
  return (parameter + ".accumulated").str();
}

/// The name of the next value of a state.
inline std::string nextName(llvm::StringRef name) {
  return name.str() + "_next";
}

} // namespace amp

#endif // AMP_PASSES_TRAINING_TRAININGSTATE_H
