//===- LinearAttention.cpp - recurrent sequence mixing --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Conversion.h"
#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/LibraryKernel.h"
#include "CPU/MultiplyAdd.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"

#include <algorithm>
#include <cmath>

using namespace amp::runtime;

namespace {

/// One step after another, a head of the state on one thread.
class LinearAttention : public LibraryKernel {
  enum Input { Query, Key, Value, Past, Decay, Beta };
  struct Dims {
    int64_t batch, steps, keys, values;
  };

public:
  Status configure(const Attributes &attributes) {
    std::string rule = attributes.getString("update_rule", "gated_delta");
    isGated = rule == "gated" || rule == "gated_delta";
    isDelta = rule == "delta" || rule == "gated_delta";
    if (!isGated && !isDelta && rule != "linear")
      return Status::error("update_rule has no value " + rule);
    queryHeads = attributes.getInt("q_num_heads", 0);
    heads = attributes.getInt("kv_num_heads", 0);
    scale = attributes.getFloat("scale", 0);
    if (heads < 1 || queryHeads < 1 || queryHeads % heads != 0)
      return Status::error(std::to_string(queryHeads) +
                           " query heads don't share " + std::to_string(heads) +
                           " heads");
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Dims dims;
    if (Status status = getDims(inputs, dims); !status.ok())
      return status;
    Shape state = {dims.batch, heads, dims.keys, dims.values};
    if (hasInput(inputs, Past) && inputs[Past].shape != state)
      return Status::error("past_state must have dimensions " +
                           toString(state) + ", but has " +
                           toString(inputs[Past].shape));
    if (Status status = checkGates(inputs, dims); !status.ok())
      return status;
    if (Status status = setShape(
            outputs[0], {dims.batch, dims.steps, queryHeads * dims.values});
        !status.ok())
      return status;
    return outputs.size > 1 ? setShape(outputs[1], state) : Status();
  }

  size_t getScratchSize(Span<const TensorView> inputs, Span<const TensorView>,
                        unsigned threads) const override {
    Dims dims;
    if (!getDims(inputs, dims).ok())
      return 0;
    return threads * sizeof(float) * getBufferSize(dims);
  }

  Status run(const KernelArguments &arguments) const override {
    Span<const TensorView> inputs = arguments.inputs;
    Dims dims;
    if (Status status = getDims(inputs, dims); !status.ok())
      return status;
    if (!visitType(TypeList<float, Half, Brain>(), inputs[0].type, [](auto) {}))
      return typeError(inputs[0].type);
    int64_t size = dims.keys * dims.values;
    arguments.threads->parallelFor(
        dims.batch * heads, getGrain(dims.steps * size * 4),
        [&](int64_t begin, int64_t end, unsigned thread) {
          float *state = static_cast<float *>(arguments.scratch) +
                         getBufferSize(dims) * thread;
          for (int64_t i = begin; i < end; ++i) {
            if (hasInput(inputs, Past))
              convertElements(inputs[Past].type,
                              elementAt(inputs[Past], i * size),
                              DataType::Float, state, size);
            else
              std::fill_n(state, size, 0.0f);
            for (int64_t step = 0; step < dims.steps; ++step)
              runStep(arguments, dims, i / heads * dims.steps + step, i % heads,
                      state);
            if (hasOutput(arguments.outputs, 1))
              convertElements(DataType::Float, state, arguments.outputs[1].type,
                              mutableElementAt(arguments.outputs[1], i * size),
                              size);
          }
        });
    return {};
  }

private:
  /// The state, a key or query, a value, and a row of results.
  static size_t getBufferSize(const Dims &dims) {
    return static_cast<size_t>(dims.keys * dims.values + 2 * dims.keys +
                               2 * dims.values);
  }

