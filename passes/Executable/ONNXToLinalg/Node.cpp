//===- Node.cpp - nodes that become linalg operations ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Node.h"

#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Dialect/ONNX/ConstantInts.h"
#include "amp/Dialect/ONNX/ConstantNumber.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/OptionalOutputs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace amp {

//===----------------------------------------------------------------------===//
// Body and Space
//===----------------------------------------------------------------------===//

Scalar Body::index(unsigned dimension) const {
  Value index = linalg::IndexOp::create(builder, dimension);
  return Scalar(builder, arith::IndexCastOp::create(
                             builder, builder.getI64Type(), index));
}

Scalar Body::outer(Value index, Type elementType) const {
  Value integer =
      arith::IndexCastOp::create(builder, builder.getI64Type(), index);
  return Scalar(builder, integer).to(elementType);
}

SmallVector<int64_t> Space::getKept() const {
  SmallVector<int64_t> kept;
  for (int64_t i = 0; i < getRank(); ++i)
    if (!isReduced[i])
      kept.push_back(i);
  return kept;
}

std::optional<int64_t> Space::countReduced() const {
  int64_t count = 1;
  for (auto [size, reduced] : llvm::zip_equal(sizes, isReduced)) {
    if (reduced && !size.isStatic())
      return std::nullopt;
    if (reduced)
      count *= size.number;
  }
  return count;
}

Type widen(Type elementType) {
  return elementType.isF16() || elementType.isBF16()
             ? Float32Type::get(elementType.getContext())
             : elementType;
}

//===----------------------------------------------------------------------===//
// Node
//===----------------------------------------------------------------------===//

Node::Node(Operation *op, Dimensions &dimensions)
    : op(op), dimensions(dimensions), builder(op->getLoc(), op),
      inputs(onnx::inputsByPosition(op)), outputs(onnx::outputsByPosition(op)) {
}

static Value at(ArrayRef<Value> values, unsigned position) {
  return position < values.size() ? values[position] : Value();
}

Value Node::x(unsigned position) const { return at(inputs, position); }
Value Node::y(unsigned position) const { return at(outputs, position); }

bool Node::isUsed(unsigned position) const {
  Value output = y(position);
  return output && !output.use_empty();
}

Type Node::getElementType(unsigned input) const {
  return getElementTypeOrSelf(x(input).getType());
}

Type Node::getResultElementType(unsigned output) const {
  return getElementTypeOrSelf(y(output).getType());
}

int64_t Node::getInt(StringRef name, int64_t missing) const {
  auto attribute = op->getAttrOfType<IntegerAttr>(name);
  return attribute ? attribute.getInt() : missing;
}

double Node::getFloat(StringRef name, double missing) const {
  auto attribute = op->getAttrOfType<FloatAttr>(name);
  return attribute ? attribute.getValueAsDouble() : float(missing);
}

StringRef Node::getString(StringRef name, StringRef missing) const {
  auto attribute = op->getAttrOfType<StringAttr>(name);
  return attribute ? attribute.getValue() : missing;
}

std::optional<SmallVector<int64_t>>
Node::getConstantInts(unsigned position) const {
  return onnx::getConstantInts(x(position));
}

static bool isPlainType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getEncoding())
    return false;
  Type element = tensor.getElementType();
  if (auto integer = dyn_cast<IntegerType>(element))
    return llvm::is_contained({1, 8, 16, 32, 64}, int(integer.getWidth()));
  return element.isF16() || element.isBF16() || element.isF32() ||
         element.isF64();
}

bool Node::isPlain() const {
  return llvm::all_of(op->getOperandTypes(), isPlainType) &&
         llvm::all_of(op->getResultTypes(), isPlainType);
}

void Node::set(unsigned position, Value value) {
  if (Value output = y(position))
    replacements.push_back({output, value});
}

//===----------------------------------------------------------------------===//
// Spaces
//===----------------------------------------------------------------------===//

Space Node::getSpace(Value value, ArrayRef<int64_t> axes) const {
  Space space;
  space.sizes = dimensions.get(value);
  space.isReduced.assign(space.sizes.size(), false);
  for (int64_t axis : axes)
    space.isReduced[axis] = true;
  return space;
}

