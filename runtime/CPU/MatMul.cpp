//===- MatMul.cpp - MatMul and Gemm ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// matmul  A, B, bias, residual -> Y; transA, transB, alpha, activation
//   ONNX's MatMul, of operands whose last two dimensions are exchanged first if
//   transA or transB is set.
// gemm    A, B, C, residual -> Y; transA, transB, alpha, beta, activation
//   ONNX's Gemm.
//
// Both: Y = activation(alpha * A B + beta * bias + residual), where bias and
// residual may be left out and are broadcast to Y, and activation is one of
// FusedActivation. Operands may have different float types; the result is
// rounded once. float64 and integers have loops without blocks and no
// activation.
//
//===----------------------------------------------------------------------===//

#include "CPU/FusedActivation.h"
#include "CPU/Gemm.h"
#include "CPU/Kernels.h"
#include "CPU/ThreadPool.h"

#include <algorithm>

using namespace amp::runtime;

namespace {

/// Dimensions of a product: batch, rows and columns of Y; what ONNX leaves out
/// of vectors is 1.
struct Product {
  int64_t rows = 1, columns = 1, depth = 1;
  Shape batch;
  bool isRowKept = true, isColumnKept = true;

  Shape getShape() const {
    Shape shape = batch;
    if (isRowKept)
      shape.push_back(rows);
    if (isColumnKept)
      shape.push_back(columns);
    return shape;
  }
};

/// Strides of a tensor for the dimensions of Y, 0 where it is broadcast; false
/// if it can't be.
bool setStrides(const TensorView &tensor, const Product &product, Matrix &m) {
  Shape full = product.batch;
  if (product.isRowKept)
    full.push_back(product.rows);
  if (product.isColumnKept)
    full.push_back(product.columns);
  const Shape &shape = tensor.shape;
  if (shape.getRank() > full.getRank())
    return false;
  m.data = tensor.data;
  m.type = tensor.type;
  int64_t stride = 1;
  int batchRank = static_cast<int>(product.batch.getRank());
  int missing = static_cast<int>(full.getRank() - shape.getRank());
  for (int axis = static_cast<int>(full.getRank()) - 1; axis >= missing;
       --axis) {
    int64_t dim = shape[axis - missing];
    if (dim != 1 && dim != full[axis])
      return false;
    int64_t own = dim == 1 ? 0 : stride;
    stride *= dim;
    if (axis < batchRank)
      m.batchStrides[axis] = own;
    else if (product.isRowKept && axis == batchRank)
      m.rowStride = own;
    else
      m.columnStride = own;
  }
  return true;
}

/// Without blocks: for types that no model spends its time in.
template <typename T> void multiplySimply(const Gemm &g, ThreadPool &pool) {
  int64_t count = 1;
  for (int i = 0; i < g.batchRank; ++i)
    count *= g.batch[i];
  int64_t grain = std::max<int64_t>(
      1, (1 << 15) / std::max<int64_t>(1, g.columns * g.depth));
  pool.parallelFor(
      count * g.rows, grain, [&](int64_t begin, int64_t end, unsigned) {
        for (int64_t line = begin; line < end; ++line) {
          int64_t row = line % g.rows, rest = line / g.rows;
          int64_t at[5] = {};
          const Matrix *matrices[] = {&g.a, &g.b, &g.c, &g.bias, &g.residual};
          for (int i = g.batchRank - 1; i >= 0; --i) {
            for (int m = 0; m < 5; ++m)
              at[m] += rest % g.batch[i] * matrices[m]->batchStrides[i];
            rest /= g.batch[i];
          }
          auto *a =
              static_cast<const T *>(g.a.data) + at[0] + row * g.a.rowStride;
          auto *b = static_cast<const T *>(g.b.data) + at[1];
          T *c = static_cast<T *>(g.c.data) + at[2] + row * g.c.rowStride;
          std::fill(c, c + g.columns, T(0));
          for (int64_t p = 0; p < g.depth; ++p)
            for (int64_t j = 0; j < g.columns; ++j)
              c[j] += a[p * g.a.columnStride] *
                      b[p * g.b.rowStride + j * g.b.columnStride];
          auto get = [&](int m, int64_t j) {
            return static_cast<const T *>(
                matrices[m]->data)[at[m] + row * matrices[m]->rowStride +
                                   j * matrices[m]->columnStride];
          };
          for (int64_t j = 0; j < g.columns; ++j) {
            if (g.alpha != 1.0f)
              c[j] = static_cast<T>(c[j] * static_cast<double>(g.alpha));
            if (g.bias.exists())
              c[j] = g.biasScale == 1.0f
                         ? static_cast<T>(c[j] + get(3, j))
                         : static_cast<T>(c[j] +
                                          static_cast<double>(g.biasScale) *
                                              static_cast<double>(get(3, j)));
            if (g.residual.exists())
              c[j] += get(4, j);
          }
        }
      });
}

class ProductKernel final : public Kernel {
public:
  static Result<std::unique_ptr<Kernel>> create(const Attributes &attributes,
                                                bool isGemm) {
    Result<FusedActivation> activation = FusedActivation::get(attributes);
    if (!activation.ok())
      return activation.getStatus();
    auto kernel = std::make_unique<ProductKernel>();
    kernel->isGemm = isGemm;
    kernel->activation = *activation;
    kernel->transA = attributes.getInt("transA", 0) != 0;
    kernel->transB = attributes.getInt("transB", 0) != 0;
    kernel->alpha = static_cast<float>(attributes.getFloat("alpha", 1.0));
    kernel->beta = static_cast<float>(attributes.getFloat("beta", 1.0));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    if (inputs.size < 2 || inputs.size > 4 || outputs.size != 1)
      return Status::error(
          "a product has 2 to 4 inputs and 1 output, but got " +
          std::to_string(inputs.size) + " and " + std::to_string(outputs.size));
    for (size_t i = 0; i < inputs.size; ++i)
      if (Status status = checkType(inputs[i], outputs[0].type, i);
          !status.ok())
        return status;
    Product product;
    if (Status status = getProduct(inputs, product); !status.ok())
      return status;
    outputs[0].shape = product.getShape();
    for (size_t i = 2; i < inputs.size; ++i) {
      Matrix m;
      if (inputs[i].type != DataType::Undefined &&
          !setStrides(inputs[i], product, m))
        return Status::error("input " + std::to_string(i) + " of dimensions " +
                             toString(inputs[i].shape) +
                             " is not broadcastable to " +
                             toString(outputs[0].shape));
    }
    return {};
  }

