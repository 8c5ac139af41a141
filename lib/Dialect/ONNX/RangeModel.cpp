//===- RangeModel.cpp - what is known of ONNX's values --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RangeModel.h"

#include "amp/Dialect/ONNX/OperatorTable.h"

using namespace mlir;

namespace amp::onnx {

namespace {
struct Model : RangeOpInterface::FallbackModel<Model> {
  void inferRanges(Operation *op, ArrayRef<Interval> operands,
                   MutableArrayRef<Interval> results) const {
    onnx::inferRanges(op, operands, results);
  }
  std::optional<Moments> inferMoments(Operation *op, MomentsOf momentsOf,
                                      ElementsOf elementsOf) const {
    return onnx::inferMoments(op, momentsOf, elementsOf);
  }
  std::optional<Normalization> getNormalization(Operation *op,
                                                ElementsOf elementsOf) const {
    return onnx::getNormalization(op, elementsOf);
  }
  std::optional<double> getDecisionSlope(Operation *op) const {
    return onnx::getDecisionSlope(op);
  }
};
} // namespace

void *lookupRangeModel(TypeID interfaceID, OperationName name) {
  if (interfaceID != RangeOpInterface::getInterfaceID())
    return nullptr;
  static Model model;
  const OperatorInfo *info = lookupOperator(name);
  if (!info || !info->domain.empty())
    return nullptr;
  return static_cast<RangeOpInterface::Concept *>(&model);
}

} // namespace amp::onnx