std::optional<Space> Node::broadcast(ArrayRef<Value> values,
                                     SmallVectorImpl<Operand> &operands) const {
  int64_t rank = 0;
  for (Value value : values)
    rank = std::max(rank, cast<RankedTensorType>(value.getType()).getRank());
  const Size one{1, Value(), 0};
  Space space;
  space.sizes.assign(rank, one);
  space.isReduced.assign(rank, false);
  for (Value value : values) {
    SmallVector<Size> sizes = dimensions.get(value);
    for (auto [i, size] : llvm::enumerate(sizes)) {
      Size &all = space.sizes[rank - sizes.size() + i];
      if (size == one)
        continue;
      // Two sizes that may differ: one of them may be 1.
      if (all != one && all != size)
        return std::nullopt;
      all = size;
    }
  }
  for (Value value : values) {
    SmallVector<Size> sizes = dimensions.get(value);
    Operand operand(value);
    for (auto [i, size] : llvm::enumerate(sizes)) {
      int64_t dimension = rank - sizes.size() + i;
      operand.dimensions.push_back(
          size == space.sizes[dimension] ? dimension : Operand::kOnce);
    }
    operands.push_back(std::move(operand));
  }
  return space;
}

OpFoldResult Node::getSize(Size size) {
  if (size.isStatic())
    return builder.getIndexAttr(size.number);
  return tensor::DimOp::create(builder, size.value, size.dimension).getResult();
}

