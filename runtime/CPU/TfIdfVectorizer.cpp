//===- TfIdfVectorizer.cpp - counts of n-grams ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/LibraryKernel.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"

#include <algorithm>
#include <map>

using namespace amp::runtime;

namespace {

/// A tree of the pool's n-grams; tokens are numbers, those of texts their
/// position among the pool's distinct texts.
class TfIdfVectorizer : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    indexes = attributes.getInts("ngram_indexes");
    weights = attributes.getFloats("weights");
    minLength = attributes.getInt("min_gram_length", 1);
    maxLength = attributes.getInt("max_gram_length", 1);
    maxSkip = attributes.getInt("max_skip_count", 0);
    std::string mode = attributes.getString("mode", "");
    if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
      return Status::error("mode must be TF, IDF or TFIDF, but is '" + mode +
                           "'");
    isBinary = mode == "IDF";
    if (mode == "TF")
      weights.clear();
    if (indexes.empty() ||
        *std::min_element(indexes.begin(), indexes.end()) < 0)
      return Status::error("ngram_indexes must be numbers from 0 on");
    if (minLength < 1 || maxLength < minLength || maxSkip < 0)
      return Status::error("min_gram_length, max_gram_length and "
                           "max_skip_count don't fit together");
    width = *std::max_element(indexes.begin(), indexes.end()) + 1;
    if (!weights.empty() && static_cast<int64_t>(weights.size()) < width)
      return Status::error("weights has " + std::to_string(weights.size()) +
                           " elements for " + std::to_string(width) +
                           " results");
    std::vector<int64_t> pool = attributes.getInts("pool_int64s");
    for (const std::string &text : attributes.getStrings("pool_strings"))
      pool.push_back(numbers.emplace(text, numbers.size()).first->second);
    return grow(pool, attributes.getInts("ngram_counts"));
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[0].shape;
    if (shape.getRank() > 2)
      return Status::error("expects dimensions C or NxC, but got " +
                           toString(shape));
    return setShape(outputs[0], shape.getRank() == 2 ? Shape{shape[0], width}
                                                     : Shape{width});
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0];
    int64_t rows = input.shape.getRank() == 2 ? input.shape[0] : 1;
    int64_t length = rows == 0 ? 0 : input.getElementCount() / rows;
    arguments.threads->parallelFor(
        rows, 1, [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t i = begin; i < end; ++i) {
            float *counts = arguments.outputs[0].as<float>() + i * width;
            std::fill_n(counts, width, 0.0f);
            countGrams(input, i * length, length, counts);
            for (int64_t j = 0; j < width; ++j) {
              if (isBinary)
                counts[j] = std::min(counts[j], 1.0f);
              if (!weights.empty())
                counts[j] *= weights[static_cast<size_t>(j)];
            }
          }
        });
    return {};
  }

private:
  struct Node {
    std::map<int64_t, size_t> next;
    int64_t gram = -1;
  };

  /// `counts[i]` is where the (i + 1)-grams begin in the pool.
  Status grow(const std::vector<int64_t> &pool,
              const std::vector<int64_t> &counts) {
    tree.emplace_back();
    size_t gram = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      int64_t begin = counts[i];
      int64_t end = i + 1 < counts.size() ? counts[i + 1]
                                          : static_cast<int64_t>(pool.size());
      auto size = static_cast<int64_t>(i) + 1;
      if (begin < 0 || begin > end || end > static_cast<int64_t>(pool.size()))
        return Status::error("ngram_counts must be positions in the pool, in "
                             "ascending order");
      for (; begin + size <= end; begin += size, ++gram) {
        if (gram >= indexes.size())
          return Status::error("the pool has more n-grams than the " +
                               std::to_string(indexes.size()) +
                               " of ngram_indexes");
        if (size < minLength || size > maxLength)
          continue;
        size_t node = 0;
        for (int64_t j = begin; j < begin + size; ++j) {
          auto [found, isNew] = tree[node].next.emplace(
              pool[static_cast<size_t>(j)], tree.size());
          node = found->second;
          if (isNew)
            tree.emplace_back();
        }
        tree[node].gram = static_cast<int64_t>(gram);
      }
    }
    return {};
  }

  int64_t getToken(const TensorView &input, int64_t index) const {
    if (input.type != DataType::String)
      return getInteger(input, index);
    auto found = numbers.find(input.as<const std::string>()[index]);
    return found == numbers.end() ? -1 : static_cast<int64_t>(found->second);
  }

  void countGrams(const TensorView &input, int64_t row, int64_t length,
                  float *counts) const {
    int64_t shortest = minLength;
    for (int64_t step = 1; step <= maxSkip + 1; ++step) {
      for (int64_t start = 0; start + step * (shortest - 1) < length; ++start) {
        size_t node = 0;
        for (int64_t size = 1, at = start; size <= maxLength && at < length;
             ++size, at += step) {
          auto next = tree[node].next.find(getToken(input, row + at));
          if (next == tree[node].next.end())
            break;
          node = next->second;
          if (size >= shortest && tree[node].gram >= 0)
            ++counts[indexes[static_cast<size_t>(tree[node].gram)]];
        }
      }
      // No distance is between a single token's parts: these count once.
      if (shortest == 1 && ++shortest > maxLength)
        break;
    }
  }

  std::vector<int64_t> indexes;
  std::vector<float> weights;
  std::map<std::string, size_t> numbers;
  std::vector<Node> tree;
  int64_t minLength, maxLength, maxSkip, width;
  bool isBinary;
};

constexpr KernelEntry entries[] = {
    {"tfidf_vectorizer", create<TfIdfVectorizer>}};

} // namespace

Span<const KernelEntry> amp::runtime::getTfIdfVectorizerKernels() {
  return {entries, std::size(entries)};
}
