//===- ArithModels.cpp - autocast for arith and math on tensors -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMP/ConstantData.h"
#include "amp/Dialect/Linalg/AutocastModels.h"
#include "amp/Interfaces/ForeignModel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/CastInterfaces.h"

using namespace mlir;
using namespace amp;

namespace {

struct ElementwiseModel : ForeignModel<ElementwiseModel> {};

struct ConstantModel : ForeignModel<ConstantModel> {
  bool isAutocastConstant(Operation *) const { return true; }
  TypedAttr getAutocastConstantValue(Operation *op, unsigned) const {
    return cast<arith::ConstantOp>(op).getValue();
  }
  Value materializeConstant(Operation *op, OpBuilder &builder, unsigned,
                            TypedAttr value) const {
    auto rounded = dyn_cast<RoundedAttr>(value);
    ElementsAttr values = rounded ? evaluate(rounded) : ElementsAttr();
    if (!values)
      return {};
    auto copy = cast<arith::ConstantOp>(builder.clone(*op));
    copy.setValueAttr(values);
    copy.getResult().setType(values.getType());
    return copy;
  }
};

bool isCast(OperationName name) { return name.hasInterface<CastOpInterface>(); }

bool isElementwise(OperationName name) {
  return name.hasTrait<OpTrait::Elementwise>();
}

} // namespace

void amp::registerArithAutocastModels(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, arith::ArithDialect *dialect) {
        attachModelTo<ConstantModel, arith::ConstantOp>(context);
        StringRef name = dialect->getNamespace();
        attachModel<ForeignCastModel>(context, name, isCast);
        attachModel<ElementwiseModel>(context, name, isElementwise);
      });
}

void amp::registerMathAutocastModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *dialect) {
    attachModel<ElementwiseModel>(context, dialect->getNamespace(),
                                  isElementwise);
  });
}
