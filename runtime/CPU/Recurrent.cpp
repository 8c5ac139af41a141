//===- Recurrent.cpp - RNN, GRU and LSTM ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All steps' inputs are multiplied with their weights first. A step then adds
// the products of the state, for pieces of the batch and of the hidden units
// at a time. States stay in float32, or float64 for double.
//
//===----------------------------------------------------------------------===//

#include "CPU/Activation.h"
#include "CPU/Conversion.h"
#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/LibraryKernel.h"
#include "CPU/MultiplyAdd.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace amp::runtime;

namespace {

/// Hidden units that are worked on at once.
constexpr int64_t width = 64;

/// The first dimension of the weights counts the gates in ONNX's order: iofc,
/// zrh.
enum class Cell { RNN, GRU, LSTM };
constexpr int64_t getGateCount(Cell cell) {
  return cell == Cell::RNN ? 1 : cell == Cell::GRU ? 3 : 4;
}

struct Dims {
  int64_t steps, batch, inputs, hidden, gates, directions;
};

/// What one direction works in.
template <typename C> struct Buffers {
  C *inputs, *weights, *recurrence, *biases, *projected;
  C *state, *next, *cell, *peepholes, *update, *reset;

  /// Places them, or only counts elements if there is no memory.
  size_t place(C *memory, const Dims &dims) {
    size_t used = 0;
    auto take = [&](C *&buffer, int64_t count) {
      buffer = memory ? memory + used : nullptr;
      used += static_cast<size_t>(count + 15) / 16 * 16;
    };
    int64_t columns = dims.gates * dims.hidden, rows = dims.steps * dims.batch;
    take(inputs, rows * dims.inputs);
    take(weights, dims.inputs * columns);
    take(recurrence, dims.hidden * columns);
    take(biases, 2 * columns);
    take(projected, rows * columns);
    take(peepholes, 3 * dims.hidden);
    for (C **buffer : {&state, &next, &cell, &update, &reset})
      take(*buffer, dims.batch * dims.hidden);
    return used;
  }
};

template <Cell cell> class Recurrent : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    std::string direction = attributes.getString("direction", "forward");
    if (direction != "forward" && direction != "reverse" &&
        direction != "bidirectional")
      return Status::error("direction has no value " + direction);
    isReverse = direction == "reverse";
    isBidirectional = direction == "bidirectional";
    isBatchFirst = attributes.getInt("layout", 0) != 0;
    isLinearFirst = attributes.getInt("linear_before_reset", 0) != 0;
    couplesForget = attributes.getInt("input_forget", 0) != 0;
    if (attributes.has("clip"))
      clip = attributes.getFloat("clip", 0);
    std::vector<std::string> defaults =
        cell == Cell::RNN ? std::vector<std::string>{"Tanh"}
                          : std::vector<std::string>{"Sigmoid", "Tanh"};
    if (cell == Cell::LSTM)
      defaults.push_back("Tanh");
    functions = defaults.size();
    return readActivations(attributes, defaults,
                           functions * (isBidirectional ? 2 : 1), activations);
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    Dims dims;
    if (Status status = getDims(inputs, dims); !status.ok())
      return status;
    auto [steps, batch, width, hidden, gates, directions] = dims;
    Shape state = isBatchFirst ? Shape{batch, directions, hidden}
                               : Shape{directions, batch, hidden};
    const std::pair<const char *, Shape> expected[] = {
        {"X", inputs[0].shape},
        {"W", {directions, gates * hidden, width}},
        {"R", {directions, gates * hidden, hidden}},
        {"B", {directions, 2 * gates * hidden}},
        {"sequence_lens", {batch}},
        {"initial_h", state},
        {"initial_c", state},
        {"P", {directions, 3 * hidden}}};
    for (size_t i = 0; i < inputs.size && i < std::size(expected); ++i)
      if (isPresent(inputs[i]) && inputs[i].shape != expected[i].second)
        return Status::error(std::string(expected[i].first) +
                             " must have dimensions " +
                             toString(expected[i].second) + ", but has " +
                             toString(inputs[i].shape));
    Shape all = isBatchFirst ? Shape{batch, steps, directions, hidden}
                             : Shape{steps, directions, batch, hidden};
    for (size_t i = 0; i < outputs.size; ++i)
      if (Status status = setShape(outputs[i], i == 0 ? all : state);
          !status.ok())
        return status;
    return {};
  }

  size_t getScratchSize(Span<const TensorView> inputs, Span<const TensorView>,
                        unsigned) const override {
    Dims dims;
    if (!getDims(inputs, dims).ok())
      return 0;
    return inputs[0].type == DataType::Double
               ? Buffers<double>().place(nullptr, dims) * sizeof(double)
               : Buffers<float>().place(nullptr, dims) * sizeof(float);
  }

  Status run(const KernelArguments &arguments) const override {
    DataType type = arguments.inputs[0].type;
    Dims dims;
    if (Status status = getDims(arguments.inputs, dims); !status.ok())
      return status;
    TensorView lengths = getInput(arguments.inputs, 4);
    for (int64_t i = 0; isPresent(lengths) && i < dims.batch; ++i)
      if (int64_t length = getInteger(lengths, i);
          length < 0 || length > dims.steps)
        return Status::error("sequence length " + std::to_string(length) +
                             " at element " + std::to_string(i) +
                             " is out of range [0, " +
                             std::to_string(dims.steps) + "]");
    if (hasOutput(arguments.outputs, 0) && isPresent(lengths))
      std::memset(arguments.outputs[0].data, 0,
                  arguments.outputs[0].getByteCount());
    bool found = visitType(FloatTypes(), type, [&](auto element) {
      using C = Compute<decltype(element)>;
      for (int64_t i = 0; i < dims.directions; ++i)
        Direction<C>(*this, arguments, dims, i).run();
    });
    return found ? Status() : typeError(type);
  }

