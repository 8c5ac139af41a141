//===- DLPack.h - views as other libraries exchange them --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For programs that have DLPack's header; the runtime does not need it.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_DLPACK_H
#define AMP_RUNTIME_DLPACK_H

#include "amp/Runtime/Status.h"
#include "amp/Runtime/Tensor.h"

#include <dlpack/dlpack.h>

namespace amp::runtime {

/// A DLTensor with its dimensions; it owns no elements.
struct DLTensorView {
  DLTensorView() = default;
  DLTensorView(const DLTensorView &other) { *this = other; }
  DLTensorView &operator=(const DLTensorView &other) {
    tensor = other.tensor;
    shape = other.shape;
    tensor.shape = &shape[0];
    return *this;
  }

  DLTensor tensor = {};
  Shape shape;
};

namespace detail {
struct DLPackType {
  DataType type;
  uint8_t code, bits;
};
inline constexpr DLPackType dlpackTypes[] = {
    {DataType::Float, kDLFloat, 32},
    {DataType::UInt8, kDLUInt, 8},
    {DataType::Int8, kDLInt, 8},
    {DataType::UInt16, kDLUInt, 16},
    {DataType::Int16, kDLInt, 16},
    {DataType::Int32, kDLInt, 32},
    {DataType::Int64, kDLInt, 64},
    {DataType::Float16, kDLFloat, 16},
    {DataType::Double, kDLFloat, 64},
    {DataType::UInt32, kDLUInt, 32},
    {DataType::UInt64, kDLUInt, 64},
    {DataType::Complex64, kDLComplex, 64},
    {DataType::Complex128, kDLComplex, 128},
    {DataType::BFloat16, kDLBfloat, 16},
    // kDLBool, which older headers have not.
    {DataType::Bool, 6, 8},
};
} // namespace detail

/// The same memory; an error for types that DLPack has not.
inline Result<DLTensorView> toDLPack(const TensorView &tensor) {
  for (const detail::DLPackType &entry : detail::dlpackTypes) {
    if (entry.type != tensor.type)
      continue;
    DLTensorView view;
    view.shape = tensor.shape;
    view.tensor.data = tensor.data;
    view.tensor.device = {kDLCPU, 0};
    view.tensor.ndim = static_cast<int>(tensor.shape.getRank());
    view.tensor.dtype = {entry.code, entry.bits, 1};
    view.tensor.shape = &view.shape[0];
    return view;
  }
  return Status::error("DLPack has no type " +
                       std::string(getName(tensor.type)));
}

/// The same memory, if it is dense and on the CPU.
inline Result<TensorView> fromDLPack(const DLTensor &tensor) {
  TensorView view;
  for (const detail::DLPackType &entry : detail::dlpackTypes)
    if (entry.code == tensor.dtype.code && entry.bits == tensor.dtype.bits &&
        tensor.dtype.lanes == 1)
      view.type = entry.type;
  if (view.type == DataType::Undefined)
    return Status::error("there is no element type for DLPack's code " +
                         std::to_string(tensor.dtype.code) + " with " +
                         std::to_string(tensor.dtype.bits) + " bits and " +
                         std::to_string(tensor.dtype.lanes) + " lanes");
  if (tensor.device.device_type != kDLCPU)
    return Status::error("the tensor must be in the memory of the CPU");
  if (tensor.ndim < 0 || tensor.ndim > static_cast<int>(Shape::maxRank))
    return Status::error("the tensor has rank " + std::to_string(tensor.ndim) +
                         ", but at most " + std::to_string(Shape::maxRank) +
                         " is possible");
  for (int axis = 0; axis < tensor.ndim; ++axis)
    view.shape.push_back(tensor.shape[axis]);
  int64_t stride = 1;
  for (int axis = tensor.ndim - 1; tensor.strides && axis >= 0; --axis) {
    if (tensor.shape[axis] > 1 && tensor.strides[axis] != stride)
      return Status::error("the tensor must be dense and row-major");
    stride *= tensor.shape[axis];
  }
  view.data = static_cast<char *>(tensor.data) + tensor.byte_offset;
  return view;
}

} // namespace amp::runtime

#endif // AMP_RUNTIME_DLPACK_H
