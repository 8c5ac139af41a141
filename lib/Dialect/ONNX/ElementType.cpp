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
#include "llvm/ADT/TypeSwitch.h"

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

/// The number of an integer type; booleans are i1.
static std::optional<ElementType> fromInteger(IntegerType type) {
  bool isUnsigned = type.isUnsigned();
  if (type.isSigned())
    return std::nullopt;
  switch (type.getWidth()) {
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

/// The complex type whose parts are of this type.
static std::optional<ElementType> fromComplex(ComplexType type) {
  Type part = type.getElementType();
  return part.isF32()   ? std::optional(ElementType::Complex64)
         : part.isF64() ? std::optional(ElementType::Complex128)
                        : std::nullopt;
}

std::optional<ElementType> fromType(Type type) {
  // Asked for every value: by class, without making types to compare with.
  using Result = std::optional<ElementType>;
  return llvm::TypeSwitch<Type, Result>(type)
      .Case<IntegerType>(fromInteger)
      .Case<ComplexType>(fromComplex)
      .Case<Float32Type>([](Type) { return ElementType::Float; })
      .Case<Float16Type>([](Type) { return ElementType::Float16; })
      .Case<BFloat16Type>([](Type) { return ElementType::BFloat16; })
      .Case<Float64Type>([](Type) { return ElementType::Double; })
      .Case<StringType>([](Type) { return ElementType::String; })
      .Case<UndefinedType>([](Type) { return ElementType::Undefined; })
      .Case<Float8E4M3FNType>([](Type) { return ElementType::Float8E4M3FN; })
      .Case<Float8E4M3FNUZType>(
          [](Type) { return ElementType::Float8E4M3FNUZ; })
      .Case<Float8E5M2Type>([](Type) { return ElementType::Float8E5M2; })
      .Case<Float8E5M2FNUZType>(
          [](Type) { return ElementType::Float8E5M2FNUZ; })
      .Case<Float4E2M1FNType>([](Type) { return ElementType::Float4E2M1; })
      .Case<Float8E8M0FNUType>([](Type) { return ElementType::Float8E8M0; })
      .Case<Float6E2M3FNType>([](Type) { return ElementType::Float6E2M3; })
      .Case<Float6E3M2FNType>([](Type) { return ElementType::Float6E3M2; })
      .Default([](Type) { return Result(); });
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
