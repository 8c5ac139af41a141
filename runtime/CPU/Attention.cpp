//===- Attention.cpp - attention without the matrix of scores -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// attention  Q, K, V, attn_mask, nonpad_kv_seqlen, past_key -> Y, log_sum_exp
//
// ONNX's Attention with keys and values of all positions (present_key and
// present_value). Attributes are ONNX's scale, is_causal, softcap, q_num_heads,
// kv_num_heads, left_window_size and right_window_size, and `causal_offset`:
// how many positions are before the first query. So are those of past_key, of
// which nothing else is read. Q, which Y is like, may have three dimensions
// where K and V have four, and the other way round.
// log_sum_exp, float32 of [batch, heads, queries], may be left out; it is what
// a backward pass needs.
//
// A task is a block of queries of one head: for each block of keys it computes
// scores, their exponentials relative to the largest so far and adds the
// weighted values, in the second cache. Scores, exponentials and sums are
// floats, and scale is applied to scores once, where ONNX's definition rounds
// them to the type of Q. A query that may see no key gives 0.
//
//===----------------------------------------------------------------------===//

#include "CPU/FusedActivation.h"
#include "CPU/GemmKernels.h"
#include "CPU/Kernels.h"
#include "CPU/Sizes.h"
#include "CPU/ThreadPool.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace amp::runtime;

namespace {

/// Rows of a head, [position][element], in a tensor of either form.
struct Heads {
  const TensorView *tensor = nullptr;
  int64_t heads = 0, positions = 0, size = 0;
  int64_t batchStride = 0, headStride = 0, rowStride = 0;

  Heads() = default;
  /// `heads` counts if the tensor has three dimensions.
  Heads(const TensorView &view, int64_t headCount) : tensor(&view) {
    const Shape &shape = view.shape;
    if (shape.getRank() == 4) {
      heads = shape[1];
      positions = shape[2];
      rowStride = size = shape[3];
      headStride = positions * size;
    } else {
      heads = headCount;
      positions = shape[1];
      headStride = size = shape[2] / headCount;
      rowStride = shape[2];
    }
    batchStride = heads * positions * size;
  }
  char *at(int64_t batch, int64_t head, int64_t row) const {
    return tensor->as<char>() +
           (batch * batchStride + head * headStride + row * rowStride) *
               static_cast<int64_t>(getByteSize(tensor->type));
  }
};

class AttentionKernel final : public Kernel {
public:
  static Result<std::unique_ptr<Kernel>> create(const Attributes &attributes) {
    auto kernel = std::make_unique<AttentionKernel>();
    kernel->isCausal = attributes.getInt("is_causal", 0) != 0;
    kernel->offset = attributes.getInt("causal_offset", 0);
    kernel->queryHeads = attributes.getInt("q_num_heads", 0);
    kernel->keyHeads = attributes.getInt("kv_num_heads", 0);
    kernel->left = attributes.getInt("left_window_size", -1);
    kernel->right = attributes.getInt("right_window_size", -1);
    kernel->scale = static_cast<float>(attributes.getFloat("scale", 0.0));
    kernel->hasScale = attributes.has("scale");
    kernel->softcap = static_cast<float>(attributes.getFloat("softcap", 0.0));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    if (inputs.size < 3 || inputs.size > 6 || outputs.size < 1 ||
        outputs.size > 2)
      return Status::error(
          "attention has 3 to 6 inputs and 1 or 2 outputs, but got " +
          std::to_string(inputs.size) + " and " + std::to_string(outputs.size));
    const Shape &q = inputs[0].shape;
    size_t rank = q.getRank();
    for (size_t i = 0; i < 3; ++i) {
      if (!isEngineType(inputs[i].type))
        return Status::error("there is no attention of type " +
                             std::string(getName(inputs[i].type)));
      const Shape &shape = inputs[i].shape;
      size_t ownRank = shape.getRank();
      if ((ownRank != 3 && ownRank != 4) ||
          (i == 2 && ownRank != inputs[1].shape.getRank()))
        return Status::error(
            "Q, K and V have 3 or 4 dimensions, V as many as K, but got " +
            toString(shape));
      int64_t heads = i == 0 ? queryHeads : keyHeads;
      if (ownRank == 3 && (heads < 1 || shape[2] % heads != 0))
        return Status::error("dimensions " + toString(shape) + " are not of " +
                             std::to_string(heads) + " heads");
      if (shape[0] != q[0])
        return Status::error("batches differ: " + toString(q) + " and " +
                             toString(shape));
    }
    if (!isEngineType(outputs[0].type))
      return Status::error("there is no attention of type " +
                           std::string(getName(outputs[0].type)));
    Heads queries(inputs[0], queryHeads), keys(inputs[1], keyHeads),
        values(inputs[2], keyHeads);
    if (queries.size != keys.size || keys.positions != values.positions ||
        keys.heads != values.heads || keys.heads < 1 ||
        queries.heads % keys.heads != 0)
      return Status::error(
          "heads of Q, K and V don't fit each other: " + toString(q) + ", " +
          toString(inputs[1].shape) + " and " + toString(inputs[2].shape));
    if (hasInput(inputs, 3)) {
      const TensorView &mask = inputs[3];
      if (mask.type != DataType::Bool && !isEngineType(mask.type))
        return Status::error("there is no mask of type " +
                             std::string(getName(mask.type)));
      const int64_t full[] = {q[0], queries.heads, queries.positions,
                              keys.positions};
      size_t maskRank = mask.shape.getRank();
      bool fits = maskRank >= 1 && maskRank <= 4;
      for (size_t i = 0; fits && i < maskRank; ++i) {
        int64_t dim = mask.shape[i], wanted = full[4 - maskRank + i];
        // The last one may be less: keys that it doesn't know are masked.
        fits = dim == 1 || dim == wanted || (i + 1 == maskRank && dim < wanted);
      }
      if (!fits)
        return Status::error("the mask has dimensions " + toString(mask.shape) +
                             " for " + std::to_string(queries.positions) +
                             " queries and " + std::to_string(keys.positions) +
                             " keys");
    }
    if (hasInput(inputs, 4) &&
        (inputs[4].type != DataType::Int64 || inputs[4].shape != Shape{q[0]}))
      return Status::error("nonpad_kv_seqlen is int64 of " +
                           std::to_string(q[0]) + ", but got " +
                           std::string(getName(inputs[4].type)) + " of " +
                           toString(inputs[4].shape));
    if (hasInput(inputs, 5) &&
        (inputs[5].shape.getRank() != 4 || inputs[5].shape[2] > keys.positions))
      return Status::error("past_key has dimensions " +
                           toString(inputs[5].shape) + " for " +
                           std::to_string(keys.positions) + " keys");
    outputs[0].shape = q;
    outputs[0].shape[rank - 1] =
        rank == 4 ? values.size : values.size * queries.heads;
    if (outputs.size > 1) {
      if (outputs[1].type != DataType::Float)
        return Status::error("log_sum_exp is float32, but got " +
                             std::string(getName(outputs[1].type)));
      outputs[1].shape = {q[0], queries.heads, queries.positions};
    }
    return {};
  }