Value Node::makeEmpty(ArrayRef<Size> sizes, Type elementType) {
  SmallVector<OpFoldResult> extents;
  for (Size size : sizes)
    extents.push_back(getSize(size));
  Value empty = tensor::EmptyOp::create(builder, extents, elementType);
  dimensions.set(empty, sizes);
  return empty;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The number that a constant is everywhere, if a body can hold it exactly.
static std::optional<double> getNumber(Value value) {
  std::optional<double> number = onnx::getConstantNumber(value);
  return number && (isa<FloatType>(getElementTypeOrSelf(value.getType())) ||
                    std::abs(*number) <= 0x1p53)
             ? number
             : std::nullopt;
}

static AffineMap getMap(const Operand &operand, int64_t rank,
                        MLIRContext *context) {
  SmallVector<AffineExpr> results;
  int64_t operandRank =
      cast<RankedTensorType>(operand.value.getType()).getRank();
  for (int64_t i = 0; i < operandRank; ++i) {
    int64_t dimension = operand.dimensions.empty() ? i : operand.dimensions[i];
    results.push_back(dimension == Operand::kOnce
                          ? getAffineConstantExpr(0, context)
                          : getAffineDimExpr(dimension, context));
  }
  return AffineMap::get(rank, 0, results, context);
}

/// Block arguments have ONNX's types, with signs; arith's integers have none.
static Scalar toScalar(ImplicitLocOpBuilder &builder, Value element) {
  auto integer = dyn_cast<IntegerType>(element.getType());
  if (integer && !integer.isSignless())
    element = UnrealizedConversionCastOp::create(
                  builder, builder.getIntegerType(integer.getWidth()), element)
                  .getResult(0);
  return Scalar(builder, element,
                integer && (integer.isUnsigned() || integer.getWidth() == 1));
}

static Value fromScalar(ImplicitLocOpBuilder &builder, Scalar scalar,
                        Type elementType) {
  Value value = scalar.to(elementType).getValue();
  if (value.getType() == elementType)
    return value;
  return UnrealizedConversionCastOp::create(builder, elementType, value)
      .getResult(0);
}

/// The type of a tensor whose elements arith can compute with as they are.
static Type withoutSign(Type elementType) {
  return elementType.isUnsignedInteger()
             ? IntegerType::get(elementType.getContext(),
                                elementType.getIntOrFloatBitWidth())
             : elementType;
}

Value Node::makeLoops(const Space &space, ArrayRef<Operand> operands,
                      Value init, AffineMap initMap,
                      function_ref<Value(Body &, Value)> body, bool doWiden) {
  // Numbers go into the body, but for what says how far loops go.
  SmallVector<std::optional<double>> numbers;
  SmallVector<Value> values;
  SmallVector<AffineMap> maps;
  for (const Operand &operand : operands) {
    bool isScalar =
        llvm::all_of(
            operand.dimensions,
            [](int64_t dimension) { return dimension == Operand::kOnce; }) &&
        (!operand.dimensions.empty() ||
         cast<RankedTensorType>(operand.value.getType()).getRank() == 0);
    numbers.push_back(isScalar || !space.isAnyReduced()
                          ? getNumber(operand.value)
                          : std::nullopt);
    if (numbers.back())
      continue;
    values.push_back(operand.value);
    maps.push_back(getMap(operand, space.getRank(), builder.getContext()));
  }
  maps.push_back(initMap);
  SmallVector<utils::IteratorType> iterators;
  for (bool reduced : space.isReduced)
    iterators.push_back(reduced ? utils::IteratorType::reduction
                                : utils::IteratorType::parallel);
  auto loops = linalg::GenericOp::create(
      builder, TypeRange(init.getType()), values, ValueRange(init), maps,
      iterators, [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        ImplicitLocOpBuilder b(loc, nested);
        SmallVector<Scalar> elements;
        unsigned next = 0;
        for (auto [operand, number] : llvm::zip_equal(operands, numbers)) {
          Type type = getElementTypeOrSelf(operand.value.getType());
          if (number) {
            elements.push_back(
                makeNumber(b, *number, doWiden ? amp::widen(type) : type));
            continue;
          }
          Scalar element = toScalar(b, arguments[next++]);
          elements.push_back(doWiden && isa<FloatType>(type)
                                 ? element.to(amp::widen(type))
                                 : element);
        }
        Body context(b, elements);
        linalg::YieldOp::create(b, body(context, arguments.back()));
      });
  auto name = op->getAttrOfType<StringAttr>(onnx::ONNXDialect::kName);
  auto names = op->getAttrOfType<ArrayAttr>(onnx::ONNXDialect::kOutputs);
  if (!name && names)
    for (auto output : names.getAsRange<StringAttr>())
      if (!name && !output.empty())
        name = output;
  if (name)
    loops->setAttr(rt::AMPRTDialect::kNode, name);
  return loops.getResult(0);
}

Value Node::map(const Space &space, ArrayRef<Operand> operands,
                Type elementType, Formula formula, bool doWiden) {
  Space all = space;
  all.isReduced.assign(space.getRank(), false);
  Value empty = makeEmpty(all.sizes, elementType);
  Value result = makeLoops(
      all, operands, empty, builder.getMultiDimIdentityMap(all.getRank()),
      [&](Body &body, Value) {
        Scalar scalar = formula(body);
        return fromScalar(scalar.getBuilder(), scalar, elementType);
      },
      doWiden);
  dimensions.set(result, all.sizes);
  return result;
}

Value Node::mapKept(const Space &space, ArrayRef<Value> operands,
                    Type elementType, Formula formula) {
  Space kept;
  for (int64_t dimension : space.getKept()) {
    kept.sizes.push_back(space.sizes[dimension]);
    kept.isReduced.push_back(false);
  }
  SmallVector<Operand> all(operands.begin(), operands.end());
  return map(kept, all, elementType, formula);
}

/// What joins with anything to be that.
static TypedAttr getNeutral(Fold fold, Type type, bool isUnsigned) {
  if (auto floating = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &format = floating.getFloatSemantics();
    switch (fold) {
    case Fold::Sum:
      return FloatAttr::get(type, 0.0);
    case Fold::Product:
      return FloatAttr::get(type, 1.0);
    case Fold::Min:
      return FloatAttr::get(type, APFloat::getInf(format));
    case Fold::Max:
      return FloatAttr::get(type, APFloat::getInf(format, /*Negative=*/true));
    }
  }
  unsigned width = type.getIntOrFloatBitWidth();
  switch (fold) {
  case Fold::Sum:
    return IntegerAttr::get(type, 0);
  case Fold::Product:
    return IntegerAttr::get(type, 1);
  case Fold::Min:
    return IntegerAttr::get(type, isUnsigned ? APInt::getMaxValue(width)
                                             : APInt::getSignedMaxValue(width));
  case Fold::Max:
    return IntegerAttr::get(type, isUnsigned ? APInt::getMinValue(width)
                                             : APInt::getSignedMinValue(width));
  }
  llvm_unreachable("a fold");
}

static Scalar join(Fold fold, Scalar a, Scalar b) {
  switch (fold) {
  case Fold::Sum:
    return a + b;
  case Fold::Product:
    return a * b;
  case Fold::Min:
    return min(a, b);
  case Fold::Max:
    return max(a, b);
  }
  llvm_unreachable("a fold");
}

Value Node::reduce(const Space &space, Fold fold, ArrayRef<Operand> operands,
                   Formula formula) {
  // Rows and columns are different loops: first the dimensions at the end, then
  // the others.
  int64_t rank = space.getRank(), rows = rank;
  while (rows > 0 && space.isReduced[rows - 1])
    --rows;
  bool isSplit = false;
  for (int64_t i = 0; i < rows; ++i)
    isSplit |= rows < rank && space.isReduced[i];
  if (isSplit) {
    Space inner = space, outer;
    for (int64_t i = 0; i < rows; ++i) {
      inner.isReduced[i] = false;
      outer.sizes.push_back(space.sizes[i]);
      outer.isReduced.push_back(space.isReduced[i]);
    }
    Value partial = reduce(inner, fold, operands, formula);
    return reduce(outer, fold, {partial}, [](Body &b) { return b.x(); });
  }

  SmallVector<Size> sizes;
  SmallVector<AffineExpr> results;
  for (int64_t dimension : space.getKept()) {
    sizes.push_back(space.sizes[dimension]);
    results.push_back(builder.getAffineDimExpr(dimension));
  }
  // The type of what the formula makes, as the operands say.
  Type type = withoutSign(
      amp::widen(getElementTypeOrSelf(operands.front().value.getType())));
  bool isUnsigned = getElementTypeOrSelf(operands.front().value.getType())
                        .isUnsignedInteger() ||
                    type.isInteger(1);
  Value neutral =
      arith::ConstantOp::create(builder, getNeutral(fold, type, isUnsigned));
  Value init = linalg::FillOp::create(builder, neutral, makeEmpty(sizes, type))
                   .getResult(0);
  Value result = makeLoops(
      space, operands, init,
      AffineMap::get(rank, 0, results, builder.getContext()),
      [&](Body &body, Value accumulator) {
        Scalar element = formula(body);
        return join(fold, element.like(accumulator), element).getValue();
      },
      /*doWiden=*/true);
  dimensions.set(result, sizes);
  return result;
}

Operand Node::perRow(const Space &space, Value reduced) const {
  return Operand(reduced, space.getKept());
}

Value Node::keepDims(const Space &space, Value reduced, Type elementType,
                     Formula formula) {
  Space ones = space;
  for (auto [size, isReduced] : llvm::zip_equal(ones.sizes, space.isReduced))
    if (isReduced)
      size = Size{1, Value(), 0};
  return map(ones, {perRow(space, reduced)}, elementType, formula);
}

Value Node::countReduced(const Space &space) {
  Value count;
  for (auto [size, reduced] : llvm::zip_equal(space.sizes, space.isReduced)) {
    if (!reduced)
      continue;
    Value extent = getValueOrCreateConstantIndexOp(builder, builder.getLoc(),
                                                   getSize(size));
    count = count ? arith::MulIOp::create(builder, count, extent) : extent;
  }
  return count ? count : arith::ConstantIndexOp::create(builder, 1);
}

static RankedTensorType typeOf(ArrayRef<Size> sizes, Type elementType) {
  SmallVector<int64_t> shape;
  for (Size size : sizes)
    shape.push_back(size.number);
  return RankedTensorType::get(shape, elementType);
}

Value Node::expand(Value value, ArrayRef<Size> sizes,
                   ArrayRef<ReassociationIndices> groups) {
  SmallVector<OpFoldResult> extents;
  for (Size size : sizes)
    extents.push_back(getSize(size));
  Value result = tensor::ExpandShapeOp::create(
      builder, typeOf(sizes, getElementTypeOrSelf(value.getType())), value,
      groups, extents);
  dimensions.set(result, sizes);
  return result;
}

Value Node::collapse(Value value, ArrayRef<Size> sizes,
                     ArrayRef<ReassociationIndices> groups) {
  Value result = tensor::CollapseShapeOp::create(
      builder, typeOf(sizes, getElementTypeOrSelf(value.getType())), value,
      groups);
  dimensions.set(result, sizes);
  return result;
}

} // namespace amp