  size_t getScratchSize(Span<const TensorView> inputs,
                        Span<const TensorView> outputs,
                        unsigned threads) const override {
    if (!isEngineType(outputs[0].type))
      return 0;
    return getGemm(inputs, outputs[0]).getScratchSize(threads, getIsa());
  }

  Status run(const KernelArguments &arguments) const override {
    Gemm gemm = getGemm(arguments.inputs, arguments.outputs[0]);
    ThreadPool &pool = *arguments.threads;
    switch (gemm.c.type) {
    case DataType::Double:
      multiplySimply<double>(gemm, pool);
      break;
    // Unsigned: sums wrap around.
    case DataType::Int32:
    case DataType::UInt32:
      multiplySimply<uint32_t>(gemm, pool);
      break;
    case DataType::Int64:
    case DataType::UInt64:
      multiplySimply<uint64_t>(gemm, pool);
      break;
    default:
      gemm.multiply(arguments.scratch, pool, getIsa());
    }
    return {};
  }

private:
  Status checkType(const TensorView &input, DataType type, size_t i) const {
    if (input.type == DataType::Undefined && i >= 2)
      return {};
    bool isSimple = type == DataType::Double || type == DataType::Int32 ||
                    type == DataType::UInt32 || type == DataType::Int64 ||
                    type == DataType::UInt64;
    if (!isSimple && !isEngineType(type))
      return Status::error("there is no product of type " +
                           std::string(getName(type)));
    if (isSimple ? input.type != type : !isEngineType(input.type))
      return Status::error("input " + std::to_string(i) + " is " +
                           std::string(getName(input.type)) +
                           " where the result is " +
                           std::string(getName(type)));
    bool isInteger = isSimple && type != DataType::Double;
    if ((isSimple && activation.kind != Activation::None) ||
        (isInteger && (alpha != 1.0f || beta != 1.0f)))
      return Status::error("a product of type " + std::string(getName(type)) +
                           " has no activation, and of integers no scale");
    return {};
  }

