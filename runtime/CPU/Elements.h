//===- Elements.h - C++ types of elements -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that only move data see elements by their size; those that compute
// see them as a C++ type with load() to the type they compute in and store()
// back, which rounds once.
//
// Baseline files only: what depends on the formulas has internal linkage, as
// these have.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_ELEMENTS_H
#define AMP_RUNTIME_CPU_ELEMENTS_H

#include "kernels/FloatConversion.h"

#include "amp/Runtime/Status.h"
#include "amp/Runtime/Tensor.h"

#include <cstdint>
#include <string>
#include <type_traits>

namespace amp::runtime {

struct Half {
  uint16_t bits;
};
struct Brain {
  uint16_t bits;
};
/// A byte of any value: what is not zero is true.
struct Truth {
  uint8_t byte;
};
/// As large as complex128.
struct Bytes16 {
  uint64_t words[2];
};

template <typename... Ts> struct TypeList {};

template <typename T> constexpr DataType dataTypeOf = DataType::Undefined;
template <> inline constexpr DataType dataTypeOf<float> = DataType::Float;
template <> inline constexpr DataType dataTypeOf<double> = DataType::Double;
template <> inline constexpr DataType dataTypeOf<Half> = DataType::Float16;
template <> inline constexpr DataType dataTypeOf<Brain> = DataType::BFloat16;
template <> inline constexpr DataType dataTypeOf<int8_t> = DataType::Int8;
template <> inline constexpr DataType dataTypeOf<int16_t> = DataType::Int16;
template <> inline constexpr DataType dataTypeOf<int32_t> = DataType::Int32;
template <> inline constexpr DataType dataTypeOf<int64_t> = DataType::Int64;
template <> inline constexpr DataType dataTypeOf<uint8_t> = DataType::UInt8;
template <> inline constexpr DataType dataTypeOf<uint16_t> = DataType::UInt16;
template <> inline constexpr DataType dataTypeOf<uint32_t> = DataType::UInt32;
template <> inline constexpr DataType dataTypeOf<uint64_t> = DataType::UInt64;
template <> inline constexpr DataType dataTypeOf<Truth> = DataType::Bool;
template <>
inline constexpr DataType dataTypeOf<std::string> = DataType::String;

using FloatTypes = TypeList<float, double, Half, Brain>;
using NumberTypes =
    TypeList<float, double, Half, Brain, int8_t, int16_t, int32_t, int64_t,
             uint8_t, uint16_t, uint32_t, uint64_t>;

/// Calls visitor(T()) for the type of the list that `type` is; false if there
/// is none.
template <typename... Ts, typename Visitor>
bool visitType(TypeList<Ts...>, DataType type, const Visitor &visitor) {
  return ((dataTypeOf<Ts> == type ? (visitor(Ts()), true) : false) || ...);
}

/// Calls visitor(T()) for a type of the size of an element.
template <typename Visitor>
void visitSize(DataType type, const Visitor &visitor) {
  switch (getByteSize(type)) {
  case 0:
    return visitor(std::string());
  case 1:
    return visitor(uint8_t());
  case 2:
    return visitor(uint16_t());
  case 4:
    return visitor(uint32_t());
  case 8:
    return visitor(uint64_t());
  default:
    return visitor(Bytes16());
  }
}

/// Bytes of an element of a tensor in memory, strings as well.
inline size_t getElementSize(DataType type) {
  return type == DataType::String ? sizeof(std::string) : getByteSize(type);
}

/// Where an element is.
inline const char *elementAt(const TensorView &tensor, int64_t index) {
  return tensor.as<const char>() +
         index * static_cast<int64_t>(getElementSize(tensor.type));
}
inline char *mutableElementAt(const TensorView &tensor, int64_t index) {
  return tensor.as<char>() +
         index * static_cast<int64_t>(getElementSize(tensor.type));
}

/// Copies elements between arrays that are the same or don't overlap.
void copyElements(DataType type, const void *source, void *destination,
                  int64_t count);

inline Status typeError(DataType type) {
  return Status::error("has no code for elements of type " +
                       std::string(getName(type)));
}

} // namespace amp::runtime

namespace {

/// What elements of type T are computed in.
template <typename T> struct ComputeOf {
  using Type = T;
};
template <> struct ComputeOf<amp::runtime::Half> {
  using Type = float;
};
template <> struct ComputeOf<amp::runtime::Brain> {
  using Type = float;
};
template <> struct ComputeOf<amp::runtime::Truth> {
  using Type = bool;
};
template <typename T> using Compute = typename ComputeOf<T>::Type;

template <typename T> inline Compute<T> load(const T &element) {
  using namespace amp::runtime;
  if constexpr (std::is_same_v<T, Half>)
    return bitCast<float>(widen<Float16>(element.bits));
  else if constexpr (std::is_same_v<T, Brain>)
    return bitCast<float>(widen<BFloat16>(element.bits));
  else if constexpr (std::is_same_v<T, Truth>)
    return element.byte != 0;
  else
    return element;
}

template <typename T> inline T store(Compute<T> value) {
  using namespace amp::runtime;
  if constexpr (std::is_same_v<T, Half>)
    return {Rounding<Float32, Float16>::round<false>(bitCast<uint32_t>(value))};
  else if constexpr (std::is_same_v<T, Brain>)
    return {
        Rounding<Float32, BFloat16>::round<false>(bitCast<uint32_t>(value))};
  else if constexpr (std::is_same_v<T, Truth>)
    return {value};
  else
    return value;
}

} // namespace

#endif // AMP_RUNTIME_CPU_ELEMENTS_H
