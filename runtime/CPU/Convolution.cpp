//===- Convolution.cpp - convolutions as products of matrices -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C = W X, where a column of X is the part of the image that an element of the
// output depends on. X is never there: its panels are packed from the image.
// For that, the image is first copied, as floats, with its padding, and
// split by the stride: elements whose coordinates are equal modulo the stride
// lie together, so that neighbours in the output always read neighbours. Then
// packing is nothing but copying.
//
// A transposed convolution is one of stride 1 for each remainder of the
// output's coordinates by the stride, with the taps that hit the input there.
//
// The gradient of weights is a convolution whose images are the channels of the
// input, and whose kernel is the output's gradient; with so many taps and so
// few places, panels are packed along the taps.
//
//===----------------------------------------------------------------------===//

#include "CPU/Convolution.h"

#include "CPU/GemmKernels.h"
#include "CPU/Sizes.h"
#include "CPU/ThreadPool.h"

#include <algorithm>

namespace amp::runtime {

namespace {

constexpr int rank = Convolution::maxSpatialRank;

int64_t getProduct(const int64_t (&sizes)[rank]) {
  return sizes[0] * sizes[1] * sizes[2];
}

/// How one dimension of the image lies in memory, and where taps and places are
/// in it.
struct Axis {
  /// Elements equal modulo `step` lie together, `length` of each remainder that
  /// some tap needs.
  int64_t step = 1, length = 0, slots = 1;
  /// Zeros before the first element.
  int64_t before = 0;
};

/// Taps and places of one remainder of a transposed convolution's output; of an
/// ordinary convolution, all of them.
struct Phase {
  int64_t remainder[rank] = {0, 0, 0};
  int64_t taps[rank];
  int64_t places[rank];

  int64_t getTapCount() const { return getProduct(taps); }
};

class Plan {
public:
  Plan(const Convolution &wanted, unsigned threads, Isa isa);
  size_t getScratchSize() const {
    return imageBytes + transposedBytes + selectedBytes + tapBytes + gemmBytes;
  }
  void run(char *scratch, ThreadPool &pool) const;

private:
  void planAxes();
  int64_t getPhaseCount() const {
    return c.isTransposed ? getProduct(c.strides) : 1;
  }
  Phase getPhase(int64_t index) const;
  /// The position of a tap in the padded image, relative to the place's own.
  int64_t getTapPosition(int axis, int64_t tap, int64_t remainder) const;
  int64_t getTapOffset(int axis, int64_t position) const;
  /// Which taps of an axis a remainder has: first, first + step, ...
  void findTaps(int axis, int64_t remainder, int64_t &first, int64_t &step,
                int64_t &count) const;

  Gemm getGemm(const Phase &phase, int64_t firstImage, int64_t images,
               PatchMatrix &patches) const;
  bool isMerged(const Phase &phase) const;
  bool isPointwise() const;
  Gemm getPointwiseGemm() const;
  void copyImages(int64_t first, int64_t images, float *to,
                  ThreadPool &pool) const;
  void copyPlane(const char *from, float *to) const;
  void transposeWeights(float *to, ThreadPool &pool) const;
  void selectWeights(const Phase &phase, const float *from, float *to,
                     ThreadPool &pool) const;
  void listTaps(const Phase &phase, int64_t *to) const;
  void runDepthwise(const Phase &phase, const Gemm &gemm, char *scratch,
                    ThreadPool &pool) const;
  /// Products of a row of weights and its taps, without a matrix.
  bool isDepthwise() const {
    return c.inChannels == 1 && c.outChannels <= 4 &&
           getProduct(c.kernel) <= maxTaps;
  }

