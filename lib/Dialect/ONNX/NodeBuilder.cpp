//===- NodeBuilder.cpp - ONNX nodes as formulas ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/ONNX/NodeBuilder.h"

#include "ConstantNode.h"

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/OperatorTable.h"

#include "mlir/IR/TypeUtilities.h"

#include <numeric>

using namespace mlir;

namespace amp::onnx {

//===----------------------------------------------------------------------===//
// Expr
//===----------------------------------------------------------------------===//

Type Expr::getElementType() const {
  return getElementTypeOrSelf(value.getType());
}

std::optional<int64_t> Expr::getRank() const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? std::optional(type.getRank()) : std::nullopt;
}

std::optional<int64_t> Expr::getSize(int64_t dimension) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return std::nullopt;
  if (dimension < 0)
    dimension += type.getRank();
  if (dimension < 0 || dimension >= type.getRank() ||
      type.isDynamicDim(dimension))
    return std::nullopt;
  return type.getDimSize(dimension);
}

static Expr unary(StringRef op, Expr a) {
  return a.getBuilder().apply(op, {a});
}
static Expr binary(StringRef op, Expr a, Expr b) {
  return a.getBuilder().apply(op, {a, b});
}
/// A number beside a value.
static Expr numberFor(Expr other, double number) {
  return other.getBuilder().number(number, other.getElementType());
}

Expr Expr::operator-() const { return unary("Neg", *this); }

Expr operator+(Expr a, Expr b) { return binary("Add", a, b); }
Expr operator-(Expr a, Expr b) { return binary("Sub", a, b); }
Expr operator*(Expr a, Expr b) { return binary("Mul", a, b); }
Expr operator/(Expr a, Expr b) { return binary("Div", a, b); }
Expr operator+(Expr a, double b) { return a + numberFor(a, b); }
Expr operator-(Expr a, double b) { return a - numberFor(a, b); }
Expr operator*(Expr a, double b) { return a * numberFor(a, b); }
Expr operator/(Expr a, double b) { return a / numberFor(a, b); }
Expr operator+(double a, Expr b) { return numberFor(b, a) + b; }
Expr operator-(double a, Expr b) { return numberFor(b, a) - b; }
Expr operator*(double a, Expr b) { return numberFor(b, a) * b; }
Expr operator/(double a, Expr b) { return numberFor(b, a) / b; }
Expr operator==(Expr a, Expr b) { return binary("Equal", a, b); }
Expr operator<(Expr a, Expr b) { return binary("Less", a, b); }
Expr operator>(Expr a, Expr b) { return binary("Greater", a, b); }
Expr operator<=(Expr a, Expr b) { return binary("LessOrEqual", a, b); }
Expr operator>=(Expr a, Expr b) { return binary("GreaterOrEqual", a, b); }
Expr operator==(Expr a, double b) { return a == numberFor(a, b); }
Expr operator<(Expr a, double b) { return a < numberFor(a, b); }
Expr operator>(Expr a, double b) { return a > numberFor(a, b); }
Expr operator<=(Expr a, double b) { return a <= numberFor(a, b); }
Expr operator>=(Expr a, double b) { return a >= numberFor(a, b); }
Expr logicalNot(Expr a) { return unary("Not", a); }
Expr logicalAnd(Expr a, Expr b) { return binary("And", a, b); }
Expr logicalOr(Expr a, Expr b) { return binary("Or", a, b); }

Expr abs(Expr a) { return unary("Abs", a); }
Expr exp(Expr a) { return unary("Exp", a); }
Expr log(Expr a) { return unary("Log", a); }
Expr sqrt(Expr a) { return unary("Sqrt", a); }
Expr reciprocal(Expr a) { return unary("Reciprocal", a); }
Expr sign(Expr a) { return unary("Sign", a); }
Expr sin(Expr a) { return unary("Sin", a); }
Expr cos(Expr a) { return unary("Cos", a); }
Expr tan(Expr a) { return unary("Tan", a); }
Expr sinh(Expr a) { return unary("Sinh", a); }
Expr cosh(Expr a) { return unary("Cosh", a); }
Expr tanh(Expr a) { return unary("Tanh", a); }
Expr erf(Expr a) { return unary("Erf", a); }
Expr sigmoid(Expr a) { return unary("Sigmoid", a); }
Expr softplus(Expr a) { return unary("Softplus", a); }
Expr relu(Expr a) { return unary("Relu", a); }
Expr floor(Expr a) { return unary("Floor", a); }
Expr pow(Expr a, Expr b) { return binary("Pow", a, b); }
Expr min(Expr a, Expr b) { return binary("Min", a, b); }
Expr max(Expr a, Expr b) { return binary("Max", a, b); }
Expr matmul(Expr a, Expr b) { return binary("MatMul", a, b); }

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

