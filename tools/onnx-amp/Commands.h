//===- Commands.h - the subcommands of onnx-amp -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_COMMANDS_H
#define AMP_TOOLS_ONNX_AMP_COMMANDS_H

#include "CommandLine.h"

namespace amp {

/// Without --policy.
inline constexpr llvm::StringLiteral kDefaultPolicy = "inference";

/// Each in the file of its name. They return an exit code.
int runConvert(const llvm::opt::InputArgList &arguments);
int runInspect(const llvm::opt::InputArgList &arguments);
int runPolicy(const llvm::opt::InputArgList &arguments);
int runDiff(const llvm::opt::InputArgList &arguments);
int runAdvise(const llvm::opt::InputArgList &arguments);
int runDifferentiate(const llvm::opt::InputArgList &arguments);
int runTrainGraph(const llvm::opt::InputArgList &arguments);
int runCompile(const llvm::opt::InputArgList &arguments);
int runRun(const llvm::opt::InputArgList &arguments);
int runBake(const llvm::opt::InputArgList &arguments);

/// In the order of the help text.
inline llvm::ArrayRef<Command> getCommands() {
  static constexpr Command commands[] = {
      {"convert", "IN -o OUT", "convert an ONNX model to mixed precision",
       ConvertOption, runConvert},
      {"inspect", "MODEL", "say what is in a model: types, operators, weights",
       InspectOption, runInspect},
      {"policy", "list | show NAME|FILE | explain OP | check FILE",
       "list policies, show what one says, explain it, check a file",
       PolicyOption, runPolicy},
      {"diff", "A B --data DATA", "run two models, say where they differ",
       DiffOption, runDiff},
      {"advise", "MODEL --data DATA",
       "say which format a model can run in, with evidence", AdviseOption,
       runAdvise},
      {"differentiate", "IN -o OUT --loss NAME --wrt NAMES",
       "add the gradients of a loss to a model", DifferentiateOption,
       runDifferentiate},
      {"train-graph", "IN -o OUT --loss cross-entropy|mse|NAME",
       "turn a forward model into a training step", TrainGraphOption,
       runTrainGraph},
      {"compile", "IN -o OUT.ampx", "compile a model for amp-run",
       CompileOption, runCompile},
      {"run", "MODEL [--inputs IN.npz] [--outputs OUT.npz] [-- OPTIONS]",
       "compile a model and run it; OPTIONS are those of amp-run", RunOption,
       runRun},
      {"bake", "MODEL --checkpoint FILE -o OUT",
       "put trained weights into a model", BakeOption, runBake},
  };
  return commands;
}

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_COMMANDS_H
