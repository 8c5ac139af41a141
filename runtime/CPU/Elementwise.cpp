//===- Elementwise.cpp - the same function of every element ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Elementwise.h"

#include "CPU/Conversion.h"
#include "CPU/Shapes.h"
#include "CPU/StridedCopy.h"
#include "CPU/ThreadPool.h"

#include <algorithm>
#include <cstring>

using namespace amp::runtime;

namespace {

/// Elements of a block: its operands stay in the first-level cache.
constexpr int64_t blockSize = 512;
/// Bytes of the largest type computed in.
constexpr size_t maxSize = 8;
/// Elements that are worth a thread.
constexpr int64_t grain = 8192;

/// Gives blocks of an operand as the output sees it.
class OperandReader {
public:
  OperandReader(const TensorView &operand, const TensorView &output,
                DataType type)
      : operand(operand), type(type), size(getByteSize(operand.type)) {
    isDense = operand.shape == output.shape ||
              operand.getElementCount() == output.getElementCount();
    if (isDense)
      return;
    auto from = getStrides(operand.shape), to = getStrides(output.shape);
    size_t missing = output.shape.getRank() - operand.shape.getRank();
    for (size_t i = 0; i < output.shape.getRank(); ++i) {
      bool repeats = i < missing || operand.shape[i - missing] == 1;
      nest.push(output.shape[i], repeats ? 0 : from[i - missing], to[i]);
    }
    nest.simplify();
    if (operand.getElementCount() == 1) {
      fill(0, blockSize);
      isConstant = true;
    }
  }

  /// Elements [begin, begin + count) of the output's, until the next call.
  const void *read(int64_t begin, int64_t count) {
    if (isConstant)
      return type == operand.type ? gathered : converted;
    const char *source = operand.as<const char>() + begin * size;
    if (!isDense) {
      fill(begin, count);
      return type == operand.type ? gathered : converted;
    }
    if (type == operand.type)
      return source;
    convertElements(operand.type, source, type, converted, count);
    return converted;
  }

private:
  void fill(int64_t begin, int64_t count) {
    visitSize(operand.type, [&](auto element) {
      using T = decltype(element);
      if constexpr (std::is_trivially_copyable_v<T> && sizeof(T) <= maxSize)
        gather(operand.as<const T>(), reinterpret_cast<T *>(gathered), begin,
               count);
    });
    if (type != operand.type)
      convertElements(operand.type, gathered, type, converted, count);
  }

  template <typename T>
  void gather(const T *source, T *destination, int64_t begin, int64_t count) {
    if (nest.getDepth() == 0 || operand.getElementCount() == 1) {
      std::fill_n(destination, count, *source);
      return;
    }
    size_t last = nest.getDepth() - 1;
    int64_t extent = nest[last].extent, step = nest[last].sourceStride;
    LoopPosition at(nest, last, begin / extent);
    int64_t first = begin % extent;
    while (count != 0) {
      int64_t run = std::min(count, extent - first);
      const T *from = source + at.source + first * step;
      if (step == 0)
        std::fill_n(destination, run, *from);
      else
        for (int64_t i = 0; i < run; ++i)
          destination[i] = from[i * step];
      destination += run;
      count -= run;
      first = 0;
      at.next();
    }
  }

