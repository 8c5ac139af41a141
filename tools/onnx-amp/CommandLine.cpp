//===- CommandLine.cpp - options, help and wrong usage --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"

#include "Messages.h"

#include "amp/Dialect/ONNX/Schema.h"
#include "amp/Support/NearestName.h"
#include "amp/Support/Quoted.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace amp;
using namespace llvm::opt;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {

#define OPTTABLE_STR_TABLE_CODE
#include "Options.inc"
#undef OPTTABLE_STR_TABLE_CODE

#define OPTTABLE_PREFIXES_TABLE_CODE
#include "Options.inc"
#undef OPTTABLE_PREFIXES_TABLE_CODE

constexpr OptTable::Info optionInfos[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include "Options.inc"
#undef OPTION
};

class DriverOptions : public GenericOptTable {
public:
  DriverOptions()
      : GenericOptTable(OptionStrTable, OptionPrefixesTable, optionInfos) {
    // For models whose names look like options.
    setDashDashParsing(true);
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

int amp::wrongUsage(const llvm::Twine &text) {
  printError(text);
  return ExitUsage;
}

/// "A, B or C".
static std::string listNames(llvm::ArrayRef<llvm::StringRef> names) {
  std::string text;
  for (auto [i, name] : llvm::enumerate(names)) {
    if (i > 0)
      text += i + 1 == names.size() ? " or " : ", ";
    text += name;
  }
  return text;
}

std::string amp::suggest(llvm::StringRef word,
                         llvm::ArrayRef<llvm::StringRef> names) {
  llvm::StringRef nearest = findNearestName(word, names);
  if (!nearest.empty())
    return ", did you mean " + quoted(nearest) + "?";
  return ", expected " + listNames(names);
}

std::optional<unsigned> amp::chooseValue(const InputArgList &arguments,
                                         OptionID option,
                                         llvm::ArrayRef<llvm::StringRef> values,
                                         unsigned missing) {
  const Arg *argument = arguments.getLastArg(option);
  if (!argument)
    return missing;
  llvm::StringRef value = argument->getValue();
  const auto *found = llvm::find(values, value);
  if (found != values.end())
    return found - values.begin();
  wrongUsage("unknown value " + quoted(value) + " of " +
             argument->getOption().getPrefixedName() + suggest(value, values));
  return std::nullopt;
}

std::optional<double> amp::readNumber(const InputArgList &arguments,
                                      OptionID option, double least,
                                      double missing) {
  const Arg *argument = arguments.getLastArg(option);
  if (!argument)
    return missing;
  llvm::StringRef text = argument->getValue();
  double number;
  if (!text.getAsDouble(number) && std::isfinite(number) && number >= least)
    return number;
  wrongUsage(argument->getOption().getPrefixedName() + " expects a number of " +
             llvm::formatv("{0:f0}", least).str() + " or more, but got " +
             quoted(text));
  return std::nullopt;
}

std::optional<unsigned> amp::readCount(const InputArgList &arguments,
                                       OptionID option, unsigned least,
                                       unsigned missing) {
  const Arg *argument = arguments.getLastArg(option);
  if (!argument)
    return missing;
  llvm::StringRef text = argument->getValue();
  unsigned number;
  if (!text.getAsInteger(10, number) && number >= least && number <= 1000000000)
    return number;
  wrongUsage(argument->getOption().getPrefixedName() +
             " expects a whole number of " + llvm::Twine(least) +
             " or more, but got " + quoted(text));
  return std::nullopt;
}

/// The error of a word that begins with a dash and is no option of `command`.
static int unknownOption(const OptTable &table, llvm::StringRef word,
                         const Command *command) {
  OptionVisibility options = command ? command->options : MainOption;
  std::string text = "unknown option " + quoted(word);
  if (command)
    text += " of " + command->name.str();
  std::string nearest;
  unsigned distance = table.findNearest(word, nearest, Visibility(options),
                                        /*MinimumLength=*/3);
  llvm::StringRef name = word.split('=').first.ltrim('-');
  if (!nearest.empty() && distance <= 1 + name.size() / 3)
    text += ", did you mean " +
            quoted(llvm::StringRef(nearest).split('=').first) + "?";
  else
    text += llvm::formatv(", see 'onnx-amp{0}{1} --help'", command ? " " : "",
                          command ? command->name : llvm::StringLiteral(""));
  return wrongUsage(text);
}

//===----------------------------------------------------------------------===//
// Help
//===----------------------------------------------------------------------===//

static int printHelp(const OptTable &table, const Command &command) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  std::string usage = llvm::formatv("onnx-amp {0} [options] {1}", command.name,
                                    command.operands);
  table.printHelp(stream, usage.c_str(), command.summary.str().c_str(),
                  /*ShowHidden=*/false, /*ShowAllAliases=*/false,
                  Visibility(command.options));
  return printOutput(text) ? ExitSuccess : ExitFailure;
}

static int printHelp(const OptTable &table, llvm::ArrayRef<Command> commands) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  table.printHelp(stream, "onnx-amp COMMAND [options] ...",
                  "automatic mixed precision for ONNX models",
                  /*ShowHidden=*/false, /*ShowAllAliases=*/false,
                  Visibility(MainOption));
  stream << "\nCOMMANDS:\n";
  for (const Command &command : commands)
    stream << llvm::formatv("  {0,-23} {1}\n", command.name, command.summary);
  stream << "\n'onnx-amp COMMAND --help' tells more.\n";
  return printOutput(text) ? ExitSuccess : ExitFailure;
}

static int printVersion() {
  return printOutput(
             llvm::formatv("onnx-amp {0}\n"
                           "MLIR {1}\n"
                           "ONNX opsets 1 to {2}, IR versions 1 to {3}\n",
                           AMP_VERSION, LLVM_VERSION_STRING,
                           onnx::latestOpset(""), onnx::latestIRVersion())
                 .str())
             ? ExitSuccess
             : ExitFailure;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Parses the arguments of a command, or those before it; none after an error.
static std::optional<InputArgList> parse(const OptTable &table,
                                         llvm::ArrayRef<const char *> arguments,
                                         const Command *command) {
  unsigned missingIndex, missingCount;
  InputArgList parsed =
      table.ParseArgs(arguments, missingIndex, missingCount,
                      Visibility(command ? command->options : MainOption));
  if (const Arg *unknown = parsed.getLastArg(OPT_UNKNOWN)) {
    for (const Arg *argument : parsed.filtered(OPT_UNKNOWN)) {
      unknown = argument; // the first one
      break;
    }
    unknownOption(table, unknown->getSpelling(), command);
    return std::nullopt;
  }
  if (missingCount > 0) {
    wrongUsage(llvm::Twine(arguments[missingIndex]) + " expects a value");
    return std::nullopt;
  }
  return parsed;
}

int amp::runCommandLine(llvm::ArrayRef<Command> commands,
                        llvm::ArrayRef<const char *> arguments) {
  DriverOptions table;
  llvm::SmallVector<llvm::StringRef> names;
  for (const Command &command : commands)
    names.push_back(command.name);

  if (arguments.empty())
    return wrongUsage("expected a command: " + listNames(names) +
                      "; see 'onnx-amp --help'");
  llvm::StringRef first = arguments.front();
  if (first == "help")
    return printHelp(table, commands);
  if (first.starts_with("-")) {
    std::optional<InputArgList> parsed =
        parse(table, arguments.take_front(1), /*command=*/nullptr);
    if (!parsed)
      return ExitUsage;
    if (parsed->hasArg(OPT_help))
      return printHelp(table, commands);
    if (parsed->hasArg(OPT_version))
      return printVersion();
    return wrongUsage("expected a command: " + listNames(names) + ", but got " +
                      quoted(first));
  }
  const auto *command = llvm::find_if(
      commands, [&](const Command &c) { return c.name == first; });
  if (command == commands.end())
    return wrongUsage("unknown command " + quoted(first) +
                      suggest(first, names));

  arguments = arguments.drop_front();
  std::optional<InputArgList> parsed = parse(table, arguments, command);
  if (!parsed)
    return ExitUsage;
  if (parsed->hasArg(OPT_help))
    return printHelp(table, *command);
  return command->run(*parsed);
}
