//===- TrainingCommand.h - commands that make training graphs ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `differentiate` and `train-graph` have in common: a model is read,
// passes change it, and what comes out is written and summed up.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_TRAININGCOMMAND_H
#define AMP_TOOLS_ONNX_AMP_TRAININGCOMMAND_H

#include "CommandLine.h"

#include "amp/Target/ONNX.h"

namespace amp {

/// The files of a command, and how they are read and written.
struct ModelArguments {
  std::string input, output;
  ExternalData externalData = ExternalData::Auto;
  bool allowLinks = false, durable = false, quiet = false;
};

/// Fills `files`; returns the exit code, after an error if it is not 0. The
/// model is one "to train", and what goes to the output is "the training step".
int readModelArguments(const llvm::opt::InputArgList &arguments,
                       llvm::StringRef purpose, llvm::StringRef result,
                       ModelArguments &files);

/// Reads `--dim`, which goes with `--recompute`; returns the exit code.
int readDimensions(const llvm::opt::InputArgList &arguments,
                   std::vector<std::string> &sizes);

/// What a summary says of a model.
struct ModelFigures {
  explicit ModelFigures(mlir::ModuleOp module);

  uint64_t nodes = 0;
  /// Inputs with a default.
  uint64_t defaults = 0;
  std::optional<int64_t> opset;
};

/// "12 nodes are 30 now, opset 17 is 18 now".
std::string describeChange(const ModelFigures &before,
                           const ModelFigures &after);

/// What a command has done.
struct ModelChange {
  ModelFigures before, after;
  /// What passes said of it; may be empty.
  std::vector<std::string> remarks;
};

/// Another model that a command makes, and where it goes.
struct SecondModel {
  mlir::ModuleOp module;
  std::string output;
};

/// Reads the model, lets `change` change it and, if it likes, make a second
/// one, and writes what comes out: all of it or nothing. Prints what
/// `summarize` says of the first, with a newline at the end. Returns the exit
/// code.
int changeModel(
    const ModelArguments &files,
    llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp, SecondModel &)>
        change,
    llvm::function_ref<std::string(const ModelChange &)> summarize);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_TRAININGCOMMAND_H