  const Convolution &c;
  Isa isa;
  const GemmKernels &kernels;
  Axis axes[rank];
  /// Elements of a channel of the padded image.
  int64_t channelSize = 0;
  /// Images at a time.
  int64_t chunk = 1;
  size_t imageBytes = 0, transposedBytes = 0, selectedBytes = 0, tapBytes = 0,
         gemmBytes = 0;
  /// Of a thread: the sums and the image of a channel.
  size_t depthwiseBytes = 0;
};

Plan::Plan(const Convolution &wanted, unsigned threads, Isa isa)
    : c(wanted), isa(isa), kernels(getGemmKernels(isa)) {
  if (isPointwise()) {
    gemmBytes = getPointwiseGemm().getScratchSize(threads, isa);
    return;
  }
  planAxes();
  channelSize = 1;
  for (const Axis &axis : axes)
    channelSize *= axis.slots * axis.length;
  // As many images together as stay in the last cache.
  constexpr int64_t together = 16 << 20;
  int64_t imageSize = c.groups * c.inChannels * channelSize *
                      static_cast<int64_t>(sizeof(float));
  chunk = std::clamp<int64_t>(together / std::max<int64_t>(imageSize, 1), 1,
                              std::max<int64_t>(c.images, 1));
  // Images of a gradient of weights are channels: they are all one matrix.
  if (isDepthwise() || (axes[2].step == 1 && c.kernel[2] > c.out[2]))
    chunk = std::max<int64_t>(c.images, 1);
  if (!isDepthwise())
    imageBytes = alignUp(chunk * imageSize + slack);

  int64_t mostTaps = 0;
  for (int64_t i = 0; i < getPhaseCount(); ++i) {
    Phase phase = getPhase(i);
    mostTaps = std::max(mostTaps, phase.getTapCount());
    PatchMatrix patches;
    for (int64_t images : {chunk, c.images % chunk})
      if (images && !isDepthwise())
        gemmBytes = std::max(
            gemmBytes,
            getGemm(phase, 0, images, patches).getScratchSize(threads, isa));
    if (isDepthwise())
      depthwiseBytes =
          std::max(depthwiseBytes,
                   alignUp(getProduct(phase.places) * sizeof(float) + slack) +
                       alignUp(channelSize * sizeof(float) + slack));
  }
  gemmBytes += threads * depthwiseBytes;
  tapBytes = alignUp(mostTaps * sizeof(int64_t));
  if (c.isTransposed) {
    int64_t lines = c.groups * c.outChannels * c.inChannels;
    // What transposing writes past the end is the place of the offsets.
    transposedBytes =
        alignUp(lines * getProduct(c.kernel) * sizeof(float) + slack);
    if (getPhaseCount() > 1)
      selectedBytes = alignUp(lines * mostTaps * sizeof(float));
  }
}

void Plan::findTaps(int axis, int64_t remainder, int64_t &first, int64_t &step,
                    int64_t &count) const {
  if (!c.isTransposed) {
    first = 0;
    step = 1;
    count = c.kernel[axis];
    return;
  }
  // Where remainder + pad - tap * dilation is a multiple of the stride.
  int64_t stride = c.strides[axis];
  auto hits = [&](int64_t tap) {
    return (remainder + c.pads[axis] - tap * c.dilations[axis]) % stride == 0;
  };
  first = 0;
  while (first < c.kernel[axis] && first < stride && !hits(first))
    ++first;
  step = 1;
  while (step < stride && step * c.dilations[axis] % stride != 0)
    ++step;
  count = first < c.kernel[axis] && hits(first)
              ? divideUp(c.kernel[axis] - first, step)
              : 0;
}

int64_t Plan::getTapPosition(int axis, int64_t tap, int64_t remainder) const {
  if (!c.isTransposed)
    return tap * c.dilations[axis];
  return (remainder + c.pads[axis] - tap * c.dilations[axis]) /
             c.strides[axis] +
         axes[axis].before;
}

/// Of the position of a tap; slots are in the order of remainders.
int64_t Plan::getTapOffset(int axis, int64_t position) const {
  const Axis &a = axes[axis];
  int64_t inner = 1, innerSlots = 1;
  for (int i = axis + 1; i < rank; ++i)
    inner *= axes[i].length;
  for (int i = axis + 1; i < rank; ++i)
    innerSlots *= axes[i].slots;
  int64_t plane = axes[0].length * axes[1].length * axes[2].length;
  int64_t slot = a.slots == 1 ? 0 : position % a.step;
  return slot * innerSlots * plane + position / a.step * inner;
}

void Plan::planAxes() {
  for (int i = 0; i < rank; ++i) {
    Axis &a = axes[i];
    if (!c.isTransposed) {
      a.step = c.strides[i];
      a.before = c.pads[i];
      // One slot is enough if all taps have remainder 0.
      a.slots = c.kernel[i] == 1 || c.dilations[i] % a.step == 0 ? 1 : a.step;
      int64_t extent =
          (c.out[i] - 1) * a.step + (c.kernel[i] - 1) * c.dilations[i] + 1;
      a.length = divideUp(extent, a.step);
      continue;
    }
    // Positions of taps may be negative and beyond the input.
    int64_t low = 0, high = c.in[i] - 1;
    for (int64_t r = 0; r < c.strides[i]; ++r) {
      int64_t first, step, count;
      findTaps(i, r, first, step, count);
      int64_t places = divideUp(c.out[i] - r, c.strides[i]);
      if (count == 0 || places <= 0)
        continue;
      low = std::min(low, getTapPosition(i, first + (count - 1) * step, r));
      high = std::max(high, getTapPosition(i, first, r) + places - 1);
    }
    a.before = -low;
    a.length = high - low + 1;
  }
}

Phase Plan::getPhase(int64_t index) const {
  Phase phase;
  for (int i = rank - 1; i >= 0; --i) {
    int64_t stride = c.isTransposed ? c.strides[i] : 1;
    phase.remainder[i] = index % stride;
    index /= stride;
    int64_t first, step;
    findTaps(i, phase.remainder[i], first, step, phase.taps[i]);
    phase.places[i] =
        std::max<int64_t>(0, divideUp(c.out[i] - phase.remainder[i], stride));
  }
  return phase;
}

void Plan::listTaps(const Phase &phase, int64_t *to) const {
  int64_t first[rank], step[rank], count[rank];
  for (int i = 0; i < rank; ++i)
    findTaps(i, phase.remainder[i], first[i], step[i], count[i]);
  for (int64_t z = 0; z < count[0]; ++z)
    for (int64_t y = 0; y < count[1]; ++y)
      for (int64_t x = 0; x < count[2]; ++x) {
        int64_t taps[] = {z, y, x}, offset = 0;
        for (int i = 0; i < rank; ++i)
          offset +=
              getTapOffset(i, getTapPosition(i, first[i] + taps[i] * step[i],
                                             phase.remainder[i]));
        *to++ = offset;
      }
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// A channel of the input to one of the padded image.
void Plan::copyPlane(const char *from, float *to) const {
  size_t bytes = getByteSize(c.input.type);
  int64_t slots[] = {0, 0, 0};
  for (slots[0] = 0; slots[0] < axes[0].slots; ++slots[0])
    for (slots[1] = 0; slots[1] < axes[1].slots; ++slots[1])
      for (slots[2] = 0; slots[2] < axes[2].slots; ++slots[2])
        for (int64_t z = 0; z < axes[0].length; ++z)
          for (int64_t y = 0; y < axes[1].length; ++y, to += axes[2].length) {
            const Axis &x = axes[2];
            int64_t atZ = z * axes[0].step + slots[0] - axes[0].before;
            int64_t atY = y * axes[1].step + slots[1] - axes[1].before;
            if (atZ < 0 || atZ >= c.in[0] || atY < 0 || atY >= c.in[1]) {
              std::fill(to, to + x.length, 0.0f);
              continue;
            }
            // Elements i with 0 <= i * step + start < in.
            int64_t start = slots[2] - x.before;
            int64_t begin =
                start >= 0 ? 0 : std::min(x.length, divideUp(-start, x.step));
            int64_t end =
                c.in[2] > start
                    ? std::min(x.length, divideUp(c.in[2] - start, x.step))
                    : 0;
            end = std::max(begin, end);
            std::fill(to, to + begin, 0.0f);
            const char *row = from + ((atZ * c.in[1] + atY) * c.in[2] +
                                      begin * x.step + start) *
                                         static_cast<int64_t>(bytes);
            if (end > begin)
              kernels.convert({row, c.input.type, 0, x.step, 1, end - begin},
                              to + begin, 0);
            std::fill(to + end, to + x.length, 0.0f);
          }
}

void Plan::copyImages(int64_t first, int64_t images, float *to,
                      ThreadPool &pool) const {
  int64_t channels = c.groups * c.inChannels;
  auto bytes = static_cast<int64_t>(getByteSize(c.input.type));
  int64_t grain =
      std::max<int64_t>(1, 16384 / std::max<int64_t>(channelSize, 1));
  pool.parallelFor(images * channels, grain,
                   [&](int64_t begin, int64_t end, unsigned) {
                     for (int64_t i = begin; i < end; ++i) {
                       int64_t image = first + i / channels;
                       int64_t group = i % channels / c.inChannels;
                       int64_t channel = i % c.inChannels;
                       copyPlane(static_cast<const char *>(c.input.data) +
                                     (image * c.input.imageStride +
                                      group * c.input.groupStride +
                                      channel * c.input.channelStride) *
                                         bytes,
                                 to + i * channelSize);
                     }
                   });
}

/// As floats in the order (group, out, tap, in): weights of a transposed
/// convolution are in the order (group, in, out, tap), each group's a matrix to
/// be transposed.
void Plan::transposeWeights(float *to, ThreadPool &pool) const {
  int64_t lines = c.outChannels * getProduct(c.kernel);
  int64_t groupSize = lines * c.inChannels;
  auto bytes = static_cast<int64_t>(getByteSize(c.weight.type));
  // Rows of fewer elements than a vector has are written in order.
  constexpr int64_t widest = 16;
  int64_t together =
      c.inChannels < widest
          ? lines
          : std::max<int64_t>(16, 16384 / std::max<int64_t>(c.inChannels, 1));
  int64_t pieces = divideUp(lines, std::max<int64_t>(together, 1));
  auto transposePiece = [&](int64_t group, int64_t piece) {
    int64_t line = piece * together;
    const char *from = static_cast<const char *>(c.weight.data) +
                       (group * c.weight.groupStride + line) * bytes;
    kernels.floats->packA({from, c.weight.type, c.weight.inStride, 1,
                           c.inChannels, std::min(together, lines - line)},
                          static_cast<int>(c.inChannels),
                          to + group * groupSize + line * c.inChannels);
  };
  if (c.inChannels < widest) {
    for (int64_t group = 0; group < c.groups; ++group)
      transposePiece(group, 0);
    return;
  }
  pool.parallelFor(c.groups * pieces, 1,
                   [&](int64_t begin, int64_t end, unsigned) {
                     for (int64_t i = begin; i < end; ++i)
                       transposePiece(i / pieces, i % pieces);
                   });
}

/// Those of the phase's taps.
void Plan::selectWeights(const Phase &phase, const float *from, float *to,
                         ThreadPool &pool) const {
  int64_t first[rank], step[rank], count[rank];
  for (int i = 0; i < rank; ++i)
    findTaps(i, phase.remainder[i], first[i], step[i], count[i]);
  int64_t taps = phase.getTapCount(), all = getProduct(c.kernel);
  int64_t grain =
      std::max<int64_t>(1, 16384 / std::max<int64_t>(1, c.inChannels * taps));
  pool.parallelFor(
      c.groups * c.outChannels, grain,
      [&](int64_t begin, int64_t end, unsigned) {
        for (int64_t out = begin; out < end; ++out) {
          float *row = to + out * taps * c.inChannels;
          for (int64_t z = 0; z < count[0]; ++z)
            for (int64_t y = 0; y < count[1]; ++y)
              for (int64_t x = 0; x < count[2]; ++x) {
                int64_t tap = ((first[0] + z * step[0]) * c.kernel[1] +
                               first[1] + y * step[1]) *
                                  c.kernel[2] +
                              first[2] + x * step[2];
                std::copy_n(from + (out * all + tap) * c.inChannels,
                            c.inChannels, row);
                row += c.inChannels;
              }
        }
      });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void setFinish(const Convolution &c, Gemm &g) {
  g.activation = c.activation;
  g.activationAlpha = c.activationAlpha;
  g.activationBeta = c.activationBeta;
  if (c.biasType != DataType::Undefined) {
    g.bias.data = c.bias;
    g.bias.type = c.biasType;
    g.bias.rowStride = 1;
  }
}

bool Plan::isPointwise() const {
  for (int i = 0; i < rank; ++i)
    if (c.kernel[i] != 1 || c.strides[i] != 1 || c.pads[i] != 0 ||
        c.in[i] != c.out[i])
      return false;
  // Images of few pixels are better as one matrix.
  int64_t places = getProduct(c.out);
  return c.images == 1 || places >= 128 || places % 16 == 0;
}

Gemm Plan::getPointwiseGemm() const {
  Gemm g;
  g.rows = c.outChannels;
  g.depth = c.inChannels;
  g.columns = getProduct(c.out);
  g.batchRank = 2;
  g.batch[0] = c.images;
  g.batch[1] = c.groups;
  g.a = {c.weight.data,
         c.weight.type,
         c.weight.outStride,
         c.weight.inStride,
         {0, c.weight.groupStride}};
  g.b = {c.input.data,
         c.input.type,
         c.input.channelStride,
         1,
         {c.input.imageStride, c.input.groupStride}};
  g.c = {c.output.data,
         c.output.type,
         c.output.channelStride,
         1,
         {c.output.imageStride, c.output.groupStride}};
  setFinish(c, g);
  g.bias.batchStrides[1] = c.outChannels;
  if (c.residual.type != DataType::Undefined) {
    g.residual = g.c;
    g.residual.data = c.residual.data;
    g.residual.type = c.residual.type;
  }
  return g;
}

/// Whether all images are columns of one matrix: a panel's width must not be
/// lost at the end of each.
bool Plan::isMerged(const Phase &phase) const {
  bool isSplit = c.isTransposed && getPhaseCount() > 1;
  return !isSplit && !isDepthwise() && getProduct(phase.places) < 512;
}

Gemm Plan::getGemm(const Phase &phase, int64_t firstImage, int64_t images,
                   PatchMatrix &patches) const {
  bool isSplit = c.isTransposed && getPhaseCount() > 1;
  bool merged = isMerged(phase);
  int64_t taps = phase.getTapCount();

  patches.channels = c.inChannels;
  patches.isTapFirst = c.isTransposed;
  patches.taps = taps;
  patches.images = merged ? images : 1;
  patches.rows = phase.places[0] * phase.places[1];
  patches.width = phase.places[2];
  patches.rowsPerPlane = phase.places[1];
  patches.channelStride = channelSize;
  patches.imageStride = c.groups * c.inChannels * channelSize;
  patches.planeStride = axes[1].length * axes[2].length;
  patches.rowStride = axes[2].length;
  // Neighbouring taps are neighbours where they go up by what lies together.
  patches.tapRun = 1;
  for (int i = rank - 1; i >= 0 && !c.isTransposed; --i) {
    if (c.kernel[i] > 1 && c.dilations[i] != axes[i].step)
      break;
    patches.tapRun *= c.kernel[i];
    if (axes[i].length != c.kernel[i])
      break;
  }

  Gemm g;
  g.patches = &patches;
  g.rows = c.outChannels;
  g.depth = c.inChannels * taps;
  g.columns = patches.images * patches.rows * patches.width;

  g.a.data = c.weight.data;
  g.a.type = c.weight.type;
  g.a.rowStride = c.weight.outStride;
  g.a.columnStride = 1;
  int64_t groupStride = c.weight.groupStride;
  if (c.isTransposed) {
    g.a.type = DataType::Float;
    g.a.rowStride = g.depth;
    groupStride = c.outChannels * g.depth;
  } else if (c.weight.inStride != taps) {
    g.a.blockColumns = taps;
    g.a.blockStride = c.weight.inStride;
  }

  g.c.type = c.output.type;
  auto bytes = static_cast<int64_t>(getByteSize(c.output.type));
  int64_t origin = firstImage * c.output.imageStride;
  g.c.rowStride = c.output.channelStride;
  g.c.columnStride = 1;
  // Batches: groups, images, planes.
  g.batchRank = 3;
  g.batch[0] = c.groups;
  g.batch[1] = merged ? 1 : images;
  g.batch[2] = 1;
  g.a.batchStrides[0] = groupStride;
  patches.batchStrides[0] = c.inChannels * channelSize;
  patches.batchStrides[1] = patches.imageStride;
  g.c.batchStrides[0] = c.output.groupStride;
  g.c.batchStrides[1] = c.output.imageStride;
  if (isSplit) {
    // Rows of the output are apart, and so are their elements.
    g.batch[2] = phase.places[0];
    patches.rows = phase.places[1];
    g.columns = patches.rows * patches.width;
    patches.batchStrides[2] = patches.planeStride;
    g.c.batchStrides[2] = c.strides[0] * c.out[1] * c.out[2];
    g.c.columnStride = c.strides[2];
    g.c.blockColumns = phase.places[2];
    g.c.blockStride = c.strides[1] * c.out[2];
    origin += (phase.remainder[0] * c.out[1] + phase.remainder[1]) * c.out[2] +
              phase.remainder[2];
  } else if (merged && images > 1 &&
             c.output.imageStride != getProduct(phase.places)) {
    g.c.blockColumns = getProduct(phase.places);
    g.c.blockStride = c.output.imageStride;
  }
  g.c.data = static_cast<char *>(c.output.data) + origin * bytes;
  setFinish(c, g);
  g.bias.batchStrides[0] = c.outChannels;
  if (c.residual.type != DataType::Undefined) {
    g.residual = g.c;
    g.residual.type = c.residual.type;
    g.residual.data =
        static_cast<char *>(c.residual.data) +
        origin * static_cast<int64_t>(getByteSize(c.residual.type));
  }
  return g;
}

/// With one input channel there is nothing that a product of matrices would
/// use twice; a row of places is a few vectors times a weight each. A task
/// copies its channel of the image for itself, so that it stays in the cache.
void Plan::runDepthwise(const Phase &phase, const Gemm &gemm, char *scratch,
                        ThreadPool &pool) const {
  const PatchMatrix &p = *gemm.patches;
  int64_t places = getProduct(phase.places);
  // Batches of the product: groups, images, planes of the output.
  int64_t planes = gemm.batch[2], placesOfPlane = places / planes;
  int64_t grain =
      std::max<int64_t>(1, 65536 / std::max<int64_t>(1, places * p.taps));
  auto bytes = static_cast<int64_t>(getByteSize(c.input.type));
  pool.parallelFor(
      c.images * c.groups, grain,
      [&](int64_t begin, int64_t end, unsigned thread) {
        char *memory = scratch + thread * depthwiseBytes;
        auto *sums = reinterpret_cast<float *>(memory);
        auto *channel = reinterpret_cast<float *>(
            memory + alignUp(places * sizeof(float) + slack));
        for (int64_t i = begin; i < end; ++i) {
          int64_t image = i / c.groups, group = i % c.groups;
          copyPlane(
              static_cast<const char *>(c.input.data) +
                  (image * c.input.imageStride + group * c.input.groupStride) *
                      bytes,
              channel);
          for (int64_t j = 0; j < gemm.rows * planes; ++j) {
            int64_t row = j / planes, plane = j % planes;
            Finish finish = {gemm.alpha,
                             gemm.biasScale,
                             gemm.bias,
                             gemm.residual,
                             gemm.c,
                             gemm.activation,
                             gemm.activationAlpha,
                             gemm.activationBeta};
            for (Matrix *m : {&finish.bias, &finish.residual, &finish.c})
              if (m->exists())
                m->data =
                    static_cast<char *>(m->data) +
                    (group * m->batchStrides[0] + image * m->batchStrides[1] +
                     plane * m->batchStrides[2]) *
                        static_cast<int64_t>(getByteSize(m->type));
            kernels.multiplyTaps(
                p, channel + plane * p.batchStrides[2], gemm.a.data,
                gemm.a.type,
                row * gemm.a.rowStride + group * gemm.a.batchStrides[0], sums);
            kernels.finish(finish, sums, placesOfPlane, row, 0, 1,
                           placesOfPlane);
          }
        }
      });
}

void Plan::run(char *scratch, ThreadPool &pool) const {
  if (isPointwise()) {
    getPointwiseGemm().multiply(scratch, pool, isa);
    return;
  }
  if (c.images == 0 || c.groups == 0 || c.outChannels == 0 ||
      getProduct(c.out) == 0)
    return;
  auto take = [&](size_t bytes) {
    char *memory = scratch;
    scratch += bytes;
    return memory;
  };
  auto *image = reinterpret_cast<float *>(take(imageBytes));
  auto *transposed = reinterpret_cast<float *>(take(transposedBytes));
  auto *selected = reinterpret_cast<float *>(take(selectedBytes));
  auto *taps = reinterpret_cast<int64_t *>(take(tapBytes));
  if (c.isTransposed)
    transposeWeights(transposed, pool);
  for (int64_t first = 0; first < c.images; first += chunk) {
    int64_t images = std::min(chunk, c.images - first);
    if (!isDepthwise())
      copyImages(first, images, image, pool);
    for (int64_t i = 0; i < getPhaseCount(); ++i) {
      Phase phase = getPhase(i);
      if (getProduct(phase.places) == 0)
        continue;
      listTaps(phase, taps);
      PatchMatrix patches;
      Gemm gemm = getGemm(phase, first, images, patches);
      patches.image = image;
      patches.tapOffsets = taps;
      if (c.isTransposed) {
        gemm.a.data = transposed;
        if (selectedBytes) {
          selectWeights(phase, transposed, selected, pool);
          gemm.a.data = selected;
        }
      }
      if (isDepthwise())
        runDepthwise(phase, gemm, scratch, pool);
      else
        gemm.multiply(scratch, pool, isa);
    }
  }
}

} // namespace

size_t Convolution::getScratchSize(unsigned threads, Isa isa) const {
  return Plan(*this, threads, isa).getScratchSize();
}

void Convolution::run(void *scratch, ThreadPool &threads, Isa isa) const {
  Plan(*this, threads.getSize(), isa)
      .run(static_cast<char *>(scratch), threads);
}

} // namespace amp::runtime
