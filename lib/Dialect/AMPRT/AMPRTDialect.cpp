//===- AMPRTDialect.cpp - the amprt dialect -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMPRT/AMPRTDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace amp::rt;

#include "amp/Dialect/AMPRT/AMPRTDialect.cpp.inc"

#define GET_OP_CLASSES
#include "amp/Dialect/AMPRT/AMPRTOps.cpp.inc"

void AMPRTDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "amp/Dialect/AMPRT/AMPRTOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// ConstantOp
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

//===----------------------------------------------------------------------===//
// CallOp
//===----------------------------------------------------------------------===//

/// `inputs` names each of the operands once, in order, or nobody.
LogicalResult CallOp::verify() {
  std::optional<ArrayRef<int32_t>> positions = getInputs();
  if (!positions)
    return success();
  int32_t next = 0, count = getOperands().size();
  for (int32_t index : *positions)
    if (index != -1 && index != next++)
      return emitOpError(
                 "expects inputs to be indices in order, or -1, but got ")
             << index;
  if (next != count)
    return emitOpError("expects inputs to name all ")
           << count << ", but got " << next;
  return success();
}

//===----------------------------------------------------------------------===//
// LaunchOp
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto function = symbolTable.lookupNearestSymbolFrom<func::FuncOp>(
      *this, getFunctionAttr());
  if (!function)
    return emitOpError("expects a function, but got ") << getFunctionAttr();
  FunctionType type = function.getFunctionType();
  if (!llvm::equal(type.getInputs(), getOperandTypes()) ||
      !llvm::equal(type.getResults(), getResultTypes()))
    return emitOpError("expects operands and results as of ")
           << type << ", but got "
           << FunctionType::get(getContext(), getOperandTypes(),
                                getResultTypes());
  return success();
}

//===----------------------------------------------------------------------===//
// ViewOp
//===----------------------------------------------------------------------===//

LogicalResult ViewOp::verify() {
  auto from = cast<TensorType>(getInput().getType());
  auto to = cast<TensorType>(getResult().getType());
  if (from.getElementType() != to.getElementType())
    return emitOpError("expects elements of ")
           << from.getElementType() << ", but got " << to.getElementType();
  if (from.hasStaticShape() && to.hasStaticShape() &&
      from.getNumElements() != to.getNumElements())
    return emitOpError("expects ")
           << from.getNumElements() << " elements, but got "
           << to.getNumElements();
  if (!to.hasRank() || to.getNumDynamicDims() > 1)
    return emitOpError("expects one unknown dimension at most, but got ") << to;
  return success();
}