  Status getDims(Span<const TensorView> inputs, Dims &dims) const {
    const Shape &query = inputs[Query].shape, &key = inputs[Key].shape,
                &value = inputs[Value].shape;
    if (query.getRank() == 3 && query[2] % queryHeads == 0 &&
        value.getRank() == 3 && value[2] % heads == 0) {
      dims = {query[0], query[1], query[2] / queryHeads, value[2] / heads};
      if (key == Shape{query[0], query[1], heads * dims.keys} &&
          value == Shape{query[0], query[1], heads * dims.values})
        return {};
    }
    return Status::error("query, key and value don't fit each other, having "
                         "dimensions " +
                         toString(query) + ", " + toString(key) + " and " +
                         toString(value));
  }

  Status checkGates(Span<const TensorView> inputs, const Dims &dims) const {
    auto check = [&](bool isNeeded, size_t index, const char *name,
                     int64_t width, int64_t other) -> Status {
      if (!isNeeded)
        return {};
      Shape shape = {dims.batch, dims.steps, width};
      Shape otherShape = {dims.batch, dims.steps, other};
      TensorView tensor = getInput(inputs, index);
      if (isPresent(tensor) &&
          (tensor.shape == shape || tensor.shape == otherShape))
        return {};
      return Status::error(std::string(name) + " must have dimensions " +
                           toString(shape) + " or " + toString(otherShape));
    };
    if (Status status =
            check(isGated, Decay, "decay", heads * dims.keys, heads);
        !status.ok())
      return status;
    return check(isDelta, Beta, "beta", heads, 1);
  }

  static void read(const TensorView &tensor, int64_t first, float *values,
                   int64_t count) {
    convertElements(tensor.type, elementAt(tensor, first), DataType::Float,
                    values, count);
  }

  void runStep(const KernelArguments &arguments, const Dims &dims,
               int64_t token, int64_t head, float *state) const {
    Span<const TensorView> inputs = arguments.inputs;
    float *key = state + dims.keys * dims.values;
    float *decay = key + dims.keys, *value = decay + dims.keys;
    float *result = value + dims.values;
    if (isGated) {
      bool isPerKey = inputs[Decay].shape[2] == heads * dims.keys;
      int64_t at = token * heads + head;
      if (isPerKey)
        read(inputs[Decay], at * dims.keys, decay, dims.keys);
      for (int64_t i = 0; i < dims.keys; ++i) {
        if (!isPerKey)
          read(inputs[Decay], at, decay + i, 1);
        float factor = std::exp(decay[i]);
        for (int64_t j = 0; j < dims.values; ++j)
          state[i * dims.values + j] *= factor;
      }
    }
    read(inputs[Key], (token * heads + head) * dims.keys, key, dims.keys);
    read(inputs[Value], (token * heads + head) * dims.values, value,
         dims.values);
    if (isDelta) {
      float beta;
      bool isShared = inputs[Beta].shape[2] == 1;
      read(inputs[Beta], isShared ? token : token * heads + head, &beta, 1);
      std::fill_n(result, dims.values, 0.0f);
      multiplyAdd(key, dims.keys, state, dims.values, result, dims.values);
      for (int64_t j = 0; j < dims.values; ++j)
        value[j] = beta * (value[j] - result[j]);
    }
    for (int64_t i = 0; i < dims.keys; ++i)
      for (int64_t j = 0; j < dims.values; ++j)
        state[i * dims.values + j] += key[i] * value[j];
    answer(arguments, dims, token, head, state);
  }

  /// What the queries that share a head of the state read from it.
  void answer(const KernelArguments &arguments, const Dims &dims, int64_t token,
              int64_t head, float *state) const {
    float *query = state + dims.keys * dims.values;
    float *result = query + 2 * dims.keys + dims.values;
    auto factor = static_cast<float>(
        scale == 0 ? 1 / std::sqrt(static_cast<double>(dims.keys)) : scale);
    int64_t shared = queryHeads / heads;
    for (int64_t i = 0; i < shared; ++i) {
      int64_t at = token * queryHeads + head * shared + i;
      read(arguments.inputs[Query], at * dims.keys, query, dims.keys);
      std::fill_n(result, dims.values, 0.0f);
      multiplyAdd(query, dims.keys, state, dims.values, result, dims.values);
      for (int64_t j = 0; j < dims.values; ++j)
        result[j] *= factor;
      convertElements(DataType::Float, result, arguments.outputs[0].type,
                      mutableElementAt(arguments.outputs[0], at * dims.values),
                      dims.values);
    }
  }

