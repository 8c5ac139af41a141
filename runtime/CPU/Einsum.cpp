//===- Einsum.cpp - sums of products by an equation -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Contractions of two operands become products of matrices, others loops over
// all labels.
//
//===----------------------------------------------------------------------===//

#include "CPU/Elements.h"
#include "CPU/Elementwise.h"
#include "CPU/Grain.h"
#include "CPU/LibraryKernel.h"
#include "CPU/MultiplyAdd.h"
#include "CPU/Shapes.h"
#include "CPU/StridedCopy.h"
#include "CPU/ThreadPool.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

using namespace amp::runtime;

namespace {

/// Letters are labels 0 to 51; then come the axes of the ellipsis.
constexpr int letters = 52, ellipsis = letters;
constexpr int labelCount = letters + static_cast<int>(Shape::maxRank);

using Term = std::vector<int>;

int getLabel(char c) {
  return c >= 'a' && c <= 'z'   ? c - 'a'
         : c >= 'A' && c <= 'Z' ? c - 'A' + 26
                                : -1;
}

/// Labels and at most one ellipsis, as a whole.
Status parseTerm(const std::string &text, Term &term) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (int label = getLabel(text[i]); label >= 0) {
      term.push_back(label);
    } else if (text.compare(i, 3, "...") == 0 &&
               !std::count(term.begin(), term.end(), ellipsis)) {
      term.push_back(ellipsis);
      i += 2;
    } else {
      return Status::error("equation has no meaning at '" + text.substr(i) +
                           "'");
    }
  }
  return {};
}

constexpr size_t maxOperandCount = 8;

/// The loops of an equation over tensors of known dimensions.
struct Loops {
  /// Labels of the output, then those that are summed over.
  std::array<int, labelCount> labels{};
  size_t count = 0, outputCount = 0;
  std::array<int64_t, labelCount> extents{};
  /// By operand and label; 0 for labels that it hasn't.
  int64_t strides[maxOperandCount][labelCount] = {};
  bool has[maxOperandCount][labelCount] = {};

  int64_t getExtent(size_t loop) const {
    return extents[static_cast<size_t>(labels[loop])];
  }
  int64_t getProduct(size_t begin, size_t end) const {
    int64_t product = 1;
    for (size_t i = begin; i < end; ++i)
      product *= getExtent(i);
    return product;
  }
};

/// The labels of a contraction by where they are.
struct Contraction {
  std::array<int, labelCount> labels[4];
  size_t counts[4] = {};
  enum Kind { Batch, Row, Column, Inner };

  void push(Kind kind, int label) { labels[kind][counts[kind]++] = label; }
  int64_t getSize(const Loops &loops, Kind kind) const {
    int64_t size = 1;
    for (size_t i = 0; i < counts[kind]; ++i)
      size *= loops.extents[static_cast<size_t>(labels[kind][i])];
    return size;
  }
  int64_t getPackedSize(const Loops &loops) const {
    int64_t batch = getSize(loops, Batch), rows = getSize(loops, Row),
            columns = getSize(loops, Column), inner = getSize(loops, Inner);
    return batch * (rows * inner + inner * columns + rows * columns);
  }
};

