//===- ActiveDropout.cpp - Dropout that drops -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActiveDropout.h"

#include "ExpandFunctions.h"
#include "RandomNumbers.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/ConstantNumber.h"
#include "amp/Dialect/ONNX/OptionalOutputs.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace amp {

using onnx::Expr;
using onnx::NodeBuilder;
using onnx::ONNXDialect;

namespace {

constexpr double kDefaultRatio = 0.5;

Value at(ArrayRef<Value> values, size_t position) {
  return position < values.size() ? values[position] : Value();
}

/// The ratio of a node, or an error.
FailureOr<double> readRatio(onnx::DropoutOp op) {
  auto fail = [&](const Twine &what) {
    return op->emitError() << onnx::describeNode(op)
                           << " expects a ratio that is a constant from 0 to 1"
                           << what;
  };
  Value input = at(onnx::inputsByPosition(op), 1);
  if (!input)
    return kDefaultRatio;
  std::optional<double> ratio = onnx::getConstantNumber(input);
  if (!ratio)
    return fail("");
  if (!(*ratio >= 0 && *ratio <= 1))
    return fail(llvm::formatv(", but got {0}", *ratio).str());
  return *ratio;
}

/// The loop that a node stands in; null if there is none.
Operation *findLoop(Operation *op) {
  while ((op = op->getParentOp()) && !isa<func::FuncOp>(op))
    if (!isa<onnx::IfOp>(op))
      return op;
  return nullptr;
}

/// True if rounding a factor to a 16-bit format does not change it.
bool isShort(double factor) {
  bool losesInfo = false;
  llvm::APFloat rounded(factor);
  rounded.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven,
                  &losesInfo);
  return !losesInfo;
}

class Activation {
public:
  Activation(onnx::DropoutOp op, NodeBuilder &b)
      : op(op), b(b), inputs(onnx::inputsByPosition(op)),
        outputs(onnx::outputsByPosition(op)) {}

  /// `numbers` may be null for ratio 0.
  void run(const RandomNumbers *numbers, uint32_t stream, double ratio) {
    Expr x = b.expr(inputs[0]), y = x, mask;
    Expr mode = findMode();
    if (ratio > 0) {
      mask = numbers->drawMask(b, stream, x, 1 - ratio);
      Expr scaled = scale(x, ratio);
      if (mode) {
        mask = logicalOr(mask, logicalNot(mode));
        scaled = b.where(mode, scaled, x);
      }
      y = b.where(mask, scaled, 0.0);
      // The node that policies know by its name.
      if (Attribute name = op->getAttr(ONNXDialect::kName))
        Value(y).getDefiningOp()->setAttr(ONNXDialect::kName, name);
    } else if (at(outputs, 1)) {
      mask = b.expandLike(b.number(1, b.getBuilder().getI1Type()), x);
    }
    SmallVector<Value> values;
    for (Value output : op->getResults()) {
      Value value = output == at(outputs, 0) ? y : mask;
      // Named dimensions are lost where shapes are computed.
      if (isa<RankedTensorType>(output.getType()) && value != inputs[0])
        value.setType(output.getType());
      values.push_back(value);
    }
    replaceBy(op, values, b);
  }

private:
  /// What turns the node on; null for a constant: it is meant to be on.
  Expr findMode() const {
    Value mode = at(inputs, 2);
    return b.expr(mode && !onnx::getConstantNumber(mode) ? mode : Value());
  }
  Expr scale(Expr x, double ratio) const {
    // Where all is dropped, an infinite factor would make NaNs.
    double factor = ratio < 1 ? 1 / (1 - ratio) : 0;
    Expr scaled = b.castLike(b.widen(x) * factor, x);
    // Autocast would round the factor, always alike; as in PyTorch, it is the
    // product that is rounded.
    if (x.getElementType().isF32() && !isShort(factor))
      Value(scaled).getDefiningOp()->setAttr(
          AMPDialect::kKeep,
          b.getBuilder().getStringAttr("the factor of a Dropout"));
    return scaled;
  }

  onnx::DropoutOp op;
  NodeBuilder &b;
  SmallVector<Value, 4> inputs, outputs;
};

} // namespace

LogicalResult activateDropout(func::FuncOp main,
                              ArrayRef<onnx::DropoutOp> dropouts,
                              uint64_t seed) {
  SmallVector<double> ratios;
  for (onnx::DropoutOp op : dropouts) {
    FailureOr<double> ratio = readRatio(op);
    if (failed(ratio))
      return failure();
    if (Operation *loop = findLoop(op); loop && *ratio > 0)
      return op->emitError() << onnx::describeNode(op) << " stands in "
                             << onnx::describeNode(loop)
                             << ", all of whose iterations would drop the same";
    ratios.push_back(*ratio);
  }
  std::optional<RandomNumbers> numbers;
  if (llvm::any_of(ratios, [](double ratio) { return ratio > 0; })) {
    FailureOr<RandomNumbers> found = RandomNumbers::get(main, seed);
    if (failed(found))
      return failure();
    numbers = *found;
  }
  for (auto [stream, op] : llvm::enumerate(dropouts)) {
    OpBuilder builder(op);
    NodeBuilder b(builder, main);
    b.setLocation(op->getLoc());
    Activation(op, b).run(numbers ? &*numbers : nullptr, stream,
                          ratios[stream]);
  }
  return success();
}

} // namespace amp
