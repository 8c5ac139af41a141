//===- Gemm.cpp - products of matrices, in blocks -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C is cut into tasks, each a rectangle that one thread computes by itself: for
// each block of the depth it packs its part of A and B into panels (float, of
// any type and strides before) and multiplies them, panel of B by panel of A,
// in registers. So nothing is shared, and what is packed stays in the second
// cache. An element of C is always the same sum, whatever the tasks are: one
// sum over each block of the depth, these added in order. Other ways are
//  - few rows: B is read once, as it is, for memory is what limits;
//  - little of C and a large depth (gradients of weights): the depth is cut
//    into parts, by sizes only, whose sums are added in order.
//
//===----------------------------------------------------------------------===//

#include "CPU/Gemm.h"

#include "CPU/GemmKernels.h"
#include "CPU/Sizes.h"
#include "CPU/ThreadPool.h"

#include <algorithm>

namespace amp::runtime {

const GemmKernels &getGemmKernels(Isa isa) {
#ifdef __x86_64__
  if (isa >= Isa::AVX512)
    return avx512GemmKernels;
  if (isa >= Isa::AVX2)
    return avx2GemmKernels;
#endif
  return portableGemmKernels;
}

namespace {

const PanelKernels &getPanels(const Gemm &gemm, const GemmKernels &kernels,
                              Isa isa) {
#ifdef __x86_64__
  if (!gemm.patches && !gemm.a.blockColumns &&
      gemm.a.type == DataType::BFloat16 && gemm.b.type == DataType::BFloat16) {
    if (isa >= Isa::AMX)
      return amxPanelKernels;
    if (isa >= Isa::AVX512BF16)
      return avx512BF16PanelKernels;
  }
#endif
  return *kernels.floats;
}

/// Whether the bias or the residual is in C's memory.
bool hasAlias(const Gemm &gemm) {
  return (gemm.residual.exists() && gemm.residual.data == gemm.c.data) ||
         (gemm.bias.exists() && gemm.bias.data == gemm.c.data);
}

enum class Method { Strips, Dots, Panels };

struct Plan {
  Plan(const Gemm &wanted, unsigned threads, Isa isa);

  size_t getScratchSize() const { return sharedBytes + threads * threadBytes; }
  void run(void *scratch, ThreadPool &pool) const;

private:
  void dropBatches();
  void swapOperands();
  void planFewRows();
  void planPanels();
  void chooseTasks(int64_t maxRows, int64_t maxColumns);

  bool isFinishing() const {
    return gemm.alpha != 1.0f || gemm.bias.exists() || gemm.residual.exists() ||
           gemm.activation != Activation::None;
  }
  /// Where operands and results of a batch element are.
  struct Element {
    Matrix a, b;
    const float *image;
    Finish finish;
  };
  Element getElement(int64_t batch) const;

  void runStrips(int64_t begin, int64_t end, char *memory) const;
  void runDots(int64_t begin, int64_t end, char *memory) const;
  void runTask(int64_t task, char *memory, float *partial) const;
  void addParts(float *partial, ThreadPool &pool) const;
  void packA(const Element &element, int64_t row, int64_t rows, int64_t height,
             int64_t begin, int64_t depth, char *block) const;
  void packB(const Element &element, int64_t column, int64_t columns,
             int64_t begin, int64_t depth, char *block) const;
  int64_t getPanelWidth(int64_t columns) const {
    return std::min<int64_t>(panels.maxWidth,
                             roundUp(columns, panels.widthUnit));
  }

  Gemm gemm;
  unsigned threads;
  const GemmKernels &kernels;
  const PanelKernels &panels;
  Method method = Method::Panels;
  int64_t batchCount = 1;

  /// Of strips or dots: columns of one.
  int64_t width = 0;

  int64_t rowTasks = 1, columnTasks = 1, taskRows = 0, taskColumns = 0;
  int64_t parts = 1, partDepth = 0;
  int64_t blockDepth = 0;
  size_t aBytes = 0, bBytes = 0, tileBytes = 0;
  /// Sums of a task between blocks of the depth; 0 if C itself has them.
  size_t sumBytes = 0;
  bool isDirect = false;

