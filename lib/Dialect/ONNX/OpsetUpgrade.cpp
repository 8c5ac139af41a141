//===- OpsetUpgrade.cpp - nodes of a later operator set -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From opset 7 on. Most new versions of an operator add types, inputs and
// attributes with defaults that change nothing: schemas say that. What changed
// the meaning of nodes is in the table at the end, after the changelog in
// onnx's docs/Changelog.md.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/ONNX/OpsetUpgrade.h"

#include "ConstantNode.h"
#include "ContribSchemas.h"

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/IntegerAttributes.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/Schema.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace amp::onnx {

namespace {

//===----------------------------------------------------------------------===//
// Parts of nodes
//===----------------------------------------------------------------------===//

/// The rank of the first input; none if it is not known.
std::optional<int64_t> getRank(Operation *op) {
  auto type = op->getNumOperands() > 0
                  ? dyn_cast<RankedTensorType>(op->getOperand(0).getType())
                  : RankedTensorType();
  return type ? std::optional(type.getRank()) : std::nullopt;
}

/// Before the rewriter's place.
Value makeInts(RewriterBase &rewriter, Location loc, ArrayRef<int64_t> values,
               bool isScalar = false) {
  return buildConstant(rewriter, loc, getInts(rewriter, values, isScalar));
}

/// Replaces a node by one like it without an attribute, and with inputs at the
/// given positions, which it has not had.
Operation *replace(RewriterBase &rewriter, Operation *op,
                   ArrayRef<StringRef> removed,
                   ArrayRef<std::pair<unsigned, Value>> added) {
  const OperatorInfo *info = lookupOperator(op->getName());
  SmallVector<int32_t, 8> sizes = operandGroupSizes(op, *info);
  SmallVector<Value> operands(op->getOperands());
  for (auto [position, value] : added) {
    // No operator of the table has a variadic input before these.
    unsigned before = 0;
    for (unsigned i = 0; i < position; ++i)
      before += sizes[i];
    operands.insert(operands.begin() + before, value);
    ++sizes[position];
  }
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(op->getResultTypes());
  bool hasSizes = op->getName().hasTrait<OpTrait::AttrSizedOperandSegments>();
  for (NamedAttribute attribute : op->getAttrs()) {
    StringRef name = attribute.getName();
    if (!llvm::is_contained(removed, name) && name != "operandSegmentSizes" &&
        name != ONNXDialect::kAbsentInputs)
      state.attributes.push_back(attribute);
  }
  if (hasSizes)
    state.addAttribute("operandSegmentSizes",
                       rewriter.getDenseI32ArrayAttr(sizes));
  rewriter.setInsertionPoint(op);
  Operation *replacement = rewriter.create(state);
  rewriter.replaceOp(op, replacement->getResults());
  return replacement;
}

/// True if an attribute has the value of an attribute of the function around.
bool hasParameters(Operation *op) {
  auto node = op->getAttrOfType<DictionaryAttr>(ONNXDialect::kNode);
  auto fields =
      node ? node.getAs<DictionaryAttr>("attribute_fields") : DictionaryAttr();
  return fields && llvm::any_of(fields, [](NamedAttribute field) {
           auto dictionary = dyn_cast<DictionaryAttr>(field.getValue());
           return dictionary && dictionary.contains("ref_attr_name");
         });
}

//===----------------------------------------------------------------------===//
// Attributes that became inputs
//===----------------------------------------------------------------------===//

/// `name`, a list, becomes the input at `position`.
Operation *moveInts(RewriterBase &rewriter, Operation *op, StringRef name,
                    unsigned position) {
  auto values = op->getAttrOfType<DenseI64ArrayAttr>(name);
  if (!values)
    return op;
  rewriter.setInsertionPoint(op);
  Value input = makeInts(rewriter, op->getLoc(), values.asArrayRef());
  return replace(rewriter, op, {name}, {{position, input}});
}

Operation *moveAxes(RewriterBase &rewriter, Operation *op) {
  return moveInts(rewriter, op, "axes", 1);
}

Operation *moveSplit(RewriterBase &rewriter, Operation *op) {
  return moveInts(rewriter, op, "split", 1);
}

/// An attribute with one number becomes an input with a list of it.
Operation *moveTopKSize(RewriterBase &rewriter, Operation *op) {
  rewriter.setInsertionPoint(op);
  Value input = makeInts(rewriter, op->getLoc(), getInt(op, "k", 0));
  return replace(rewriter, op, {"k"}, {{1, input}});
}

Operation *moveSlice(RewriterBase &rewriter, Operation *op) {
  rewriter.setInsertionPoint(op);
  SmallVector<std::pair<unsigned, Value>> inputs;
  unsigned position = 1;
  for (StringRef name : {"starts", "ends", "axes"}) {
    if (auto values = op->getAttrOfType<DenseI64ArrayAttr>(name))
      inputs.push_back(
          {position, makeInts(rewriter, op->getLoc(), values.asArrayRef())});
    ++position;
  }
  return replace(rewriter, op, {"starts", "ends", "axes"}, inputs);
}

/// A scalar of the type of the data, from a float attribute.
Value makeNumber(RewriterBase &rewriter, Operation *op, FloatAttr number) {
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  llvm::APFloat value = number.getValue();
  bool losesInfo;
  value.convert(cast<FloatType>(element).getFloatSemantics(),
                llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return buildConstant(
      rewriter, op->getLoc(),
      DenseElementsAttr::get(RankedTensorType::get({}, element), value));
}

bool hasFloatData(Operation *op) {
  auto type = op->getNumOperands() > 0
                  ? dyn_cast<TensorType>(op->getOperand(0).getType())
                  : TensorType();
  return type && isa<FloatType>(type.getElementType());
}

std::string needsFloatData(Operation *op) {
  return hasFloatData(op) ? "" : "the type of its data is not known";
}

Operation *moveBounds(RewriterBase &rewriter, Operation *op) {
  rewriter.setInsertionPoint(op);
  SmallVector<std::pair<unsigned, Value>> inputs;
  unsigned position = 1;
  for (StringRef name : {"min", "max"}) {
    if (auto number = op->getAttrOfType<FloatAttr>(name))
      inputs.push_back({position, makeNumber(rewriter, op, number)});
    ++position;
  }
  return replace(rewriter, op, {"min", "max"}, inputs);
}

Operation *movePads(RewriterBase &rewriter, Operation *op) {
  rewriter.setInsertionPoint(op);
  SmallVector<std::pair<unsigned, Value>> inputs;
  if (auto pads = op->getAttrOfType<DenseI64ArrayAttr>("pads"))
    inputs.push_back({1, makeInts(rewriter, op->getLoc(), pads.asArrayRef())});
  if (auto number = op->getAttrOfType<FloatAttr>("value"))
    inputs.push_back({2, makeNumber(rewriter, op, number)});
  return replace(rewriter, op, {"pads", "value"}, inputs);
}

/// In inference, which is what nodes before opset 12 are.
Operation *moveRatio(RewriterBase &rewriter, Operation *op) {
  auto ratio = op->getAttrOfType<FloatAttr>("ratio");
  if (!ratio)
    return op;
  rewriter.setInsertionPoint(op);
  Value input = makeNumber(rewriter, op, ratio);
  return replace(rewriter, op, {"ratio"}, {{1, input}});
}

Operation *moveDFTAxis(RewriterBase &rewriter, Operation *op) {
  // The default was 1, and is -2 now.
  rewriter.setInsertionPoint(op);
  Value axis = makeInts(rewriter, op->getLoc(), getInt(op, "axis", 1),
                        /*isScalar=*/true);
  return replace(rewriter, op, {"axis"}, {{2, axis}});
}

//===----------------------------------------------------------------------===//
// Defaults and values that changed
//===----------------------------------------------------------------------===//

/// What was one row from the axis on is the axis alone. That is the same if it
/// is the last one; otherwise the data is made a matrix of such rows, and gets
/// its shape back.
Operation *flattenSoftmax(RewriterBase &rewriter, Operation *op) {
  std::optional<int64_t> rank = getRank(op);
  int64_t axis = getInt(op, "axis", 1);
  auto setAxis = [&](Operation *softmax) {
    softmax->setAttr("axis", rewriter.getI64IntegerAttr(-1));
  };
  if (axis == -1 || (rank && axis == *rank - 1)) {
    rewriter.modifyOpInPlace(op, [&] { setAxis(op); });
    return op;
  }
  Type type = op->getResult(0).getType();
  Type element = getElementTypeOrSelf(type);
  rewriter.setInsertionPoint(op);
  auto create = [&](StringRef name, ValueRange operands, Type result,
                    ArrayRef<NamedAttribute> attributes = {}) {
    return rewriter.create(op->getLoc(), rewriter.getStringAttr(name), operands,
                           result, attributes);
  };
  auto shapeType = RankedTensorType::get({rank.value_or(ShapedType::kDynamic)},
                                         rewriter.getI64Type());
  auto matrixType = RankedTensorType::get(
      {ShapedType::kDynamic, ShapedType::kDynamic}, element);
  Operation *shape = create("onnx.Shape", op->getOperand(0), shapeType);
  Operation *rows =
      create("onnx.Flatten", op->getOperand(0), matrixType,
             rewriter.getNamedAttr("axis", rewriter.getI64IntegerAttr(axis)));
  Operation *softmax = rewriter.clone(*op);
  softmax->setOperand(0, rows->getResult(0));
  softmax->getResult(0).setType(matrixType);
  softmax->removeDiscardableAttr(ONNXDialect::kOutputs);
  setAxis(softmax);
  Operation *result = create(
      "onnx.Reshape", {softmax->getResult(0), shape->getResult(0)}, type);
  if (Attribute names = op->getDiscardableAttr(ONNXDialect::kOutputs))
    result->setDiscardableAttr(ONNXDialect::kOutputs, names);
  rewriter.replaceOp(op, result->getResults());
  return softmax;
}

std::string needsElementType(Operation *op) {
  return op->getNumResults() == 1 && isa<TensorType>(op->getResult(0).getType())
             ? ""
             : "the type of its data is not known";
}

/// Training was meant where more than one output was there.
std::string checkBatchNormalization(Operation *op) {
  if (op->getNumResults() == 1 && outputPosition(op, 0) == 0)
    return "";
  return "its outputs of training changed at opset 14";
}

Operation *writeRoiMode(RewriterBase &rewriter, Operation *op) {
  if (!op->hasAttr("coordinate_transformation_mode"))
    rewriter.modifyOpInPlace(op, [&] {
      op->setAttr("coordinate_transformation_mode",
                  rewriter.getStringAttr("output_half_pixel"));
    });
  return op;
}

/// Parts of equal size are as many as there are outputs; that the last one may
/// be smaller is new.
Operation *writeNumOutputs(RewriterBase &rewriter, Operation *op) {
  if (op->getNumOperands() > 1)
    return op;
  auto names = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs);
  size_t count =
      std::max<size_t>(op->getNumResults(), names ? names.size() : 0);
  rewriter.modifyOpInPlace(op, [&] {
    op->setAttr("num_outputs", rewriter.getI64IntegerAttr(count));
  });
  return op;
}

Operation *renameGridSampleMode(RewriterBase &rewriter, Operation *op) {
  auto mode = op->getAttrOfType<StringAttr>("mode");
  if (!mode)
    return op; // "bilinear" was the default, "linear" is
  StringRef renamed = mode == "bilinear"  ? "linear"
                      : mode == "bicubic" ? "cubic"
                                          : mode.getValue();
  rewriter.modifyOpInPlace(
      op, [&] { op->setAttr("mode", rewriter.getStringAttr(renamed)); });
  return op;
}

//===----------------------------------------------------------------------===//
// Operators that others took the place of
//===----------------------------------------------------------------------===//

/// Another operator in the place of a node, with inputs in these groups.
Operation *rename(RewriterBase &rewriter, Operation *op, StringRef name,
                  ValueRange operands, ArrayRef<int32_t> groups,
                  ArrayRef<NamedAttribute> attributes) {
  OperationState state(op->getLoc(), name);
  state.addOperands(operands);
  state.addTypes(op->getResultTypes());
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (attribute.getName() != ONNXDialect::kAbsentInputs)
      state.attributes.push_back(attribute);
  state.addAttributes(attributes);
  if (state.name.hasTrait<OpTrait::AttrSizedOperandSegments>())
    state.addAttribute("operandSegmentSizes",
                       rewriter.getDenseI32ArrayAttr(groups));
  rewriter.setInsertionPoint(op);
  Operation *replacement = rewriter.create(state);
  rewriter.replaceOp(op, replacement->getResults());
  return replacement;
}

Operation *toScatterElements(RewriterBase &rewriter, Operation *op) {
  return rename(rewriter, op, "onnx.ScatterElements", op->getOperands(),
                {1, 1, 1},
                rewriter.getNamedAttr(
                    "axis", rewriter.getI64IntegerAttr(getInt(op, "axis", 0))));
}

Operation *moveScales(RewriterBase &rewriter, Operation *op) {
  auto scales = op->getAttrOfType<DenseF32ArrayAttr>("scales");
  if (!scales)
    return op;
  rewriter.setInsertionPoint(op);
  auto type = RankedTensorType::get(scales.size(), rewriter.getF32Type());
  Value input =
      buildConstant(rewriter, op->getLoc(),
                    DenseElementsAttr::get(type, scales.asArrayRef()));
  return replace(rewriter, op, {"scales"}, {{1, input}});
}

/// A Resize of data and scales, as it was before there was a choice.
Operation *toResize(RewriterBase &rewriter, Operation *op) {
  Attribute mode = op->getAttr("mode");
  return rename(
      rewriter, op, "onnx.Resize", op->getOperands(), {1, 0, 1, 0},
      {rewriter.getNamedAttr("coordinate_transformation_mode",
                             rewriter.getStringAttr("asymmetric")),
       rewriter.getNamedAttr("mode",
                             mode ? mode : rewriter.getStringAttr("nearest")),
       rewriter.getNamedAttr("nearest_mode", rewriter.getStringAttr("floor"))});
}

/// The elements of a constant of float32; none of other values.
std::optional<SmallVector<float>> getConstantFloats(Value value) {
  Operation *constant = value.getDefiningOp();
  if (!isa_and_present<ConstantOp, InitializerOp>(constant))
    return std::nullopt;
  if (auto list = constant->getAttrOfType<DenseF32ArrayAttr>("value_floats"))
    return SmallVector<float>(list.asArrayRef());
  auto tensor = constant->getAttrOfType<TensorAttr>("value");
  if (!tensor || !getElementTypeOrSelf(tensor.getValue().getType()).isF32())
    return std::nullopt;
  if (auto dense = dyn_cast<DenseElementsAttr>(tensor.getValue()))
    return SmallVector<float>(dense.getValues<float>());
  auto resource = dyn_cast<DenseResourceElementsAttr>(tensor.getValue());
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob)
    return std::nullopt;
  SmallVector<float> floats(blob->getData().size() / sizeof(float));
  memcpy(floats.data(), blob->getData().data(), floats.size() * sizeof(float));
  return floats;
}

/// Opset 10 does not say how positions are rounded in data that shrinks.
std::string checkGrowth(Operation *op) {
  if (op->getNumOperands() != 2)
    return "it has no scales";
  auto mode = op->getAttrOfType<StringAttr>("mode");
  if (mode && mode != "nearest")
    return "";
  std::optional<SmallVector<float>> scales =
      getConstantFloats(op->getOperand(1));
  return scales && llvm::all_of(*scales, [](float scale) { return scale >= 1; })
             ? ""
             : "its scales are not known to be at least 1, and others round "
               "differently from opset 11 on";
}

std::string checkResize(Operation *op) {
  auto mode = op->getAttrOfType<StringAttr>("coordinate_transformation_mode");
  return mode && mode == "tf_half_pixel_for_nn"
             ? "its mode 'tf_half_pixel_for_nn' is gone from opset 13 on"
             : "";
}

/// Where kernels round up, the last window may hang over the edge; what it is
/// divided by was made clear at opset 19.
std::string checkAveragePool(Operation *op) {
  return getInt(op, "ceil_mode", 0)
             ? "with ceil_mode its last window changed at opset 19"
             : "";
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// What changed for an operator at an opset.
struct Change {
  StringLiteral op;
  int64_t opset;
  /// Why a node has no other form; null if each has one.
  std::string (*check)(Operation *op);
  /// Gives the operation that takes its place, or itself. Null if nodes that
  /// pass are the same.
  Operation *(*apply)(RewriterBase &rewriter, Operation *op);
  /// The operator that nodes have from then on, if it is another.
  StringLiteral becomes = "";
};

/// For an operator in ascending order.
constexpr Change changes[] = {
    {"AveragePool", 19, checkAveragePool, nullptr},
    {"BatchNormalization", 9, checkBatchNormalization, nullptr},
    {"BatchNormalization", 14, checkBatchNormalization, nullptr},
    {"Clip", 11, needsFloatData, moveBounds},
    {"DFT", 20, nullptr, moveDFTAxis},
    {"Dropout", 12, needsFloatData, moveRatio},
    {"GridSample", 20, nullptr, renameGridSampleMode},
    {"Hardmax", 13, needsElementType, flattenSoftmax},
    {"LogSoftmax", 13, needsElementType, flattenSoftmax},
    {"Pad", 11, needsFloatData, movePads},
    {"ReduceL1", 18, nullptr, moveAxes},
    {"ReduceL2", 18, nullptr, moveAxes},
    {"ReduceLogSum", 18, nullptr, moveAxes},
    {"ReduceLogSumExp", 18, nullptr, moveAxes},
    {"ReduceMax", 18, nullptr, moveAxes},
    {"ReduceMean", 18, nullptr, moveAxes},
    {"ReduceMin", 18, nullptr, moveAxes},
    {"ReduceProd", 18, nullptr, moveAxes},
    {"ReduceSum", 13, nullptr, moveAxes},
    {"ReduceSumSquare", 18, nullptr, moveAxes},
    {"Resize", 11, checkGrowth, toResize},
    {"Resize", 13, checkResize, nullptr},
    {"RoiAlign", 16, nullptr, writeRoiMode},
    {"Scatter", 11, nullptr, toScatterElements, "ScatterElements"},
    {"Slice", 10, nullptr, moveSlice},
    {"Softmax", 13, needsElementType, flattenSoftmax},
    {"Split", 13, nullptr, moveSplit},
    {"Split", 18, nullptr, writeNumOutputs},
    {"Squeeze", 13, nullptr, moveAxes},
    {"TopK", 10, nullptr, moveTopKSize},
    {"Unsqueeze", 13, nullptr, moveAxes},
    {"Upsample", 9, nullptr, moveScales},
    {"Upsample", 11, nullptr, toResize, "Resize"},
};

template <typename Visit>
void forEachChange(StringRef op, int64_t from, int64_t to, Visit visit) {
  for (const Change &change : changes)
    if (change.op == op && from < change.opset && change.opset <= to)
      visit(change);
}

/// What the later schema says of a node that it takes as it is.
std::string checkSchema(Operation *op, const Schema &schema) {
  auto admits = [](const Parameter *parameter, Type type) {
    return parameter && parameter->types.admits(type);
  };
  for (auto [position, value] :
       llvm::zip_equal(inputPositions(op), op->getOperands()))
    if (!admits(schema.inputAt(position), value.getType()))
      return "its inputs are not admitted there";
  for (auto [position, value] :
       llvm::zip_equal(outputPositions(op), op->getResults()))
    if (!admits(schema.outputAt(position), value.getType()))
      return "its outputs are not admitted there";
  return "";
}

} // namespace

std::string explainNoUpgrade(Operation *op, int64_t from, int64_t to) {
  if (auto custom = dyn_cast<CustomOp>(op)) {
    StringRef domain = getOperatorDomain(custom);
    // ONNX Runtime has it at every opset, and ONNX the same since 17.
    bool isBorrowed = custom.getOpType() == "LayerNormalization" &&
                      lookupSchema("", custom.getOpType(), to);
    if ((!domain.empty() && domain != "ai.onnx") || isBorrowed)
      return "";
    return lookupSchema("", custom.getOpType(), from)
               ? "it had another form at opset " + std::to_string(from) +
                     ", and there is no rule for it"
               : "its operator is not known";
  }
  const OperatorInfo *info = lookupOperator(op->getName());
  if (!info || !info->domain.empty())
    return "";
  StringRef name = info->name;
  forEachChange(info->name, from, to, [&](const Change &change) {
    if (!change.becomes.empty())
      name = change.becomes;
  });
  const Schema *before = lookupSchema("", info->name, from);
  const Schema *after = lookupSchema("", name, to);
  if (!before || !after || after->deprecated ||
      info->isUnmerged(after->sinceVersion))
    return "there is no such operator any more";
  if (before->sinceVersion == after->sinceVersion && name == info->name)
    return "";
  constexpr int64_t kOldest = 7; // broadcasting was by attributes before
  if (from < kOldest)
    return "nodes before opset 7 are not upgraded";
  std::string why;
  bool isRewritten = false;
  forEachChange(info->name, from, to, [&](const Change &change) {
    if (change.check && why.empty())
      why = change.check(op);
    isRewritten |= change.apply != nullptr;
  });
  if (why.empty() && isRewritten && hasParameters(op))
    why = "its attributes are parameters of its function";
  if (!why.empty())
    return why;
  for (NamedAttribute entry : op->getAttrs()) {
    StringRef attribute = entry.getName();
    // Those that a rule takes away are not the later schema's.
    if (before->attributes.contains(attribute) &&
        !after->attributes.contains(attribute) && !isRewritten)
      return "its attribute '" + attribute.str() + "' is gone";
  }
  return checkSchema(op, *after);
}

void upgrade(RewriterBase &rewriter, Operation *op, int64_t from, int64_t to) {
  const OperatorInfo *info = lookupOperator(op->getName());
  if (!info || !info->domain.empty())
    return;
  int64_t renamed = 0;
  forEachChange(info->name, from, to, [&](const Change &change) {
    if (change.apply)
      op = change.apply(rewriter, op);
    if (!change.becomes.empty())
      renamed = change.opset;
  });
  if (renamed != 0)
    upgrade(rewriter, op, renamed, to);
}

DictionaryAttr withOpsetVersion(DictionaryAttr fields, int64_t version) {
  Builder builder(fields.getContext());
  SmallVector<Attribute> imports;
  bool isImported = false;
  for (Attribute import : fields.getAs<ArrayAttr>("opset_import")) {
    NamedAttrList entries(cast_or_null<DictionaryAttr>(import));
    auto domain = dyn_cast_if_present<StringAttr>(entries.get("domain"));
    if (!domain || domain.empty() || domain == "ai.onnx") {
      entries.set("version", builder.getI64IntegerAttr(version));
      isImported = true;
    }
    imports.push_back(entries.getDictionary(fields.getContext()));
  }
  if (!isImported)
    imports.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr("version", builder.getI64IntegerAttr(version))));
  NamedAttrList all(fields);
  all.set("opset_import", builder.getArrayAttr(imports));
  return all.getDictionary(fields.getContext());
}

} // namespace amp::onnx
