//===- SelectAttention.cpp - Attention, with a cache of keys --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"

#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Dialect/ONNX/IntegerAttributes.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/OptionalOutputs.h"
#include "amp/Dialect/ONNX/SchemaFunctions.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace amp;
using onnx::Expr;
using onnx::NodeBuilder;

namespace {

/// Positions of ONNX's inputs and outputs.
enum Input { kQ, kK, kV, kMask, kPastKey, kPastValue, kLengths, kNumInputs };
enum Output { kY, kPresentKey, kPresentValue, kScores, kNumOutputs };

/// What the kernel computes with: float32.
bool isKernelType(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  return type.isF32() || type.isF16() || type.isBF16();
}

/// TensorProto.DOUBLE: more precise than the kernel is.
constexpr int64_t kDouble = 11;

bool hasKernel(Operation *op, ArrayRef<Value> inputs, ArrayRef<Value> outputs) {
  return !outputs[kScores] && isKernelType(inputs[kQ]) &&
         isKernelType(inputs[kV]) &&
         onnx::getInt(op, "softmax_precision", 0) != kDouble;
}

/// [batch, heads, positions, size] of keys or values.
Expr toHeads(Expr tensor, int64_t heads) {
  if (tensor.getRank() != 3)
    return tensor;
  NodeBuilder &b = tensor.getBuilder();
  Expr split = b.apply("Reshape", {tensor, b.ints({0, 0, heads, -1})});
  return b.transpose(split, {0, 2, 1, 3});
}

} // namespace

FailureOr<SmallVector<Value>>
amp::selectAttention(Operation *op, OpBuilder &builder, std::string &why) {
  SmallVector<Value, 4> inputs = onnx::inputsByPosition(op),
                        outputs = onnx::outputsByPosition(op);
  inputs.resize(kNumInputs);
  outputs.resize(kNumOutputs);
  NodeBuilder b(builder, op);
  b.setLocation(op->getLoc());
  if (!hasKernel(op, inputs, outputs)) {
    FailureOr<SmallVector<Value>> body = onnx::buildFunctionBody(op, b);
    if (failed(body))
      why = "ONNX has no definition of it by other operators";
    return body;
  }

  // Keys and values of all positions.
  Expr key = b.expr(inputs[kK]), value = b.expr(inputs[kV]);
  if (inputs[kPastKey] || outputs[kPresentKey] || outputs[kPresentValue]) {
    if (!key.getRank() || !value.getRank()) {
      why = "the rank of its keys is not known";
      return failure();
    }
    int64_t heads = onnx::getInt(op, "kv_num_heads", 1);
    key = toHeads(key, heads);
    value = toHeads(value, heads);
  }
  if (inputs[kPastKey])
    key = b.concat({inputs[kPastKey], key}, 2);
  if (inputs[kPastValue])
    value = b.concat({inputs[kPastValue], value}, 2);

  SmallVector<Value> operands;
  SmallVector<int32_t> positions;
  for (Value operand : {inputs[kQ], Value(key), Value(value), inputs[kMask],
                        inputs[kLengths], inputs[kPastKey]}) {
    positions.push_back(operand ? operands.size() : -1);
    if (operand)
      operands.push_back(operand);
  }
  while (positions.back() < 0)
    positions.pop_back();
  bool isInOrder = operands.size() == positions.size();

  NamedAttrList settings;
  for (StringRef name : {"is_causal", "q_num_heads", "kv_num_heads",
                         "left_window_size", "right_window_size"})
    if (auto number = op->getAttrOfType<IntegerAttr>(name))
      settings.set(name, builder.getI64IntegerAttr(number.getInt()));
  for (StringRef name : {"scale", "softcap"})
    if (Attribute number = op->getAttr(name))
      settings.set(name, number);
  SmallVector<Value> results(kNumOutputs);
  results[kY] =
      rt::CallOp::create(
          builder, op->getLoc(), outputs[kY].getType(), "attention", operands,
          isInOrder ? DenseI32ArrayAttr()
                    : builder.getDenseI32ArrayAttr(positions),
          /*view=*/false, settings.getDictionary(op->getContext()))
          .getResult(0);
  results[kPresentKey] = key;
  results[kPresentValue] = value;
  return llvm::map_to_vector(
      onnx::outputPositions(op),
      [&](unsigned position) -> Value { return results[position]; });
}
