//===- Tensor.h - a typed view of somebody's memory -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_TENSOR_H
#define AMP_RUNTIME_TENSOR_H

#include "amp/Runtime/DataType.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace amp::runtime {

/// Dimensions of a tensor, outermost first, held in place: shapes are set
/// while a step runs, which allocates nothing. The compiler refuses tensors
/// of a higher rank.
class Shape {
public:
  static constexpr size_t maxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) {
    for (int64_t dim : dims)
      push_back(dim);
  }

  size_t getRank() const { return rank; }
  int64_t operator[](size_t axis) const { return dims[axis]; }
  int64_t &operator[](size_t axis) { return dims[axis]; }
  const int64_t *begin() const { return dims.data(); }
  const int64_t *end() const { return dims.data() + rank; }
  bool empty() const { return rank == 0; }

  /// The rank must be below maxRank.
  void push_back(int64_t dim) { dims[rank++] = dim; }
  void clear() { rank = 0; }

  /// The number of elements: 1 for rank 0. Who makes a shape checks that it
  /// fits into 63 bits, with the size of an element.
  int64_t getElementCount() const {
    int64_t count = 1;
    for (int64_t dim : *this)
      count *= dim;
    return count;
  }

  bool operator==(const Shape &other) const {
    if (rank != other.rank)
      return false;
    for (size_t i = 0; i < rank; ++i)
      if (dims[i] != other.dims[i])
        return false;
    return true;
  }
  bool operator!=(const Shape &other) const { return !(*this == other); }

private:
  std::array<int64_t, maxRank> dims{};
  size_t rank = 0;
};

/// As messages write it: "2x3", "scalar".
std::string toString(const Shape &shape);

/// A dense row-major tensor in memory that belongs to someone else, aligned
/// to its element at least. Elements of strings are std::string.
struct TensorView {
  void *data = nullptr;
  DataType type = DataType::Undefined;
  Shape shape;

  template <typename T> T *as() const { return static_cast<T *>(data); }
  int64_t getElementCount() const { return shape.getElementCount(); }
  size_t getByteCount() const {
    return static_cast<size_t>(getElementCount()) * getByteSize(type);
  }
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_TENSOR_H
