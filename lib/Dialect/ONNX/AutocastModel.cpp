//===- AutocastModel.cpp - what autocast asks of ONNX's operators ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AutocastModel.h"

#include "ContribSchemas.h"
#include "ReductionLength.h"

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/Schema.h"
#include "amp/Interfaces/AutocastOpInterface.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace amp::onnx {

/// PyTorch's exporter writes where a node comes from into its metadata:
/// `namespace` is ": Model/encoder: pkg.Encoder/linear: aten.linear.default", a
/// path of the module's qualified name and its class.
void addExportedScopes(Operation *op, SmallVectorImpl<std::string> &scopes) {
  auto fields = op->getAttrOfType<DictionaryAttr>(ONNXDialect::kNode);
  auto metadata =
      fields ? fields.getAs<ArrayAttr>("metadata_props") : ArrayAttr();
  if (!metadata)
    return;
  for (Attribute entry : metadata) {
    auto pair = dyn_cast<DictionaryAttr>(entry);
    auto key = pair ? pair.getAs<StringAttr>("key") : StringAttr();
    auto value = pair ? pair.getAs<StringAttr>("value") : StringAttr();
    if (!key || key != "namespace" || !value)
      continue;
    SmallVector<StringRef> levels;
    value.getValue().split(levels, '/', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    for (StringRef level : levels) {
      auto [module, className] = level.split(": ");
      for (StringRef name : {module, className})
        if (!name.trim().empty())
          scopes.push_back(name.trim().str());
    }
  }
}

namespace {

/// A tensor constant of a `Constant` node: `value`, `value_float` or
/// `value_floats`.
TypedAttr constantValue(Operation *op) {
  if (auto tensor = op->getAttrOfType<TensorAttr>("value"))
    return tensor.getValue();
  Type f32 = Float32Type::get(op->getContext());
  if (auto number = op->getAttrOfType<FloatAttr>("value_float"))
    return DenseElementsAttr::get(RankedTensorType::get({}, f32),
                                  ArrayRef<Attribute>(number));
  if (auto numbers = op->getAttrOfType<DenseF32ArrayAttr>("value_floats"))
    return DenseElementsAttr::get(RankedTensorType::get({numbers.size()}, f32),
                                  numbers.asArrayRef());
  return {};
}

/// The value that ConstantOfShape repeats; by default a float zero.
TypedAttr repeatedValue(Operation *op) {
  if (auto tensor = op->getAttrOfType<TensorAttr>("value"))
    return tensor.getValue();
  Type f32 = Float32Type::get(op->getContext());
  return DenseElementsAttr::get(RankedTensorType::get({1}, f32), 0.0f);
}

/// A cast to the type that its operand has moves data only.
bool isIdentityCast(Operation *op) {
  return isa<CastOp>(op) &&
         getElementTypeOrSelf(op->getOperand(0).getType()) ==
             getElementTypeOrSelf(op->getResult(0).getType());
}

struct Model : AutocastOpInterface::FallbackModel<Model> {
  StringRef getAutocastDomain(Operation *op) const {
    if (auto custom = dyn_cast<CustomOp>(op))
      return getOperatorDomain(custom);
    const OperatorInfo *info = lookupOperator(op->getName());
    return info ? StringRef(info->domain) : StringRef();
  }
  StringRef getAutocastName(Operation *op) const {
    if (auto custom = dyn_cast<CustomOp>(op))
      return custom.getOpType();
    const OperatorInfo *info = lookupOperator(op->getName());
    return info ? StringRef(info->name) : op->getName().stripDialect();
  }
  int64_t getAutocastVersion(Operation *op) const {
    if (auto custom = dyn_cast<CustomOp>(op))
      return getOpsetVersion(op, custom.getDomainName()).value_or(0);
    const OperatorInfo *info = lookupOperator(op->getName());
    return info ? getOpsetVersion(op, info->domain).value_or(0) : 0;
  }
  StringRef getAutocastNodeName(Operation *op) const {
    auto name = op->getAttrOfType<StringAttr>(ONNXDialect::kName);
    return name ? name.getValue() : StringRef();
  }
  StringRef getAutocastResultName(Operation *op, unsigned result) const {
    auto names = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs);
    if (!names)
      return {};
    unsigned position = outputPosition(op, result);
    auto name = position < names.size() ? dyn_cast<StringAttr>(names[position])
                                        : StringAttr();
    return name ? name.getValue() : StringRef();
  }

  void getAutocastScopes(Operation *op,
                         SmallVectorImpl<std::string> &scopes) const {
    addExportedScopes(op, scopes);
  }
  std::optional<std::string> getAutocastAttribute(Operation *op,
                                                  StringRef name) const {
    Attribute attribute = op->getAttr(name);
    if (auto custom = dyn_cast<CustomOp>(op))
      attribute = custom.getNodeAttributesAttr()
                      ? custom.getNodeAttributesAttr().get(name)
                      : Attribute();
    if (attribute) {
      if (auto number = dyn_cast<IntegerAttr>(attribute))
        return llvm::itostr(number.getInt());
      if (auto text = dyn_cast<StringAttr>(attribute))
        return text.str();
      return std::nullopt;
    }
    const Schema *schema = getTypeSchema(op);
    if (!schema)
      return std::nullopt;
    auto found = schema->attributes.find(name);
    return found == schema->attributes.end() ? std::nullopt
                                             : found->second.defaultValue;
  }
  std::optional<int64_t> getReductionLength(Operation *op) const {
    return onnx::getReductionLength(op);
  }

  int getOperandTypeVariable(Operation *op, unsigned operand) const {
    if (!getFloatElementType(op->getOperand(operand).getType()))
      return -1;
    const Schema *schema = getTypeSchema(op);
    if (!schema)
      return -1;
    const Parameter *parameter = schema->inputAt(inputPosition(op, operand));
    return parameter ? parameter->typeVariable : -1;
  }
  int getResultTypeVariable(Operation *op, unsigned result) const {
    if (!getFloatElementType(op->getResult(result).getType()))
      return -1;
    if (isa<InitializerOp>(op))
      return 0;
    const Schema *schema = getTypeSchema(op);
    if (!schema)
      return -1;
    if (isIdentityCast(op))
      return getOperandTypeVariable(op, 0);
    const Parameter *parameter = schema->outputAt(outputPosition(op, result));
    return parameter ? parameter->typeVariable : -1;
  }
  unsigned getOperandPosition(Operation *op, unsigned operand) const {
    return inputPosition(op, operand);
  }

  bool supportsElementType(Operation *op, int variable,
                           FloatType elementType) const {
    if (isa<InitializerOp>(op))
      return true;
    const Schema *schema = getTypeSchema(op);
    if (!schema)
      return false;
    // Asked of the values that are there: a variable may stand for a tensor and
    // for a sequence of tensors. A value of unknown type (of an operator
    // without a schema) can't be moved, and holds in place what shares its
    // variable.
    bool admitted = true, isUnknown = false, isPresent = false;
    auto ask = [&](const Parameter *parameter, Type type) {
      if (!parameter || parameter->typeVariable != variable)
        return;
      FloatType present = getFloatElementType(type);
      isUnknown |= isa<UnknownType>(type);
      isPresent |= present == elementType;
      admitted &= !present || parameter->types.admits(
                                  amp::withFloatElementType(type, elementType));
    };
    for (auto [position, value] :
         llvm::zip_equal(inputPositions(op), op->getOperands()))
      ask(schema->inputAt(position), value.getType());
    for (auto [position, value] :
         llvm::zip_equal(outputPositions(op), op->getResults()))
      ask(schema->outputAt(position), value.getType());
    return admitted && (!isUnknown || isPresent);
  }

  bool isAutocastConstant(Operation *op) const {
    if (isa<InitializerOp>(op) || isa<ConstantOfShapeOp>(op))
      return true;
    return isa<ConstantOp>(op) && constantValue(op);
  }
  TypedAttr getAutocastConstantValue(Operation *op, unsigned) const {
    if (auto initializer = dyn_cast<InitializerOp>(op))
      return initializer.getValue().getValue();
    if (isa<ConstantOfShapeOp>(op))
      return repeatedValue(op);
    return constantValue(op);
  }
  Value materializeConstant(Operation *op, OpBuilder &builder, unsigned result,
                            TypedAttr value) const {
    auto elementType =
        cast<FloatType>(cast<TensorType>(value.getType()).getElementType());
    Type type =
        amp::withFloatElementType(op->getResult(result).getType(), elementType);
    if (const Schema *schema = getTypeSchema(op))
      if (const Parameter *parameter = schema->outputAt(result);
          parameter && !parameter->types.admits(type))
        return {}; // a cast takes its place
    DictionaryAttr proto;
    if (auto tensor = op->getAttrOfType<TensorAttr>("value"))
      proto = tensor.getProto();
    Operation *copy = builder.clone(*op);
    copy->getResult(0).setType(type);
    copy->setAttr("value", TensorAttr::get(op->getContext(), value, proto));
    copy->removeAttr("value_float");
    copy->removeAttr("value_floats");
    // Both may stay; two nodes of one name are refused by some runtimes.
    if (auto name = op->getAttrOfType<StringAttr>(ONNXDialect::kName);
        name && !name.getValue().empty())
      if (std::optional<ElementType> element = fromType(elementType))
        copy->setAttr(
            ONNXDialect::kName,
            builder.getStringAttr(name.getValue() + "_" + nameOf(*element)));
    return copy->getResult(0);
  }

  void getElementTypeFlow(Operation *op,
                          SmallVectorImpl<ElementTypeEdge> &edges) const;
  bool canUpdateRegions(Operation *) const { return false; }
  void updateElementTypes(Operation *op, OpBuilder &builder) const {
    if (isIdentityCast(op))
      op->setAttr("to", builder.getI64IntegerAttr(int64_t(*fromType(
                            getFloatElementType(op->getResult(0).getType())))));
  }
};

/// Scans take slices of inputs and stack slices into outputs; so does Loop with
/// its scan outputs.
void Model::getElementTypeFlow(Operation *op,
                               SmallVectorImpl<ElementTypeEdge> &edges) const {
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  if (!branch || op->getNumRegions() != 1 || op->getRegion(0).empty())
    return;
  Block &body = op->getRegion(0).front();
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield)
    return;
  OperandRange carried =
      branch.getEntrySuccessorOperands(RegionSuccessor(&op->getRegion(0)));
  MutableOperandRange forwarded =
      yield.getMutableSuccessorOperands(RegionSuccessor(op, op->getResults()));
  // What follows the carried values among results and yielded ones is stacked.
  auto numCarried = static_cast<size_t>(carried.size());
  size_t firstYielded =
      forwarded.empty()
          ? (isa<LoopOp>(op) ? 1 : 0)
          : MutableArrayRef<OpOperand>(forwarded).back().getOperandNumber() + 1;
  for (size_t i = numCarried; i < op->getNumResults(); ++i) {
    size_t yielded = firstYielded + (i - numCarried);
    if (yielded < yield->getNumOperands())
      edges.push_back({&yield->getOpOperand(yielded), op->getResult(i)});
  }
  // The operands of Scan behind its state are scanned.
  if (isa<ScanOp>(op))
    for (size_t i = numCarried;
         i < op->getNumOperands() && i < body.getNumArguments(); ++i)
      edges.push_back({&op->getOpOperand(i), body.getArgument(i)});
}

} // namespace

void *lookupAutocastModel(TypeID interfaceID, OperationName name) {
  if (interfaceID != AutocastOpInterface::getInterfaceID())
    return nullptr;
  static Model model;
  if (lookupOperator(name) ||
      name.getTypeID() == TypeID::get<InitializerOp>() ||
      name.getTypeID() == TypeID::get<CustomOp>())
    return static_cast<AutocastOpInterface::Concept *>(&model);
  return nullptr;
}

} // namespace amp::onnx
