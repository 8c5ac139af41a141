//===- SchemaVerifier.cpp - operations against ONNX's schemas -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/ONNX/SchemaVerifier.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/Schema.h"
#include "amp/Support/Quoted.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;

namespace amp::onnx {

namespace {

InFlightDiagnostic nodeError(Operation *op) {
  return emitError(op->getLoc()) << describeNode(op) << " ";
}

/// Attributes that are written in the node as a reference to an attribute
/// parameter of the function, or that say no type.
DictionaryAttr attributeFields(Operation *op) {
  if (auto node = op->getAttrOfType<DictionaryAttr>(ONNXDialect::kNode))
    return node.getAs<DictionaryAttr>("attribute_fields");
  return nullptr;
}

LogicalResult verifyAttributes(Operation *op, const Schema &schema,
                               const OperatorInfo &info) {
  auto check = [&](NamedAttribute attribute) -> LogicalResult {
    StringRef name = attribute.getName();
    if (name.contains('.') || name == "operandSegmentSizes" ||
        name == "resultSegmentSizes")
      return success();
    std::optional<AttributeKind> kind = attributeKindOf(attribute.getValue());
    if (!kind)
      return success();
    if (std::string problem = schema.checkAttribute(name, *kind);
        !problem.empty())
      return nodeError(op) << problem;
    return success();
  };
  // Inherent attributes are read once for all: one by one they are slow.
  DictionaryAttr all = op->getAttrDictionary();
  for (NamedAttribute attribute : all)
    if (failed(check(attribute)))
      return failure();
  DictionaryAttr fields = attributeFields(op);
  SmallVector<StringRef, 2> regions = info.regionNames();
  for (const auto &attribute : schema.attributes) {
    if (!attribute.second.required)
      continue;
    StringRef name = attribute.first();
    if (all.contains(name) || (fields && fields.contains(name)))
      continue;
    auto region = llvm::find(regions, name);
    if (region != regions.end() &&
        !op->getRegion(region - regions.begin()).empty())
      continue;
    return nodeError(op) << "lacks the required attribute " << quoted(name);
  }
  return success();
}

LogicalResult verifyCount(Operation *op, const char *what, int64_t count,
                          int64_t least, int64_t most) {
  if (count >= least && count <= most)
    return success();
  InFlightDiagnostic error = nodeError(op);
  error << "expects ";
  if (most == std::numeric_limits<int>::max())
    error << "at least " << least;
  else if (least == most)
    error << least;
  else
    error << least << " to " << most;
  return error << " " << what << ", but got " << count;
}

/// The likely cause if two types that should be one are of this kind.
StringRef explainMix(Type a, Type b) {
  auto isLow = [](Type type) { return type.isF16() || type.isBF16(); };
  auto isWide = [](Type type) { return type.isF32() || type.isF64(); };
  if ((isLow(a) && isWide(b)) || (isWide(a) && isLow(b)))
    return ": some tool converted one of the two and not the other; convert "
           "the original model instead";
  return "";
}

/// Values that share a type variable have one element type.
struct Variables {
  llvm::SmallDenseMap<int, Type> types;

