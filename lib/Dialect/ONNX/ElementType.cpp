//===- ElementType.cpp - ONNX's element types -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/ONNX/ElementType.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace mlir;

namespace amp::onnx {

namespace {
struct Row {
  llvm::StringLiteral name;
  unsigned bits;
};
/// By number.
constexpr Row rows[] = {
    {"undefined", 0},      {"float", 32},     {"uint8", 8},
    {"int8", 8},           {"uint16", 16},    {"int16", 16},
    {"int32", 32},         {"int64", 64},     {"string", 0},
    {"bool", 8},           {"float16", 16},   {"double", 64},
    {"uint32", 32},        {"uint64", 64},    {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16},  {"float8e4m3fn", 8},
    {"float8e4m3fnuz", 8}, {"float8e5m2", 8}, {"float8e5m2fnuz", 8},
    {"uint4", 4},          {"int4", 4},       {"float4e2m1", 4},
    {"float8e8m0", 8},     {"uint2", 2},      {"int2", 2},
    {"float6e2m3", 6},     {"float6e3m2", 6},
};
static_assert(std::size(rows) == kNumElementTypes);
} // namespace

std::optional<ElementType> parseElementType(int64_t number) {
  if (number < 0 || number >= kNumElementTypes)
    return std::nullopt;
  return static_cast<ElementType>(number);
}

StringRef nameOf(ElementType type) { return rows[int32_t(type)].name; }

std::optional<ElementType> parseElementTypeName(StringRef name) {
  for (int32_t i = 0; i < kNumElementTypes; ++i)
    if (rows[i].name == name)
      return static_cast<ElementType>(i);
  return std::nullopt;
}

Type toType(MLIRContext *context, ElementType type) {
  auto integer = [&](unsigned width, bool isUnsigned = false) -> Type {
    return IntegerType::get(context, width,
                            isUnsigned ? IntegerType::Unsigned
                                       : IntegerType::Signless);
  };
  switch (type) {
  case ElementType::Undefined:
    return UndefinedType::get(context);
  case ElementType::Float:
    return Float32Type::get(context);
  case ElementType::UInt8:
    return integer(8, true);
  case ElementType::Int8:
    return integer(8);
  case ElementType::UInt16:
    return integer(16, true);
  case ElementType::Int16:
    return integer(16);
  case ElementType::Int32:
    return integer(32);
  case ElementType::Int64:
    return integer(64);
  case ElementType::String:
    return StringType::get(context);
  case ElementType::Bool:
    return integer(1);
  case ElementType::Float16:
    return Float16Type::get(context);
  case ElementType::Double:
    return Float64Type::get(context);
  case ElementType::UInt32:
    return integer(32, true);
  case ElementType::UInt64:
    return integer(64, true);
  case ElementType::Complex64:
    return ComplexType::get(Float32Type::get(context));
  case ElementType::Complex128:
    return ComplexType::get(Float64Type::get(context));
  case ElementType::BFloat16:
    return BFloat16Type::get(context);
  case ElementType::Float8E4M3FN:
    return Float8E4M3FNType::get(context);
  case ElementType::Float8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case ElementType::Float8E5M2:
    return Float8E5M2Type::get(context);
  case ElementType::Float8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case ElementType::UInt4:
    return integer(4, true);
  case ElementType::Int4:
    return integer(4);
  case ElementType::Float4E2M1:
    return Float4E2M1FNType::get(context);
  case ElementType::Float8E8M0:
    return Float8E8M0FNUType::get(context);
  case ElementType::UInt2:
    return integer(2, true);
  case ElementType::Int2:
    return integer(2);
  case ElementType::Float6E2M3:
    return Float6E2M3FNType::get(context);
  case ElementType::Float6E3M2:
    return Float6E3M2FNType::get(context);
  }
  return Type();
}

std::optional<ElementType> fromType(Type type) {
  // The table the other way round; types are unique, so a comparison will do.
  if (auto integer = dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    if (integer.isSigned())
      return std::nullopt;
    switch (integer.getWidth()) {
    case 1:
      return isUnsigned ? std::nullopt : std::optional(ElementType::Bool);
    case 2:
      return isUnsigned ? ElementType::UInt2 : ElementType::Int2;
    case 4:
      return isUnsigned ? ElementType::UInt4 : ElementType::Int4;
    case 8:
      return isUnsigned ? ElementType::UInt8 : ElementType::Int8;
    case 16:
      return isUnsigned ? ElementType::UInt16 : ElementType::Int16;
    case 32:
      return isUnsigned ? ElementType::UInt32 : ElementType::Int32;
    case 64:
      return isUnsigned ? ElementType::UInt64 : ElementType::Int64;
    default:
      return std::nullopt;
    }
  }
  if (type.isF32())
    return ElementType::Float;
  for (int32_t i = 0; i < kNumElementTypes; ++i)
    if (!isa<IntegerType>(type) &&
        toType(type.getContext(), static_cast<ElementType>(i)) == type)
      return static_cast<ElementType>(i);
  return std::nullopt;
}

unsigned bitWidth(ElementType type) { return rows[int32_t(type)].bits; }

std::optional<uint64_t> byteSize(ElementType type, uint64_t elements) {
  constexpr uint64_t limit = uint64_t(1) << 62;
  unsigned bits = bitWidth(type);
  if (bits == 0)
    return 0;
  if (elements > limit / bits)
    return std::nullopt;
  return (elements * bits + 7) / 8;
}

std::optional<uint64_t> numElements(ArrayRef<int64_t> dims) {
  if (llvm::any_of(dims, [](int64_t dim) { return dim < 0; }))
    return std::nullopt;
  if (llvm::is_contained(dims, 0))
    return 0;
  constexpr uint64_t limit = uint64_t(1) << 62;
  uint64_t product = 1;
  for (int64_t dim : dims) {
    if (uint64_t(dim) > limit / product)
      return std::nullopt;
    product *= dim;
  }
  return product;
}

} // namespace amp::onnx