  bool isGated = true, isDelta = true;
  int64_t queryHeads = 1, heads = 1;
  double scale = 0;
};

/// A convolution of each channel with what came before, the last steps of
/// which are the state. silu is of the sum that has not been rounded yet.
class CausalConv : public LibraryKernel {
  enum Input { X, Weight, Bias, Past };

public:
  Status configure(const Attributes &attributes) {
    std::string name = attributes.getString("activation", "none");
    if (name != "none" && name != "silu" && name != "swish")
      return Status::error("activation has no value " + name);
    hasActivation = name != "none";
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    const Shape &shape = inputs[X].shape, &weights = inputs[Weight].shape;
    if (shape.getRank() != 3 || weights.getRank() != 3 ||
        weights[0] != shape[1] || weights[1] != 1 || weights[2] < 1)
      return Status::error("weights of dimensions " + toString(weights) +
                           " don't fit a tensor of dimensions " +
                           toString(shape));
    Shape state = {shape[0], shape[1], weights[2] - 1};
    if (hasInput(inputs, Past) && inputs[Past].shape != state)
      return Status::error("past_state must have dimensions " +
                           toString(state) + ", but has " +
                           toString(inputs[Past].shape));
    if (hasInput(inputs, Bias) && inputs[Bias].shape != Shape{shape[1]})
      return Status::error("bias must have dimensions " +
                           std::to_string(shape[1]) + ", but has " +
                           toString(inputs[Bias].shape));
    if (Status status = setShape(outputs[0], shape); !status.ok())
      return status;
    return outputs.size > 1 ? setShape(outputs[1], state) : Status();
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[X];
    int64_t channels = input.shape[1], steps = input.shape[2];
    int64_t size = arguments.inputs[Weight].shape[2];
    TensorView past = getInput(arguments.inputs, Past),
               bias = getInput(arguments.inputs, Bias);
    bool found = visitType(FloatTypes(), input.type, [&](auto element) {
      using T = decltype(element);
      using C = Compute<T>;
      arguments.threads->parallelFor(
          input.shape[0] * channels, getGrain(steps * size * 4),
          [&](int64_t begin, int64_t end, unsigned) {
            for (int64_t i = begin; i < end; ++i) {
              const T *x = input.as<const T>() + i * steps;
              const T *weight =
                  arguments.inputs[Weight].as<const T>() + i % channels * size;
              auto get = [&](int64_t step) {
                if (step >= 0)
                  return x[step];
                return isPresent(past)
                           ? past.as<const T>()[(i + 1) * (size - 1) + step]
                           : T{};
              };
              for (int64_t step = 0; step < steps; ++step) {
                C sum = isPresent(bias) ? load(bias.as<const T>()[i % channels])
                                        : C(0);
                for (int64_t j = 0; j < size; ++j)
                  sum += load(weight[j]) * load(get(step - size + 1 + j));
                if (hasActivation)
                  sum /= 1 + std::exp(-sum);
                arguments.outputs[0].as<T>()[i * steps + step] = store<T>(sum);
              }
              for (int64_t j = 0;
                   hasOutput(arguments.outputs, 1) && j < size - 1; ++j)
                arguments.outputs[1].as<T>()[i * (size - 1) + j] =
                    get(steps - size + 1 + j);
            }
          });
    });
    return found ? Status() : typeError(input.type);
  }

private:
  bool hasActivation = false;
};

constexpr KernelEntry entries[] = {
    {"linear_attention", create<LinearAttention>},
    {"causal_conv_with_state", create<CausalConv>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getLinearAttentionKernels() {
  return {entries, std::size(entries)};
}