  Status getProduct(Span<const TensorView> inputs, Product &product) const {
    const Shape &a = inputs[0].shape, &b = inputs[1].shape;
    size_t rankA = a.getRank(), rankB = b.getRank();
    if (isGemm ? rankA != 2 || rankB != 2 : rankA == 0 || rankB == 0)
      return Status::error("there is no product of dimensions " + toString(a) +
                           " and " + toString(b));
    product.isRowKept = rankA > 1;
    product.isColumnKept = rankB > 1;
    bool isAExchanged = transA && rankA > 1, isBExchanged = transB && rankB > 1;
    if (rankA > 1)
      product.rows = a[rankA - (isAExchanged ? 1 : 2)];
    product.depth = a[rankA - (isAExchanged ? 2 : 1)];
    int64_t depthB = rankB == 1 ? b[0] : b[rankB - (isBExchanged ? 1 : 2)];
    if (rankB > 1)
      product.columns = b[rankB - (isBExchanged ? 2 : 1)];
    if (depthB != product.depth)
      return Status::error("rows of A have " + std::to_string(product.depth) +
                           " elements and columns of B " +
                           std::to_string(depthB) + ": dimensions " +
                           toString(a) + " and " + toString(b));
    size_t batchA = rankA > 2 ? rankA - 2 : 0,
           batchB = rankB > 2 ? rankB - 2 : 0;
    size_t batchRank = std::max(batchA, batchB);
    for (size_t i = 0; i < batchRank; ++i) {
      int64_t dimA = i + batchA >= batchRank ? a[i + batchA - batchRank] : 1;
      int64_t dimB = i + batchB >= batchRank ? b[i + batchB - batchRank] : 1;
      if (dimA != dimB && dimA != 1 && dimB != 1)
        return Status::error("batches are not broadcastable to each other: "
                             "dimensions " +
                             toString(a) + " and " + toString(b));
      product.batch.push_back(dimA == 1 ? dimB : dimA);
    }
    return {};
  }

  static Matrix getOperand(const TensorView &tensor, const Product &product,
                           bool isA, bool isExchanged) {
    Matrix m;
    m.data = tensor.data;
    m.type = tensor.type;
    const Shape &shape = tensor.shape;
    size_t rank = shape.getRank();
    if (rank == 1) {
      (isA ? m.columnStride : m.rowStride) = 1;
      return m;
    }
    m.rowStride = shape[rank - 1];
    m.columnStride = 1;
    if (isExchanged)
      std::swap(m.rowStride, m.columnStride);
    int64_t stride = shape[rank - 1] * shape[rank - 2];
    size_t batchRank = product.batch.getRank();
    for (size_t i = 0; i + 2 < rank; ++i) {
      size_t axis = rank - 3 - i;
      m.batchStrides[batchRank - 1 - i] = shape[axis] == 1 ? 0 : stride;
      stride *= shape[axis];
    }
    return m;
  }

  Gemm getGemm(Span<const TensorView> inputs, const TensorView &output) const {
    Product product;
    // Dimensions have been checked.
    (void)getProduct(inputs, product).ok();
    Gemm g;
    g.rows = product.rows;
    g.columns = product.columns;
    g.depth = product.depth;
    g.a = getOperand(inputs[0], product, true, transA);
    g.b = getOperand(inputs[1], product, false, transB);
    setStrides(output, product, g.c);
    // A dimension of 1 has a stride nonetheless.
    g.c.columnStride = 1;
    g.c.rowStride = product.columns;
    if (inputs.size > 2 && inputs[2].type != DataType::Undefined)
      setStrides(inputs[2], product, g.bias);
    if (inputs.size > 3 && inputs[3].type != DataType::Undefined)
      setStrides(inputs[3], product, g.residual);
    g.alpha = alpha;
    g.biasScale = beta;
    g.activation = activation.kind;
    g.activationAlpha = activation.alpha;
    g.activationBeta = activation.beta;
    g.batchRank = static_cast<int>(product.batch.getRank());
    for (int i = 0; i < g.batchRank; ++i)
      g.batch[i] = product.batch[i];
    return g;
  }

  bool isGemm = false, transA = false, transB = false;
  float alpha = 1.0f, beta = 1.0f;
  FusedActivation activation;
};

} // namespace

static Result<std::unique_ptr<Kernel>> createMatMul(const Attributes &a) {
  return ProductKernel::create(a, /*isGemm=*/false);
}
static Result<std::unique_ptr<Kernel>> createGemm(const Attributes &a) {
  return ProductKernel::create(a, /*isGemm=*/true);
}

Span<const KernelEntry> amp::runtime::getMatMulKernels() {
  static constexpr KernelEntry entries[] = {{"matmul", createMatMul},
                                            {"gemm", createGemm}};
  return {entries, std::size(entries)};
}
