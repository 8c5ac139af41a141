//===- GemmTest.cpp - products of matrices against sums of doubles --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Gemm.h"
#include "CPU/ThreadPool.h"
#include "NumericTesting.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace amp::runtime;

namespace {

using Random = std::mt19937;

int64_t pick(Random &random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

/// A matrix with memory of its own.
struct Operand {
  Matrix matrix;
  std::unique_ptr<Elements> elements;

  int64_t getOffset(const int64_t *batch, int batchRank, int64_t i,
                    int64_t j) const {
    int64_t at = i * matrix.rowStride;
    if (matrix.blockColumns) {
      at += j / matrix.blockColumns * matrix.blockStride;
      j %= matrix.blockColumns;
    }
    at += j * matrix.columnStride;
    for (int b = 0; b < batchRank; ++b)
      at += batch[b] * matrix.batchStrides[b];
    return at;
  }
};

enum class Layout { Rows, Columns, Strided, Blocks };

struct Case {
  Gemm gemm;
  Operand a, b, c, bias, residual;
  std::string text;
};

Operand makeOperand(Random &random, DataType type, int64_t rows,
                    int64_t columns, Layout layout, const Gemm &gemm,
                    unsigned broadcastBatches) {
  Operand operand;
  Matrix &m = operand.matrix;
  m.type = type;
  int64_t size = 0;
  int64_t gap = pick(random, 0, 2) == 0 ? pick(random, 1, 5) : 0;
  switch (layout) {
  case Layout::Rows:
    m.columnStride = 1;
    m.rowStride = columns + gap;
    size = m.rowStride * rows;
    break;
  case Layout::Columns:
    m.rowStride = 1;
    m.columnStride = rows + gap;
    size = m.columnStride * columns;
    break;
  case Layout::Strided:
    m.columnStride = 2;
    m.rowStride = 2 * columns + gap;
    size = m.rowStride * rows;
    break;
  case Layout::Blocks:
    m.blockColumns = pick(random, 1, std::max<int64_t>(columns, 1));
    m.columnStride = 1;
    m.rowStride = m.blockColumns + gap;
    m.blockStride = m.rowStride * rows;
    size = m.blockStride * ((columns + m.blockColumns - 1) / m.blockColumns);
    break;
  }
  for (int i = gemm.batchRank - 1; i >= 0; --i) {
    if (broadcastBatches >> i & 1)
      continue;
    m.batchStrides[i] = size;
    size *= gemm.batch[i];
  }
  operand.elements = std::make_unique<Elements>(type, size);
  operand.elements->fill(random);
  m.data = operand.elements->data();
  return operand;
}

int64_t pickSize(Random &random) {
  switch (pick(random, 0, 9)) {
  case 0:
    return pick(random, 0, 1);
  case 1:
  case 2:
    return pick(random, 1, 8);
  case 3:
    return pick(random, 100, 300);
  default:
    return pick(random, 2, 70);
  }
}

Case makeCase(unsigned seed) {
  Random random(seed);
  Case c;
  Gemm &g = c.gemm;
  g.rows = pickSize(random);
  g.columns = pickSize(random);
  g.depth = pickSize(random);
  // Several blocks of the depth, and several parts.
  if (pick(random, 0, 7) == 0)
    g.depth = pick(random, 250, 1200);
  if (pick(random, 0, 20) == 0) {
    g.depth = pick(random, 2048, 5000);
    g.rows = std::min<int64_t>(g.rows, 40);
    g.columns = std::min<int64_t>(g.columns, 40);
  }
  g.batchRank = static_cast<int>(pick(random, 0, 2));
  for (int i = 0; i < g.batchRank; ++i)
    g.batch[i] = pick(random, 1, 3);
  DataType type = floatTypes[pick(random, 0, 2)];
  auto pickType = [&] {
    return pick(random, 0, 3) == 0 ? floatTypes[pick(random, 0, 2)] : type;
  };
  auto pickLayout = [&] {
    int64_t which = pick(random, 0, 9);
    return which < 6   ? Layout::Rows
           : which < 9 ? Layout::Columns
                       : Layout::Strided;
  };
  auto pickBatches = [&] { return static_cast<unsigned>(pick(random, 0, 5)); };
  bool hasBlocks = pick(random, 0, 5) == 0;
  c.a =
      makeOperand(random, pickType(), g.rows, g.depth,
                  hasBlocks ? Layout::Blocks : pickLayout(), g, pickBatches());
  c.b = makeOperand(random, pickType(), g.depth, g.columns, pickLayout(), g,
                    pickBatches());
  Layout layout = hasBlocks                 ? Layout::Blocks
                  : pick(random, 0, 3) == 0 ? pickLayout()
                                            : Layout::Rows;
  c.c = makeOperand(random, pickType(), g.rows, g.columns, layout, g, 0);
  g.a = c.a.matrix;
  g.b = c.b.matrix;
  g.c = c.c.matrix;
  if (pick(random, 0, 2) == 0)
    g.alpha = 0.75f;
  switch (pick(random, 0, 4)) {
  case 0: // For each column.
    c.bias =
        makeOperand(random, pickType(), 1, g.columns, Layout::Rows, g, ~0u);
    c.bias.matrix.rowStride = 0;
    break;
  case 1: // For each row.
    c.bias =
        makeOperand(random, pickType(), g.rows, 1, Layout::Columns, g, ~0u);
    c.bias.matrix.columnStride = 0;
    break;
  case 2:
    c.bias = makeOperand(random, pickType(), g.rows, g.columns, Layout::Rows, g,
                         pickBatches());
    g.biasScale = -0.5f;
    break;
  }
  g.bias = c.bias.matrix;
  if (pick(random, 0, 4) == 0) {
    c.residual.matrix = c.c.matrix;
    c.residual.elements = nullptr;
    // Sometimes it is not C itself.
    if (pick(random, 0, 1) == 0) {
      c.residual.elements = std::make_unique<Elements>(*c.c.elements);
      c.residual.matrix.data = c.residual.elements->data();
    }
    g.residual = c.residual.matrix;
  }
  if (pick(random, 0, 1) == 0)
    g.activation = static_cast<Activation>(pick(random, 0, 10));
  g.activationAlpha = 0.25f;
  g.activationBeta = 0.5f;

  auto write = [](const Operand &o) {
    const Matrix &m = o.matrix;
    return std::string(getName(m.type)) + "(" + std::to_string(m.rowStride) +
           "," + std::to_string(m.columnStride) + "," +
           std::to_string(m.blockColumns) + ") ";
  };
  c.text = "seed " + std::to_string(seed) + ": " + std::to_string(g.rows) +
           "x" + std::to_string(g.columns) + "x" + std::to_string(g.depth) +
           " a " + write(c.a) + "b " + write(c.b) + "c " + write(c.c);
  if (g.bias.exists())
    c.text += "bias " + write(c.bias);
  if (g.residual.exists())
    c.text += "residual ";
  c.text += "activation " + std::to_string(static_cast<int>(g.activation));
  return c;
}

double activate(const Gemm &g, double x) {
  double a = g.activationAlpha, b = g.activationBeta;
  double gate = std::min(std::max(a * x + b, 0.0), 1.0);
  switch (g.activation) {
  case Activation::None:
    return x;
  case Activation::Relu:
    return std::max(x, 0.0);
  case Activation::LeakyRelu:
    return x < 0 ? a * x : x;
  case Activation::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case Activation::Tanh:
    return std::tanh(x);
  case Activation::Gelu:
    return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
  case Activation::GeluTanh:
    return 0.5 * x *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  case Activation::Swish:
    return x / (1 + std::exp(-a * x));
  case Activation::Clip:
    return std::min(std::max(x, a), b);
  case Activation::HardSigmoid:
    return gate;
  case Activation::HardSwish:
    return x * gate;
  }
  return x;
}

Elements multiply(Case &c, unsigned threads, Isa isa) {
  Elements before = *c.c.elements;
  ThreadPool pool(threads);
  Scratch scratch(c.gemm.getScratchSize(pool.getSize(), isa));
  c.gemm.multiply(scratch.get(), pool, isa);
  EXPECT_TRUE(scratch.isEndUntouched());
  Elements result = *c.c.elements;
  std::memcpy(c.c.elements->data(), before.data(),
              before.getCount() * before.size());
  return result;
}

/// Where an element of C is, what it should be and how much it may differ.
struct Expected {
  int64_t at;
  double value, bound;
};

std::vector<Expected> compute(const Case &c) {
  const Gemm &g = c.gemm;
  std::vector<Expected> expected;
  int64_t batchCount = 1;
  for (int i = 0; i < g.batchRank; ++i)
    batchCount *= g.batch[i];
  std::vector<double> row(g.depth), b(g.depth * g.columns);
  for (int64_t n = 0; n < batchCount; ++n) {
    int64_t batch[Matrix::maxBatchRank] = {}, rest = n;
    for (int i = g.batchRank - 1; i >= 0; --i) {
      batch[i] = rest % g.batch[i];
      rest /= g.batch[i];
    }
    for (int64_t j = 0; j < g.columns; ++j)
      for (int64_t p = 0; p < g.depth; ++p)
        b[j * g.depth + p] =
            c.b.elements->get(c.b.getOffset(batch, g.batchRank, p, j));
    for (int64_t i = 0; i < g.rows; ++i) {
      for (int64_t p = 0; p < g.depth; ++p)
        row[p] = c.a.elements->get(c.a.getOffset(batch, g.batchRank, i, p));
      for (int64_t j = 0; j < g.columns; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t p = 0; p < g.depth; ++p) {
          double product = row[p] * b[j * g.depth + p];
          sum += product;
          magnitude += std::fabs(product);
        }
        sum *= g.alpha;
        auto add = [&](const Operand &o, double scale) {
          if (!o.matrix.exists())
            return;
          const Elements &e = o.elements ? *o.elements : *c.c.elements;
          double value = scale * e.get(o.getOffset(batch, g.batchRank, i, j));
          sum += value;
          magnitude += std::fabs(value);
        };
        add(c.bias, g.biasScale);
        add(c.residual, 1);
        double value = activate(g, sum);
        // Each of depth + 4 roundings is at most half a unit of the sum so
        // far, which is at most `magnitude`; slopes of activations are at most
        // 1.13, and they add some units of their own.
        double bound = (g.depth + 4) * std::ldexp(magnitude, -24) * 1.2 +
                       std::ldexp(std::fabs(value) + std::fabs(sum), -22) +
                       0.5 * getUnit(value, g.c.type) + std::ldexp(1.0, -140);
        expected.push_back(
            {c.c.getOffset(batch, g.batchRank, i, j), value, bound});
      }
    }
  }
  return expected;
}

void check(const Case &c, const std::vector<Expected> &expected,
           const Elements &result) {
  ASSERT_TRUE(result.isRoomUntouched());
  std::vector<bool> written(result.getCount());
  for (const Expected &e : expected) {
    written[e.at] = true;
    ASSERT_NEAR(result.get(e.at), e.value, e.bound) << c.text << " at " << e.at;
  }
  // Nothing between the rows is written.
  for (int64_t i = 0; i < result.getCount(); ++i)
    if (!written[i])
      ASSERT_EQ(result.get(i), c.c.elements->get(i)) << c.text;
}

TEST(GemmTest, isTheSumForAnySizesStridesAndTypes) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    Case c = makeCase(seed);
    std::vector<Expected> expected = compute(c);
    for (Isa isa : getTestedIsas()) {
      SCOPED_TRACE(std::string(getName(isa)));
      check(c, expected, multiply(c, 1, isa));
      if (HasFatalFailure())
        return;
    }
  }
}

