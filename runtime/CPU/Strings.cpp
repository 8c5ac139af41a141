//===- Strings.cpp - kernels of text --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/LetterCase.h"
#include "CPU/LibraryKernel.h"
#include "CPU/RegularExpression.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"

#include <algorithm>

using namespace amp::runtime;

namespace {

/// Texts are long: a few of them are worth a thread.
constexpr int64_t grain = 256;

class StringConcat : public LibraryKernel {
public:
  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Shape shape = inputs[0].shape;
    if (Status status = broadcast(inputs[1].shape, shape); !status.ok())
      return status;
    return setShape(outputs[0], shape);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &x = arguments.inputs[0], &y = arguments.inputs[1],
                     &output = arguments.outputs[0];
    arguments.threads->parallelFor(
        output.getElementCount(), grain,
        [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t i = begin; i < end; ++i) {
            auto at = [&](const TensorView &operand) -> const std::string & {
              return operand.as<const std::string>()[getOperandIndex(
                  operand.shape, output.shape, i)];
            };
            output.as<std::string>()[i] = at(x) + at(y);
          }
        });
    return {};
  }
};

/// As Python's split() has it. White space is that of ASCII.
class StringSplit : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    delimiter = attributes.getString("delimiter", "");
    maxSplit = attributes.getInt("maxsplit", -1);
    return {};
  }

  bool needsDataForShapes(size_t input) const override { return true; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[0].shape;
    int64_t longest = 0;
    for (int64_t i = 0; i < inputs[0].getElementCount(); ++i)
      longest = std::max(longest, split(inputs[0].as<const std::string>()[i],
                                        [](int64_t, std::string_view) {}));
    std::array<int64_t, Shape::maxRank + 1> dims;
    *std::copy(shape.begin(), shape.end(), dims.begin()) = longest;
    if (Status status = setShape(outputs[0], dims.data(), shape.getRank() + 1);
        !status.ok())
      return status;
    return outputs.size > 1 ? setShape(outputs[1], shape) : Status();
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    int64_t longest = output.shape[output.shape.getRank() - 1];
    arguments.threads->parallelFor(
        input.getElementCount(), grain,
        [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t i = begin; i < end; ++i) {
            auto *parts = output.as<std::string>() + i * longest;
            int64_t count = split(
                input.as<const std::string>()[i],
                [parts](int64_t j, std::string_view part) { parts[j] = part; });
            for (int64_t j = count; j < longest; ++j)
              parts[j].clear();
            if (hasOutput(arguments.outputs, 1))
              arguments.outputs[1].as<int64_t>()[i] = count;
          }
        });
    return {};
  }

private:
  /// Calls body(index, part) and gives the number of parts.
  template <typename Body>
  int64_t split(std::string_view text, const Body &body) const {
    constexpr std::string_view space = " \t\n\v\f\r\x1c\x1d\x1e\x1f";
    bool bySpace = delimiter.empty();
    auto skipSpace = [&] {
      if (bySpace)
        text.remove_prefix(
            std::min(text.find_first_not_of(space), text.size()));
    };
    int64_t count = 0;
    skipSpace();
    if (bySpace && text.empty())
      return 0;
    for (;;) {
      size_t end = bySpace ? text.find_first_of(space) : text.find(delimiter);
      if (end == text.npos || (maxSplit >= 0 && count >= maxSplit)) {
        body(count++, text);
        return count;
      }
      body(count++, text.substr(0, end));
      text.remove_prefix(end + (bySpace ? 1 : delimiter.size()));
      skipSpace();
      if (bySpace && text.empty())
        return count;
    }
  }

  std::string delimiter;
  int64_t maxSplit = -1;
};

/// Drops stop words and changes the case of what is left.
class StringNormalizer : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    isCaseSensitive = attributes.getInt("is_case_sensitive", 0) != 0;
    stopWords = attributes.getStrings("stopwords");
    if (!isCaseSensitive)
      for (std::string &word : stopWords)
        word = toLower(word);
    std::sort(stopWords.begin(), stopWords.end());
    action = attributes.getString("case_change_action", "NONE");
    if (action != "NONE" && action != "LOWER" && action != "UPPER")
      return Status::error(
          "case_change_action must be NONE, LOWER or UPPER, but is " + action);
    return {};
  }

  bool needsDataForShapes(size_t input) const override { return true; }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Shape shape = inputs[0].shape;
    size_t rank = shape.getRank();
    if (rank < 1 || rank > 2 || (rank == 2 && shape[0] != 1))
      return Status::error("expects dimensions C or 1xC, but got " +
                           toString(shape));
    auto *texts = inputs[0].as<const std::string>();
    auto kept =
        std::count_if(texts, texts + inputs[0].getElementCount(),
                      [this](const std::string &text) { return isKept(text); });
    shape[rank - 1] = std::max<int64_t>(kept, 1); // one empty text for none
    return setShape(outputs[0], shape);
  }

  Status run(const KernelArguments &arguments) const override {
    if (Status status = checkOutputs(*this, arguments); !status.ok())
      return status;
    const TensorView &input = arguments.inputs[0];
    auto *to = arguments.outputs[0].as<std::string>();
    to->clear();
    for (int64_t i = 0; i < input.getElementCount(); ++i) {
      const std::string &text = input.as<const std::string>()[i];
      if (isKept(text))
        *to++ = action == "LOWER"   ? toLower(text)
                : action == "UPPER" ? toUpper(text)
                                    : text;
    }
    return {};
  }

private:
  bool isKept(const std::string &text) const {
    if (stopWords.empty())
      return true;
    return !std::binary_search(stopWords.begin(), stopWords.end(),
                               isCaseSensitive ? text : toLower(text));
  }

  std::vector<std::string> stopWords;
  std::string action;
  bool isCaseSensitive = false;
};

class RegexFullMatch : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    std::string pattern = attributes.getString("pattern", "");
    Result<RegularExpression> parsed = RegularExpression::parse(pattern);
    if (!parsed.ok())
      return Status::error("pattern '" + pattern + "': " + parsed.getMessage());
    expression = std::move(*parsed);
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    return setShape(outputs[0], inputs[0].shape);
  }

  size_t getScratchSize(Span<const TensorView>, Span<const TensorView>,
                        unsigned threads) const override {
    return threads * expression.getScratchSize() * sizeof(uint32_t);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0];
    arguments.threads->parallelFor(
        input.getElementCount(), grain,
        [&](int64_t begin, int64_t end, unsigned thread) {
          auto *scratch = static_cast<uint32_t *>(arguments.scratch) +
                          thread * expression.getScratchSize();
          for (int64_t i = begin; i < end; ++i)
            arguments.outputs[0].as<uint8_t>()[i] =
                expression.matches(input.as<const std::string>()[i], scratch);
        });
    return {};
  }

private:
  RegularExpression expression;
};

constexpr KernelEntry entries[] = {
    {"string_concat", create<StringConcat>},
    {"string_split", create<StringSplit>},
    {"string_normalizer", create<StringNormalizer>},
    {"regex_full_match", create<RegexFullMatch>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getStringKernels() {
  return {entries, std::size(entries)};
}