  size_t getScratchSize(Span<const TensorView> inputs,
                        Span<const TensorView> outputs,
                        unsigned threads) const override {
    return Step(*this, inputs, outputs).getThreadSize() * threads;
  }

  Status run(const KernelArguments &arguments) const override {
    Step step(*this, arguments.inputs,
              {arguments.outputs.data, arguments.outputs.size});
    auto *memory = static_cast<char *>(arguments.scratch);
    arguments.threads->parallelFor(
        step.getTaskCount(), 1,
        [&](int64_t begin, int64_t end, unsigned thread) {
          for (int64_t task = begin; task < end; ++task)
            step.runTask(task, memory + thread * step.getThreadSize());
        });
    return {};
  }

private:
  static bool hasInput(Span<const TensorView> inputs, size_t i) {
    return i < inputs.size && inputs[i].type != DataType::Undefined;
  }

  /// One run.
  class Step {
  public:
    Step(const AttentionKernel &kernel, Span<const TensorView> inputs,
         Span<const TensorView> outputs)
        : kernel(kernel), kernels(getGemmKernels(getIsa())),
          panels(*kernels.floats), queries(inputs[0], kernel.queryHeads),
          keys(inputs[1], kernel.keyHeads), values(inputs[2], kernel.keyHeads),
          results(outputs[0], queries.heads), batch(inputs[0].shape[0]),
          offset(kernel.offset) {
      if (hasInput(inputs, 3))
        mask = &inputs[3];
      if (hasInput(inputs, 4))
        lengths = &inputs[4];
      if (hasInput(inputs, 5))
        offset += inputs[5].shape[2];
      if (outputs.size > 1)
        logSumExp = &outputs[1];
      // As many rows as a block of whole panels has, of the same height.
      int64_t most = 168 / panels.maxHeight * panels.maxHeight;
      int64_t blocks = std::max<int64_t>(1, divideUp(queries.positions, most));
      rows = divideUp(queries.positions, blocks);
      height = rows ? divideUp(rows, divideUp(rows, panels.maxHeight)) : 1;
      columns =
          std::min<int64_t>(128, roundUp(keys.positions, panels.maxWidth));
      valueColumns = roundUp(values.size, panels.widthUnit);
      scale = kernel.hasScale
                  ? kernel.scale
                  : 1.0f / std::sqrt(static_cast<float>(queries.size));
    }

