//===- LinalgModels.cpp - autocast for the linalg dialect -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMP/Accumulator.h"
#include "amp/Dialect/AMP/ConstantData.h"
#include "amp/Dialect/Linalg/AutocastModels.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Interfaces/ForeignModel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace amp;
using linalg::LinalgOp;

namespace {

//===----------------------------------------------------------------------===//
// Structured operations
//===----------------------------------------------------------------------===//

/// The body follows from the name and the operands' types.
bool isNamed(LinalgOp op) { return bool(op.getRegionBuilder()); }

/// Its `outs` keep their type: it adds up in them, or its body gives that type.
bool keepsInits(LinalgOp op) {
  return !isNamed(op) || op.getNumReductionLoops() > 0;
}

/// True if a sum begins with a constant: it is whole in this operation. Others
/// are carried from step to step, in float32.
bool beginsSum(Value init) {
  auto constant = init.getDefiningOp<AutocastOpInterface>();
  return constant && constant.isAutocastConstant();
}

/// The type variable of `type` among the inputs of `op`; -1 if none has it.
int getInputVariable(LinalgOp op, Type type) {
  FloatType wanted = getFloatElementType(type);
  SmallVector<FloatType, 2> seen;
  for (OpOperand *input : op.getDpsInputOperands()) {
    FloatType elementType = getFloatElementType(input->get().getType());
    if (!elementType || llvm::is_contained(seen, elementType))
      continue;
    if (elementType == wanted)
      return seen.size();
    seen.push_back(elementType);
  }
  return -1;
}

/// Makes the body of a named operation anew, for the types that it has now.
void rebuildBody(LinalgOp op, OpBuilder &builder) {
  Region &region = op->getRegion(0);
  SmallVector<Type> types;
  SmallVector<Location> locations;
  for (OpOperand *operand : op.getOpOperandsMatchingBBargs()) {
    types.push_back(getElementTypeOrSelf(operand->get()));
    locations.push_back(operand->get().getLoc());
  }
  region.getBlocks().clear();
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&region, {}, types, locations);
  ImplicitLocOpBuilder bodyBuilder(op->getLoc(), builder);
  op.getRegionBuilder()(bodyBuilder, *body, op->getAttrs(),
                        [&] { return op->emitOpError(); });
}

/// Lets a body read its inputs as what they were.
void widenInputs(LinalgOp op, OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.getBlock());
  for (OpOperand *operand : op.getOpOperandsMatchingBBargs()) {
    BlockArgument argument = op.getMatchingBlockArgument(operand);
    Type type = getElementTypeOrSelf(operand->get());
    Type before = argument.getType();
    if (type == before)
      continue;
    argument.setType(type);
    if (argument.use_empty())
      continue;
    auto wide =
        arith::ExtFOp::create(builder, argument.getLoc(), before, argument);
    argument.replaceAllUsesExcept(wide, wide);
  }
}

struct StructuredModel : ForeignModel<StructuredModel> {
  StringRef getAutocastName(Operation *op) const {
    if (auto elementwise = dyn_cast<linalg::ElementwiseOp>(op))
      return linalg::stringifyElementwiseKind(elementwise.getKind());
    return op->getName().stripDialect();
  }
  int getOperandTypeVariable(Operation *op, unsigned operand) const {
    auto structured = cast<LinalgOp>(op);
    Type type = op->getOperand(operand).getType();
    if (!keepsInits(structured))
      return getGroupVariable(op, type);
    if (structured.isDpsInit(&op->getOpOperand(operand)) ||
        !getFloatElementType(type))
      return -1;
    // Nothing says that inputs of an unknown body go together.
    return isNamed(structured) ? getInputVariable(structured, type)
                               : int(operand);
  }
  int getResultTypeVariable(Operation *op, unsigned result) const {
    auto structured = cast<LinalgOp>(op);
    Type type = op->getResult(result).getType();
    if (!keepsInits(structured))
      return getGroupVariable(op, type);
    return isNamed(structured) && beginsSum(structured.getDpsInits()[result])
               ? getInputVariable(structured, type)
               : -1;
  }
  bool canUpdateRegions(Operation *) const { return true; }
  void updateElementTypes(Operation *op, OpBuilder &builder) const {
    auto structured = cast<LinalgOp>(op);
    for (auto [result, init] :
         llvm::zip(op->getResults(), structured.getDpsInits()))
      keepAccumulator(builder, result, init.getType());
    if (isNamed(structured))
      rebuildBody(structured, builder);
    else
      widenInputs(structured, builder);
  }
};

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Of a known number in a new tensor, a fill is a constant; else it moves like
/// other named operations.
struct FillModel : ForeignModel<FillModel> {
  bool isAutocastConstant(Operation *op) const {
    auto fill = cast<linalg::FillOp>(op);
    return op->getNumResults() == 1 &&
           fill.output().getDefiningOp<tensor::EmptyOp>() &&
           matchPattern(fill.value(), m_Constant());
  }
  TypedAttr getAutocastConstantValue(Operation *op, unsigned result) const {
    FloatAttr number;
    FloatType type = getFloatElementType(op->getResult(result).getType());
    if (!matchPattern(cast<linalg::FillOp>(op).value(), m_Constant(&number)) ||
        number.getType() != type)
      return {};
    return DenseElementsAttr::get(RankedTensorType::get({1}, type),
                                  ArrayRef<Attribute>(number));
  }
  Value materializeConstant(Operation *op, OpBuilder &builder, unsigned result,
                            TypedAttr value) const {
    auto fill = cast<linalg::FillOp>(op);
    auto rounded = dyn_cast<RoundedAttr>(value);
    auto number = rounded
                      ? dyn_cast_or_null<DenseElementsAttr>(evaluate(rounded))
                      : DenseElementsAttr();
    if (!number)
      return {};
    FloatType type = getFloatElementType(value.getType());
    Operation *empty = builder.clone(*fill.output().getDefiningOp());
    empty->getResult(0).setType(
        amp::withFloatElementType(op->getResult(result).getType(), type));
    Value scalar = arith::ConstantOp::create(
        builder, op->getLoc(),
        FloatAttr::get(type, number.getSplatValue<APFloat>()));
    return linalg::FillOp::create(builder, op->getLoc(), scalar,
                                  empty->getResult(0))
        .getResult(0);
  }
  bool canUpdateRegions(Operation *) const { return true; }
  void updateElementTypes(Operation *op, OpBuilder &builder) const {
    rebuildBody(cast<LinalgOp>(op), builder);
  }
};

//===----------------------------------------------------------------------===//
// Other operations
//===----------------------------------------------------------------------===//

struct PlainModel : ForeignModel<PlainModel> {};

/// What pads is a scalar of the element type.
struct PackModel : ForeignModel<PackModel> {
  bool supportsElementType(Operation *op, int, FloatType type) const {
    Value padding = cast<linalg::PackOp>(op).getPaddingValue();
    return !padding || padding.getType() == type;
  }
};

} // namespace

void amp::registerLinalgAutocastModels(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, linalg::LinalgDialect *dialect) {
        attachModelTo<FillModel, linalg::FillOp>(context);
        attachModelTo<PackModel, linalg::PackOp>(context);
        attachModelTo<PlainModel, linalg::SoftmaxOp>(context);
        attachModelTo<PlainModel, linalg::UnPackOp>(context);
        attachModel<StructuredModel>(
            context, dialect->getNamespace(),
            [](OperationName name) { return name.hasInterface<LinalgOp>(); });
      });
}