class Einsum : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    std::string equation = attributes.getString("equation", "");
    equation.erase(std::remove(equation.begin(), equation.end(), ' '),
                   equation.end());
    size_t arrow = equation.find("->");
    std::string left = equation.substr(0, arrow);
    for (size_t begin = 0; begin <= left.size();) {
      size_t end = std::min(left.find(',', begin), left.size());
      terms.emplace_back();
      if (Status status =
              parseTerm(left.substr(begin, end - begin), terms.back());
          !status.ok())
        return status;
      begin = end + 1;
    }
    if (terms.size() > maxOperandCount)
      return Status::error("equation has " + std::to_string(terms.size()) +
                           " operands, the limit is " +
                           std::to_string(maxOperandCount));
    return arrow == std::string::npos ? makeOutput()
                                      : readOutput(equation.substr(arrow + 2));
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Loops loops;
    if (Status status = resolve(inputs, loops); !status.ok())
      return status;
    if (loops.outputCount > Shape::maxRank)
      return Status::error(
          "a result of rank " + std::to_string(loops.outputCount) +
          " is not supported, the limit is " + std::to_string(Shape::maxRank));
    int64_t dims[Shape::maxRank];
    for (size_t i = 0; i < loops.outputCount; ++i)
      dims[i] = loops.getExtent(i);
    return setShape(outputs[0], dims, loops.outputCount);
  }

  size_t getScratchSize(Span<const TensorView> inputs, Span<const TensorView>,
                        unsigned) const override {
    Loops loops;
    Contraction contraction;
    if (!resolve(inputs, loops).ok() || !getContraction(loops, contraction))
      return 0;
    return sizeof(double) *
           static_cast<size_t>(contraction.getPackedSize(loops));
  }

  Status run(const KernelArguments &arguments) const override {
    DataType type = arguments.inputs[0].type;
    Loops loops;
    if (Status status = resolve(arguments.inputs, loops); !status.ok())
      return status;
    Contraction contraction;
    bool isContraction = getContraction(loops, contraction);
    bool found = visitType(NumberTypes(), type, [&](auto element) {
      using T = decltype(element);
      if constexpr (!std::is_integral_v<T>)
        if (isContraction)
          return contract<T>(arguments, loops, contraction);
      runLoops<T>(arguments, loops);
    });
    return found ? Status() : typeError(type);
  }

