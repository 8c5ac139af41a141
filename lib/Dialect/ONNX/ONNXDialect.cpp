//===- ONNXDialect.cpp - the onnx dialect, its types and attributes -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/ONNX/ONNXDialect.h"

#include "AutocastModel.h"
#include "Gradient/GradientRules.h"
#include "ONNXBytecode.h"
#include "RangeModel.h"

#include "amp/Dialect/ONNX/FunctionIdentity.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/Schema.h"
#include "amp/Interfaces/DimensionNames.h"
#include "amp/Interfaces/FunctionNames.h"
#include "amp/Support/Quoted.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "amp/Dialect/ONNX/ONNXDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "amp/Dialect/ONNX/ONNXTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "amp/Dialect/ONNX/ONNXAttributes.cpp.inc"

namespace amp::onnx {

namespace {
/// Of graphs; `onnx.graph` lists their inputs and outputs, or a local function
/// has none.
struct FunctionNames final : FunctionNamesInterface {
  FunctionNames(Dialect *dialect) : FunctionNamesInterface(dialect) {}

  StringRef getArgumentName(FunctionOpInterface function,
                            unsigned argument) const final {
    return getName(function, "input", argument);
  }
  StringRef getResultName(FunctionOpInterface function,
                          unsigned result) const final {
    return getName(function, "output", result);
  }

  void getScopes(Operation *op,
                 SmallVectorImpl<std::string> &scopes) const final {
    if (isa<CallOp>(op)) {
      if (auto name = op->getAttrOfType<StringAttr>(ONNXDialect::kName))
        scopes.push_back(name.str());
      addExportedScopes(op, scopes);
    } else if (std::optional<FunctionIdentity> identity =
                   FunctionIdentity::of(op)) {
      scopes.push_back(identity->getOriginalName());
    }
  }

private:
  static StringRef getName(Operation *function, StringRef field,
                           unsigned index) {
    auto graph = function->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
    auto values = graph ? graph.getAs<ArrayAttr>(field) : ArrayAttr();
    if (!values || index >= values.size())
      return {};
    auto value = dyn_cast<DictionaryAttr>(values[index]);
    auto name = value ? value.getAs<StringAttr>("name") : StringAttr();
    return name ? name.getValue() : StringRef();
  }
};

struct DimensionNamesModel
    : DimensionNamesInterface::ExternalModel<DimensionNamesModel, DimsAttr> {
  StringRef getDimensionName(Attribute dims, unsigned dimension) const {
    return cast<DimsAttr>(dims).getNames()[dimension];
  }
};
} // namespace

void ONNXDialect::initialize() {
  registerOperators();
  registerOperatorTable(getContext());
  registerTypes();
  registerAttributes();
  addBytecodeInterface(this);
  addInterfaces<FunctionNames>();
}

void ONNXDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "amp/Dialect/ONNX/ONNXTypes.cpp.inc"
      >();
}

void ONNXDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "amp/Dialect/ONNX/ONNXAttributes.cpp.inc"
      >();
  DimsAttr::attachInterface<DimensionNamesModel>(*getContext());
}

void *ONNXDialect::getRegisteredInterfaceForOp(TypeID interfaceID,
                                               OperationName opName) {
  if (void *model = lookupAutocastModel(interfaceID, opName))
    return model;
  if (void *model = lookupGradientModel(interfaceID, opName))
    return model;
  return lookupRangeModel(interfaceID, opName);
}

LogicalResult
DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                         function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getNames().size())
    return emitError() << "expects a name for each of " << shape.size()
                       << " dimensions, but got " << getNames().size();
  return success();
}

LogicalResult TensorAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 TypedAttr value, DictionaryAttr) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return emitError() << "expects a tensor of static shape, but got "
                       << value.getType();
  return success();
}

FloatType SequenceType::getFloatElementType() const {
  return amp::getFloatElementType(getElementType());
}

Type SequenceType::withFloatElementType(FloatType elementType) const {
  return SequenceType::get(
      getContext(), amp::withFloatElementType(getElementType(), elementType));
}

FloatType OptionalType::getFloatElementType() const {
  return amp::getFloatElementType(getElementType());
}

Type OptionalType::withFloatElementType(FloatType elementType) const {
  return OptionalType::get(
      getContext(), amp::withFloatElementType(getElementType(), elementType));
}