TEST(GemmTest, needsNoMoreScratchThanItSaysWithoutMemory) {
  Random random(7);
  char memory[3];
  for (int i = 0; i < 3000; ++i) {
    Gemm g;
    g.rows = pick(random, 1, 2000);
    g.columns = pick(random, 1, 4000);
    g.depth = pick(random, 1, 5000);
    g.a = {nullptr, DataType::Float, g.depth, 1};
    g.b = {nullptr, DataType::Float, g.columns, 1};
    g.c = {nullptr, DataType::Float, g.columns, 1};
    if (pick(random, 0, 1))
      g.bias = {nullptr, DataType::Float, 0, 1};
    if (pick(random, 0, 1))
      g.residual = g.c;
    auto threads = static_cast<unsigned>(pick(random, 1, 8));
    for (Isa isa : getTestedIsas()) {
      size_t size = g.getScratchSize(threads, isa);
      Gemm run = g;
      run.c.data = &memory[0];
      run.bias.data = &memory[1];
      for (int residual : {0, 2}) {
        run.residual.data = &memory[residual];
        ASSERT_LE(run.getScratchSize(threads, isa), size)
            << g.rows << "x" << g.columns << "x" << g.depth;
      }
    }
  }
}

TEST(GemmTest, doesNotDependOnTheNumberOfThreads) {
  for (unsigned seed = 1000; seed < 1200; ++seed) {
    Case c = makeCase(seed);
    for (Isa isa : getTestedIsas()) {
      Elements one = multiply(c, 1, isa);
      for (unsigned threads : {2, 3, 5})
        ASSERT_TRUE(one == multiply(c, threads, isa))
            << c.text << " " << getName(isa) << " " << threads;
    }
  }
}

} // namespace
