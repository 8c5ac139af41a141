//===- AMPDialect.cpp - the amp dialect -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMP/AMPDialect.h"

#include "amp/Dialect/AMP/FloatTypes.h"

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace amp;

#include "amp/Dialect/AMP/AMPDialect.cpp.inc"

//===----------------------------------------------------------------------===//
// #amp.rounded
//===----------------------------------------------------------------------===//

StringRef amp::stringifyOverflow(Overflow overflow) {
  return overflow == Overflow::Saturate ? "saturate" : "infinity";
}

static ParseResult parseOverflow(AsmParser &parser, Overflow &overflow) {
  StringRef keyword;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  if (keyword != "saturate" && keyword != "infinity")
    return parser.emitError(location)
           << "expects 'saturate' or 'infinity', but got '" << keyword << "'";
  overflow = keyword == "saturate" ? Overflow::Saturate : Overflow::Infinity;
  return success();
}

static void printOverflow(AsmPrinter &printer, Overflow overflow) {
  printer << stringifyOverflow(overflow);
}

#define GET_ATTRDEF_CLASSES
#include "amp/Dialect/AMP/AMPAttributes.cpp.inc"

LogicalResult RoundedAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  TypedAttr source, Overflow overflow,
                                  Type type) {
  Type sourceType = source.getType();
  FloatType from = isa<TensorType>(sourceType)
                       ? amp::getFloatElementType(sourceType)
                       : FloatType();
  if (!from || (!from.isF32() && !from.isF64()))
    return emitError() << "expects a source tensor of f32 or f64, but got "
                       << sourceType;
  FloatType to =
      isa<TensorType>(type) ? amp::getFloatElementType(type) : FloatType();
  if (!to || (!to.isF16() && !to.isBF16()))
    return emitError() << "expects a tensor of f16 or bf16, but got " << type;
  if (withFloatElementType(sourceType, to) != type)
    return emitError() << "expects the shape of its source, " << sourceType
                       << ", but got " << type;
  return success();
}

RoundedAttr RoundedAttr::get(TypedAttr source, Overflow overflow,
                             FloatType elementType) {
  return get(source.getContext(), source, overflow,
             withFloatElementType(source.getType(), elementType));
}

