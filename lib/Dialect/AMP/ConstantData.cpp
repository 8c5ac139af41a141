//===- ConstantData.cpp - the values of float constants -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMP/ConstantData.h"

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
