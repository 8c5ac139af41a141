//===- Widen.cpp - float32 for what computes in 16 bits -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Passes/Lowering.h"

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Interfaces/ElementTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_WIDEN
#include "amp/Passes/Lowering.h.inc"

namespace {

using onnx::ONNXDialect;

bool isLowTensor(Type type) {
  FloatType element =
      isa<TensorType>(type) ? getFloatElementType(type) : FloatType();
  return element && (element.isF16() || element.isBF16());
}

class Widener {
public:
  explicit Widener(ModuleOp module)
      : module(module), builder(module.getContext()),
        f32(builder.getF32Type()) {}

  /// Returns how many operations were widened.
  unsigned widenNodes() {
    SmallVector<AutocastOpInterface> ops;
    module.walk([&](AutocastOpInterface op) {
      if (!op.isAutocastConstant() && !isa<onnx::CastOp>(op) &&
          op->getNumRegions() == 0)
        ops.push_back(op);
    });
    return llvm::count_if(
        ops, [&](AutocastOpInterface op) { return widenNode(op); });
  }

  void widenInterface(func::FuncOp function) {
    Block &body = function.getBody().front();
    for (BlockArgument argument : body.getArguments())
      if (isLowTensor(argument.getType()) && !hasDefault(argument))
        widenArgument(argument);
    Operation *terminator = body.getTerminator();
    for (OpOperand &operand : terminator->getOpOperands())
      if (isLowTensor(operand.get().getType()))
        operand.set(getWide(operand.get()));
    function.setFunctionType(builder.getFunctionType(
        body.getArgumentTypes(), terminator->getOperandTypes()));
  }

private:
  /// The default is of the input's type.
  static bool hasDefault(BlockArgument argument) {
    return llvm::any_of(argument.getUsers(), [](Operation *user) {
      return isa<onnx::DefaultInputOp>(user);
    });
  }

  void widenArgument(BlockArgument argument) {
    auto low = cast<TensorType>(argument.getType());
    argument.setType(low.clone(f32));
    builder.setInsertionPointToStart(argument.getOwner());
    Value rounded = createCast(argument, low);
    argument.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
  }

  bool widenNode(AutocastOpInterface op) {
    // Types of results alone are stated by attributes, or by nothing.
    llvm::SmallSet<int, 4> variables;
    for (OpOperand &operand : op->getOpOperands()) {
      int variable = op.getOperandTypeVariable(operand.getOperandNumber());
      if (variable >= 0 && isLowTensor(operand.get().getType()) &&
          op.supportsElementType(variable, f32))
        variables.insert(variable);
    }
    if (variables.empty())
      return false;
    // All is asked before anything changes.
    SmallVector<OpOperand *> operands;
    SmallVector<OpResult> results;
    for (OpOperand &operand : op->getOpOperands())
      if (isLowTensor(operand.get().getType()) &&
          variables.contains(
              op.getOperandTypeVariable(operand.getOperandNumber())))
        operands.push_back(&operand);
    for (OpResult result : op->getResults())
      if (isLowTensor(result.getType()) &&
          variables.contains(
              op.getResultTypeVariable(result.getResultNumber())))
        results.push_back(result);
    for (OpOperand *operand : operands)
      operand->set(getWide(operand->get()));
    builder.setInsertionPointAfter(op);
    for (OpResult result : results)
      roundResult(result);
    return true;
  }

  /// At the builder's insertion point.
  void roundResult(OpResult result) {
    auto low = cast<TensorType>(result.getType());
    result.setType(low.clone(f32));
    Value rounded = createCast(result, low);
    Operation *cast = rounded.getDefiningOp();
    result.replaceAllUsesExcept(rounded, cast);
    moveName(result, cast);
  }

  /// `value` in float32: one cast, which everybody can read who reads `value`.
  Value getWide(Value value) {
    Value &wide = wideOf[value];
    if (!wide) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfterValue(value);
      wide = createCast(value, cast<TensorType>(value.getType()).clone(f32));
    }
    return wide;
  }

  Value createCast(Value value, Type type) {
    auto element = onnx::fromType(cast<TensorType>(type).getElementType());
    OperationState state(value.getLoc(), onnx::CastOp::getOperationName());
    state.addOperands(value);
    state.addTypes(type);
    state.addAttribute("to", builder.getI64IntegerAttr(int64_t(*element)));
    return builder.create(state)->getResult(0);
  }

  /// The value's name goes to `cast`; the operation's own result gets a new
  /// one.
  void moveName(OpResult result, Operation *cast) {
    Operation *op = result.getOwner();
    auto names = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs);
    unsigned position = onnx::outputPosition(op, result.getResultNumber());
    if (!names || position >= names.size())
      return;
    auto name = dyn_cast<StringAttr>(names[position]);
    if (!name || name.empty())
      return;
    SmallVector<Attribute> renamed(names.begin(), names.end());
    renamed[position] = builder.getStringAttr(makeName(name.getValue()));
    op->setAttr(ONNXDialect::kOutputs, builder.getArrayAttr(renamed));
    cast->setAttr(ONNXDialect::kOutputs, builder.getArrayAttr(name));
  }

  std::string makeName(StringRef name) {
    if (names.empty())
      module.walk([&](Operation *op) {
        if (auto outputs = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs))
          for (auto output : outputs.getAsRange<StringAttr>())
            names.insert(output.getValue());
      });
    std::string made = (name + "_wide").str();
    while (!names.insert(made).second)
      made += "_";
    return made;
  }

  ModuleOp module;
  OpBuilder builder;
  FloatType f32;
  DenseMap<Value, Value> wideOf;
  /// Of all nodes' outputs, once a new one is needed.
  llvm::StringSet<> names;
};

struct WidenPass final : impl::WidenBase<WidenPass> {
  using Base::Base;

  void runOnOperation() override {
    Widener widener(getOperation());
    numWidened += widener.widenNodes();
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (interface && main && !main.isExternal())
      widener.widenInterface(main);
  }
};

} // namespace

} // namespace amp