NodeBuilder::NodeBuilder(OpBuilder &builder, Operation *scope)
    : builder(builder), loc(scope->getLoc()),
      opset(getOpsetVersion(scope, "").value_or(0)) {}

/// Values by position, in groups as the operation has them; what is beyond the
/// last parameter belongs to it, which is variadic then.
static SmallVector<int32_t> groupSizes(StringRef kinds,
                                       llvm::function_ref<bool(size_t)> isThere,
                                       size_t count) {
  SmallVector<int32_t> sizes(kinds.size(), 0);
  for (size_t position = 0; position < count; ++position)
    if (isThere(position))
      ++sizes[std::min(position, kinds.size() - 1)];
  return sizes;
}

Operation *NodeBuilder::node(StringRef op, ArrayRef<Value> inputs,
                             ArrayRef<NamedAttribute> attributes,
                             unsigned numOutputs) {
  const OperatorInfo *info = lookupOperator(/*domain=*/"", op);
  assert(info && "rules name operators of ai.onnx");
  OperationState state(loc, info->operationName);
  for (Value input : inputs)
    if (input)
      state.addOperands(input);
  state.addTypes(SmallVector<Type>(numOutputs, UnknownType::get(getContext())));
  state.addAttributes(attributes);
  if (state.name.hasTrait<OpTrait::AttrSizedOperandSegments>())
    state.addAttribute(
        "operandSegmentSizes",
        builder.getDenseI32ArrayAttr(groupSizes(
            info->operandKinds,
            [&](size_t position) { return bool(inputs[position]); },
            inputs.size())));
  if (state.name.hasTrait<OpTrait::AttrSizedResultSegments>())
    state.addAttribute(
        "resultSegmentSizes",
        builder.getDenseI32ArrayAttr(groupSizes(
            info->resultKinds, [](size_t) { return true; }, numOutputs)));
  for ([[maybe_unused]] StringRef region : info->regionNames())
    state.addRegion();
  Operation *created = builder.create(state);
  if (created->getNumRegions() == 0)
    inference.infer(created);
  return created;
}

Expr NodeBuilder::apply(StringRef op, ArrayRef<Value> inputs,
                        ArrayRef<NamedAttribute> attributes) {
  return expr(node(op, inputs, attributes)->getResult(0));
}

void NodeBuilder::yield(ArrayRef<Value> values) {
  OperationState state(loc, "onnx.Yield");
  state.addOperands(values);
  // A graph has a name.
  state.addAttribute(ONNXDialect::kGraph,
                     builder.getDictionaryAttr(builder.getNamedAttr(
                         "name", builder.getStringAttr("gradient"))));
  builder.create(state);
}

void NodeBuilder::erase(Operation *op) {
  llvm::SmallPtrSet<Block *, 4> blocks;
  op->walk([&](Block *block) { blocks.insert(block); });
  if (!blocks.empty())
    for (auto entry = constants.begin(); entry != constants.end(); ++entry)
      if (blocks.contains(entry->first.first))
        constants.erase(entry);
  op->erase();
}

NamedAttribute NodeBuilder::attr(StringRef name, int64_t value) {
  return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
}
NamedAttribute NodeBuilder::attr(StringRef name, double value) {
  return builder.getNamedAttr(
      name, builder.getF32FloatAttr(static_cast<float>(value)));
}
NamedAttribute NodeBuilder::attr(StringRef name, StringRef value) {
  return builder.getNamedAttr(name, builder.getStringAttr(value));
}
NamedAttribute NodeBuilder::attr(StringRef name, ArrayRef<int64_t> values) {
  return builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(values));
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Expr NodeBuilder::constant(DenseElementsAttr elements) {
  Value &known = constants[{builder.getInsertionBlock(), elements}];
  if (known)
    return expr(known);
  // At the head of what is built: later users stand behind it.
  known = buildConstant(builder, loc, elements);
  inference.infer(known.getDefiningOp());
  return expr(known);
}