  const TensorView &operand;
  DataType type;
  int64_t size;
  bool isDense = false, isConstant = false;
  LoopNest nest;
  alignas(64) char gathered[blockSize * maxSize];
  alignas(64) char converted[blockSize * maxSize];
};

/// Calls body(result, begin, count) for the blocks of a piece of the output,
/// with memory for results of `type`.
template <typename Body>
void forEachBlock(const TensorView &output, DataType type, int64_t begin,
                  int64_t end, const Body &body) {
  alignas(64) char results[blockSize * maxSize];
  auto size = static_cast<int64_t>(getByteSize(output.type));
  for (int64_t i = begin; i < end; i += blockSize) {
    int64_t count = std::min(blockSize, end - i);
    char *to = output.as<char>() + i * size;
    bool isDirect = type == output.type;
    body(isDirect ? to : results, i, count);
    if (!isDirect)
      convertElements(type, results, output.type, to, count);
  }
}

void runFixed(const ElementwiseRun &run, const TensorView &output,
              int64_t begin, int64_t end) {
  // The first operand stands in for those that are not there.
  auto operand = [&](size_t i) -> const TensorView & {
    return run.operands[i < run.operandCount ? i : 0];
  };
  OperandReader readers[maxOperands] = {{operand(0), output, run.computeType},
                                        {operand(1), output, run.computeType},
                                        {operand(2), output, run.computeType}};
  forEachBlock(output, run.resultType, begin, end,
               [&](void *result, int64_t first, int64_t count) {
                 const void *blocks[maxOperands];
                 for (size_t i = 0; i < run.operandCount; ++i)
                   blocks[i] = readers[i].read(first, count);
                 run.loop(blocks, result, count, run.parameters);
               });
}

/// Blocks are accumulated in the type computed in, with one rounding.
void runFolded(const ElementwiseRun &run, const TensorView &output,
               int64_t begin, int64_t end) {
  alignas(64) char sums[grain * maxSize];
  auto size = static_cast<int64_t>(getByteSize(run.computeType));
  for (size_t i = 0; i < run.operandCount; ++i) {
    OperandReader reader(run.operands[i], output, run.computeType);
    for (int64_t j = begin; j < end; j += blockSize) {
      int64_t count = std::min(blockSize, end - j);
      char *sum = sums + (j - begin) * size;
      const void *blocks[] = {sum, reader.read(j, count)};
      if (i == 0)
        std::memcpy(sum, blocks[1], static_cast<size_t>(count * size));
      else
        run.loop(blocks, sum, count, run.parameters);
    }
  }
  double operands = static_cast<double>(run.operandCount);
  const void *folded[] = {sums};
  if (run.finish)
    run.finish(folded, sums, end - begin, &operands);
  convertElements(run.computeType, sums, output.type,
                  mutableElementAt(output, begin), end - begin);
}

} // namespace

DataType amp::runtime::getComputeType(DataType type) {
  switch (type) {
  case DataType::Float16:
  case DataType::BFloat16:
  case DataType::Float8E4M3FN:
  case DataType::Float8E4M3FNUZ:
  case DataType::Float8E5M2:
  case DataType::Float8E5M2FNUZ:
    return DataType::Float;
  default:
    return type;
  }
}

void amp::runtime::runElementwise(const ElementwiseRun &run,
                                  const TensorView &output,
                                  ThreadPool &threads) {
  bool folds = run.operandCount > maxOperands || run.finish;
  threads.parallelFor(output.getElementCount(), grain,
                      [&](int64_t begin, int64_t end, unsigned) {
                        if (folds)
                          runFolded(run, output, begin, end);
                        else
                          runFixed(run, output, begin, end);
                      });
}

Status amp::runtime::inferElementwise(Span<const TensorView> operands,
                                      Span<TensorView> outputs) {
  Shape shape;
  for (const TensorView &operand : operands)
    if (isPresent(operand))
      if (Status status = broadcast(operand.shape, shape); !status.ok())
        return status;
  return setShape(outputs[0], shape);
}

Elementwise::Elementwise(const ElementwiseOperator &op,
                         const Attributes &attributes)
    : op(op) {
  for (size_t i = 0; i < 2; ++i)
    parameters[i] = op.parameters[i].name
                        ? attributes.getFloat(op.parameters[i].name,
                                              op.parameters[i].otherwise)
                        : 0;
}

Status Elementwise::inferShapes(Span<const TensorView> inputs,
                                Span<TensorView> outputs) const {
  return inferElementwise(inputs, outputs);
}

Status Elementwise::run(const KernelArguments &arguments) const {
  DataType type = arguments.inputs[0].type;
  ElementwiseRun run;
  run.operands = arguments.inputs.data;
  run.operandCount = arguments.inputs.size;
  run.computeType = getComputeType(type);
  run.resultType = op.isPredicate ? DataType::Bool : run.computeType;
  run.loop = op.getLoop(run.computeType);
  run.finish = op.getFinish ? op.getFinish(run.computeType) : nullptr;
  run.parameters = parameters;
  if (!run.loop || (op.getFinish && !run.finish))
    return typeError(type);
  runElementwise(run, arguments.outputs[0], *arguments.threads);
  return {};
}
