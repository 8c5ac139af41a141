//===- ExplainOperator.cpp - onnx-amp policy explain ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExplainOperator.h"

#include "Commands.h"
#include "Messages.h"
#include "PolicyArgument.h"

#include "amp/Dialect/ONNX/Schema.h"
#include "amp/Policy/Policy.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace amp;
namespace json = llvm::json;

namespace {
/// Opsets at which the policy says the same of an operator.
struct OpsetRange {
  int64_t first, last;
  bool isOpen; ///< and all later ones
  /// The operator is gone from `first` on: there is nothing to say.
  bool deprecated;
  Decision decision;
  std::vector<ConditionalStatement> conditional;
};

/// Says of one operator what a policy does with it.
class OperatorReport {
public:
  OperatorReport(const Policy &policy, llvm::StringRef op) : policy(policy) {
    std::tie(domain, name) =
        op.contains(':') ? op.rsplit(':') : std::pair(llvm::StringRef(), op);
    if (domain == "ai.onnx")
      domain = "";
    findRanges();
  }

  std::string toText() const;
  json::Value toJSON() const;

private:
  void findRanges();
  const onnx::Schema *schemaOf(const OpsetRange &range) const {
    return onnx::lookupSchema(domain, name, range.first);
  }
  std::string spellOpsets(const OpsetRange &range) const;
  /// "operand 2 (B)", as far as the schema is known.
  std::string spellOperands(const OpsetRange &range,
                            llvm::ArrayRef<unsigned> positions) const;
  json::Array operandsToJSON(const OpsetRange &range,
                             llvm::ArrayRef<unsigned> positions) const;

  const Policy &policy;
  llvm::StringRef domain, name;
  std::vector<OpsetRange> ranges;
};
} // namespace

static bool sayTheSame(const OpsetRange &a, const OpsetRange &b) {
  auto key = [](const Decision &decision) {
    return std::tuple(decision.category, decision.noPull, decision.rule,
                      decision.outOfRange, decision.underflow);
  };
  auto sameStatement = [](const ConditionalStatement &one,
                          const ConditionalStatement &other) {
    return one.conditions == other.conditions && one.effect == other.effect &&
           one.rule == other.rule;
  };
  return a.deprecated == b.deprecated && key(a.decision) == key(b.decision) &&
         a.decision.pinnedOperands == b.decision.pinnedOperands &&
         a.decision.flushedOperands == b.decision.flushedOperands &&
         a.conditional.size() == b.conditional.size() &&
         std::equal(a.conditional.begin(), a.conditional.end(),
                    b.conditional.begin(), sameStatement);
}

void OperatorReport::findRanges() {
  bool known = onnx::isKnownDomain(domain);
  // Of a foreign domain the versions are not known; rules may name some.
  constexpr int64_t manyVersions = 64;
  int64_t last = known ? onnx::latestOpset(domain) : manyVersions;
  for (int64_t opset = 1; opset <= last; ++opset) {
    OpsetRange range{opset, opset, opset == last, false, {}, {}};
    if (known) {
      const onnx::Schema *schema = onnx::lookupSchema(domain, name, opset);
      if (!schema)
        continue;
      range.deprecated = schema->deprecated;
    }
    if (!range.deprecated) {
      OperationDescription description;
      description.domain = domain;
      description.name = name;
      description.version = opset;
      range.decision = policy.decide(description);
      range.conditional = policy.conditionalStatements(domain, name, opset);
    }
    if (!ranges.empty() && sayTheSame(ranges.back(), range)) {
      ranges.back().last = opset;
      ranges.back().isOpen = range.isOpen;
    } else {
      ranges.push_back(std::move(range));
    }
  }
}

std::string
OperatorReport::spellOperands(const OpsetRange &range,
                              llvm::ArrayRef<unsigned> positions) const {
  const onnx::Schema *schema = schemaOf(range);
  std::vector<std::string> operands;
  for (unsigned position : positions) {
    std::string operand = llvm::utostr(position);
    if (const onnx::Parameter *input =
            schema ? schema->inputAt(position) : nullptr)
      operand += " (" + input->name + ")";
    operands.push_back(std::move(operand));
  }
  return (operands.size() == 1 ? "operand " : "operands ") +
         llvm::join(operands, ", ");
}