Expr NodeBuilder::ints(ArrayRef<int64_t> values) {
  return constant(getInts(builder, values));
}

Expr NodeBuilder::integer(int64_t value) {
  return constant(getInts(builder, value, /*isScalar=*/true));
}

Expr NodeBuilder::number(double value, Type elementType) {
  auto type = RankedTensorType::get({}, elementType);
  if (auto floatType = dyn_cast<FloatType>(elementType)) {
    llvm::APFloat rounded(value);
    bool losesInfo;
    rounded.convert(floatType.getFloatSemantics(),
                    llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return constant(DenseElementsAttr::get(type, rounded));
  }
  return constant(DenseElementsAttr::get(
      type, builder.getIntegerAttr(elementType, static_cast<int64_t>(value))));
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Expr NodeBuilder::shape(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && type.hasStaticShape())
    return ints(type.getShape());
  return apply("Shape", {value});
}

Expr NodeBuilder::sizeOf(Value value, int64_t dimension) {
  if (std::optional<int64_t> size = expr(value).getSize(dimension))
    return ints(*size);
  if (dimension == -1)
    return apply("Shape", {value}, attr("start", dimension));
  return apply("Shape", {value},
               {attr("start", dimension), attr("end", dimension + 1)});
}

Expr NodeBuilder::filledLike(Value like, double number) {
  if (auto type = dyn_cast<RankedTensorType>(like.getType());
      type && type.getRank() == 0)
    return this->number(number, type.getElementType());
  return apply("Expand",
               {this->number(number, getElementTypeOrSelf(like)), shape(like)});
}

Expr NodeBuilder::reshape(Expr value, ArrayRef<int64_t> shape) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && type.hasStaticShape() && type.getShape() == shape)
    return value;
  // A size of 0 would mean that of the operand.
  if (llvm::is_contained(shape, 0))
    return apply("Reshape", {value, ints(shape)}, attr("allowzero", 1));
  return apply("Reshape", {value, ints(shape)});
}

Expr NodeBuilder::reshape(Expr value, Expr shape) {
  return apply("Reshape", {value, shape}, attr("allowzero", 1));
}

/// True if both have one shape, as far as types say.
static bool haveSameShape(Type a, Type b) {
  auto one = dyn_cast<RankedTensorType>(a),
       other = dyn_cast<RankedTensorType>(b);
  if (!one || !other || one.getShape() != other.getShape())
    return false;
  if (one.hasStaticShape())
    return true;
  auto names = dyn_cast_if_present<DimsAttr>(one.getEncoding());
  if (!names || one.getEncoding() != other.getEncoding())
    return false;
  return llvm::all_of(llvm::seq<int64_t>(0, one.getRank()), [&](int64_t i) {
    return !one.isDynamicDim(i) || !names.getNames()[i].empty();
  });
}

/// The name of a dimension; empty if it has none.
static StringRef nameOfDimension(RankedTensorType type, int64_t dimension) {
  auto names = dyn_cast_if_present<DimsAttr>(type.getEncoding());
  return names ? names.getNames()[dimension] : StringRef();
}

bool haveSameSize(Value a, int64_t dimensionOfA, Value b,
                  int64_t dimensionOfB) {
  auto one = dyn_cast<RankedTensorType>(a.getType()),
       other = dyn_cast<RankedTensorType>(b.getType());
  if (!one || !other || dimensionOfA >= one.getRank() ||
      dimensionOfB >= other.getRank() ||
      one.getDimSize(dimensionOfA) != other.getDimSize(dimensionOfB))
    return false;
  StringRef name = nameOfDimension(one, dimensionOfA);
  return !one.isDynamicDim(dimensionOfA) ||
         (!name.empty() && name == nameOfDimension(other, dimensionOfB));
}