  LogicalResult unify(Operation *op, const Parameter &parameter, Type type) {
    if (parameter.typeVariable < 0 || !parameter.homogeneous)
      return success();
    auto tensor = dyn_cast<TensorType>(type);
    if (!tensor || isa<UndefinedType>(tensor.getElementType()))
      return success();
    Type &known = types[parameter.typeVariable];
    if (!known)
      known = tensor.getElementType();
    if (known != tensor.getElementType())
      return nodeError(op) << "expects " << quoted(parameter.name)
                           << " to have element type " << known << ", but got "
                           << tensor.getElementType()
                           << explainMix(known, tensor.getElementType());
    return success();
  }
};

LogicalResult verifyTypes(Operation *op, const Schema &schema,
                          ArrayRef<unsigned> inputs,
                          ArrayRef<unsigned> outputs) {
  Variables variables;
  for (auto [value, position] : llvm::zip_equal(op->getOperands(), inputs)) {
    const Parameter *parameter = schema.inputAt(position);
    if (!parameter)
      continue; // counted elsewhere
    if (!parameter->types.admits(value.getType()))
      return nodeError(op) << "does not admit type " << value.getType()
                           << " for " << quoted(parameter->name);
    if (failed(variables.unify(op, *parameter, value.getType())))
      return failure();
  }
  // A result has the type of its operands, or one that an attribute says; what
  // a Constant of an old opset holds is not for us to refuse.
  for (auto [value, position] : llvm::zip_equal(op->getResults(), outputs))
    if (const Parameter *parameter = schema.outputAt(position))
      if (failed(variables.unify(op, *parameter, value.getType())))
        return failure();
  return success();
}

/// What subgraphs take and return, before MLIR looks at it, which does not know
/// the names of things.
LogicalResult verifySubgraphs(Operation *op, const OperatorInfo &info) {
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  if (!branch)
    return success();
  SmallVector<StringRef, 2> regionNames = info.regionNames();
  auto verify = [&](RegionBranchPoint from, Region &region, StringRef verb,
                    bool isInto) -> LogicalResult {
    SmallVector<RegionSuccessor, 2> successors;
    branch.getSuccessorRegions(from, successors);
    for (const RegionSuccessor &successor : successors) {
      if (isInto && successor.getSuccessor() != &region)
        continue;
      OperandRange operands = branch.getSuccessorOperands(from, successor);
      ValueRange inputs = successor.getSuccessorInputs();
      std::string what = "has graph attribute " +
                         quoted(region.getRegionNumber() < regionNames.size()
                                    ? regionNames[region.getRegionNumber()]
                                    : StringRef()) +
                         " that " + verb.str() + " ";
      if (operands.size() != inputs.size())
        return nodeError(op)
               << what << (isInto ? inputs.size() : operands.size())
               << " values, expected "
               << (isInto ? operands.size() : inputs.size());
      for (auto [i, operand, input] : llvm::enumerate(operands, inputs))
        if (!branch.areTypesCompatible(operand.getType(), input.getType()))
          return nodeError(op) << what << (isInto ? input : operand).getType()
                               << " as number " << i + 1 << ", expected "
                               << (isInto ? operand : input).getType();
    }
    return success();
  };
  for (Region &region : op->getRegions()) {
    if (region.empty() || region.front().empty())
      continue;
    auto yield =
        dyn_cast<RegionBranchTerminatorOpInterface>(region.front().back());
    if (failed(verify(RegionBranchPoint::parent(), region, "takes", true)) ||
        (yield &&
         failed(verify(RegionBranchPoint(yield), region, "returns", false))))
      return failure();
  }
  return success();
}

} // namespace

std::optional<AttributeKind> attributeKindOf(Attribute attribute) {
  if (isa<IntegerAttr>(attribute))
    return AttributeKind::Int;
  if (isa<FloatAttr>(attribute))
    return AttributeKind::Float;
  if (isa<StringAttr>(attribute))
    return AttributeKind::String;
  if (isa<TensorAttr>(attribute))
    return AttributeKind::Tensor;
  if (isa<SparseTensorAttr>(attribute))
    return AttributeKind::SparseTensor;
  if (isa<TypeAttr, TypeProtoAttr>(attribute))
    return AttributeKind::TypeProto;
  if (isa<DenseI64ArrayAttr>(attribute))
    return AttributeKind::Ints;
  if (isa<DenseF32ArrayAttr>(attribute))
    return AttributeKind::Floats;
  auto array = dyn_cast<ArrayAttr>(attribute);
  if (!array || array.empty())
    return std::nullopt;
  if (isa<StringAttr>(array[0]))
    return AttributeKind::Strings;
  if (isa<TensorAttr>(array[0]))
    return AttributeKind::Tensors;
  if (isa<SparseTensorAttr>(array[0]))
    return AttributeKind::SparseTensors;
  return AttributeKind::TypeProtos;
}

LogicalResult verifySingleValue(Operation *op) {
  SmallVector<StringRef, 2> values;
  const Schema *schema = getSchema(op);
  DictionaryAttr all = op->getAttrDictionary();
  DictionaryAttr fields = attributeFields(op);
  if (schema)
    for (const auto &attribute : schema->attributes) {
      StringRef name = attribute.first();
      if (all.contains(name) || (fields && fields.contains(name)))
        values.push_back(name);
    }
  if (values.size() == 1)
    return success();
  return nodeError(op) << "expects its value in one attribute, but got "
                       << values.size() << " of them";
}

LogicalResult verifySchema(Operation *op) {
  const OperatorInfo *info = lookupOperator(op->getName());
  if (!info)
    return success();
  const Schema *schema = getSchema(op);
  if (!schema) {
    std::optional<int64_t> opset = getOpsetVersion(op, info->domain);
    if (!opset)
      return nodeError(op) << "needs an opset import of domain "
                           << quoted(info->domain.empty()
                                         ? StringRef("ai.onnx")
                                         : StringRef(info->domain));
    return nodeError(op) << "has an operator that does not exist at opset "
                         << *opset;
  }
  if (schema->deprecated)
    return nodeError(op) << "has an operator that is deprecated since opset "
                         << schema->sinceVersion;

  SmallVector<unsigned, 8> inputs = inputPositions(op);
  SmallVector<unsigned, 8> outputs = outputPositions(op);
  int64_t numInputs = inputs.empty() ? 0 : inputs.back() + 1;
  if (auto absent =
          op->getAttrOfType<DenseI64ArrayAttr>(ONNXDialect::kAbsentInputs))
    for (int64_t position : absent.asArrayRef())
      numInputs = std::max(numInputs, position + 1);
  int64_t numOutputs = outputs.empty() ? 0 : outputs.back() + 1;
  if (auto names = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs))
    numOutputs = names.size();
  if (failed(verifyCount(op, "inputs", numInputs, schema->minInputs,
                         schema->maxInputs)) ||
      failed(verifyCount(op, "outputs", numOutputs, schema->minOutputs,
                         schema->maxOutputs)))
    return failure();
  for (auto [position, parameter] : llvm::enumerate(schema->inputs))
    if (parameter.kind == 's' && int64_t(position) < numInputs &&
        !llvm::is_contained(inputs, position))
      return nodeError(op) << "lacks the required input "
                           << quoted(parameter.name);

  if (failed(verifyAttributes(op, *schema, *info)))
    return failure();
  if (failed(verifyTypes(op, *schema, inputs, outputs)))
    return failure();
  return verifySubgraphs(op, *info);
}

} // namespace amp::onnx
