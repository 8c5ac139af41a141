//===- ConstantData.cpp - the values of float constants -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMP/ConstantData.h"

#include "amp/Interfaces/AutocastOpInterface.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <algorithm>
#include <array>
#include <cstring>

using namespace mlir;
using namespace amp;

std::optional<ConstantData> amp::getConstantData(Attribute attribute) {
  auto elements = dyn_cast_or_null<ElementsAttr>(attribute);
  if (!elements || !elements.getElementType().isIntOrFloat())
    return std::nullopt;
  unsigned bits = elements.getElementType().getIntOrFloatBitWidth();
  if (bits % 8 != 0)
    return std::nullopt;

  ConstantData data;
  if (auto dense = dyn_cast<DenseElementsAttr>(attribute)) {
    data.bytes = dense.getRawData();
    data.splat = dense.isSplat();
  } else if (auto resource = dyn_cast<DenseResourceElementsAttr>(attribute)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return std::nullopt;
    data.bytes = blob->getData();
  } else {
    return std::nullopt;
  }
  data.count = elements.getNumElements();
  uint64_t stored = data.splat ? 1 : data.count;
  if (data.bytes.size() != stored * (bits / 8))
    return std::nullopt;
  return data;
}

namespace {
/// Reads elements of one type from unaligned memory.
template <typename T> double readElement(const char *source) {
  T value;
  std::memcpy(&value, source, sizeof(T));
  return static_cast<double>(value);
}

using ElementReader = double (*)(const char *);
} // namespace

/// Null for a type that is not read.
static ElementReader getReader(Type type) {
  if (type.isF32())
    return readElement<float>;
  if (type.isF64())
    return readElement<double>;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return nullptr;
  switch (integer.getWidth()) {
  case 8:
    return integer.isUnsigned() ? readElement<uint8_t> : readElement<int8_t>;
  case 16:
    return integer.isUnsigned() ? readElement<uint16_t> : readElement<int16_t>;
  case 32:
    return integer.isUnsigned() ? readElement<uint32_t> : readElement<int32_t>;
  case 64:
    return integer.isUnsigned() ? readElement<uint64_t> : readElement<int64_t>;
  default:
    return nullptr;
  }
}

std::optional<SmallVector<double>> amp::readElements(Attribute attribute,
                                                     uint64_t limit) {
  std::optional<ConstantData> data = getConstantData(attribute);
  if (!data)
    return std::nullopt;
  uint64_t stored =
      data->splat ? std::min<uint64_t>(data->count, 1) : data->count;
  if (stored > limit)
    return std::nullopt;
  Type type = cast<ElementsAttr>(attribute).getElementType();
  const char *source = data->bytes.data();
  SmallVector<char> widened;
  if (type.isF16() || type.isBF16()) {
    widened.resize_for_overwrite(stored * sizeof(float));
    (type.isF16() ? widenFloat16 : widenBFloat16)(source, widened.data(),
                                                  stored);
    source = widened.data();
    type = Float32Type::get(type.getContext());
  }
  ElementReader read = getReader(type);
  if (!read)
    return std::nullopt;
  size_t width = type.getIntOrFloatBitWidth() / 8;
  SmallVector<double> values(stored);
  for (uint64_t i = 0; i < stored; ++i)
    values[i] = read(source + i * width);
  return values;
}

std::optional<SmallVector<double>> amp::readConstant(Value value) {
  constexpr int64_t limit = int64_t(1) << 24;
  auto constant = value.getDefiningOp<AutocastOpInterface>();
  if (!constant || !constant.isAutocastConstant())
    return std::nullopt;
  auto elements =
      dyn_cast_if_present<ElementsAttr>(constant.getAutocastConstantValue(
          cast<OpResult>(value).getResultNumber()));
  if (!elements || elements.getNumElements() > limit)
    return std::nullopt;
  std::optional<SmallVector<double>> values = readElements(elements, limit);
  if (values && values->size() == 1)
    values->resize(elements.getNumElements(), values->front());
  return values;
}

LogicalResult amp::readRounded(RoundedAttr constant, uint64_t first,
                               uint64_t count, char *destination,
                               RoundingStats *stats) {
  std::optional<ConstantData> data = getConstantData(constant.getSource());
  if (!data || first > data->count || count > data->count - first)
    return failure();
  bool isDouble = getFloatElementType(constant.getSource().getType()).isF64();
  bool isBFloat16 = getFloatElementType(constant.getType()).isBF16();
  auto round =
      isDouble ? (isBFloat16 ? roundFloat64ToBFloat16 : roundFloat64ToFloat16)
               : (isBFloat16 ? roundToBFloat16 : roundToFloat16);
  size_t width = isDouble ? sizeof(double) : sizeof(float);
  if (!data->splat) {
    round(data->bytes.data() + first * width, destination, count,
          constant.getOverflow(), stats);
    return success();
  }

  // As many elements as fit in a block, again and again.
  constexpr uint64_t kBlock = 512;
  std::array<char, kBlock * sizeof(double)> block;
  for (uint64_t i = 0; i < kBlock; ++i)
    std::memcpy(block.data() + i * width, data->bytes.data(), width);
  for (uint64_t done = 0; done < count; done += kBlock)
    round(block.data(), destination + 2 * done, std::min(kBlock, count - done),
          constant.getOverflow(), stats);
  return success();
}

ElementsAttr amp::evaluate(RoundedAttr constant) {
  std::optional<ConstantData> data = getConstantData(constant.getSource());
  auto type = dyn_cast<ShapedType>(constant.getType());
  if (!data || !type)
    return {};
  constexpr size_t width = 2; // of f16 and bf16
  if (isa<DenseElementsAttr>(constant.getSource())) {
    std::vector<char> values((data->splat ? 1 : data->count) * width);
    if (failed(readRounded(constant, 0, values.size() / width, values.data())))
      return {};
    return DenseElementsAttr::getFromRawBuffer(type, values);
  }
  AsmResourceBlob blob =
      HeapAsmResourceBlob::allocate(data->count * width, /*align=*/64);
  if (failed(
          readRounded(constant, 0, data->count, blob.getMutableData().data())))
    return {};
  StringRef name = cast<DenseResourceElementsAttr>(constant.getSource())
                       .getRawHandle()
                       .getKey();
  return DenseResourceElementsAttr::get(type, name, std::move(blob));
}
