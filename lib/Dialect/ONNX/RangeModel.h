//===- RangeModel.h - what is known of ONNX's values ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_RANGEMODEL_H
#define AMP_LIB_DIALECT_ONNX_RANGEMODEL_H

#include "amp/Interfaces/RangeOpInterface.h"

#include "mlir/IR/OperationSupport.h"

namespace amp::onnx {

/// The model of RangeOpInterface for an operator of ONNX's own domain; nullptr
/// for other interfaces and other operations.
void *lookupRangeModel(mlir::TypeID interfaceID, mlir::OperationName name);

/// RangeOpInterface::inferRanges() (ValueRanges.cpp).
void inferRanges(mlir::Operation *op, llvm::ArrayRef<Interval> operands,
                 llvm::MutableArrayRef<Interval> results);

// The other methods (ValueMoments.cpp).
std::optional<Moments> inferMoments(mlir::Operation *op, MomentsOf momentsOf,
                                    ElementsOf elementsOf);
std::optional<Normalization> getNormalization(mlir::Operation *op,
                                              ElementsOf elementsOf);
std::optional<double> getDecisionSlope(mlir::Operation *op);

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_RANGEMODEL_H