    int64_t getTaskCount() const {
      return rows ? batch * queries.heads * divideUp(queries.positions, rows)
                  : 0;
    }

    size_t getThreadSize() const {
      return getFloats(rows * queries.size) + getFloats(columns * keys.size) +
             getFloats(columns * valueColumns) + 2 * getFloats(rows * columns) +
             getFloats(rows * valueColumns) + 4 * getFloats(rows);
    }

    void runTask(int64_t task, char *memory) const {
      auto take = [&](int64_t count) {
        auto *floats = reinterpret_cast<float *>(memory);
        memory += getFloats(count);
        return floats;
      };
      float *packedQ = take(rows * queries.size);
      float *packedK = take(columns * keys.size);
      float *packedV = take(columns * valueColumns);
      float *scores = take(rows * columns);
      float *packedP = take(rows * columns);
      float *sums = take(rows * valueColumns);
      float *maxima = take(rows), *totals = take(rows), *factors = take(rows);
      float *newTotals = take(rows);

      int64_t blocks = divideUp(queries.positions, rows);
      int64_t first = task % blocks * rows;
      int64_t head = task / blocks % queries.heads;
      int64_t n = task / blocks / queries.heads;
      int64_t keyHead = head / (queries.heads / keys.heads);
      int64_t count = std::min(rows, queries.positions - first);
      std::fill(maxima, maxima + count,
                -std::numeric_limits<float>::infinity());
      std::fill(totals, totals + count, 0.0f);
      std::fill(sums, sums + count * valueColumns, 0.0f);

      // Keys of query i of the block: [low + i, high + i) and before `end`.
      int64_t end = keys.positions, before = offset;
      if (lengths) {
        int64_t length = lengths->as<int64_t>()[n];
        before = length - queries.positions;
        end = std::clamp<int64_t>(length, 0, end);
      }
      constexpr int64_t far = int64_t{1} << 30;
      int64_t low = kernel.left >= 0 ? first + before - kernel.left : -far;
      int64_t high =
          kernel.right >= 0 ? first + before + kernel.right + 1 : far;
      if (kernel.isCausal)
        high = std::min(high, first + before + 1);

      packLines(queries, n, head, first, count, packedQ);
      int64_t begin = std::max<int64_t>(0, low) / columns * columns;
      int64_t stop = std::min(end, high + count - 1);
      for (int64_t key = begin; key < stop; key += columns) {
        int64_t some = std::min(columns, keys.positions - key);
        packKeys(n, keyHead, key, some, packedK);
        multiply(packedQ, count, packedK, roundUp(some, panels.widthUnit),
                 queries.size, scores, columns, false);
        ScoreBlock block = {scores,     columns,
                            count,      some,
                            scale,      kernel.softcap,
                            nullptr,    DataType::Undefined,
                            0,          0,
                            0,          low - key,
                            high - key, end - key,
                            maxima,     totals,
                            factors,    newTotals};
        if (mask)
          setMask(n, head, first, key, block);
        kernels.softmaxBlock(block);
        kernels.scaleRows(sums, valueColumns, count, valueColumns, factors);
        for (int64_t i = 0; i < count; i += height)
          panels.packA({scores + i * columns, DataType::Float, columns, 1,
                        std::min(height, count - i), some},
                       static_cast<int>(std::min(height, count - i)),
                       packedP + i * some);
        packValues(n, keyHead, key, some, packedV);
        multiply(packedP, count, packedV, valueColumns, some, sums,
                 valueColumns, true);
      }

      if (logSumExp) {
        auto *to = logSumExp->as<float>() +
                   (n * queries.heads + head) * queries.positions + first;
        for (int64_t i = 0; i < count; ++i)
          to[i] = maxima[i] + std::log(totals[i]);
      }
      for (int64_t i = 0; i < count; ++i)
        factors[i] = totals[i] == 0.0f ? 0.0f : 1.0f / totals[i];
      kernels.scaleRows(sums, valueColumns, count, valueColumns, factors);
      Finish finish = {};
      finish.alpha = 1.0f;
      finish.c.data = results.at(n, head, first);
      finish.c.type = results.tensor->type;
      finish.c.rowStride = results.rowStride;
      finish.c.columnStride = 1;
      kernels.finish(finish, sums, valueColumns, 0, 0, count, values.size);
    }

