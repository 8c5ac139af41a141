//===- Policy.cpp - which operations run in which format ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "amp/Policy/Policy.h"

#include "PolicyTable.h"
#include "amp/Support/NearestName.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace amp;
using namespace amp::detail;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

// In the order of the enumeration.
static constexpr llvm::StringRef names[] = {
    "allow", "deny", "promote", "follow", "clear", "keep", "ban"};
static_assert(std::size(names) == static_cast<size_t>(Category::Ban) + 1);

llvm::ArrayRef<llvm::StringRef> detail::categoryNames() { return names; }

llvm::StringRef amp::stringifyCategory(Category category) {
  return names[static_cast<size_t>(category)];
}

std::optional<Category> amp::parseCategory(llvm::StringRef name) {
  for (size_t i = 0; i < std::size(names); ++i)
    if (names[i] == name)
      return static_cast<Category>(i);
  return std::nullopt;
}

template <typename Enum, size_t n>
static llvm::StringRef
nameOf(Enum value, const std::pair<llvm::StringLiteral, Enum> (&names)[n]) {
  return llvm::find_if(names,
                       [&](const auto &name) { return name.second == value; })
      ->first;
}

llvm::StringRef amp::stringifyOutOfRange(OutOfRange outOfRange) {
  return nameOf(outOfRange, outOfRangeNames);
}

llvm::StringRef amp::stringifyUnderflow(Underflow underflow) {
  return nameOf(underflow, underflowNames);
}

llvm::Error detail::makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

std::string detail::nearestName(llvm::StringRef got,
                                llvm::ArrayRef<llvm::StringRef> names) {
  llvm::StringRef nearest = findNearestName(got, names);
  if (nearest.empty())
    return "";
  return ", did you mean " + quoted(nearest) + "?";
}

