//===- ConstantInts.cpp - constants that are lists of integers ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/ONNX/ConstantInts.h"

#include "amp/Dialect/ONNX/ONNXOps.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace amp::onnx {

std::optional<SmallVector<int64_t>> getConstantInts(Value input) {
  Operation *constant = input ? input.getDefiningOp() : nullptr;
  // Exporters bring axes and the like into shape by a Reshape.
  while (
      isa_and_present<FlattenOp, IdentityOp, ReshapeOp, SqueezeOp, UnsqueezeOp>(
          constant))
    constant = constant->getOperand(0).getDefiningOp();
  if (!isa_and_present<ConstantOp, InitializerOp>(constant))
    return std::nullopt;
  if (auto list = constant->getAttrOfType<DenseI64ArrayAttr>("value_ints"))
    return SmallVector<int64_t>(list.asArrayRef());
  if (auto number = constant->getAttrOfType<IntegerAttr>("value_int"))
    return SmallVector<int64_t>{number.getInt()};
  auto tensor = constant->getAttrOfType<TensorAttr>("value");
  Attribute value = tensor ? Attribute(tensor.getValue()) : Attribute();
  Type element = tensor ? tensor.getValue().getType() : Type();
  element = element ? getElementTypeOrSelf(element) : element;
  if (!element ||
      !(element.isSignlessInteger(64) || element.isSignlessInteger(32)))
    return std::nullopt;
  SmallVector<int64_t> numbers;
  if (auto dense = dyn_cast<DenseIntElementsAttr>(value)) {
    for (const APInt &number : dense.getValues<APInt>())
      numbers.push_back(number.getSExtValue());
    return numbers;
  }
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return std::nullopt;
    ArrayRef<char> bytes = blob->getData();
    size_t width = element.getIntOrFloatBitWidth() / 8;
    for (size_t i = 0; i + width <= bytes.size(); i += width) {
      int64_t number = 0;
      int32_t narrow = 0;
      if (width == sizeof(number))
        memcpy(&number, bytes.data() + i, width);
      else
        memcpy(&narrow, bytes.data() + i, width);
      numbers.push_back(width == sizeof(number) ? number : narrow);
    }
    return numbers;
  }
  return std::nullopt;
}

} // namespace amp::onnx