/// " at opset 10", " at opsets 1 to 12", " from opset 13 on"; "" for all.
std::string OperatorReport::spellOpsets(const OpsetRange &range) const {
  if (range.isOpen)
    return ranges.size() == 1
               ? ""
               : llvm::formatv(" from opset {0} on", range.first).str();
  if (range.first == range.last)
    return llvm::formatv(" at opset {0}", range.first);
  return llvm::formatv(" at opsets {0} to {1}", range.first, range.last);
}

std::string OperatorReport::toText() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const OpsetRange &range : ranges) {
    stream << (domain.empty() ? "" : domain + ":") << name << spellOpsets(range)
           << ": ";
    if (range.deprecated) {
      stream << "deprecated\n";
      continue;
    }
    const Decision &decision = range.decision;
    stream << stringifyCategory(decision.category) << "\n  " << decision.rule
           << "\n";
    if (decision.noPull)
      stream << "  no_pull: never a reason to round what it reads\n";
    if (!decision.pinnedOperands.empty())
      stream << "  pin: " << spellOperands(range, decision.pinnedOperands)
             << "\n";
    if (!decision.flushedOperands.empty())
      stream << "  flush: " << spellOperands(range, decision.flushedOperands)
             << "\n";
    stream << "  constants: out_of_range "
           << stringifyOutOfRange(decision.outOfRange) << ", underflow "
           << stringifyUnderflow(decision.underflow) << "\n";
    for (const ConditionalStatement &statement : range.conditional)
      stream << "  if " << statement.conditions << ": " << statement.effect
             << "\n    " << statement.rule << "\n";
  }
  return text;
}

json::Array
OperatorReport::operandsToJSON(const OpsetRange &range,
                               llvm::ArrayRef<unsigned> positions) const {
  const onnx::Schema *schema = schemaOf(range);
  json::Array operands;
  for (unsigned position : positions) {
    json::Object operand{{"position", position}};
    if (const onnx::Parameter *input =
            schema ? schema->inputAt(position) : nullptr)
      operand["name"] = input->name;
    operands.push_back(std::move(operand));
  }
  return operands;
}

json::Value OperatorReport::toJSON() const {
  json::Array array;
  for (const OpsetRange &range : ranges) {
    json::Object object{{"first_opset", range.first}};
    if (!range.isOpen)
      object["last_opset"] = range.last;
    if (range.deprecated) {
      object["deprecated"] = true;
      array.push_back(std::move(object));
      continue;
    }
    const Decision &decision = range.decision;
    object["category"] = stringifyCategory(decision.category);
    object["rule"] = decision.rule;
    object["no_pull"] = decision.noPull;
    object["pin"] = operandsToJSON(range, decision.pinnedOperands);
    object["flush"] = operandsToJSON(range, decision.flushedOperands);
    object["out_of_range"] = stringifyOutOfRange(decision.outOfRange);
    object["underflow"] = stringifyUnderflow(decision.underflow);
    json::Array conditional;
    for (const ConditionalStatement &statement : range.conditional)
      conditional.push_back(json::Object{{"if", statement.conditions},
                                         {"says", statement.effect},
                                         {"rule", statement.rule}});
    object["conditional"] = std::move(conditional);
    array.push_back(std::move(object));
  }
  return json::Object{{"operator", name},
                      {"domain", domain},
                      {"policy", policy.name()},
                      {"opsets", std::move(array)}};
}

int amp::explainOperator(llvm::StringRef op,
                         const llvm::opt::InputArgList &arguments) {
  int code = ExitSuccess;
  std::optional<Policy> policy =
      loadPolicy(arguments.getLastArgValue(OPT_policy, kDefaultPolicy), code);
  if (!policy)
    return code;
  if (llvm::Error error = Policy::checkOperator(op))
    return wrongUsage(llvm::toString(std::move(error)));
  // Versions are what is told.
  OperatorReport report(*policy, op.split('@').first);
  std::string text = report.toText();
  if (arguments.hasArg(OPT_json))
    text = llvm::formatv("{0:2}\n", report.toJSON());
  return printOutput(text) ? ExitSuccess : ExitFailure;
}
