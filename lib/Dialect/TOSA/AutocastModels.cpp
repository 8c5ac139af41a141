//===- AutocastModels.cpp - autocast for the tosa dialect -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types that operators admit are those of TOSA 1.0 with its extensions
// (mlir/Dialect/Tosa/IR/TosaComplianceData.h.inc).
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/TOSA/AutocastModels.h"

#include "amp/Dialect/AMP/Accumulator.h"
#include "amp/Dialect/AMP/ConstantData.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Interfaces/ForeignModel.h"

#include "mlir/Dialect/Tosa/IR/TosaOps.h"

using namespace mlir;
using namespace amp;

namespace {

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

/// Most operators. Convolutions and pooling add up in `acc_type`, which stays
/// what it is: f32.
struct PlainModel : ForeignModel<PlainModel> {};

/// Transforms that TOSA has in float32 only.
struct Float32Model : ForeignModel<Float32Model> {
  bool supportsElementType(Operation *op, int, FloatType type) const {
    return getFloatElementType(op->getOperand(0).getType()) == type;
  }
};

/// The type of the result is that of the accumulator. It is f32 where the
/// operands move: `f16 x f16 -> f16` would add up in f16, and `bf16 x bf16 ->
/// bf16` is no type of TOSA. Who wants the result in the low type rounds it.
struct MatMulModel : ForeignModel<MatMulModel> {
  int getResultTypeVariable(Operation *op, unsigned result) const {
    auto matmul = cast<tosa::MatMulOp>(op);
    Type type = op->getResult(result).getType();
    return getFloatElementType(type) ==
                   getFloatElementType(matmul.getA().getType())
               ? getGroupVariable(op, type)
               : -1;
  }
  void updateElementTypes(Operation *op, OpBuilder &builder) const {
    OpResult result = op->getResult(0);
    if (FloatType type = getFloatElementType(result.getType());
        type && (type.isF16() || type.isBF16()))
      keepAccumulator(
          builder, result,
          amp::withFloatElementType(result.getType(), builder.getF32Type()));
  }
};

/// Has its bounds as attributes of the element type.
struct ClampModel : ForeignModel<ClampModel> {
  bool supportsElementType(Operation *op, int, FloatType type) const {
    auto clamp = cast<tosa::ClampOp>(op);
    return convertBound(clamp.getMinVal(), type, /*isLower=*/true) &&
           convertBound(clamp.getMaxVal(), type, /*isLower=*/false);
  }
  void updateElementTypes(Operation *op, OpBuilder &) const {
    auto clamp = cast<tosa::ClampOp>(op);
    FloatType type = getFloatElementType(clamp.getInput().getType());
    clamp.setMinValAttr(convertBound(clamp.getMinVal(), type, true));
    clamp.setMaxValAttr(convertBound(clamp.getMaxVal(), type, false));
  }

private:
  /// The bound in another type; null if it would lose its meaning: an epsilon
  /// becomes zero, or all numbers of the type are beyond it. A bound that is
  /// beyond all of them becomes the last one.
  static FloatAttr convertBound(Attribute bound, FloatType type, bool isLower) {
    auto number = dyn_cast<FloatAttr>(bound);
    if (!number)
      return {};
    APFloat value = number.getValue(), rounded = value;
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    bool losesInfo;
    rounded.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
    if (rounded.isInfinity() && !value.isInfinity()) {
      if (value.isNegative() != isLower)
        return {};
      rounded = APFloat::getLargest(semantics, value.isNegative());
    } else if (losesInfo) {
      double exact = value.convertToDouble();
      APFloat wide = rounded;
      wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
      if (std::abs(wide.convertToDouble() - exact) > std::abs(exact) / 32)
        return {};
    }
    return FloatAttr::get(type, rounded);
  }
};

/// An operator of the target: policies know it by its own name.
struct CustomModel : ForeignModel<CustomModel> {
  StringRef getAutocastDomain(Operation *op) const {
    return cast<tosa::CustomOp>(op).getDomainName();
  }
  StringRef getAutocastName(Operation *op) const {
    return cast<tosa::CustomOp>(op).getOperatorName();
  }
};

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

struct ConstModel : ForeignModel<ConstModel> {
  bool isAutocastConstant(Operation *) const { return true; }
  TypedAttr getAutocastConstantValue(Operation *op, unsigned) const {
    return dyn_cast<TypedAttr>(
        static_cast<Attribute>(cast<tosa::ConstOp>(op).getValues()));
  }
  Value materializeConstant(Operation *op, OpBuilder &builder, unsigned,
                            TypedAttr value) const {
    auto rounded = dyn_cast<RoundedAttr>(value);
    ElementsAttr values = rounded ? evaluate(rounded) : ElementsAttr();
    if (!values)
      return {};
    auto copy = cast<tosa::ConstOp>(builder.clone(*op));
    copy.setValuesAttr(values);
    copy.getResult().setType(cast<TensorType>(amp::withFloatElementType(
        op->getResult(0).getType(), getFloatElementType(value.getType()))));
    return copy;
  }
};

//===----------------------------------------------------------------------===//
// Control flow, which MLIR 22 does not know of these operations
//===----------------------------------------------------------------------===//

using Edges = SmallVectorImpl<ElementTypeEdge>;

/// Operands flow into the arguments of a region, as far as it has some.
void addEdges(MutableArrayRef<OpOperand> operands, ValueRange targets,
              Edges &edges) {
  for (auto [operand, target] : llvm::zip(operands, targets))
    edges.push_back({&operand, target});
}

/// Branches take the operands, or see them from outside and take none.
struct IfModel : ForeignModel<IfModel> {
  void getElementTypeFlow(Operation *op, Edges &edges) const {
    for (Region &region : op->getRegions()) {
      addEdges(op->getOpOperands().drop_front(), region.getArguments(), edges);
      addEdges(region.front().getTerminator()->getOpOperands(),
               op->getResults(), edges);
    }
  }
};

/// What the loop carries goes to the condition, which hands it on, as it is, to
/// the body and to the results.
struct WhileModel : ForeignModel<WhileModel> {
  void getElementTypeFlow(Operation *op, Edges &edges) const {
    auto loop = cast<tosa::WhileOp>(op);
    Operation *yield = loop.getBodyGraph().front().getTerminator();
    for (ValueRange targets : {ValueRange(loop.getCondGraph().getArguments()),
                               ValueRange(loop.getBodyGraph().getArguments()),
                               ValueRange(op->getResults())}) {
      addEdges(op->getOpOperands(), targets, edges);
      addEdges(yield->getOpOperands(), targets, edges);
    }
  }
};

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

/// Operations whose types are stated elsewhere, by a variable or a block scale:
/// they keep them.
bool hasFixedTypes(OperationName name) {
  auto isOneOf = [&](auto... id) { return ((name.getTypeID() == id) || ...); };
  return isOneOf(
      TypeID::get<tosa::CastFromBlockScaledOp>(),
      TypeID::get<tosa::CastToBlockScaledOp>(),
      TypeID::get<tosa::MatmulTBlockScaledOp>(),
      TypeID::get<tosa::VariableOp>(), TypeID::get<tosa::VariableReadOp>(),
      TypeID::get<tosa::VariableWriteOp>(), TypeID::get<tosa::YieldOp>());
}

} // namespace

void amp::registerTosaAutocastModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tosa::TosaDialect *dialect) {
    attachModelTo<Float32Model, tosa::FFT2dOp, tosa::RFFT2dOp>(context);
    attachModelTo<MatMulModel, tosa::MatMulOp>(context);
    attachModelTo<ClampModel, tosa::ClampOp>(context);
    attachModelTo<CustomModel, tosa::CustomOp>(context);
    attachModelTo<ForeignCastModel, tosa::CastOp>(context);
    attachModelTo<ConstModel, tosa::ConstOp>(context);
    attachModelTo<IfModel, tosa::IfOp>(context);
    attachModelTo<WhileModel, tosa::WhileOp>(context);
    attachModel<PlainModel>(
        context, dialect->getNamespace(),
        [](OperationName name) { return !hasFixedTypes(name); });
  });
}