Expr NodeBuilder::reshapeLike(Expr value, Value like) {
  if (haveSameShape(value.getType(), like.getType()))
    return value;
  auto type = dyn_cast<RankedTensorType>(like.getType());
  if (type && type.hasStaticShape())
    return reshape(value, type.getShape());
  return reshape(value, shape(like));
}

Expr NodeBuilder::expandLike(Expr value, Value like) {
  if (haveSameShape(value.getType(), like.getType()))
    return value;
  return apply("Expand", {value, shape(like)});
}

Expr NodeBuilder::squeeze(Expr value, ArrayRef<int64_t> axes) {
  return axes.empty() ? value : apply("Squeeze", {value, ints(axes)});
}

Expr NodeBuilder::unsqueeze(Expr value, ArrayRef<int64_t> axes) {
  return axes.empty() ? value : apply("Unsqueeze", {value, ints(axes)});
}

Expr NodeBuilder::transpose(Expr value, ArrayRef<int64_t> permutation) {
  for (auto [i, from] : llvm::enumerate(permutation))
    if (int64_t(i) != from)
      return apply("Transpose", {value}, attr("perm", permutation));
  return value;
}

Expr NodeBuilder::transposeMatrix(Expr value, int64_t rank) {
  SmallVector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  return transpose(value, permutation);
}

Expr NodeBuilder::concat(ArrayRef<Value> values, int64_t axis) {
  return values.size() == 1 ? expr(values[0])
                            : apply("Concat", values, attr("axis", axis));
}

Expr NodeBuilder::slice(Expr value, ArrayRef<int64_t> starts,
                        ArrayRef<int64_t> ends, ArrayRef<int64_t> axes,
                        ArrayRef<int64_t> steps) {
  return apply("Slice", {value, ints(starts), ints(ends), ints(axes),
                         steps.empty() ? Expr() : ints(steps)});
}