namespace {

/// The opset imports of the function or module around an operation.
ArrayAttr getImports(Operation *op) {
  for (Operation *scope = op; scope; scope = scope->getParentOp()) {
    StringRef name;
    if (isa<func::FuncOp>(scope))
      name = ONNXDialect::kFunction;
    else if (isa<ModuleOp>(scope))
      name = ONNXDialect::kModel;
    else
      continue;
    if (auto fields = dyn_cast_if_present<DictionaryAttr>(
            scope->getDiscardableAttr(name)))
      if (auto imports = fields.getAs<ArrayAttr>("opset_import"))
        return imports;
  }
  return nullptr;
}

/// Shows the domain and version of every import.
void forEachImport(ArrayAttr imports,
                   llvm::function_ref<void(StringRef, int64_t)> show) {
  for (Attribute import : imports) {
    auto fields = dyn_cast<DictionaryAttr>(import);
    auto version = fields ? fields.getAs<IntegerAttr>("version") : nullptr;
    if (!version)
      continue;
    auto name = fields.getAs<StringAttr>("domain");
    StringRef domain = name ? name.getValue() : StringRef();
    show(domain == "ai.onnx" ? StringRef() : domain, version.getInt());
  }
}

} // namespace

std::optional<int64_t> ONNXDialect::lookupVersion(ArrayAttr imports,
                                                  StringRef domain) {
  if (!imports)
    return std::nullopt;
  if (domain == "ai.onnx")
    domain = "";
  constexpr size_t kShort = 16;
  std::optional<int64_t> found;
  if (imports.size() <= kShort) {
    forEachImport(imports, [&](StringRef name, int64_t version) {
      if (!found && name == domain)
        found = version;
    });
    return found;
  }
  std::unique_lock<std::shared_mutex> lock(schemasMutex);
  auto [entry, isNew] = versions.try_emplace(imports);
  llvm::StringMap<int64_t> &index = entry->second;
  if (isNew)
    forEachImport(imports, [&index](StringRef name, int64_t version) {
      index.try_emplace(name, version);
    });
  auto it = index.find(domain);
  if (it != index.end())
    found = it->second;
  return found;
}

std::optional<int64_t> getOpsetVersion(Operation *op, StringRef domain) {
  auto *dialect = op->getContext()->getLoadedDialect<ONNXDialect>();
  return dialect ? dialect->lookupVersion(getImports(op), domain)
                 : std::nullopt;
}

const Schema *ONNXDialect::lookupSchema(OperationName name, ArrayAttr imports) {
  std::pair<OperationName, ArrayAttr> key(name, imports);
  {
    std::shared_lock<std::shared_mutex> lock(schemasMutex);
    auto it = schemas.find(key);
    if (it != schemas.end())
      return it->second;
  }
  const Schema *schema = nullptr;
  if (const OperatorInfo *info = lookupOperator(name))
    if (std::optional<int64_t> version = lookupVersion(imports, info->domain))
      schema = onnx::lookupSchema(info->domain, info->name, *version);
  std::unique_lock<std::shared_mutex> lock(schemasMutex);
  schemas[key] = schema;
  return schema;
}

const Schema *getSchema(Operation *op) {
  auto *dialect = dyn_cast_or_null<ONNXDialect>(op->getDialect());
  return dialect ? dialect->lookupSchema(op->getName(), getImports(op))
                 : nullptr;
}

std::string describeNode(Operation *op) {
  std::string text = "node";
  auto name = op->getAttrOfType<StringAttr>(ONNXDialect::kName);
  if (name && !name.getValue().empty()) {
    text += " " + quoted(name.getValue());
  } else if (auto outputs =
                 op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs)) {
    // A node without a name goes by what it makes.
    for (Attribute output : outputs)
      if (auto string = dyn_cast<StringAttr>(output);
          string && !string.getValue().empty()) {
        text += " that makes " + quoted(string.getValue());
        break;
      }
  }
  const OperatorInfo *info = lookupOperator(op->getName());
  if (!info)
    return text;
  text += " (" + (info->domain.empty() ? "" : info->domain.str() + ".") +
          info->name.str();
  if (std::optional<int64_t> opset = getOpsetVersion(op, info->domain))
    text += ", opset " + std::to_string(*opset);
  return text + ")";
}

} // namespace amp::onnx
