//===- Memory.h - loads and stores of lanes ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_CODEGEN_COMPILE_MEMORY_H
#define AMP_PASSES_CODEGEN_COMPILE_MEMORY_H

#include "Arithmetic.h"

namespace amp::codegen {

/// Lanes that count: the first `count` of them (an i64), with `mask`; all
/// without.
struct Active {
  mlir::Value count, mask;

  explicit operator bool() const { return bool(count); }
};

/// Elements in memory, which are as aligned as their type, to numbers or lanes
/// in registers. What lanes that do not count load is of no meaning, and never
/// comes from outside.
class Memory {
public:
  /// Makes a buffer at the builder's place, which is outside of loops.
  explicit Memory(Arithmetic &arithmetic);

  using Value = mlir::Value;
  using Type = mlir::Type;

  /// The address of the element at an index.
  Value address(Value base, Type element, Value index);

  Value loadNumber(Value address, Type element);
  Value loadLanes(Value address, Type element, int64_t lanes, Active active);
  /// Elements that lie `stride` apart, an i64.
  Value gather(Value address, Type element, Value stride, int64_t lanes,
               Active active);

  void storeNumber(Value value, Value address, Type element);
  void storeLanes(Value value, Value address, Type element, Active active);
  void scatter(Value value, Value address, Type element, Value stride,
               Active active);

private:
  Value toRegister(Value value, Type element);
  Value toMemory(Value value, Type element);
  bool hasMasks(Type type) const;
  Value loadRaw(Value address, Type type);
  void storeRaw(Value value, Value address);
  /// Copies the elements that count, one by one.
  void copy(Value from, Value to, Type type, Value count);

  Arithmetic &a;
  Value buffer;
};

} // namespace amp::codegen

#endif // AMP_PASSES_CODEGEN_COMPILE_MEMORY_H
