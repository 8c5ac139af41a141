//===- ConstantNumber.cpp - constants that are one number -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/ONNX/ConstantNumber.h"

#include "amp/Dialect/ONNX/ONNXOps.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace amp::onnx {

std::optional<double> getConstantNumber(Value value) {
  Operation *constant = value ? value.getDefiningOp() : nullptr;
  if (!isa_and_present<ConstantOp, InitializerOp>(constant))
    return std::nullopt;
  Attribute number;
  for (StringRef name : {"value_float", "value_int"})
    if (Attribute plain = constant->getAttr(name))
      number = plain;
  if (!number) {
    auto tensor = constant->getAttrOfType<TensorAttr>("value");
    Attribute elements = tensor ? Attribute(tensor.getValue()) : Attribute();
    if (auto resource =
            dyn_cast_if_present<DenseResourceElementsAttr>(elements)) {
      AsmResourceBlob *blob = resource.getRawHandle().getBlob();
      if (!blob || resource.getType().getNumElements() != 1)
        return std::nullopt;
      if (resource.getType().getElementType().isInteger(1))
        return blob->getData().size() == 1 && blob->getData()[0] ? 1.0 : 0.0;
      bool isSplat = false;
      if (!DenseElementsAttr::isValidRawBuffer(resource.getType(),
                                               blob->getData(), isSplat))
        return std::nullopt;
      elements = DenseElementsAttr::getFromRawBuffer(resource.getType(),
                                                     blob->getData());
    }
    auto dense = dyn_cast_if_present<DenseElementsAttr>(elements);
    if (!dense || !dense.isSplat())
      return std::nullopt;
    number = dense.getSplatValue<Attribute>();
  }
  if (auto real = dyn_cast<FloatAttr>(number))
    return real.getValueAsDouble();
  auto integer = dyn_cast<IntegerAttr>(number);
  if (!integer)
    return std::nullopt;
  Type type = integer.getType();
  return type.isInteger(1) || type.isUnsignedInteger()
             ? double(integer.getValue().getZExtValue())
             : double(integer.getValue().getSExtValue());
}

} // namespace amp::onnx