  size_t sharedBytes = 0, threadBytes = 0;
};

Plan::Plan(const Gemm &wanted, unsigned threads, Isa isa)
    : gemm(wanted), threads(threads), kernels(getGemmKernels(isa)),
      panels(getPanels(wanted, kernels, isa)) {
  dropBatches();
  swapOperands();
  for (int i = 0; i < gemm.batchRank; ++i)
    batchCount *= gemm.batch[i];
  planFewRows();
  if (method == Method::Panels)
    planPanels();
}

/// One matrix of many rows is better than many of few with the same B.
void Plan::dropBatches() {
  while (gemm.batchRank > 0) {
    int last = gemm.batchRank - 1;
    auto continues = [&](const Matrix &m) {
      return !m.exists() || m.batchStrides[last] == gemm.rows * m.rowStride;
    };
    if (gemm.batch[last] != 1) {
      if (gemm.patches || gemm.b.batchStrides[last] != 0 ||
          !continues(gemm.a) || !continues(gemm.c) || !continues(gemm.bias) ||
          !continues(gemm.residual))
        return;
      gemm.rows *= gemm.batch[last];
    }
    --gemm.batchRank;
  }
}

/// Computes the transpose of C if that is the one with contiguous rows, or few.
void Plan::swapOperands() {
  constexpr int64_t few = 8;
  if (gemm.patches || gemm.a.blockColumns || gemm.c.blockColumns ||
      gemm.bias.blockColumns || gemm.residual.blockColumns)
    return;
  bool isColumn = gemm.columns == 1 && gemm.rows > 1;
  bool hasFewColumns = gemm.columns <= few && gemm.rows > few;
  bool hasContiguousColumns =
      gemm.c.rowStride == 1 && gemm.c.columnStride != 1 && gemm.rows > few;
  if (!isColumn && !hasFewColumns && !hasContiguousColumns)
    return;
  std::swap(gemm.a, gemm.b);
  std::swap(gemm.rows, gemm.columns);
  for (Matrix *m : {&gemm.a, &gemm.b, &gemm.c, &gemm.bias, &gemm.residual})
    std::swap(m->rowStride, m->columnStride);
}

void Plan::planFewRows() {
  if (gemm.patches || gemm.a.blockColumns || gemm.rows > kernels.maxFewRows ||
      gemm.depth == 0)
    return;
  int rows = static_cast<int>(gemm.rows);
  if (gemm.b.columnStride == 1 && gemm.columns >= kernels.narrowStrip) {
    method = Method::Strips;
    width = kernels.getStripWidth(std::max(rows, 1));
    if (gemm.columns < width)
      width = kernels.narrowStrip;
  } else if (gemm.b.rowStride == 1) {
    method = Method::Dots;
    width = 64;
  } else {
    return;
  }
  aBytes = alignUp(gemm.rows * gemm.depth * sizeof(float) + slack);
  tileBytes = alignUp(gemm.rows * width * sizeof(float));
  threadBytes = aBytes + tileBytes;
}

void Plan::planPanels() {
  // Parts of the depth where C alone is too little for the threads there may
  // be; sizes alone decide.
  constexpr int64_t fewElements = 32768, leastPart = 1024;
  int64_t elements = gemm.rows * gemm.columns * batchCount;
  if (elements > 0 && elements < fewElements && gemm.depth >= 2 * leastPart)
    parts = std::min<int64_t>(
        {divideUp(fewElements, elements), gemm.depth / leastPart, 16});
  partDepth = roundUp(divideUp(gemm.depth, parts), panels.depthUnit);
  parts = std::max<int64_t>(1, partDepth ? divideUp(gemm.depth, partDepth) : 1);

  int64_t blocks = std::max<int64_t>(1, divideUp(partDepth, panels.maxDepth));
  blockDepth = roundUp(divideUp(partDepth, blocks), panels.depthUnit);
  bool isAliased = hasAlias(gemm);
  isDirect = parts == 1 && gemm.c.type == DataType::Float &&
             gemm.c.columnStride == 1 && !gemm.c.blockColumns && !isAliased &&
             (blocks > 1 || !isFinishing());
  // Sums that C has no place for are to stay in the second cache.
  constexpr int64_t mostSums = 1 << 18;
  int64_t maxRows = 16 * panels.maxRows, maxColumns = panels.maxColumns;
  if (!isDirect && blocks > 1) {
    maxRows = 4 * panels.maxRows;
    int64_t rows = std::min<int64_t>(gemm.rows, maxRows);
    maxColumns = std::clamp<int64_t>(mostSums / std::max<int64_t>(rows, 1),
                                     2 * panels.maxWidth, maxColumns);
  }
  chooseTasks(maxRows, maxColumns);

  int64_t paddedColumns = roundUp(taskColumns, panels.widthUnit);
  // A block has up to a panel more, to be of whole panels.
  aBytes =
      alignUp((std::min<int64_t>(taskRows, panels.maxRows) + panels.maxHeight) *
                  blockDepth * panels.elementSize +
              slack);
  bBytes = alignUp(paddedColumns * blockDepth * panels.elementSize + slack);
  tileBytes =
      alignUp(panels.maxHeight * panels.maxWidth * sizeof(float) + slack);
  if (parts > 1)
    sharedBytes =
        alignUp(batchCount * parts * gemm.rows *
                    roundUp(gemm.columns, panels.widthUnit) * sizeof(float) +
                slack);
  else if (blocks > 1 && !isDirect)
    sumBytes = alignUp(taskRows * paddedColumns * sizeof(float) + slack);
  threadBytes = aBytes + bBytes + tileBytes + sumBytes;
}

/// Tasks that take the least time on the threads, by what they multiply and
/// pack. Any are right.
void Plan::chooseTasks(int64_t maxRows, int64_t maxColumns) {
  auto set = [&](int64_t rows, int64_t columns) {
    taskRows = divideUp(gemm.rows, rows);
    taskColumns = roundUp(divideUp(gemm.columns, columns), panels.widthUnit);
    rowTasks = taskRows ? divideUp(gemm.rows, taskRows) : 0;
    columnTasks = taskColumns ? divideUp(gemm.columns, taskColumns) : 0;
  };
  int64_t leastRows = std::max<int64_t>(1, divideUp(gemm.rows, maxRows));
  int64_t leastColumns =
      std::max<int64_t>(1, divideUp(gemm.columns, maxColumns));
  set(leastRows, leastColumns);
  if (rowTasks == 0 || columnTasks == 0)
    return;
  constexpr double worthSharing = 1 << 18;
  double work = static_cast<double>(gemm.rows) * gemm.columns * gemm.depth;
  if (threads == 1 || work * batchCount < worthSharing ||
      batchCount >= 8 * static_cast<int64_t>(threads))
    return;
  // In products of one row and one column: packing a line, and the least that
  // a panel of few rows takes.
  constexpr double packing = 4;
  constexpr int64_t leastHeight = 4;
  double best = 0;
  int64_t bestRows = 0, bestColumns = 0;
  // More and more of them, in growing steps.
  auto next = [](int64_t count, int64_t least) {
    return count < least + 6 ? count + 1 : count + count / 3;
  };
  int64_t enough = 4 * static_cast<int64_t>(threads);
  int64_t mostRows =
      std::min(leastRows + enough, divideUp(gemm.rows, panels.maxHeight));
  int64_t mostColumns =
      std::min(leastColumns + enough, divideUp(gemm.columns, panels.maxWidth));
  for (int64_t r = leastRows; r <= std::max(leastRows, mostRows);
       r = next(r, leastRows))
    for (int64_t c = leastColumns; c <= std::max(leastColumns, mostColumns);
         c = next(c, leastColumns)) {
      set(r, c);
      int64_t height = divideUp(taskRows, divideUp(taskRows, panels.maxHeight));
      double rows = static_cast<double>(divideUp(taskRows, height)) *
                    std::max(height, leastHeight);
      double task = rows * taskColumns +
                    packing * static_cast<double>(taskRows + taskColumns);
      int64_t tasks = rowTasks * columnTasks * batchCount * parts;
      // A little more than the whole rounds, as others may use the CPU.
      double time = (divideUp(tasks, threads) + 0.2) * task;
      if (bestRows == 0 || time < best) {
        best = time;
        bestRows = r;
        bestColumns = c;
      }
    }
  set(bestRows, bestColumns);
}

Plan::Element Plan::getElement(int64_t batch) const {
  Element element = {gemm.a,
                     gemm.b,
                     nullptr,
                     {gemm.alpha, gemm.biasScale, gemm.bias, gemm.residual,
                      gemm.c, gemm.activation, gemm.activationAlpha,
                      gemm.activationBeta}};
  if (gemm.patches)
    element.image = gemm.patches->image;
  for (int i = gemm.batchRank - 1; i >= 0; --i) {
    int64_t index = batch % gemm.batch[i];
    batch /= gemm.batch[i];
    for (Matrix *m : {&element.a, &element.b, &element.finish.bias,
                      &element.finish.residual, &element.finish.c})
      if (m->exists())
        m->data = static_cast<char *>(m->data) +
                  index * m->batchStrides[i] *
                      static_cast<int64_t>(getByteSize(m->type));
    if (gemm.patches)
      element.image += index * gemm.patches->batchStrides[i];
  }
  return element;
}

//===----------------------------------------------------------------------===//
// Few rows
//===----------------------------------------------------------------------===//

PackSource getLines(const Matrix &m, bool isB, int64_t line, int64_t lines,
                    int64_t begin, int64_t depth) {
  int64_t lineStride = isB ? m.columnStride : m.rowStride;
  int64_t depthStride = isB ? m.rowStride : m.columnStride;
  auto *data = static_cast<const char *>(m.data) +
               (line * lineStride + begin * depthStride) *
                   static_cast<int64_t>(getByteSize(m.type));
  return {data, m.type, lineStride, depthStride, lines, depth};
}

void Plan::runStrips(int64_t begin, int64_t end, char *memory) const {
  int64_t strips = divideUp(gemm.columns, width);
  auto *a = reinterpret_cast<float *>(memory);
  auto *tile = reinterpret_cast<float *>(memory + aBytes);
  int rows = static_cast<int>(gemm.rows);
  int64_t packed = -1;
  Element element = {};
  for (int64_t i = begin; i < end; ++i) {
    if (i / strips != packed) {
      packed = i / strips;
      element = getElement(packed);
      kernels.floats->packA(
          getLines(element.a, false, 0, gemm.rows, 0, gemm.depth), rows, a);
    }
    // The last strip begins earlier, to be whole.
    int64_t column = i % strips * width;
    int64_t from = std::min(column, gemm.columns - width);
    PackSource b = getLines(element.b, true, from, width, 0, gemm.depth);
    kernels.multiplyStrip(rows, static_cast<int>(width), gemm.depth, a, b.data,
                          b.type, b.depthStride, tile, width);
    kernels.finish(element.finish, tile + (column - from), width, 0, column,
                   rows, from + width - column);
  }
}

void Plan::runDots(int64_t begin, int64_t end, char *memory) const {
  int64_t blocks = divideUp(gemm.columns, width);
  auto *a = reinterpret_cast<float *>(memory);
  auto *tile = reinterpret_cast<float *>(memory + aBytes);
  int rows = static_cast<int>(gemm.rows);
  int64_t packed = -1;
  Element element = {};
  for (int64_t i = begin; i < end; ++i) {
    if (i / blocks != packed) {
      packed = i / blocks;
      element = getElement(packed);
      kernels.convert(getLines(element.a, false, 0, rows, 0, gemm.depth), a,
                      gemm.depth);
    }
    int64_t column = i % blocks * width;
    int64_t columns = std::min(width, gemm.columns - column);
    PackSource b = getLines(element.b, true, column, columns, 0, gemm.depth);
    kernels.multiplyDots(rows, columns, gemm.depth, a, gemm.depth, b.data,
                         b.type, b.lineStride, tile, width);
    kernels.finish(element.finish, tile, width, 0, column, rows, columns);
  }
}

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

void Plan::packA(const Element &element, int64_t row, int64_t rows,
                 int64_t height, int64_t begin, int64_t depth,
                 char *block) const {
  int64_t padded = roundUp(depth, panels.depthUnit);
  for (int64_t i = 0; i < rows; i += height) {
    int64_t count = std::min(height, rows - i);
    for (int64_t p = begin; p < begin + depth;) {
      Matrix part = element.a;
      int64_t at = p, length = begin + depth - p;
      if (int64_t columns = part.blockColumns) {
        part.data = static_cast<char *>(part.data) +
                    p / columns * part.blockStride *
                        static_cast<int64_t>(getByteSize(part.type));
        at = p % columns;
        length = std::min(length, columns - at);
      }
      panels.packA(getLines(part, false, row + i, count, at, length),
                   static_cast<int>(count),
                   block + (p - begin) * count * panels.elementSize);
      p += length;
    }
    block += count * padded * panels.elementSize;
  }
}

void Plan::packB(const Element &element, int64_t column, int64_t columns,
                 int64_t begin, int64_t depth, char *block) const {
  int64_t padded = roundUp(depth, panels.depthUnit);
  // Rows of B lie far apart: a few at a time over all panels, for they are read
  // as streams.
  constexpr int64_t streams = 16;
  int64_t together = depth;
  if (!gemm.patches && element.b.columnStride == 1)
    together = std::max<int64_t>(streams, panels.depthUnit);
  for (int64_t p = 0; p < depth; p += together) {
    int64_t count = std::min(together, depth - p);
    char *panel = block;
    for (int64_t j = 0; j < columns;) {
      int64_t panelWidth = getPanelWidth(columns - j);
      int64_t lines = std::min(panelWidth, columns - j);
      char *to = panel + p * panelWidth * panels.elementSize;
      if (gemm.patches)
        panels.packPatches(
            {gemm.patches, element.image, column + j, begin + p, lines, count},
            static_cast<int>(panelWidth), to);
      else
        panels.packB(
            getLines(element.b, true, column + j, lines, begin + p, count),
            static_cast<int>(panelWidth), to);
      panel += panelWidth * padded * panels.elementSize;
      j += panelWidth;
    }
  }
}

void Plan::runTask(int64_t task, char *memory, float *partial) const {
  // Neighbours share B.
  int64_t rowTask = task % rowTasks;
  int64_t columnTask = task / rowTasks % columnTasks;
  int64_t part = task / (rowTasks * columnTasks) % parts;
  int64_t batch = task / (rowTasks * columnTasks * parts);
  int64_t row = rowTask * taskRows, column = columnTask * taskColumns;
  int64_t rows = std::min(taskRows, gemm.rows - row);
  int64_t columns = std::min(taskColumns, gemm.columns - column);
  // Blocks of A of the same height, in panels of the same height.
  int64_t blockRows =
      divideUp(rows, divideUp(rows, panels.maxRows / panels.maxHeight *
                                        panels.maxHeight));
  int64_t height = divideUp(blockRows, divideUp(blockRows, panels.maxHeight));
  blockRows = roundUp(blockRows, height);

  char *a = memory, *b = a + aBytes;
  auto *tile = reinterpret_cast<float *>(b + bBytes);
  Element element = getElement(batch);

  // Where sums are between blocks of the depth.
  float *sums = nullptr;
  int64_t stride = 0;
  if (parts > 1) {
    stride = roundUp(gemm.columns, panels.widthUnit);
    sums =
        partial + ((batch * parts + part) * gemm.rows + row) * stride + column;
  } else if (isDirect) {
    stride = gemm.c.rowStride;
    sums = static_cast<float *>(element.finish.c.data) + row * stride + column;
  } else if (sumBytes) {
    stride = roundUp(columns, panels.widthUnit);
    sums = reinterpret_cast<float *>(b + bBytes + tileBytes);
  }

  int64_t begin = part * partDepth;
  int64_t end = std::min(gemm.depth, begin + partDepth);
  int64_t p = begin;
  do {
    int64_t depth = std::min(blockDepth, end - p);
    int64_t padded = roundUp(depth, panels.depthUnit);
    bool isFirst = p == begin, isLast = p + depth >= end;
    packB(element, column, columns, p, depth, b);
    for (int64_t top = 0; top < rows; top += blockRows) {
      int64_t bottom = std::min(rows, top + blockRows);
      packA(element, row + top, bottom - top, height, p, depth, a);
      const char *panelB = b;
      for (int64_t j = 0; j < columns;) {
        int64_t panelWidth = getPanelWidth(columns - j);
        int64_t count = std::min(panelWidth, columns - j);
        const char *panelA = a;
        for (int64_t i = top; i < bottom; i += height) {
          int64_t lines = std::min(height, bottom - i);
          // The padding of a panel goes nowhere in C.
          bool isWhole = !isDirect || count == panelWidth;
          float *at = sums && isWhole ? sums + i * stride + j : tile;
          int64_t atStride = sums && isWhole ? stride : panelWidth;
          panels.multiply(static_cast<int>(lines), static_cast<int>(panelWidth),
                          padded, panelA, panelB, at, atStride,
                          !isFirst && at != tile);
          if (isDirect && !isWhole) {
            kernels.add(tile, panelWidth, sums + i * stride + j, stride, lines,
                        count, !isFirst);
            at = sums + i * stride + j;
            atStride = stride;
          }
          if (isLast && parts == 1 && (!isDirect || isFinishing()))
            kernels.finish(element.finish, at, atStride, row + i, column + j,
                           lines, count);
          panelA += lines * padded * panels.elementSize;
        }
        panelB += panelWidth * padded * panels.elementSize;
        j += panelWidth;
      }
    }
    p += depth;
  } while (p < end);
}

void Plan::addParts(float *partial, ThreadPool &pool) const {
  constexpr int64_t rowsTogether = 8;
  int64_t groups = divideUp(gemm.rows, rowsTogether);
  int64_t stride = roundUp(gemm.columns, panels.widthUnit);
  pool.parallelFor(
      batchCount * groups, 1, [&](int64_t begin, int64_t end, unsigned) {
        for (int64_t i = begin; i < end; ++i) {
          int64_t batch = i / groups, row = i % groups * rowsTogether;
          int64_t rows = std::min(rowsTogether, gemm.rows - row);
          float *first = partial + (batch * parts * gemm.rows + row) * stride;
          for (int64_t part = 1; part < parts; ++part)
            kernels.add(first + part * gemm.rows * stride, stride, first,
                        stride, rows, gemm.columns, true);
          kernels.finish(getElement(batch).finish, first, stride, row, 0, rows,
                         gemm.columns);
        }
      });
}

void Plan::run(void *scratch, ThreadPool &pool) const {
  if (gemm.rows == 0 || gemm.columns == 0 || batchCount == 0)
    return;
  auto *shared = static_cast<char *>(scratch);
  auto memoryOf = [&](unsigned thread) {
    return shared + sharedBytes + thread * threadBytes;
  };
  // Pieces worth a thread.
  constexpr int64_t leastProducts = 1 << 16;
  auto grainOf = [](int64_t rows, int64_t columns, int64_t depth) {
    return std::max<int64_t>(
        1, leastProducts / std::max<int64_t>(1, rows * columns * depth));
  };
  if (method != Method::Panels) {
    // B is read once: each element counts as much as several products.
    int64_t extent = batchCount * divideUp(gemm.columns, width);
    pool.parallelFor(
        extent, grainOf(std::max<int64_t>(gemm.rows, 4), width, gemm.depth),
        [&](int64_t begin, int64_t end, unsigned thread) {
          if (method == Method::Strips)
            runStrips(begin, end, memoryOf(thread));
          else
            runDots(begin, end, memoryOf(thread));
        });
    return;
  }
  auto *partial = reinterpret_cast<float *>(shared);
  pool.parallelFor(batchCount * parts * rowTasks * columnTasks,
                   grainOf(taskRows, taskColumns, partDepth),
                   [&](int64_t begin, int64_t end, unsigned thread) {
                     for (int64_t task = begin; task < end; ++task)
                       runTask(task, memoryOf(thread), partial);
                   });
  if (parts > 1)
    addParts(partial, pool);
}

} // namespace

size_t Gemm::getScratchSize(unsigned threads, Isa isa) const {
  size_t size = Plan(*this, threads, isa).getScratchSize();
  if (!hasAlias(*this))
    return size;
  // That may be so because no memory is there yet.
  Gemm apart = *this;
  char memory;
  apart.c.data = &memory;
  return std::max(size, Plan(apart, threads, isa).getScratchSize());
}

void Gemm::multiply(void *scratch, ThreadPool &threads, Isa isa) const {
  Plan(*this, threads.getSize(), isa).run(scratch, threads);
}

} // namespace amp::runtime
