//===- CommandLine.h - options, help and wrong usage ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The options are in Options.td, which LLVM's option library reads: unlike
// llvm::cl it knows no options but ours, and leaves errors to us.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_COMMANDLINE_H
#define AMP_TOOLS_ONNX_AMP_COMMANDLINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/Option.h"

#include <optional>
#include <string>

namespace amp {

/// Which command an option belongs to: bits, named in Options.td.
enum OptionVisibility : unsigned {
  MainOption = 1 << 1,
  ConvertOption = 1 << 2,
  InspectOption = 1 << 3,
  PolicyOption = 1 << 4,
  DiffOption = 1 << 5,
  AdviseOption = 1 << 6,
  DifferentiateOption = 1 << 7,
  TrainGraphOption = 1 << 8,
  CompileOption = 1 << 9,
  RunOption = 1 << 10,
  BakeOption = 1 << 11,
};

enum OptionID : unsigned {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include "Options.inc"
#undef OPTION
};

/// What the process ends with.
enum ExitCode : int {
  ExitSuccess = 0,
  ExitFailure = 1, ///< one line was printed, no output is left
  ExitUsage = 2,   ///< the command line is wrong; nothing was looked at
};

/// A subcommand.
struct Command {
  llvm::StringLiteral name;
  /// What stands behind the options, for the line of usage.
  llvm::StringLiteral operands;
  /// One line.
  llvm::StringLiteral summary;
  OptionVisibility options;
  /// Does the work and returns the exit code.
  int (*run)(const llvm::opt::InputArgList &arguments);
};

/// Runs what the arguments, without the program's name, ask for; returns the
/// exit code.
int runCommandLine(llvm::ArrayRef<Command> commands,
                   llvm::ArrayRef<const char *> arguments);

/// Prints the error of a wrong command line, one line, and returns ExitUsage.
int wrongUsage(const llvm::Twine &text);

/// ", did you mean 'NAME'?" with the most similar of `names`, or ", expected A,
/// B or C" if none is.
std::string suggest(llvm::StringRef word,
                    llvm::ArrayRef<llvm::StringRef> names);

/// The position in `values` of the last value of an option; `missing` if it was
/// not given. None, after an error, if it is none of them.
std::optional<unsigned> chooseValue(const llvm::opt::InputArgList &arguments,
                                    OptionID option,
                                    llvm::ArrayRef<llvm::StringRef> values,
                                    unsigned missing);

/// The last value of an option as a number of `least` or more; `missing` if it
/// was not given. None after an error.
std::optional<double> readNumber(const llvm::opt::InputArgList &arguments,
                                 OptionID option, double least, double missing);
/// The same for whole numbers.
std::optional<unsigned> readCount(const llvm::opt::InputArgList &arguments,
                                  OptionID option, unsigned least,
                                  unsigned missing);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_COMMANDLINE_H