  private:
    static size_t getFloats(int64_t count) {
      return alignUp(count * sizeof(float) + slack);
    }

    void packLines(const Heads &from, int64_t n, int64_t head, int64_t first,
                   int64_t count, float *to) const {
      for (int64_t i = 0; i < count; i += height) {
        int64_t lines = std::min(height, count - i);
        panels.packA({from.at(n, head, first + i), from.tensor->type,
                      from.rowStride, 1, lines, from.size},
                     static_cast<int>(lines), to + i * from.size);
      }
    }

    void packKeys(int64_t n, int64_t head, int64_t key, int64_t count,
                  float *to) const {
      for (int64_t j = 0; j < count; j += panels.maxWidth) {
        int64_t lines = std::min<int64_t>(panels.maxWidth, count - j);
        panels.packB({keys.at(n, head, key + j), keys.tensor->type,
                      keys.rowStride, 1, lines, keys.size},
                     static_cast<int>(roundUp(lines, panels.widthUnit)),
                     to + j * keys.size);
      }
    }

    void packValues(int64_t n, int64_t head, int64_t key, int64_t count,
                    float *to) const {
      auto bytes = static_cast<int64_t>(getByteSize(values.tensor->type));
      for (int64_t j = 0; j < values.size; j += panels.maxWidth) {
        int64_t lines = std::min<int64_t>(panels.maxWidth, values.size - j);
        panels.packB({values.at(n, head, key) + j * bytes, values.tensor->type,
                      1, values.rowStride, lines, count},
                     static_cast<int>(roundUp(lines, panels.widthUnit)),
                     to + j * count);
      }
    }

    void multiply(const float *a, int64_t count, const float *b, int64_t width,
                  int64_t depth, float *c, int64_t stride,
                  bool accumulate) const {
      for (int64_t j = 0; j < width; j += panels.maxWidth) {
        int64_t some = std::min<int64_t>(panels.maxWidth, width - j);
        for (int64_t i = 0; i < count; i += height)
          panels.multiply(static_cast<int>(std::min(height, count - i)),
                          static_cast<int>(some), depth, a + i * depth,
                          b + j * depth, c + i * stride + j, stride,
                          accumulate);
      }
    }

    void setMask(int64_t n, int64_t head, int64_t first, int64_t key,
                 ScoreBlock &block) const {
      const Shape &shape = mask->shape;
      size_t rank = shape.getRank();
      const int64_t index[] = {n, head, first, key};
      int64_t stride = 1, at = 0;
      for (size_t i = 0; i < rank; ++i) {
        size_t axis = rank - 1 - i;
        int64_t own = shape[axis] == 1 ? 0 : stride;
        at += index[3 - i] * own;
        if (i == 0)
          block.maskColumnStride = own;
        else if (i == 1)
          block.maskRowStride = own;
        stride *= shape[axis];
      }
      block.maskType = mask->type;
      block.mask =
          mask->as<char>() + at * static_cast<int64_t>(getByteSize(mask->type));
      // One column is for all keys.
      block.maskColumns =
          shape[rank - 1] == 1 ? keys.positions - key : shape[rank - 1] - key;
    }

    const AttentionKernel &kernel;
    const GemmKernels &kernels;
    const PanelKernels &panels;
    Heads queries, keys, values, results;
    int64_t batch, offset;
    const TensorView *mask = nullptr, *lengths = nullptr, *logSumExp = nullptr;
    /// Of blocks; those of the sums.
    int64_t rows = 0, height = 1, columns = 0, valueColumns = 0;
    float scale = 1.0f;
  };

  bool isCausal = false, hasScale = false;
  int64_t offset = 0, queryHeads = 0, keyHeads = 0, left = -1, right = -1;
  float scale = 0.0f, softcap = 0.0f;
};

} // namespace

Span<const KernelEntry> amp::runtime::getAttentionKernels() {
  static constexpr KernelEntry entries[] = {
      {"attention", AttentionKernel::create}};
  return {entries, std::size(entries)};
}
