//===- products.cpp - the engine of products for measurements -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A shared library for products.py, which runs the engine and other libraries
// by turns.
//
//===----------------------------------------------------------------------===//

#include "CPU/Convolution.h"
#include "CPU/Kernels.h"
#include "CPU/ThreadPool.h"

#include <cstdlib>
#include <map>
#include <memory>

using namespace amp::runtime;

namespace {

ThreadPool &getPool(unsigned threads) {
  static std::map<unsigned, std::unique_ptr<ThreadPool>> pools;
  std::unique_ptr<ThreadPool> &pool = pools[threads];
  if (!pool)
    pool = std::make_unique<ThreadPool>(threads);
  return *pool;
}

void *getScratch(size_t bytes) {
  static void *memory = nullptr;
  static size_t size = 0;
  if (bytes > size) {
    std::free(memory);
    size = (bytes + 63) / 64 * 64;
    memory = std::aligned_alloc(64, size);
  }
  return memory;
}

class NoAttributes final : public Attributes {
public:
  explicit NoAttributes(bool isCausal) : isCausal(isCausal) {}
  bool has(std::string_view) const override { return false; }
  int64_t getInt(std::string_view name, int64_t otherwise) const override {
    return name == "is_causal" ? isCausal : otherwise;
  }
  double getFloat(std::string_view, double otherwise) const override {
    return otherwise;
  }
  std::string getString(std::string_view,
                        std::string_view otherwise) const override {
    return std::string(otherwise);
  }
  std::vector<int64_t> getInts(std::string_view) const override { return {}; }
  std::vector<float> getFloats(std::string_view) const override { return {}; }
  std::vector<std::string> getStrings(std::string_view) const override {
    return {};
  }

private:
  bool isCausal;
};

} // namespace

extern "C" {

/// Attention of dense [batch, heads, positions, size]; by the host's
/// instruction set, or that of AMP_RUNTIME_ISA.
void attend(unsigned threads, int type, int isCausal, int64_t batch,
            int64_t heads, int64_t queries, int64_t keys, int64_t size, void *q,
            void *k, void *v, void *y) {
  auto dataType = static_cast<DataType>(type);
  std::unique_ptr<Kernel> kernel =
      std::move(*getAttentionKernels()[0].create(NoAttributes(isCausal != 0)));
  TensorView inputs[] = {{q, dataType, {batch, heads, queries, size}},
                         {k, dataType, {batch, heads, keys, size}},
                         {v, dataType, {batch, heads, keys, size}}};
  TensorView outputs[] = {{y, dataType, {batch, heads, queries, size}}};
  ThreadPool &pool = getPool(threads);
  KernelArguments arguments;
  arguments.inputs = {inputs, 3};
  arguments.outputs = {outputs, 1};
  arguments.threads = &pool;
  arguments.scratch = getScratch(
      kernel->getScratchSize(arguments.inputs, {outputs, 1}, pool.getSize()));
  (void)kernel->run(arguments).ok();
}

/// Whether the host has it.
int hasIsa(const char *name) {
  std::optional<Isa> isa = getIsa(name);
  return isa && *isa <= getHostIsa();
}

/// c = a b for dense matrices of one type, or a b^T; with a batch.
void multiply(const char *isaName, unsigned threads, int type, int64_t m,
              int64_t n, int64_t k, int transB, int64_t batch, void *a, void *b,
              void *c) {
  Gemm g;
  g.rows = m;
  g.columns = n;
  g.depth = k;
  auto dataType = static_cast<DataType>(type);
  g.a = {a, dataType, k, 1, {m * k}};
  g.b = {b, dataType, transB ? 1 : n, transB ? k : 1, {k * n}};
  g.c = {c, dataType, n, 1, {m * n}};
  g.batchRank = 1;
  g.batch[0] = batch;
  ThreadPool &pool = getPool(threads);
  Isa isa = *getIsa(isaName);
  g.multiply(getScratch(g.getScratchSize(pool.getSize(), isa)), pool, isa);
}

/// A two-dimensional convolution of dense tensors of one type, or (kind 1) its
/// gradient for the input, (kind 2) for the weight; x, w and y are what they
/// are in the forward direction. `sizes`: images, groups, channels of x and y,
/// then height and width of x, of the kernel and of y, stride, pad.
void convolve(const char *isaName, unsigned threads, int type, int kind,
              const int64_t *sizes, void *x, void *w, void *y) {
  int64_t n = sizes[0], groups = sizes[1], in = sizes[2], out = sizes[3];
  int64_t xh = sizes[4], xw = sizes[5], kh = sizes[6], kw = sizes[7];
  int64_t yh = sizes[8], yw = sizes[9], stride = sizes[10], pad = sizes[11];
  auto dataType = static_cast<DataType>(type);
  Convolution c;
  Convolution::Tensor tensorX = {x, dataType, in * xh * xw,
                                 in / groups * xh * xw, xh * xw};
  Convolution::Tensor tensorY = {y, dataType, out * yh * yw,
                                 out / groups * yh * yw, yh * yw};
  auto set = [](int64_t (&to)[3], int64_t height, int64_t width) {
    to[1] = height;
    to[2] = width;
  };
  c.images = n;
  c.groups = groups;
  set(c.strides, stride, stride);
  set(c.pads, pad, pad);
  c.weight.type = dataType;
  int64_t perGroup = in / groups, taps = kh * kw;
  if (kind == 2) {
    // Images are the input's channels, channels the images.
    c.images = perGroup;
    c.inChannels = n;
    c.outChannels = out / groups;
    c.input = {x, dataType, xh * xw, perGroup * xh * xw, in * xh * xw};
    c.weight.data = y;
    c.weight.groupStride = out / groups * yh * yw;
    c.weight.outStride = yh * yw;
    c.weight.inStride = out * yh * yw;
    c.output = {w, dataType, taps, out / groups * perGroup * taps,
                perGroup * taps};
    set(c.in, xh, xw);
    set(c.kernel, yh, yw);
    set(c.out, kh, kw);
    set(c.dilations, stride, stride);
    set(c.strides, 1, 1);
  } else {
    bool isForward = kind == 0;
    c.isTransposed = !isForward;
    c.inChannels = isForward ? perGroup : out / groups;
    c.outChannels = isForward ? out / groups : perGroup;
    c.input = isForward ? tensorX : tensorY;
    c.output = isForward ? tensorY : tensorX;
    c.weight.data = w;
    c.weight.groupStride = out / groups * perGroup * taps;
    c.weight.outStride = isForward ? perGroup * taps : taps;
    c.weight.inStride = isForward ? taps : perGroup * taps;
    set(isForward ? c.in : c.out, xh, xw);
    set(isForward ? c.out : c.in, yh, yw);
    set(c.kernel, kh, kw);
  }
  ThreadPool &pool = getPool(threads);
  Isa isa = *getIsa(isaName);
  c.run(getScratch(c.getScratchSize(pool.getSize(), isa)), pool, isa);
}
}