namespace {
/// Bytecode holds the parts of an attribute, so that the source's weights stay
/// a resource and are never printed.
struct AMPBytecodeInterface : public BytecodeDialectInterface {
  AMPBytecodeInterface(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  LogicalResult writeAttribute(Attribute attribute,
                               DialectBytecodeWriter &writer) const final {
    auto rounded = dyn_cast<RoundedAttr>(attribute);
    if (!rounded)
      return failure();
    writer.writeAttribute(rounded.getSource());
    writer.writeVarInt(rounded.getOverflow() == Overflow::Saturate);
    writer.writeType(rounded.getType());
    return success();
  }

  Attribute readAttribute(DialectBytecodeReader &reader) const final {
    TypedAttr source;
    uint64_t saturate;
    Type type;
    if (failed(reader.readAttribute(source)) ||
        failed(reader.readVarInt(saturate)) || failed(reader.readType(type)))
      return {};
    return RoundedAttr::getChecked(
        [&] { return reader.emitError(); }, getContext(), source,
        saturate ? Overflow::Saturate : Overflow::Infinity, type);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Annotations
//===----------------------------------------------------------------------===//

/// `attribute` is an array of `size` float types and units; any size if -1.
static LogicalResult verifyElementTypes(Operation *op, StringRef name,
                                        Attribute attribute, int64_t size) {
  auto array = dyn_cast<ArrayAttr>(attribute);
  if (!array)
    return op->emitOpError() << "expects attribute '" << name
                             << "' to be an array, but got " << attribute;
  if (size >= 0 && int64_t(array.size()) != size)
    return op->emitOpError() << "expects " << size << " element types in '"
                             << name << "', but got " << array.size();
  for (Attribute entry : array) {
    auto type = dyn_cast<TypeAttr>(entry);
    if (!isa<UnitAttr>(entry) && !(type && isa<FloatType>(type.getValue())))
      return op->emitOpError() << "expects float types and 'unit' in '" << name
                               << "', but got " << entry;
  }
  return success();
}

static LogicalResult verifyResultTypes(Operation *op,
                                       NamedAttribute attribute) {
  int64_t size = op->getNumResults();
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    size = function.getNumResults();
  return verifyElementTypes(op, attribute.getName(), attribute.getValue(),
                            size);
}

static LogicalResult verifyArgumentTypes(Operation *op,
                                         NamedAttribute attribute) {
  auto regions = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!regions || regions.size() != op->getNumRegions())
    return op->emitOpError()
           << "expects '" << attribute.getName().getValue()
           << "' to be an array of " << op->getNumRegions()
           << " arrays, one per region, but got " << attribute.getValue();
  for (auto [entry, region] : llvm::zip_equal(regions, op->getRegions())) {
    int64_t size = region.empty() ? 0 : region.getNumArguments();
    if (failed(verifyElementTypes(op, attribute.getName(), entry, size)))
      return failure();
  }
  return success();
}

/// The attribute is an array of `size` numbers and units: absolute values.
static LogicalResult verifyRanges(Operation *op, NamedAttribute attribute,
                                  size_t size) {
  StringRef name = attribute.getName();
  auto array = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!array || array.size() != size)
    return op->emitOpError()
           << "expects '" << name << "' to be an array of " << size
           << " ranges, but got " << attribute.getValue();
  for (Attribute entry : array) {
    auto number = dyn_cast<FloatAttr>(entry);
    if (!isa<UnitAttr>(entry) &&
        !(number && number.getType().isF64() && number.getValueAsDouble() >= 0))
      return op->emitOpError() << "expects absolute values of type f64 and "
                                  "'unit' in '"
                               << name << "', but got " << entry;
  }
  return success();
}

static LogicalResult verifyArgumentRanges(Operation *op,
                                          NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError()
           << "has attribute '" << attribute.getName().getValue()
           << "', which is for functions";
  return verifyRanges(op, attribute, function.getNumArguments());
}

LogicalResult AMPDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if (name == kPrecision)
    return verifyElementTypes(op, name, value, -1);
  if (name == kResultTypes)
    return verifyResultTypes(op, attribute);
  if (name == kArgumentTypes)
    return verifyArgumentTypes(op, attribute);
  if (name == kRanges)
    return verifyRanges(op, attribute, op->getNumResults());
  if (name == kArgumentRanges)
    return verifyArgumentRanges(op, attribute);
  if (name == kPair) {
    auto number = dyn_cast<IntegerAttr>(value);
    if (number && number.getType().isSignlessInteger(64))
      return success();
    return op->emitOpError()
           << "expects '" << kPair << "' to be an i64, but got " << value;
  }
  if (name == kTransparent) {
    if (isa<UnitAttr>(value))
      return success();
    return op->emitOpError() << "expects attribute '" << name
                             << "' to be 'unit', but got " << value;
  }
  if (name == kMicroBatches) {
    auto number = dyn_cast<IntegerAttr>(value);
    if (number && number.getType().isInteger(64) && number.getInt() > 0)
      return success();
    return op->emitOpError() << "expects attribute '" << name
                             << "' to be a positive i64, but got " << value;
  }
  if (name == kParameters || name == kMicroOutputs) {
    auto names = dyn_cast<ArrayAttr>(value);
    if (names && llvm::all_of(names, llvm::IsaPred<StringAttr>))
      return success();
    return op->emitOpError()
           << "expects attribute '" << name
           << "' to be an array of strings, but got " << value;
  }
  if (name != kCategory && name != kReason && name != kRule &&
      name != kOverflow && name != kCompute && name != kKeep)
    return op->emitOpError()
           << "has no attribute '" << name << "' in dialect 'amp'";
  auto string = dyn_cast<StringAttr>(value);
  if (!string)
    return op->emitOpError() << "expects attribute '" << name
                             << "' to be a string, but got " << value;
  if (name == kOverflow && string != "saturate" && string != "infinity")
    return op->emitOpError() << "expects attribute '" << name
                             << "' to be 'saturate' or 'infinity', but got '"
                             << string.getValue() << "'";
  if (name == kCompute && string != "tf32")
    return op->emitOpError()
           << "expects attribute '" << name << "' to be 'tf32', but got '"
           << string.getValue() << "'";
  return success();
}

void AMPDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "amp/Dialect/AMP/AMPAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "amp/Dialect/AMP/AMPOps.cpp.inc"
      >();
  addInterfaces<AMPBytecodeInterface>();
}
