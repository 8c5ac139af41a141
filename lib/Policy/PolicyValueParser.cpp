//===- PolicyValueParser.cpp - the values in a policy file ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PolicyFileParser.h"

using namespace amp;
using namespace amp::detail;

using Kind = PolicyValue::Kind;

llvm::Expected<OperatorSpelling>
FileParser::parseOperator(const PolicyValue &value) {
  if (llvm::Error failure = expect(value, Kind::Scalar, "an operator"))
    return std::move(failure);
  auto spelling = parseOperatorSpelling(value.text);
  if (!spelling)
    return error(value, llvm::toString(spelling.takeError()));
  if (llvm::Error failure = checkOperatorIsKnown(spelling->key))
    return error(value, llvm::toString(std::move(failure)));
  return spelling;
}

/// One regular expression, or a list of them.
llvm::Error FileParser::parseExpressions(const PolicyValue &value,
                                         llvm::StringRef what,
                                         Expressions &expressions) {
  std::string expected = ("a regular expression on " + what).str();
  llvm::Error failure =
      forEach(value, expected, [&](const PolicyValue &item) -> llvm::Error {
        if (llvm::Error failure =
                expect(item, Kind::Scalar, "a regular expression"))
          return failure;
        auto regex = compileNodeExpression(item.text);
        if (!regex)
          return error(item, llvm::toString(regex.takeError()));
        expressions.push_back(std::move(*regex));
        return llvm::Error::success();
      });
  if (!failure && expressions.empty())
    return error(value, "expected at least one regular expression");
  return failure;
}

llvm::Expected<bool> FileParser::parseSwitch(const PolicyValue &value) {
  static constexpr std::pair<llvm::StringLiteral, bool> choices[] = {
      {"true", true}, {"false", false}};
  return parseChoice(value, choices);
}

llvm::Expected<FloatFormat>
FileParser::parseLowFormat(const PolicyValue &value) {
  static constexpr std::pair<llvm::StringLiteral, FloatFormat> choices[] = {
      {"fp16", FloatFormat::fp16()},
      {"bf16", FloatFormat::bf16()},
      {"tf32", FloatFormat::tf32()}};
  return parseChoice(value, choices);
}

llvm::Expected<NumberRange> FileParser::parseNumbers(const PolicyValue &value,
                                                     llvm::StringRef what) {
  std::optional<NumberRange> range = parseNumberRange(value.text);
  if (range)
    return *range;
  return error(value, "expected " + what + " as 'N', 'N+' or 'N-M', got " +
                          value.describe());
}

llvm::Error FileParser::forEachOperand(
    const PolicyValue &value, llvm::StringRef what,
    llvm::function_ref<llvm::Error(unsigned, const PolicyValue &)> read) {
  std::string expected = ("a mapping from operand positions to " + what).str();
  if (llvm::Error failure = expect(value, Kind::Mapping, expected))
    return failure;
  for (const auto &[key, item] : value.entries) {
    auto position = parsePosition(key);
    if (!position)
      return position.takeError();
    if (llvm::Error failure = read(*position, item))
      return failure;
  }
  return llvm::Error::success();
}

llvm::Expected<unsigned> FileParser::parsePosition(const PolicyValue &value) {
  constexpr unsigned largest = 65535;
  unsigned position = 0;
  if (value.kind == Kind::Scalar &&
      !llvm::StringRef(value.text).getAsInteger(10, position) &&
      position <= largest)
    return position;
  return error(value, "expected an operand's position, counted from 0, got " +
                          value.describe());
}

llvm::Expected<llvm::SmallVector<unsigned, 4>>
FileParser::parsePositions(const PolicyValue &value) {
  llvm::SmallVector<unsigned, 4> positions;
  llvm::Error failure = forEach(value, "a list of operand positions",
                                [&](const PolicyValue &item) -> llvm::Error {
                                  auto position = parsePosition(item);
                                  if (!position)
                                    return position.takeError();
                                  positions.push_back(*position);
                                  return llvm::Error::success();
                                });
  if (failure)
    return std::move(failure);
  llvm::sort(positions);
  positions.erase(llvm::unique(positions), positions.end());
  return positions;
}

llvm::Expected<OutOfRange>
FileParser::parseOutOfRangeValue(const PolicyValue &value) {
  return parseChoice(value, outOfRangeNames);
}

llvm::Expected<Underflow>
FileParser::parseUnderflowValue(const PolicyValue &value) {
  return parseChoice(value, underflowNames);
}
