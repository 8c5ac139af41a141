//===- ConstantData.h - the values of float constants -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_CONSTANTDATA_H
#define AMP_DIALECT_AMP_CONSTANTDATA_H

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Policy/FloatRounding.h"

#include <optional>

namespace amp {

/// The bytes of a constant's elements, in the machine's order and without any
/// alignment. Refers to memory that the attribute keeps.
struct ConstantData {
  llvm::ArrayRef<char> bytes;
  /// Elements of the constant.
  uint64_t count = 0;
  /// `bytes` holds one element, and all are like it.
  bool splat = false;
};

/// The data of a DenseElementsAttr or a DenseResourceElementsAttr of whole-byte
/// elements; none for any other attribute, and where a resource's data is gone
/// or has another size than its type says.
std::optional<ConstantData> getConstantData(mlir::Attribute attribute);

/// The elements of a constant of floats of 16, 32 or 64 bits, integers of whole
/// bytes or booleans, as float64; none if there are more than `limit` of them,
/// or its data is not known. All-equal elements may be given once.
std::optional<llvm::SmallVector<double>> readElements(mlir::Attribute attribute,
                                                      uint64_t limit);

/// The elements, all of them, of what an operation with AutocastOpInterface
/// says is a constant; none of other values, and of constants beyond 2^24
/// elements.
std::optional<llvm::SmallVector<double>> readConstant(mlir::Value value);

/// Writes elements [first, first + count) of a rounded constant to
/// `destination`, 2 bytes each, and adds what rounding did to `*stats`, if
/// asked. Independent parts may be read by several threads at once. Fails if
/// the source's data can't be had or the range is beyond its end.
llvm::LogicalResult readRounded(RoundedAttr constant, uint64_t first,
                                uint64_t count, char *destination,
                                RoundingStats *stats = nullptr);

/// The values of a rounded constant as an attribute of the builtin dialect: a
/// DenseElementsAttr, or a DenseResourceElementsAttr where the source is one.
/// Null if the source's data can't be had.
mlir::ElementsAttr evaluate(RoundedAttr constant);

} // namespace amp

#endif // AMP_DIALECT_AMP_CONSTANTDATA_H
