//===- GradientModel.cpp - gradients of ONNX's operators ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientRules.h"

#include "amp/Dialect/ONNX/ConstantInts.h"
#include "amp/Dialect/ONNX/IntegerAttributes.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/OptionalOutputs.h"
#include "amp/Dialect/ONNX/SchemaFunctions.h"
#include "amp/Interfaces/ElementTypes.h"

using namespace mlir;

namespace amp::onnx {

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

Gradient::Gradient(Operation *op, GradientContext &context)
    : b(context.getNodes()), op(op), context(context),
      inputs(inputsByPosition(op)), outputs(outputsByPosition(op)) {}

static Value at(ArrayRef<Value> values, unsigned position) {
  return position < values.size() ? values[position] : Value();
}

Expr Gradient::x(unsigned position) const {
  return b.expr(at(inputs, position));
}

Expr Gradient::y(unsigned position) const {
  return b.expr(at(outputs, position));
}

Expr Gradient::dy(unsigned position) const {
  Value output = at(outputs, position);
  return b.expr(output ? context.getGradient(output) : Value());
}

Expr Gradient::dyOrZeros(unsigned position) const {
  Expr gradient = dy(position);
  return gradient ? gradient : b.filledLike(y(position), 0.0);
}

bool Gradient::isNeeded(unsigned position) const {
  Value input = at(inputs, position);
  return input && context.isNeeded(input);
}

void Gradient::set(unsigned position, Expr gradient) {
  if (isNeeded(position))
    setAlike(position, b.sumTo(gradient, inputs[position]));
}

void Gradient::setAlike(unsigned position, Expr gradient) {
  if (!isNeeded(position))
    return;
  Value input = inputs[position];
  context.addGradient(input, b.castLike(gradient, input));
}

int64_t Gradient::getInt(StringRef name, int64_t missing) const {
  return onnx::getInt(op, name, missing);
}

double Gradient::getFloat(StringRef name, double missing) const {
  auto attribute = op->getAttrOfType<FloatAttr>(name);
  return attribute ? attribute.getValueAsDouble() : missing;
}

StringRef Gradient::getString(StringRef name, StringRef missing) const {
  auto attribute = op->getAttrOfType<StringAttr>(name);
  return attribute ? attribute.getValue() : missing;
}

std::optional<SmallVector<int64_t>> Gradient::getInts(StringRef name) const {
  auto attribute = op->getAttrOfType<DenseI64ArrayAttr>(name);
  return attribute ? std::optional(SmallVector<int64_t>(attribute.asArrayRef()))
                   : std::nullopt;
}

std::optional<SmallVector<int64_t>>
Gradient::getConstantInts(unsigned position) const {
  return onnx::getConstantInts(at(inputs, position));
}

FailureOr<int64_t> Gradient::getRank(unsigned position) const {
  if (std::optional<int64_t> rank = x(position).getRank())
    return *rank;
  return fail("where the rank of input " + Twine(position) +
              " is not known: declare its shape");
}

LogicalResult Gradient::fail(const Twine &what) const {
  return op->emitError() << describeNode(op) << " has no gradient " << what;
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

namespace {

/// The rules of all families by the name of the operation.
const llvm::StringMap<const GradientRule *> &getRules() {
  static const llvm::StringMap<const GradientRule *> rules = [] {
    llvm::StringMap<const GradientRule *> all;
    for (ArrayRef<GradientRule> family :
         {getActivationRules(), getAttentionRules(), getControlFlowRules(),
          getConvolutionRules(), getElementwiseRules(), getIndexingRules(),
          getLinearRules(), getLossRules(), getNormalizationRules(),
          getPoolingRules(), getRecurrentRules(), getReductionRules(),
          getResizeRules(), getTensorRules()})
      for (const GradientRule &rule : family)
        if (const OperatorInfo *info = lookupOperator(/*domain=*/"", rule.op))
          all[info->operationName] = &rule;
    return all;
  }();
  return rules;
}

/// The rule for an operation; null if there is none.
const GradientRule *findRule(Operation *op) {
  return getRules().lookup(op->getName().getStringRef());
}

/// How many outputs a node is to have that its rule reads.
unsigned countOutputs(Operation *op, const GradientRule &rule) {
  return rule.countOutputs ? rule.countOutputs(op) : 0;
}

/// The position behind the last output that a node has.
unsigned endOfOutputs(Operation *op) {
  SmallVector<unsigned, 8> positions = outputPositions(op);
  return positions.empty() ? 0 : positions.back() + 1;
}

/// The results of the same node with its first `count` outputs that stand for
/// those of `op`.
SmallVector<Value> addOutputs(Operation *op, unsigned count,
                              NodeBuilder &nodes) {
  Operation *whole = withOutputs(op, count, nodes);
  SmallVector<Value> values;
  for (unsigned position : outputPositions(op))
    values.push_back(whole->getResult(position));
  return values;
}

struct Model : GradientOpInterface::FallbackModel<Model> {
  bool isGradientPath(Operation *op, unsigned operand, unsigned result) const {
    return amp::detail::areFloats(op->getOperand(operand),
                                  op->getResult(result)) &&
           !isCut(op, inputPosition(op, operand), outputPosition(op, result));
  }

  void getRegionFlow(Operation *op,
                     SmallVectorImpl<std::pair<Value, Value>> &flow) const {
    getControlFlow(op, flow);
  }

  LogicalResult buildGradient(Operation *op, GradientContext &context) const {
    Gradient gradient(op, context);
    gradient.b.setLocation(op->getLoc());
    const GradientRule *rule = findRule(op);
    if (!rule)
      return gradient.fail("rule here: leave out what is behind it, or give it "
                           "as a function of operators that have one");
    // Graphs inside nodes stay as they are.
    if (unsigned count = countOutputs(op, *rule); endOfOutputs(op) < count)
      return gradient.fail("in a graph inside a node, unless it has " +
                           Twine(count) + " outputs");
    return rule->build(gradient);
  }

  bool isComposite(Operation *op) const {
    const GradientRule *rule = findRule(op);
    return !rule || endOfOutputs(op) < countOutputs(op, *rule);
  }

  FailureOr<SmallVector<Value>> decompose(Operation *op,
                                          NodeBuilder &nodes) const {
    if (const GradientRule *rule = findRule(op))
      return addOutputs(op, countOutputs(op, *rule), nodes);
    return buildFunctionBody(op, nodes);
  }
};

} // namespace

void *lookupGradientModel(TypeID interfaceID, OperationName name) {
  if (interfaceID != GradientOpInterface::getInterfaceID() ||
      !lookupOperator(name))
    return nullptr;
  static Model model;
  return static_cast<GradientOpInterface::Concept *>(&model);
}

} // namespace amp::onnx