private:
  /// Without an arrow: the ellipsis, then labels that are there once.
  Status makeOutput() {
    std::array<int, letters + 1> times{};
    for (const Term &term : terms)
      for (int label : term)
        ++times[static_cast<size_t>(label)];
    if (times[ellipsis])
      output.push_back(ellipsis);
    // Capital letters come first in ASCII.
    for (int i = 0; i < letters; ++i) {
      int label = (i + 26) % letters;
      if (times[static_cast<size_t>(label)] == 1)
        output.push_back(label);
    }
    return {};
  }

  Status readOutput(const std::string &text) {
    if (Status status = parseTerm(text, output); !status.ok())
      return status;
    for (int label : output) {
      bool isKnown = label == ellipsis;
      for (const Term &term : terms)
        isKnown |= std::count(term.begin(), term.end(), label) != 0;
      if (!isKnown || std::count(output.begin(), output.end(), label) != 1)
        return Status::error("equation has a result '" + text +
                             "' of labels that are unknown or there twice");
    }
    return {};
  }

  Status resolve(Span<const TensorView> inputs, Loops &loops) const {
    if (inputs.size != terms.size())
      return Status::error("equation has " + std::to_string(terms.size()) +
                           " operands, but got " + std::to_string(inputs.size));
    loops.extents.fill(1);
    int ellipsisRank = 0;
    for (size_t i = 0; i < terms.size(); ++i)
      if (Status status =
              addOperand(inputs[i].shape, terms[i], i, loops, ellipsisRank);
          !status.ok())
        return status;
    std::array<bool, labelCount> used{};
    auto push = [&](int label) {
      if (!used[static_cast<size_t>(label)])
        loops.labels[loops.count++] = label;
      used[static_cast<size_t>(label)] = true;
    };
    for (int label : output) {
      if (label != ellipsis)
        push(label);
      for (int axis = ellipsisRank; label == ellipsis && axis-- > 0;)
        push(ellipsis + axis);
    }
    loops.outputCount = loops.count;
    for (int label = 0; label < labelCount; ++label)
      for (size_t i = 0; i < terms.size(); ++i)
        if (loops.has[i][label])
          push(label);
    return {};
  }

  /// Axes of the ellipsis count from the last one, as broadcasting does.
  static Status addOperand(const Shape &shape, const Term &term, size_t index,
                           Loops &loops, int &ellipsisRank) {
    bool hasEllipsis = std::count(term.begin(), term.end(), ellipsis) != 0;
    size_t named = term.size() - (hasEllipsis ? 1 : 0);
    if (shape.getRank() < named || (!hasEllipsis && shape.getRank() != named))
      return Status::error("equation has " + std::to_string(named) +
                           " labels for operand " + std::to_string(index) +
                           " of dimensions " + toString(shape));
    auto hidden = static_cast<int>(shape.getRank() - named);
    ellipsisRank = std::max(ellipsisRank, hidden);
    auto strides = getStrides(shape);
    size_t axis = 0;
    Status status;
    auto add = [&](int label) {
      int64_t &extent = loops.extents[static_cast<size_t>(label)];
      int64_t dim = shape[axis];
      if (dim != extent && dim != 1 && extent != 1 && status.ok())
        status = Status::error("operand " + std::to_string(index) +
                               " of dimensions " + toString(shape) + " has " +
                               std::to_string(dim) + " where others have " +
                               std::to_string(extent));
      if (extent == 1)
        extent = dim;
      loops.has[index][label] = true;
      loops.strides[index][label] += dim == 1 ? 0 : strides[axis];
      ++axis;
    };
    for (int label : term) {
      if (label != ellipsis)
        add(label);
      for (int i = hidden; label == ellipsis && i-- > 0;)
        add(ellipsis + i);
    }
    return status;
  }

  /// Whether all labels that are summed over are in both of two operands.
  bool getContraction(const Loops &loops, Contraction &contraction) const {
    if (terms.size() != 2)
      return false;
    for (size_t i = 0; i < loops.count; ++i) {
      int label = loops.labels[i];
      bool left = loops.has[0][label], right = loops.has[1][label];
      bool isOutput = i < loops.outputCount;
      if (!isOutput && !(left && right))
        return false;
      contraction.push(!isOutput       ? Contraction::Inner
                       : left && right ? Contraction::Batch
                       : left          ? Contraction::Row
                                       : Contraction::Column,
                       label);
    }
    for (const auto &counts :
         {contraction.counts[0] + contraction.counts[1] + contraction.counts[3],
          contraction.counts[0] + contraction.counts[2] +
              contraction.counts[3]})
      if (counts > LoopNest::maxDepth)
        return false;
    return true;
  }

  /// Copies an operand with its axes in the order of some kinds of labels.
  template <typename T>
  static void pack(const T *from, const Loops &loops, size_t operand,
                   const Contraction &contraction,
                   std::initializer_list<Contraction::Kind> kinds,
                   Compute<T> *to, ThreadPool &threads) {
    LoopNest nest;
    int64_t total = 1;
    for (Contraction::Kind kind : kinds)
      for (size_t i = 0; i < contraction.counts[kind]; ++i) {
        int label = contraction.labels[kind][i];
        int64_t extent = loops.extents[static_cast<size_t>(label)];
        nest.push(extent, loops.strides[operand][label], 0);
        total *= extent;
      }
    threads.parallelFor(total, getGrain(16),
                        [&](int64_t begin, int64_t end, unsigned) {
                          LoopPosition position(nest, nest.getDepth(), begin);
                          for (int64_t i = begin; i < end; ++i) {
                            to[i] = load(from[position.source]);
                            position.next();
                          }
                        });
  }

  template <typename T>
  static void contract(const KernelArguments &arguments, const Loops &loops,
                       const Contraction &contraction) {
    using C = Compute<T>;
    ThreadPool &threads = *arguments.threads;
    int64_t batch = contraction.getSize(loops, Contraction::Batch),
            rows = contraction.getSize(loops, Contraction::Row),
            columns = contraction.getSize(loops, Contraction::Column),
            inner = contraction.getSize(loops, Contraction::Inner);
    C *left = static_cast<C *>(arguments.scratch);
    C *right = left + batch * rows * inner;
    C *result = right + batch * inner * columns;
    pack(arguments.inputs[0].as<const T>(), loops, 0, contraction,
         {Contraction::Batch, Contraction::Row, Contraction::Inner}, left,
         threads);
    pack(arguments.inputs[1].as<const T>(), loops, 1, contraction,
         {Contraction::Batch, Contraction::Inner, Contraction::Column}, right,
         threads);
    constexpr int64_t width = 256;
    int64_t parts = (columns + width - 1) / width;
    threads.parallelFor(
        batch * parts * rows, getGrain(inner * std::min(columns, width)),
        [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t i = begin; i < end; ++i) {
            int64_t row = i % rows, part = i / rows % parts;
            int64_t item = i / rows / parts, first = part * width;
            int64_t count = std::min(width, columns - first);
            C *to = result + (item * rows + row) * columns + first;
            std::fill_n(to, count, C(0));
            multiplyAdd(left + (item * rows + row) * inner, inner,
                        right + item * inner * columns + first, columns, to,
                        count);
          }
        });
    // Where the result's axes are in the output.
    std::array<int64_t, labelCount> strides{};
    int64_t stride = 1;
    for (size_t i = loops.outputCount; i-- > 0;) {
      strides[static_cast<size_t>(loops.labels[i])] = stride;
      stride *= loops.getExtent(i);
    }
    LoopNest nest;
    for (auto kind :
         {Contraction::Batch, Contraction::Row, Contraction::Column})
      for (size_t i = 0; i < contraction.counts[kind]; ++i) {
        auto label = static_cast<size_t>(contraction.labels[kind][i]);
        nest.push(loops.extents[label], strides[label], 0);
      }
    T *output = arguments.outputs[0].as<T>();
    threads.parallelFor(batch * rows * columns, getGrain(16),
                        [&](int64_t begin, int64_t end, unsigned) {
                          LoopPosition position(nest, nest.getDepth(), begin);
                          for (int64_t i = begin; i < end; ++i) {
                            output[position.source] = store<T>(result[i]);
                            position.next();
                          }
                        });
  }

  template <typename T>
  void runLoops(const KernelArguments &arguments, const Loops &loops) const {
    int64_t total = loops.getProduct(0, loops.outputCount);
    int64_t terms = loops.getProduct(loops.outputCount, loops.count);
    size_t operands = arguments.inputs.size;
    arguments.threads->parallelFor(
        total, getGrain(terms * 8 * static_cast<int64_t>(operands)),
        [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t i = begin; i < end; ++i) {
            int64_t first[maxOperandCount] = {}, rest = i;
            for (size_t j = loops.outputCount; j-- > 0;) {
              int64_t at = rest % loops.getExtent(j);
              rest /= loops.getExtent(j);
              for (size_t k = 0; k < operands; ++k)
                first[k] += at * loops.strides[k][loops.labels[j]];
            }
            arguments.outputs[0].as<T>()[i] =
                store<T>(sum<T>(arguments.inputs, loops, first, terms));
          }
        });
  }

  template <typename T>
  static Compute<T> sum(Span<const TensorView> inputs, const Loops &loops,
                        int64_t *at, int64_t terms) {
    using C = Compute<T>;
    std::array<int64_t, labelCount> counters{};
    C sum = 0;
    for (int64_t term = 0; term < terms; ++term) {
      C product = load(inputs[0].as<const T>()[at[0]]);
      for (size_t k = 1; k < inputs.size; ++k)
        product =
            wrapMultiply<C>(product, load(inputs[k].as<const T>()[at[k]]));
      sum = wrapAdd<C>(sum, product);
      for (size_t j = loops.count; j-- > loops.outputCount;) {
        int label = loops.labels[j];
        bool isLast = ++counters[j] == loops.getExtent(j);
        for (size_t k = 0; k < inputs.size; ++k)
          at[k] +=
              loops.strides[k][label] * (isLast ? 1 - loops.getExtent(j) : 1);
        if (!isLast)
          break;
        counters[j] = 0;
      }
    }
    return sum;
  }

  std::vector<Term> terms;
  Term output;
};

constexpr KernelEntry entries[] = {{"einsum", create<Einsum>}};

} // namespace

Span<const KernelEntry> amp::runtime::getEinsumKernels() {
  return {entries, std::size(entries)};
}