std::string detail::nearestNameOrAll(llvm::StringRef got,
                                     llvm::ArrayRef<llvm::StringRef> names) {
  std::string nearest = nearestName(got, names);
  if (!nearest.empty())
    return nearest;
  return ", expected one of " + llvm::join(names, ", ");
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

llvm::Expected<OperatorSpelling>
detail::parseOperatorSpelling(llvm::StringRef text) {
  OperatorSpelling result;
  auto [name, versions] = text.split('@');
  auto [domain, bareName] = name.contains(':')
                                ? name.rsplit(':')
                                : std::pair(llvm::StringRef(), name);
  auto isWord = [](llvm::StringRef word) {
    return llvm::all_of(word, [](char c) {
      return llvm::isAlnum(c) || c == '_' || c == '.' || c == '-';
    });
  };
  if (bareName.empty() || !isWord(bareName) || !isWord(domain) ||
      (name.contains(':') && domain.empty()))
    return makeError("expected an operator as 'Op' or 'domain:Op', got " +
                     quoted(text));
  llvm::SmallString<64> storage;
  result.key = operatorKey(domain, bareName, storage).str();
  if (!text.contains('@'))
    return result;

  std::optional<NumberRange> range = parseNumberRange(versions);
  if (!range)
    return makeError("expected versions as 'Op@N', 'Op@N+' or 'Op@N-M', got " +
                     quoted(text));
  result.versions = *range;
  return result;
}

std::optional<NumberRange> detail::parseNumberRange(llvm::StringRef text) {
  NumberRange range;
  if (!llvm::isDigit(text.empty() ? 0 : text.front()) ||
      text.consumeInteger(10, range.first))
    return std::nullopt;
  if (text == "+")
    return range;
  if (text.empty())
    range.last = range.first;
  else if (!text.consume_front("-") || text.empty() ||
           !llvm::isDigit(text.front()) || text.getAsInteger(10, range.last) ||
           range.last < range.first)
    return std::nullopt;
  return range;
}

std::optional<MagnitudeRange>
detail::parseMagnitudeRange(llvm::StringRef text) {
  MagnitudeRange range;
  auto parse = [](llvm::StringRef number, double &value) {
    return !number.empty() && !number.getAsDouble(value) && value >= 0 &&
           std::isfinite(value);
  };
  llvm::StringRef first = text, last;
  if (text.contains("..")) {
    std::tie(first, last) = text.split("..");
    if (!parse(first, range.first) || !parse(last, range.last) ||
        range.last < range.first)
      return std::nullopt;
    return range;
  }
  bool isOpen = first.consume_back("+");
  if (!parse(first, range.first))
    return std::nullopt;
  if (!isOpen)
    range.last = range.first;
  return range;
}

llvm::StringRef detail::operatorKey(llvm::StringRef domain,
                                    llvm::StringRef name,
                                    llvm::SmallVectorImpl<char> &storage) {
  if (domain.empty() || domain == "ai.onnx")
    return name;
  return (domain + ":" + name).toStringRef(storage);
}

llvm::Error detail::checkOperatorIsKnown(llvm::StringRef key) {
  if (knownOperators().contains(key))
    return llvm::Error::success();
  if (key.contains(':') && !key.starts_with("ai.onnx"))
    return llvm::Error::success();
  std::vector<llvm::StringRef> names;
  for (const auto &entry : knownOperators())
    names.push_back(entry.getKey());
  return makeError("unknown operator " + quoted(key) + nearestName(key, names));
}

//===----------------------------------------------------------------------===//
// Expressions on node names
//===----------------------------------------------------------------------===//

llvm::Expected<std::shared_ptr<const llvm::Regex>>
detail::compileNodeExpression(llvm::StringRef expression) {
  // The compiled form of `(x{n}){m}` has n times m copies of x, and matching a
  // back reference may take exponential time.
  constexpr size_t longest = 4096;
  constexpr uint64_t mostCopies = 10000;
  if (expression.size() > longest)
    return makeError("regular expression has " +
                     llvm::Twine(expression.size()) +
                     " characters, expected at most " + llvm::Twine(longest));
  uint64_t copies = 1;
  for (size_t i = 0; i < expression.size(); ++i) {
    if (expression[i] == '\\') {
      if (i + 1 < expression.size() && llvm::isDigit(expression[i + 1]))
        return makeError("back references are not supported in regular "
                         "expression " +
                         quoted(expression));
      ++i;
    } else if (expression[i] == '{') {
      llvm::StringRef bounds = expression.substr(i + 1);
      bounds = bounds.take_until([](char c) { return c == '}'; });
      unsigned count = 0;
      if (!bounds.rsplit(',').second.getAsInteger(10, count) ||
          !bounds.split(',').first.getAsInteger(10, count))
        copies *= std::max(count, 1u);
      if (copies > mostCopies)
        return makeError("regular expression " + quoted(expression) +
                         " repeats too much, expected bounds whose product "
                         "is at most " +
                         llvm::Twine(mostCopies));
    }
  }
  auto regex = std::make_shared<llvm::Regex>(expression);
  std::string why;
  if (!regex->isValid(why))
    return makeError("malformed regular expression " + quoted(expression) +
                     ": " + why);
  return std::shared_ptr<const llvm::Regex>(std::move(regex));
}

/// POSIX asks for the leftmost longest match, which is the whole text if that
/// matches at all.
static bool matchesWhole(const llvm::Regex &regex, llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 1> groups;
  return regex.match(text, &groups) && groups[0].size() == text.size();
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

static bool matchesAny(const Expressions &expressions, llvm::StringRef text) {
  return llvm::any_of(expressions, [&](const auto &regex) {
    return matchesWhole(*regex, text);
  });
}

bool KeptInterface::keeps(llvm::StringRef name) const {
  return all || matchesAny(names, name);
}

/// Conditions on what the operation is called.
static bool matchesNames(const Setting &setting,
                         const OperationDescription &op) {
  if (!setting.nodes.empty()) {
    llvm::StringRef name = op.nodeName;
    if (name.empty() && !op.outputNames.empty())
      name = op.outputNames.front();
    if (!matchesAny(setting.nodes, name))
      return false;
  }
  if (!setting.outputs.empty() &&
      llvm::none_of(op.outputNames, [&](llvm::StringRef name) {
        return matchesAny(setting.outputs, name);
      }))
    return false;
  if (setting.scopes.empty())
    return true;
  return op.isInScope && op.isInScope(&setting, [&](llvm::StringRef name) {
    return matchesAny(setting.scopes, name);
  });
}

static bool
matchesShape(llvm::ArrayRef<std::optional<NumberRange>> wanted,
             const std::optional<llvm::SmallVector<int64_t>> &shape) {
  return shape && shape->size() == wanted.size() &&
         llvm::all_of_zip(wanted, *shape, [](const auto &range, int64_t size) {
           return !range || range->contains(size);
         });
}

/// Conditions on its operands.
static bool matchesOperands(const Setting &setting,
                            const OperationDescription &op) {
  for (unsigned position : setting.constantOperands)
    if (!op.isConstantOperand || !op.isConstantOperand(position))
      return false;
  for (const auto &[position, range] : setting.operandElements) {
    if (!op.operandElements)
      return false;
    std::optional<uint64_t> elements = op.operandElements(position);
    if (!elements || !range.contains(static_cast<int64_t>(*elements)))
      return false;
  }
  for (const auto &[position, shape] : setting.operandShapes)
    if (!op.operandShape || !matchesShape(shape, op.operandShape(position)))
      return false;
  for (const auto &[position, range] : setting.operandAbsmax) {
    if (!op.operandAbsmax)
      return false;
    std::optional<double> absmax = op.operandAbsmax(position);
    if (!absmax || !range.contains(*absmax))
      return false;
  }
  return true;
}

/// Conditions on what it computes.
static bool matchesAttributes(const Setting &setting,
                              const OperationDescription &op) {
  for (const auto &[name, values] : setting.attributes) {
    if (!op.attribute)
      return false;
    std::optional<std::string> value = op.attribute(name);
    if (!value || !llvm::is_contained(values, *value))
      return false;
  }
  if (!setting.reductionLength)
    return true;
  if (!op.reductionLength)
    return false;
  std::optional<int64_t> length = op.reductionLength();
  return length && setting.reductionLength->contains(*length);
}

bool Setting::matches(const OperationDescription &op, int64_t version) const {
  if (!lowFormats.empty() && !llvm::is_contained(lowFormats, op.low))
    return false;
  return versions.contains(version) && matchesNames(*this, op) &&
         matchesOperands(*this, op) && matchesAttributes(*this, op);
}

bool Setting::isSilent() const {
  return !category && !noPull && !pinnedOperands && !flushedOperands &&
         !outOfRange && !underflow && !low && !island;
}

bool NodeExpression::matches(llvm::StringRef name) const {
  return matchesWhole(*regex, name);
}

llvm::ArrayRef<NodeExpression> Policy::nodeExpressions() const {
  return table->nodeExpressions;
}

void Policy::Table::add(llvm::StringRef operatorKey, Setting setting) {
  std::vector<unsigned> &list =
      operatorKey.empty() ? forAll : byOperator[operatorKey];
  list.push_back(static_cast<unsigned>(settings.size()));
  settings.push_back(std::move(setting));
}

/// Shows each thing that a setting says, beside the same thing of another.
template <typename First, typename Visit>
static void forEachStatement(First &a, Setting &b, Visit visit) {
  visit(a.category, b.category);
  visit(a.noPull, b.noPull);
  visit(a.pinnedOperands, b.pinnedOperands);
  visit(a.flushedOperands, b.flushedOperands);
  visit(a.outOfRange, b.outOfRange);
  visit(a.underflow, b.underflow);
  visit(a.low, b.low);
  visit(a.island, b.island);
}

std::pair<std::vector<unsigned>, int64_t>
Policy::Table::settingsFor(llvm::StringRef domain, llvm::StringRef name,
                           int64_t version) const {
  llvm::SmallString<64> storage;
  llvm::StringRef key = operatorKey(domain, name, storage);
  std::vector<unsigned> indices = byOperator.lookup(key);
  llvm::StringRef counterpart = counterpartOf(key);
  if (counterpart.empty())
    return {std::move(indices), version};
  if (auto found = byOperator.find(counterpart); found != byOperator.end())
    llvm::append_range(indices, found->second);
  llvm::sort(indices);
  return {std::move(indices), NumberRange().last};
}

Decision Policy::decide(const OperationDescription &op) const {
  Decision decision;
  decision.rule = table->notListed;
  decision.outOfRange = table->outOfRange;
  decision.underflow = table->underflow;

  auto [indices, version] = table->settingsFor(op.domain, op.name, op.version);
  llvm::ArrayRef<unsigned> own = indices, all = table->forAll;

  // From the last setting to the first: each thing is said by the first that
  // says it.
  Setting said;
  auto isNews = [](const auto &says, const auto &before) {
    return says && !before;
  };
  while (!own.empty() || !all.empty()) {
    bool takeOwn = all.empty() || (!own.empty() && own.back() > all.back());
    llvm::ArrayRef<unsigned> &list = takeOwn ? own : all;
    const Setting &setting = table->settings[list.back()];
    list = list.drop_back();
    bool news = false;
    forEachStatement(setting, said, [&](const auto &says, auto &before) {
      news |= isNews(says, before);
    });
    if (!news || !setting.matches(op, version))
      continue;
    if (isNews(setting.category, said.category)) {
      decision.isListed = true;
      decision.rule = setting.reason;
    }
    forEachStatement(setting, said, [&](const auto &says, auto &before) {
      if (isNews(says, before))
        before = says;
    });
  }
  decision.category = said.category.value_or(decision.category);
  decision.noPull = said.noPull.value_or(false);
  if (said.pinnedOperands)
    decision.pinnedOperands = std::move(*said.pinnedOperands);
  if (said.flushedOperands)
    decision.flushedOperands = std::move(*said.flushedOperands);
  decision.outOfRange = said.outOfRange.value_or(decision.outOfRange);
  decision.underflow = said.underflow.value_or(decision.underflow);
  decision.low = said.low;
  decision.island = said.island.value_or(false);
  return decision;
}

/// "N", "N to M" or "N or more".
static std::string spell(NumberRange range) {
  std::string first = llvm::utostr(range.first);
  if (range.first == range.last)
    return first;
  if (range.last == NumberRange().last)
    return first + " or more";
  return first + " to " + llvm::utostr(range.last);
}

/// The same for magnitudes.
static std::string spell(MagnitudeRange range) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::format("%g", range.first);
  if (range.last != range.first && std::isinf(range.last))
    stream << " or more";
  else if (range.last != range.first)
    stream << " to " << llvm::format("%g", range.last);
  return text;
}

static std::string spell(llvm::ArrayRef<std::optional<NumberRange>> shape) {
  std::vector<std::string> sizes;
  for (const auto &size : shape)
    sizes.push_back(size ? spell(*size) : "any");
  return "[" + llvm::join(sizes, ", ") + "]";
}

static std::string describeConditions(const Setting &setting) {
  std::vector<std::string> conditions;
  for (unsigned position : setting.constantOperands)
    conditions.push_back("operand " + llvm::utostr(position) +
                         " is a constant");
  for (const auto &[position, range] : setting.operandElements)
    conditions.push_back("operand " + llvm::utostr(position) + " has " +
                         spell(range) + " elements");
  for (const auto &[position, shape] : setting.operandShapes)
    conditions.push_back("operand " + llvm::utostr(position) +
                         " has the shape " + spell(shape));
  for (const auto &[position, range] : setting.operandAbsmax)
    conditions.push_back("operand " + llvm::utostr(position) +
                         " has values up to " + spell(range));
  if (setting.reductionLength)
    conditions.push_back("it reduces " + spell(*setting.reductionLength) +
                         " elements to one");
  if (!setting.lowFormats.empty()) {
    std::vector<std::string> formats;
    for (FloatFormat format : setting.lowFormats)
      formats.push_back(format.name());
    conditions.push_back("the low format is " + llvm::join(formats, " or "));
  }
  for (const auto &[name, values] : setting.attributes)
    conditions.push_back(name + " is " + llvm::join(values, " or "));
  if (!setting.nodes.empty())
    conditions.push_back("the node has a name of the rule");
  if (!setting.outputs.empty())
    conditions.push_back("an output has a name of the rule");
  if (!setting.scopes.empty())
    conditions.push_back("it is inside a scope of the rule");
  return llvm::join(conditions, " and ");
}

static std::string describeEffect(const Setting &setting) {
  std::vector<std::string> effects;
  auto addOperands = [&](llvm::StringRef key, const auto &operands) {
    if (!operands)
      return;
    std::vector<std::string> positions;
    for (unsigned position : *operands)
      positions.push_back(llvm::utostr(position));
    effects.push_back((key + ": [" + llvm::join(positions, ", ") + "]").str());
  };
  if (setting.category)
    effects.push_back(stringifyCategory(*setting.category).str());
  if (setting.noPull)
    effects.push_back(*setting.noPull ? "no_pull: true" : "no_pull: false");
  addOperands("pin", setting.pinnedOperands);
  addOperands("flush", setting.flushedOperands);
  if (setting.outOfRange)
    effects.push_back(
        ("out_of_range: " + stringifyOutOfRange(*setting.outOfRange)).str());
  if (setting.underflow)
    effects.push_back(
        ("underflow: " + stringifyUnderflow(*setting.underflow)).str());
  if (setting.low)
    effects.push_back("low: " + setting.low->name());
  if (setting.island)
    effects.push_back(*setting.island ? "island: true" : "island: false");
  return llvm::join(effects, "; ");
}

std::vector<ConditionalStatement>
Policy::conditionalStatements(llvm::StringRef domain, llvm::StringRef name,
                              int64_t version) const {
  auto [indices, asked] = table->settingsFor(domain, name, version);
  llvm::append_range(indices, table->forAll);
  llvm::sort(indices, std::greater<>());

  std::vector<ConditionalStatement> statements;
  Setting unconditional; // what later statements without conditions say
  for (unsigned index : indices) {
    Setting setting = table->settings[index];
    if (!setting.versions.contains(asked))
      continue;
    std::string conditions = describeConditions(setting);
    bool isConditional = !conditions.empty();
    forEachStatement(setting, unconditional, [&](auto &says, auto &isSaid) {
      if (isConditional && isSaid)
        says.reset();
      else if (!isConditional && says)
        isSaid = says;
    });
    std::string effect = describeEffect(setting);
    if (isConditional && !effect.empty())
      statements.push_back({std::move(conditions), std::move(effect),
                            table->settings[index].reason});
  }
  return statements;
}

std::vector<std::string> Policy::operators() const {
  std::vector<std::string> keys;
  for (const auto &entry : table->byOperator)
    keys.push_back(entry.getKey().str());
  llvm::sort(keys);
  return keys;
}

//===----------------------------------------------------------------------===//
// Policies
//===----------------------------------------------------------------------===//

Policy::Policy(std::unique_ptr<Table> table) : table(std::move(table)) {}
Policy::Policy(const Policy &other)
    : table(std::make_unique<Table>(*other.table)) {}
Policy::Policy(Policy &&) noexcept = default;
Policy &Policy::operator=(const Policy &other) {
  if (this != &other)
    table = std::make_unique<Table>(*other.table);
  return *this;
}
Policy &Policy::operator=(Policy &&) noexcept = default;
Policy::~Policy() = default;

llvm::Error Policy::keepNode(llvm::StringRef regex) {
  auto compiled = compileNodeExpression(regex);
  if (!compiled)
    return compiled.takeError();
  Setting setting;
  setting.nodes.push_back(std::move(*compiled));
  setting.category = Category::Keep;
  setting.reason = "asked to keep nodes whose name matches " + quoted(regex);
  table->add("", std::move(setting));
  return llvm::Error::success();
}

llvm::Expected<Policy> Policy::load(llvm::StringRef presetOrPath,
                                    llvm::ArrayRef<std::string> keptOperators,
                                    llvm::ArrayRef<std::string> keptNodes) {
  llvm::Expected<Policy> policy = load(presetOrPath);
  if (!policy)
    return policy;
  for (const std::string &op : keptOperators)
    if (llvm::Error error = policy->keepOperator(op))
      return std::move(error);
  for (const std::string &regex : keptNodes)
    if (llvm::Error error = policy->keepNode(regex))
      return std::move(error);
  return policy;
}

llvm::Error Policy::checkOperator(llvm::StringRef op) {
  auto spelling = parseOperatorSpelling(op);
  return spelling ? checkOperatorIsKnown(spelling->key) : spelling.takeError();
}

llvm::Error Policy::keepOperator(llvm::StringRef op) {
  auto spelling = parseOperatorSpelling(op);
  if (!spelling)
    return spelling.takeError();
  if (llvm::Error error = checkOperatorIsKnown(spelling->key))
    return error;
  Setting setting;
  setting.versions = spelling->versions;
  setting.category = Category::Keep;
  setting.reason = "asked to keep operator " + quoted(op);
  table->add(spelling->key, std::move(setting));
  return llvm::Error::success();
}

llvm::StringRef Policy::name() const { return table->name; }
std::optional<FloatFormat> Policy::low() const { return table->low; }
bool Policy::asksFor(FloatFormat low) const {
  return table->low == low ||
         llvm::any_of(table->settings, [&](const Setting &setting) {
           return setting.low == low;
         });
}
std::optional<bool> Policy::keepsInput(llvm::StringRef name) const {
  if (!table->keptInputs)
    return std::nullopt;
  return table->keptInputs->keeps(name);
}
std::optional<bool> Policy::keepsOutput(llvm::StringRef name) const {
  if (!table->keptOutputs)
    return std::nullopt;
  return table->keptOutputs->keeps(name);
}
OutOfRange Policy::outOfRange() const { return table->outOfRange; }
Underflow Policy::underflow() const { return table->underflow; }