private:
  template <typename C> class Direction {
  public:
    Direction(const Recurrent &kernel, const KernelArguments &arguments,
              const Dims &dims, int64_t index)
        : kernel(kernel), arguments(arguments), dims(dims), index(index),
          isReverse(kernel.isReverse || index == 1),
          columns(dims.gates * dims.hidden),
          functions(kernel.activations.data() +
                    static_cast<size_t>(index) * kernel.functions) {
      buffers.place(static_cast<C *>(arguments.scratch), dims);
    }

    void run() {
      prepare();
      project();
      for (int64_t step = 0; step < dims.steps; ++step) {
        if (cell == Cell::GRU && !kernel.isLinearFirst)
          forEachPiece([&](int64_t item, int64_t first, int64_t count) {
            runResetGates(step, item, first, count);
          });
        forEachPiece([&](int64_t item, int64_t first, int64_t count) {
          runStep(step, item, first, count);
        });
        std::swap(buffers.state, buffers.next);
      }
      writeState(1, buffers.state);
      if (cell == Cell::LSTM)
        writeState(2, buffers.cell);
    }

  private:
    /// `count` elements of an input in the type computed in.
    void read(size_t input, int64_t first, C *values, int64_t count) const {
      TensorView tensor = getInput(arguments.inputs, input);
      if (isPresent(tensor))
        convertElements(tensor.type, elementAt(tensor, first), dataTypeOf<C>,
                        values, count);
      else
        std::fill_n(values, count, C(0));
    }

    /// Rows of weights become columns.
    void transpose(size_t input, int64_t rows, C *result) const {
      const TensorView &tensor = arguments.inputs[input];
      arguments.threads->parallelFor(
          columns, getGrain(rows * 8),
          [&](int64_t begin, int64_t end, unsigned) {
            C block[width];
            for (int64_t i = begin; i < end; ++i)
              for (int64_t j = 0; j < rows; j += width) {
                int64_t count = std::min(width, rows - j);
                convertElements(
                    tensor.type,
                    elementAt(tensor, (index * columns + i) * rows + j),
                    dataTypeOf<C>, block, count);
                for (int64_t k = 0; k < count; ++k)
                  result[(j + k) * columns + i] = block[k];
              }
          });
    }

    void prepare() {
      transpose(1, dims.inputs, buffers.weights);
      transpose(2, dims.hidden, buffers.recurrence);
      read(3, index * 2 * columns, buffers.biases, 2 * columns);
      read(7, index * 3 * dims.hidden, buffers.peepholes, 3 * dims.hidden);
      read(0, 0, buffers.inputs, dims.steps * dims.batch * dims.inputs);
      for (int64_t i = 0; i < dims.batch; ++i) {
        int64_t at = getStateIndex(i);
        read(5, at, buffers.state + i * dims.hidden, dims.hidden);
        read(cell == Cell::LSTM ? 6 : SIZE_MAX, at,
             buffers.cell + i * dims.hidden, dims.hidden);
      }
    }

    /// Inputs times weights, with all biases but those that GRU's reset gate
    /// has a say in.
    void project() {
      int64_t rows = dims.steps * dims.batch;
      int64_t parts = (columns + width - 1) / width;
      int64_t linear =
          cell == Cell::GRU && kernel.isLinearFirst ? 2 * dims.hidden : columns;
      arguments.threads->parallelFor(
          parts * rows, getGrain(width * dims.inputs),
          [&](int64_t begin, int64_t end, unsigned) {
            for (int64_t i = begin; i < end; ++i) {
              int64_t first = i / rows * width, row = i % rows;
              int64_t count = std::min(width, columns - first);
              C *result = buffers.projected + row * columns + first;
              for (int64_t j = 0; j < count; ++j)
                result[j] =
                    buffers.biases[first + j] +
                    (first + j < linear ? buffers.biases[columns + first + j]
                                        : C(0));
              multiplyAdd(buffers.inputs + row * dims.inputs, dims.inputs,
                          buffers.weights + first, columns, result, count);
            }
          });
    }

    /// Calls body(item of the batch, first hidden unit, their number).
    template <typename Body> void forEachPiece(const Body &body) const {
      int64_t parts = (dims.hidden + width - 1) / width;
      arguments.threads->parallelFor(
          parts * dims.batch, getGrain(width * dims.hidden * dims.gates),
          [&](int64_t begin, int64_t end, unsigned) {
            for (int64_t i = begin; i < end; ++i) {
              int64_t first = i / dims.batch * width;
              body(i % dims.batch, first, std::min(width, dims.hidden - first));
            }
          });
    }

    /// The position in the sequence of an item's step, -1 past its end.
    int64_t getTime(int64_t step, int64_t item) const {
      TensorView lengths = getInput(arguments.inputs, 4);
      int64_t length =
          isPresent(lengths) ? getInteger(lengths, item) : dims.steps;
      return step >= length ? -1 : isReverse ? length - 1 - step : step;
    }

    int64_t getStateIndex(int64_t item) const {
      return (kernel.isBatchFirst ? item * dims.directions + index
                                  : index * dims.batch + item) *
             dims.hidden;
    }

    /// A gate before its function: what comes from the input, plus `state`
    /// times its weights.
    void getGate(int64_t gate, int64_t time, int64_t item, int64_t first,
                 int64_t count, const C *state, C *result) const {
      int64_t row = kernel.isBatchFirst ? item * dims.steps + time
                                        : time * dims.batch + item;
      int64_t column = gate * dims.hidden + first;
      std::copy_n(buffers.projected + row * columns + column, count, result);
      multiplyAdd(state + item * dims.hidden, dims.hidden,
                  buffers.recurrence + column, columns, result, count);
    }

    void activate(size_t function, C *values, int64_t count) const {
      auto limit = static_cast<C>(kernel.clip);
      if (kernel.clip < std::numeric_limits<double>::infinity())
        for (int64_t i = 0; i < count; ++i)
          values[i] = std::min(limit, std::max(-limit, values[i]));
      functions[function].apply(values, count);
    }

    void runStep(int64_t step, int64_t item, int64_t first, int64_t count) {
      int64_t at = item * dims.hidden + first, time = getTime(step, item);
      C *next = buffers.next + at;
      const C *state = buffers.state + at;
      if (time < 0) {
        std::copy_n(state, count, next);
        return;
      }
      if constexpr (cell == Cell::RNN) {
        getGate(0, time, item, first, count, buffers.state, next);
        activate(0, next, count);
      } else if constexpr (cell == Cell::GRU) {
        runGRU(time, item, first, count, next);
      } else {
        runLSTM(time, item, first, count, next);
      }
      if (hasOutput(arguments.outputs, 0)) {
        const TensorView &output = arguments.outputs[0];
        int64_t row =
            kernel.isBatchFirst
                ? (item * dims.steps + time) * dims.directions + index
                : (time * dims.directions + index) * dims.batch + item;
        convertElements(dataTypeOf<C>, next, output.type,
                        mutableElementAt(output, row * dims.hidden + first),
                        count);
      }
    }

    /// GRU's gates whose results are multiplied with the whole state before
    /// the rest of the step can begin.
    void runResetGates(int64_t step, int64_t item, int64_t first,
                       int64_t count) {
      int64_t at = item * dims.hidden + first, time = getTime(step, item);
      if (time < 0)
        return;
      C *update = buffers.update + at, *reset = buffers.reset + at;
      getGate(0, time, item, first, count, buffers.state, update);
      getGate(1, time, item, first, count, buffers.state, reset);
      activate(0, update, count);
      activate(0, reset, count);
      for (int64_t i = 0; i < count; ++i)
        reset[i] *= buffers.state[at + i];
    }

    void runGRU(int64_t time, int64_t item, int64_t first, int64_t count,
                C *next) {
      int64_t at = item * dims.hidden + first;
      C *update = buffers.update + at;
      if (!kernel.isLinearFirst) {
        getGate(2, time, item, first, count, buffers.reset, next);
      } else {
        C reset[width], linear[width];
        getGate(0, time, item, first, count, buffers.state, update);
        getGate(1, time, item, first, count, buffers.state, reset);
        activate(0, update, count);
        activate(0, reset, count);
        int64_t column = 2 * dims.hidden + first;
        std::copy_n(buffers.biases + columns + column, count, linear);
        multiplyAdd(buffers.state + item * dims.hidden, dims.hidden,
                    buffers.recurrence + column, columns, linear, count);
        int64_t row = kernel.isBatchFirst ? item * dims.steps + time
                                          : time * dims.batch + item;
        for (int64_t i = 0; i < count; ++i)
          next[i] = buffers.projected[row * columns + column + i] +
                    reset[i] * linear[i];
      }
      activate(1, next, count);
      for (int64_t i = 0; i < count; ++i)
        next[i] = (1 - update[i]) * next[i] + update[i] * buffers.state[at + i];
    }

    void runLSTM(int64_t time, int64_t item, int64_t first, int64_t count,
                 C *next) {
      enum { Input, Output, Forget, Candidate };
      C gates[4][width];
      C *memory = buffers.cell + item * dims.hidden + first;
      for (int64_t gate = 0; gate < 4; ++gate)
        getGate(gate, time, item, first, count, buffers.state, gates[gate]);
      auto look = [&](C *gate, int64_t peephole) {
        const C *weight = buffers.peepholes + peephole * dims.hidden + first;
        for (int64_t i = 0; i < count; ++i)
          gate[i] += weight[i] * memory[i];
      };
      look(gates[Input], 0);
      look(gates[Forget], 2);
      activate(0, gates[Input], count);
      activate(0, gates[Forget], count);
      activate(1, gates[Candidate], count);
      if (kernel.couplesForget)
        for (int64_t i = 0; i < count; ++i)
          gates[Forget][i] = 1 - gates[Input][i];
      for (int64_t i = 0; i < count; ++i)
        memory[i] = gates[Forget][i] * memory[i] +
                    gates[Input][i] * gates[Candidate][i];
      look(gates[Output], 1);
      activate(0, gates[Output], count);
      std::copy_n(memory, count, next);
      // ONNX's clip is about the inputs of the gates' functions.
      functions[2].apply(next, count);
      for (int64_t i = 0; i < count; ++i)
        next[i] *= gates[Output][i];
    }

    void writeState(size_t result, const C *state) const {
      if (!hasOutput(arguments.outputs, result))
        return;
      const TensorView &output = arguments.outputs[result];
      for (int64_t i = 0; i < dims.batch; ++i)
        convertElements(dataTypeOf<C>, state + i * dims.hidden, output.type,
                        mutableElementAt(output, getStateIndex(i)),
                        dims.hidden);
    }

    const Recurrent &kernel;
    const KernelArguments &arguments;
    const Dims &dims;
    int64_t index;
    bool isReverse;
    int64_t columns;
    const Activation *functions;
    Buffers<C> buffers;
  };

  Status getDims(Span<const TensorView> inputs, Dims &dims) const {
    const Shape &shape = inputs[0].shape, &weights = inputs[2].shape;
    if (shape.getRank() != 3 || weights.getRank() != 3)
      return Status::error("expects X and R of rank 3, but got dimensions " +
                           toString(shape) + " and " + toString(weights));
    dims.steps = shape[isBatchFirst ? 1 : 0];
    dims.batch = shape[isBatchFirst ? 0 : 1];
    dims.inputs = shape[2];
    dims.hidden = weights[2];
    dims.gates = getGateCount(cell);
    dims.directions = isBidirectional ? 2 : 1;
    return {};
  }

  bool isReverse = false, isBidirectional = false, isBatchFirst = false;
  bool isLinearFirst = false, couplesForget = false;
  double clip = std::numeric_limits<double>::infinity();
  size_t functions = 1;
  std::vector<Activation> activations;
};

constexpr KernelEntry entries[] = {
    {"rnn", create<Recurrent<Cell::RNN>>},
    {"gru", create<Recurrent<Cell::GRU>>},
    {"lstm", create<Recurrent<Cell::LSTM>>},
};

} // namespace

Span<const KernelEntry> amp::runtime::getRecurrentKernels() {
  return {entries, std::size(entries)};
}
