//===- TensorModels.cpp - autocast for the tensor dialect -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations that take or give scalars (extract, insert, splat, pad) have no
// model: they keep their types.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Linalg/AutocastModels.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Interfaces/ForeignModel.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace amp;

namespace {

/// Moves data, or reads shapes.
struct MoveModel : ForeignModel<MoveModel> {};

/// Holds nothing yet, and adopts the type of whoever fills it as a constant
/// does: as one that fits every format.
struct EmptyModel : ForeignModel<EmptyModel> {
  bool isAutocastConstant(Operation *) const { return true; }
  TypedAttr getAutocastConstantValue(Operation *op, unsigned result) const {
    FloatType type = getFloatElementType(op->getResult(result).getType());
    if (!type)
      return {};
    APFloat zero(type.getFloatSemantics());
    return DenseElementsAttr::get(RankedTensorType::get({1}, type), zero);
  }
  Value materializeConstant(Operation *op, OpBuilder &builder, unsigned,
                            TypedAttr value) const {
    Operation *copy = builder.clone(*op);
    Value result = copy->getResult(0);
    result.setType(amp::withFloatElementType(
        result.getType(), getFloatElementType(value.getType())));
    return result;
  }
};

} // namespace

void amp::registerTensorAutocastModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attachModelTo<EmptyModel, tensor::EmptyOp>(context);
    attachModelTo<MoveModel, tensor::CastOp, tensor::CollapseShapeOp,
                  tensor::ConcatOp, tensor::DimOp, tensor::ExpandShapeOp,
                  tensor::ExtractSliceOp, tensor::GatherOp,
                  tensor::InsertSliceOp, tensor::RankOp, tensor::ReshapeOp,
                  tensor::ScatterOp>(context);
  });
}
