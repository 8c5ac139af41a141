//===- OrtNode.cpp - an operator of ONNX Runtime's, to be rewritten -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrtNode.h"

#include "ReverseMode.h"

#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/OptionalOutputs.h"
#include "amp/Interfaces/ElementTypes.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace amp {

using onnx::CustomOp;
using onnx::Expr;

OrtNode::OrtNode(CustomOp op, Operation *forward, onnx::NodeBuilder &b)
    : b(b), op(op), forward(forward), inputs(onnx::inputsByPosition(op)),
      outputs(onnx::outputsByPosition(op)) {}

func::FuncOp OrtNode::getGraph() const {
  return op->getParentOfType<func::FuncOp>();
}

Expr OrtNode::x(unsigned position) const {
  return b.expr(position < inputs.size() ? inputs[position] : Value());
}

Value OrtNode::getOutput(unsigned position) const {
  return position < outputs.size() ? outputs[position] : Value();
}

bool OrtNode::isUsed(unsigned position) const {
  Value output = getOutput(position);
  return output && !output.use_empty();
}

Attribute OrtNode::getAttribute(StringRef name) const {
  DictionaryAttr attributes = CustomOp(op).getNodeAttributesAttr();
  return attributes ? attributes.get(name) : Attribute();
}

int64_t OrtNode::getInt(StringRef name, int64_t missing) const {
  auto number = dyn_cast_if_present<IntegerAttr>(getAttribute(name));
  return number ? number.getInt() : missing;
}

double OrtNode::getFloat(StringRef name, double missing) const {
  auto number = dyn_cast_if_present<FloatAttr>(getAttribute(name));
  return number ? number.getValueAsDouble() : missing;
}

SmallVector<NamedAttribute>
OrtNode::getAttributes(ArrayRef<StringRef> names) const {
  SmallVector<NamedAttribute> found;
  for (StringRef name : names)
    if (Attribute value = getAttribute(name))
      found.push_back(b.getBuilder().getNamedAttr(name, value));
  return found;
}

/// The name that an output has in the model, for the value that replaces it.
static void passName(Value from, Value to) {
  auto source = cast<OpResult>(from);
  auto target = dyn_cast<OpResult>(to);
  auto names =
      source.getOwner()->getAttrOfType<ArrayAttr>(onnx::ONNXDialect::kOutputs);
  unsigned position =
      onnx::outputPosition(source.getOwner(), source.getResultNumber());
  if (!target || !names || position >= names.size() ||
      target.getOwner()->hasAttr(onnx::ONNXDialect::kOutputs) ||
      target.getOwner()->getNumResults() != 1)
    return;
  target.getOwner()->setAttr(
      onnx::ONNXDialect::kOutputs,
      ArrayAttr::get(from.getContext(), names[position]));
}

void OrtNode::set(unsigned position, Expr value) {
  Value output = getOutput(position);
  if (!output)
    return;
  if (FloatType element = getFloatElementType(output.getType());
      element && isa<TensorType>(output.getType()))
    value = b.cast(value, element);
  // The declared shape is right, and may say more.
  auto known = dyn_cast<RankedTensorType>(value.getType());
  Value replacement = value;
  bool isNew = replacement.getDefiningOp() && replacement.use_empty();
  if (isNew && !(known && known.hasStaticShape()) &&
      isa<RankedTensorType>(output.getType()) &&
      getElementTypeOrSelf(output.getType()) == value.getElementType())
    replacement.setType(output.getType());
  if (isNew)
    passName(output, replacement);
  output.replaceAllUsesWith(replacement);
}

LogicalResult OrtNode::setGradients(Operation *of, Expr dy,
                                    ArrayRef<int> wanted) {
  SmallVector<Value, 4> operands = onnx::inputsByPosition(of);
  llvm::DenseSet<Value> active;
  for (auto [i, position] : llvm::enumerate(wanted))
    if (position >= 0 && isUsed(i)) {
      if (unsigned(position) >= operands.size() || !operands[position])
        return fail("its forward operation has no input " + Twine(position));
      active.insert(operands[position]);
    }
  ReverseMode reverse(b, active);
  Value result = of->getResult(0);
  reverse.addGradient(result, b.castLike(dy, result));
  auto interface = dyn_cast<GradientOpInterface>(of);
  if (!interface)
    return fail("its forward operation is none of ONNX's");
  if (failed(interface.buildGradient(reverse)))
    return failure();
  for (auto [i, position] : llvm::enumerate(wanted))
    if (position >= 0 && isUsed(i))
      if (Value gradient = reverse.getGradient(operands[position]))
        set(i, b.expr(gradient));
  return success();
}

LogicalResult OrtNode::setForwardGradients(Expr dy, ArrayRef<int> wanted) {
  if (!forward || isa<CustomOp>(forward))
    return fail("its forward operation is not in the model");
  return setGradients(forward, dy, wanted);
}

LogicalResult OrtNode::fail(const Twine &why) const {
  return CustomOp(op).emitError()
         << onnx::describeNode(op)
         << " can't be written with ONNX's operators: " << why;
}

} // namespace amp