Expr NodeBuilder::pad(Expr value, Expr pads, Expr axes, Expr fill,
                      ArrayRef<NamedAttribute> attributes) {
  std::optional<int64_t> rank = value.getRank();
  if (!axes || !rank)
    return apply("Pad", {value, pads, fill, axes}, attributes);
  // A row for the beginnings, and one for the ends.
  Expr rows = reshape(pads, {2, -1});
  Expr index = apply("Expand", {cast(axes, builder.getI64Type()), shape(rows)});
  Expr none = constant(DenseElementsAttr::get(
      RankedTensorType::get({2, *rank}, builder.getI64Type()), int64_t(0)));
  Expr all = apply("ScatterElements", {none, index, rows}, attr("axis", 1));
  return apply("Pad", {value, reshape(all, {2 * *rank}), fill}, attributes);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Expr NodeBuilder::cast(Expr value, Type elementType) {
  if (value.getElementType() == elementType)
    return value;
  std::optional<ElementType> element = fromType(elementType);
  assert(element && "the element type of a tensor");
  return apply("Cast", {value}, attr("to", int64_t(*element)));
}

Expr NodeBuilder::castLike(Expr value, Value like) {
  return cast(value, getElementTypeOrSelf(like));
}

Expr NodeBuilder::where(Expr condition, Expr a, Expr b) {
  return apply("Where", {condition, a, b});
}
Expr NodeBuilder::where(Expr condition, Expr a, double b) {
  return where(condition, a, number(b, a.getElementType()));
}
Expr NodeBuilder::where(Expr condition, double a, Expr b) {
  return where(condition, number(a, b.getElementType()), b);
}

/// 16 bits of float.
static bool isLow(Type elementType) {
  return elementType.isF16() || elementType.isBF16();
}

Expr NodeBuilder::widen(Expr value) {
  return isLow(value.getElementType()) ? cast(value, builder.getF32Type())
                                       : value;
}

Expr NodeBuilder::reduceSum(Expr value, ArrayRef<int64_t> axes, bool keepDims) {
  Type element = value.getElementType();
  if (isLow(element))
    value = cast(value, builder.getF32Type());
  Expr sum = apply("ReduceSum", {value, axes.empty() ? Expr() : ints(axes)},
                   attr("keepdims", int64_t(keepDims)));
  return cast(sum, element);
}

Expr NodeBuilder::reduceMean(Expr value, ArrayRef<int64_t> axes,
                             bool keepDims) {
  Type element = value.getElementType();
  if (isLow(element))
    value = cast(value, builder.getF32Type());
  Expr mean = apply("ReduceMean", {value, axes.empty() ? Expr() : ints(axes)},
                    attr("keepdims", int64_t(keepDims)));
  return cast(mean, element);
}

Expr NodeBuilder::reduceMax(Expr value, ArrayRef<int64_t> axes, bool keepDims) {
  return apply("ReduceMax", {value, axes.empty() ? Expr() : ints(axes)},
               attr("keepdims", int64_t(keepDims)));
}

Expr NodeBuilder::sum(ArrayRef<Value> values) {
  if (values.size() == 1)
    return expr(values[0]);
  Type element = getElementTypeOrSelf(values[0]);
  if (values.size() == 2 && !isLow(element))
    return expr(values[0]) + expr(values[1]);
  SmallVector<Value> wide;
  for (Value value : values)
    wide.push_back(isLow(element) ? cast(expr(value), builder.getF32Type())
                                  : expr(value));
  Expr sum =
      wide.size() == 2 ? expr(wide[0]) + expr(wide[1]) : apply("Sum", wide);
  return cast(sum, element);
}

Expr NodeBuilder::sumTo(Expr value, Value like) {
  if (haveSameShape(value.getType(), like.getType()))
    return value;
  auto from = dyn_cast<RankedTensorType>(value.getType());
  auto to = dyn_cast<RankedTensorType>(like.getType());
  if (!from || !to || from.getRank() < to.getRank())
    return sumToDynamic(value, like);
  auto fromNames = dyn_cast_if_present<DimsAttr>(from.getEncoding());
  auto toNames = dyn_cast_if_present<DimsAttr>(to.getEncoding());
  int64_t added = from.getRank() - to.getRank();
  SmallVector<int64_t> leading(added), repeated;
  std::iota(leading.begin(), leading.end(), 0);
  for (int64_t i = 0; i < to.getRank(); ++i) {
    int64_t size = from.getDimSize(added + i), wanted = to.getDimSize(i);
    if (wanted == 1 && size != 1) {
      repeated.push_back(added + i);
      continue;
    }
    bool isKnown = !ShapedType::isDynamic(wanted) && wanted != 1;
    bool isNamed = fromNames && toNames && !toNames.getNames()[i].empty() &&
                   fromNames.getNames()[added + i] == toNames.getNames()[i];
    if (!isKnown && !isNamed && !(size == 1 && wanted == 1))
      return sumToDynamic(value, like);
  }
  SmallVector<int64_t> axes = leading;
  axes.append(repeated);
  if (repeated.empty())
    return axes.empty() ? value : reduceSum(value, axes, /*keepDims=*/false);
  Expr sum = reduceSum(value, axes, /*keepDims=*/true);
  return squeeze(sum, leading);
}

/// Ranks and sizes are compared when the model runs.
Expr NodeBuilder::sumToDynamic(Expr value, Value like) {
  Expr from = apply("Shape", {value}), to = apply("Shape", {like});
  // Dimensions are added in front, of size 1.
  Expr added = apply("Sub", {apply("Shape", {from}), apply("Shape", {to})});
  auto one = RankedTensorType::get({1}, builder.getI64Type());
  Expr ones = apply(
      "ConstantOfShape", {added},
      builder.getNamedAttr(
          "value",
          TensorAttr::get(getContext(), DenseElementsAttr::get(one, int64_t(1)),
                          DictionaryAttr())));
  Expr aligned = concat({ones, to}, 0);
  Expr axes = squeeze(apply("NonZero", {logicalNot(from == aligned)}), {0});
  Type element = value.getElementType();
  if (isLow(element))
    value = cast(value, builder.getF32Type());
  Expr sum = apply("ReduceSum", {value, axes},
                   {attr("keepdims", 1), attr("noop_with_empty_axes", 1)});
  return reshape(cast(sum, element), to);
}

} // namespace amp::onnx
