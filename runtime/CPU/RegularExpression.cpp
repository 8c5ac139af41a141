//===- RegularExpression.cpp - patterns of RE2's syntax -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/RegularExpression.h"

#include "CPU/LetterCase.h"

#include <algorithm>
#include <memory>
#include <string>

namespace amp::runtime {

namespace {

constexpr uint32_t lastCodePoint = 0x10ffff;
using Ranges = std::vector<CodePointRange>;

/// In ascending order, without overlaps.
Ranges normalize(Ranges ranges) {
  std::sort(ranges.begin(), ranges.end());
  Ranges merged;
  for (const CodePointRange &range : ranges) {
    if (!merged.empty() && range.first <= merged.back().second + 1)
      merged.back().second = std::max(merged.back().second, range.second);
    else
      merged.push_back(range);
  }
  return merged;
}

Ranges negate(const Ranges &ranges) {
  Ranges others;
  uint32_t next = 0;
  for (const CodePointRange &range : normalize(ranges)) {
    if (range.first > next)
      others.emplace_back(next, range.first - 1);
    next = range.second + 1;
  }
  if (next <= lastCodePoint)
    others.emplace_back(next, lastCodePoint);
  return others;
}

/// With the other cases of letters; those that have one end before U+0530.
Ranges foldCase(Ranges ranges) {
  size_t count = ranges.size();
  for (size_t i = 0; i < count; ++i)
    for (uint32_t c = ranges[i].first;
         c <= std::min<uint32_t>(ranges[i].second, 0x52f); ++c)
      for (uint32_t other : {toLower(c), toUpper(c)})
        if (other != c)
          ranges.emplace_back(other, other);
  return ranges;
}

/// Perl's classes by their small letter.
const Ranges *findPerlClass(uint32_t letter) {
  static const Ranges digit = {{'0', '9'}},
                      space = {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}},
                      word = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return letter == 'd'   ? &digit
         : letter == 's' ? &space
         : letter == 'w' ? &word
                         : nullptr;
}

const Ranges *findPosixClass(std::string_view name) {
  static const std::pair<std::string_view, Ranges> classes[] = {
      {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
      {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
      {"ascii", {{0, 0x7f}}},
      {"blank", {{'\t', '\t'}, {' ', ' '}}},
      {"cntrl", {{0, 0x1f}, {0x7f, 0x7f}}},
      {"digit", {{'0', '9'}}},
      {"graph", {{'!', '~'}}},
      {"lower", {{'a', 'z'}}},
      {"print", {{' ', '~'}}},
      {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
      {"space", {{'\t', '\r'}, {' ', ' '}}},
      {"upper", {{'A', 'Z'}}},
      {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
      {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
  };
  for (const auto &[known, ranges] : classes)
    if (known == name)
      return &ranges;
  return nullptr;
}

} // namespace

/// Writes instructions while it reads. A fragment of the program begins at some
/// instruction and runs past its end when it has matched; a repeated fragment
/// is copied with its targets moved.
class RegularExpressionParser {
public:
  RegularExpressionParser(std::string_view pattern,
                          std::vector<RegularExpression::Instruction> &program)
      : rest(pattern), program(program) {}

  Status parse() {
    parseAlternatives();
    if (problem.empty() && !rest.empty())
      problem = "an unexpected )";
    emit(RegularExpression::Kind::Match);
    return problem.empty() ? Status() : Status::error(problem);
  }

private:
  using Kind = RegularExpression::Kind;
  struct Flags {
    bool ignoresCase = false, isMultiline = false, dotTakesNewline = false;
  };
  /// RE2's limits, by other means: the depth of groups is that of the stack.
  static constexpr size_t maxProgram = 1 << 16;
  static constexpr int maxDepth = 200, maxRepeat = 1000;

  uint32_t here() const { return static_cast<uint32_t>(program.size()); }

  void fail(const std::string &text) {
    if (problem.empty())
      problem = text;
    rest = {};
  }

  uint32_t emit(Kind kind, uint32_t first = 0, uint32_t second = 0) {
    if (program.size() >= maxProgram)
      fail("the pattern is too large");
    else
      program.push_back({kind, first, second, {}});
    return here() - 1;
  }

  void emitCharacters(Ranges ranges) {
    if (flags.ignoresCase)
      ranges = foldCase(std::move(ranges));
    program[emit(Kind::Characters)].ranges = normalize(std::move(ranges));
  }

  /// Makes room at `begin` for an instruction, moving what is behind.
  void insertSplit(uint32_t begin) {
    if (program.size() >= maxProgram)
      return fail("the pattern is too large");
    program.insert(program.begin() + begin, {Kind::Split, 0, 0, {}});
    for (uint32_t i = begin + 1; i < here(); ++i)
      moveTargets(program[i], begin, 1);
  }

  static void moveTargets(RegularExpression::Instruction &instruction,
                          uint32_t from, uint32_t distance) {
    if (instruction.kind != Kind::Split && instruction.kind != Kind::Jump)
      return;
    for (uint32_t *target : {&instruction.first, &instruction.second})
      if (*target >= from)
        *target += distance;
  }

  bool take(std::string_view prefix) {
    if (rest.substr(0, prefix.size()) != prefix)
      return false;
    rest.remove_prefix(prefix.size());
    return true;
  }

  void parseAlternatives() {
    if (++depth > maxDepth)
      return fail("groups are nested too deeply");
    Flags before = flags;
    uint32_t begin = here();
    parseSequence();
    std::vector<uint32_t> jumps;
    while (take("|")) {
      insertSplit(begin);
      for (uint32_t &jump : jumps)
        ++jump;
      jumps.push_back(emit(Kind::Jump));
      if (!problem.empty())
        return;
      program[begin].first = begin + 1;
      program[begin].second = here();
      // The earlier alternatives are one fragment of the next split.
      parseSequence();
    }
    for (uint32_t jump : jumps)
      program[jump].first = program[jump].second = here();
    flags = before;
    --depth;
  }

  void parseSequence() {
    while (!rest.empty() && rest[0] != '|' && rest[0] != ')') {
      uint32_t begin = here();
      if (take("\\Q")) {
        size_t end = rest.find("\\E");
        std::string_view literal = rest.substr(0, end);
        rest.remove_prefix(end == rest.npos ? rest.size() : end + 2);
        while (!literal.empty()) {
          begin = here();
          uint32_t c = takeCodePoint(literal);
          emitCharacters({{c, c}});
        }
        continue;
      }
      bool isFlags = parseAtom();
      if (problem.empty() && !isFlags)
        parseRepeats(begin);
    }
  }

  /// True for a group that only sets flags.
  bool parseAtom() {
    if (take("("))
      return parseGroup();
    if (take("[")) {
      parseClass();
    } else if (take(".")) {
      emitCharacters(flags.dotTakesNewline ? negate({})
                                           : negate({{'\n', '\n'}}));
    } else if (take("^")) {
      emit(flags.isMultiline ? Kind::LineBegin : Kind::TextBegin);
    } else if (take("$")) {
      emit(flags.isMultiline ? Kind::LineEnd : Kind::TextEnd);
    } else if (rest[0] == '*' || rest[0] == '+' || rest[0] == '?') {
      fail("nothing to repeat before " + std::string(1, rest[0]));
    } else if (take("\\A")) {
      emit(Kind::TextBegin);
    } else if (take("\\z")) {
      emit(Kind::TextEnd);
    } else if (take("\\b")) {
      emit(Kind::WordBoundary);
    } else if (take("\\B")) {
      emit(Kind::NoWordBoundary);
    } else if (rest[0] == '\\') {
      Ranges ranges;
      parseEscape(ranges);
      emitCharacters(std::move(ranges));
    } else {
      uint32_t c = takeCodePoint(rest);
      emitCharacters({{c, c}});
    }
    return false;
  }

  bool parseGroup() {
    Flags before = flags;
    if (take("?P<") || take("?<")) {
      size_t end = rest.find('>');
      bool isName = end != rest.npos && end != 0;
      for (size_t i = 0; isName && i < end; ++i)
        isName = rest[i] == '_' || (rest[i] >= '0' && rest[i] <= '9') ||
                 (rest[i] >= 'a' && rest[i] <= 'z') ||
                 (rest[i] >= 'A' && rest[i] <= 'Z');
      if (!isName)
        return fail("a group has no valid name"), false;
      rest.remove_prefix(end + 1);
    } else if (take("?")) {
      bool value = true;
      while (!take(":")) {
        if (take(")"))
          return true; // for the rest of the enclosing group
        bool Flags::*flag = take("i")   ? &Flags::ignoresCase
                            : take("m") ? &Flags::isMultiline
                            : take("s") ? &Flags::dotTakesNewline
                                        : nullptr;
        if (flag)
          flags.*flag = value;
        else if (value && take("-"))
          value = false;
        else if (!take("U")) // which match is preferred does not matter
          return fail("a group begins with an unknown (?"), false;
      }
    }
    parseAlternatives();
    if (problem.empty() && !take(")"))
      fail("a ) is missing");
    flags = before;
    return false;
  }

  /// A number and what follows it.
  bool takeCount(int &count) {
    size_t size = 0;
    count = 0;
    while (size < rest.size() && rest[size] >= '0' && rest[size] <= '9') {
      count = std::min(count * 10 + (rest[size] - '0'), 100000);
      ++size;
    }
    rest.remove_prefix(size);
    return size != 0;
  }

  void parseRepeats(uint32_t begin) {
    while (!rest.empty()) {
      int least, most; // -1 for no limit
      std::string_view before = rest;
      if (take("*")) {
        least = 0, most = -1;
      } else if (take("+")) {
        least = 1, most = -1;
      } else if (take("?")) {
        least = 0, most = 1;
      } else if (take("{")) {
        bool isRepeat = takeCount(least);
        most = least;
        if (isRepeat && take(",") && !takeCount(most))
          most = -1;
        if (!isRepeat || !take("}")) {
          rest = before; // braces stand for themselves
          return;
        }
        if (least > maxRepeat || most > maxRepeat ||
            (most >= 0 && most < least))
          return fail("a repetition has invalid limits");
      } else {
        return;
      }
      take("?");
      repeat(begin, least, most);
      if (!problem.empty())
        return;
    }
  }

  /// Appends a copy of a fragment.
  void append(const std::vector<RegularExpression::Instruction> &fragment,
              uint32_t begin) {
    uint32_t distance = here() - begin;
    if (program.size() + fragment.size() > maxProgram)
      return fail("the pattern is too large");
    for (RegularExpression::Instruction instruction : fragment) {
      moveTargets(instruction, 0, distance);
      program.push_back(std::move(instruction));
    }
  }

  void repeat(uint32_t begin, int least, int most) {
    std::vector<RegularExpression::Instruction> fragment(
        program.begin() + begin, program.end());
    program.resize(begin);
    for (int i = 0; i < least && problem.empty(); ++i)
      append(fragment, begin);
    if (most < 0) {
      uint32_t split = emit(Kind::Split);
      append(fragment, begin);
      emit(Kind::Jump, split, split);
      if (problem.empty())
        program[split] = {Kind::Split, split + 1, here(), {}};
      return;
    }
    std::vector<uint32_t> splits;
    for (int i = least; i < most && problem.empty(); ++i) {
      splits.push_back(emit(Kind::Split));
      append(fragment, begin);
    }
    for (uint32_t split : splits)
      if (problem.empty())
        program[split] = {Kind::Split, split + 1, here(), {}};
  }

  /// A class of one letter, or a code point.
  void parseEscape(Ranges &ranges) {
    take("\\");
    if (rest.empty())
      return fail("a \\ is at the end");
    uint32_t c = takeCodePoint(rest);
    if (const Ranges *known = findPerlClass(toLower(c))) {
      Ranges members = c == toLower(c) ? *known : negate(*known);
      ranges.insert(ranges.end(), members.begin(), members.end());
      return;
    }
    static constexpr std::string_view names = "afnrtv", values = "\a\f\n\r\t\v";
    bool isLetter =
        c < 0x80 && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
    if (isLetter && names.find(static_cast<char>(c)) != names.npos) {
      c = static_cast<uint8_t>(values[names.find(static_cast<char>(c))]);
    } else if (c == 'x') {
      if (!takeDigits(take("{"), c))
        return fail("\\x has no valid number");
    } else if (c == '0' || (c >= '1' && c <= '7' && !rest.empty() &&
                            rest[0] >= '0' && rest[0] <= '7')) {
      c -= '0';
      for (int i = 0;
           i < 2 && !rest.empty() && rest[0] >= '0' && rest[0] <= '7'; ++i) {
        c = c * 8 + static_cast<uint32_t>(rest[0] - '0');
        rest.remove_prefix(1);
      }
    } else if (isLetter || (c >= '1' && c <= '9')) {
      std::string name;
      appendCodePoint(c, name);
      return fail("\\" + name + " is not supported");
    }
    ranges.emplace_back(c, c);
  }

  bool takeDigits(bool inBraces, uint32_t &value) {
    size_t end = inBraces ? rest.find('}') : 2;
    if (end == rest.npos || end == 0 || end > rest.size() || end > 8)
      return false;
    value = 0;
    for (size_t i = 0; i < end; ++i) {
      char c = rest[i];
      int digit = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : -1;
      if (digit < 0)
        return false;
      value = value * 16 + static_cast<uint32_t>(digit);
    }
    rest.remove_prefix(end + inBraces);
    return value <= lastCodePoint;
  }

  void parseClass() {
    bool isNegated = take("^");
    Ranges ranges;
    // A ] stands for itself at the beginning.
    for (bool isFirst = true; isFirst || !take("]"); isFirst = false) {
      if (rest.empty())
        return fail("a ] is missing");
      if (take("[:")) {
        size_t end = rest.find(":]");
        std::string_view name = rest.substr(0, end);
        bool isOther = !name.empty() && name[0] == '^';
        const Ranges *known = findPosixClass(name.substr(isOther));
        if (end == rest.npos || !known)
          return fail("a class has an unknown [:name:]");
        Ranges members = isOther ? negate(*known) : *known;
        ranges.insert(ranges.end(), members.begin(), members.end());
        rest.remove_prefix(end + 2);
        continue;
      }
      size_t count = ranges.size();
      parseMember(ranges);
      if (!problem.empty())
        return;
      bool isSingle = ranges.size() == count + 1 &&
                      ranges.back().first == ranges.back().second;
      if (!isSingle || rest.size() < 2 || rest[0] != '-' || rest[1] == ']')
        continue;
      take("-");
      Ranges last;
      parseMember(last);
      if (last.size() != 1 || last[0].first < ranges.back().first)
        return fail("a class has an invalid range");
      ranges.back().second = last[0].first;
    }
    if (flags.ignoresCase)
      ranges = foldCase(std::move(ranges));
    Ranges members = isNegated ? negate(ranges) : normalize(std::move(ranges));
    program[emit(Kind::Characters)].ranges = std::move(members);
  }

  void parseMember(Ranges &ranges) {
    if (rest[0] == '\\')
      return parseEscape(ranges);
    uint32_t c = takeCodePoint(rest);
    ranges.emplace_back(c, c);
  }

  std::string_view rest;
  std::vector<RegularExpression::Instruction> &program;
  Flags flags;
  int depth = 0;
  std::string problem;
};

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// What assertions look at.
struct RegularExpression::Surroundings {
  static constexpr uint32_t none = UINT32_MAX;
  uint32_t before = none, after = none;

  bool holds(Kind kind) const {
    auto isWord = [](uint32_t c) {
      return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' ||
             (c >= 'a' && c <= 'z');
    };
    switch (kind) {
    case Kind::TextBegin:
      return before == none;
    case Kind::TextEnd:
      return after == none;
    case Kind::LineBegin:
      return before == none || before == '\n';
    case Kind::LineEnd:
      return after == none || after == '\n';
    case Kind::WordBoundary:
      return isWord(before) != isWord(after);
    case Kind::NoWordBoundary:
      return isWord(before) == isWord(after);
    default:
      return true;
    }
  }
};

Result<RegularExpression> RegularExpression::parse(std::string_view pattern) {
  RegularExpression expression;
  RegularExpressionParser parser(pattern, expression.program);
  if (Status status = parser.parse(); !status.ok())
    return status;
  return expression;
}

/// Adds what can be reached without a character. `positions` says where an
/// instruction is among `states`, if that agrees (a sparse set: it needs no
/// clearing).
void RegularExpression::follow(uint32_t start, const Surroundings &at,
                               uint32_t *states, uint32_t *positions,
                               uint32_t *stack, uint32_t &count) const {
  uint32_t waiting = 0;
  auto add = [&](uint32_t state) {
    if (positions[state] < count && states[positions[state]] == state)
      return;
    positions[state] = count;
    states[count++] = state;
    stack[waiting++] = state;
  };
  add(start);
  while (waiting != 0) {
    uint32_t state = stack[--waiting];
    const Instruction &instruction = program[state];
    switch (instruction.kind) {
    case Kind::Characters:
    case Kind::Match:
      break;
    case Kind::Split:
      add(instruction.first);
      add(instruction.second);
      break;
    case Kind::Jump:
      add(instruction.first);
      break;
    default:
      if (at.holds(instruction.kind))
        add(state + 1);
    }
  }
}

bool RegularExpression::matches(std::string_view text,
                                uint32_t *scratch) const {
  size_t size = program.size();
  uint32_t *states = scratch, *next = states + size, *positions = next + size,
           *stack = positions + size;
  std::fill_n(positions, size, 0);
  auto peek = [](std::string_view rest) {
    return rest.empty() ? Surroundings::none : takeCodePoint(rest);
  };
  uint32_t count = 0;
  Surroundings at = {Surroundings::none, peek(text)};
  follow(0, at, states, positions, stack, count);
  while (!text.empty() && count != 0) {
    uint32_t c = takeCodePoint(text), nextCount = 0;
    at = {c, peek(text)};
    for (uint32_t i = 0; i < count; ++i) {
      const Instruction &instruction = program[states[i]];
      if (instruction.kind != Kind::Characters)
        continue;
      auto range = std::upper_bound(
          instruction.ranges.begin(), instruction.ranges.end(), c,
          [](uint32_t c, const CodePointRange &r) { return c <= r.second; });
      if (range != instruction.ranges.end() && c >= range->first)
        follow(states[i] + 1, at, next, positions, stack, nextCount);
    }
    std::swap(states, next);
    count = nextCount;
  }
  for (uint32_t i = 0; text.empty() && i < count; ++i)
    if (program[states[i]].kind == Kind::Match)
      return true;
  return false;
}

} // namespace amp::runtime
