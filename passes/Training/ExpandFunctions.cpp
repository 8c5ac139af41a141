//===- ExpandFunctions.cpp - bodies of functions, for gradients -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpandFunctions.h"

#include "ActivePaths.h"
#include "InlineCall.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/TypeInference.h"
#include "amp/Interfaces/GradientOpInterface.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"

using namespace mlir;

namespace amp {

using onnx::ONNXDialect;

void replaceBy(Operation *op, SmallVector<Value> &values,
               onnx::NodeBuilder &nodes) {
  SmallVector<Attribute> names;
  if (auto recorded = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs))
    for (Attribute name : recorded)
      if (recorded.size() == op->getNumResults() ||
          !cast<StringAttr>(name).empty())
        names.push_back(name);
  for (auto [name, value] : llvm::zip(names, values)) {
    if (cast<StringAttr>(name).empty())
      continue;
    Operation *maker = value.getDefiningOp();
    bool isOperand = llvm::is_contained(op->getOperands(), value);
    if (maker && !isOperand && maker->hasAttr(ONNXDialect::kOutputs))
      continue; // it has them already
    if (!maker || isOperand || maker->getNumResults() != 1) {
      value = nodes.apply("Identity", {value});
      maker = value.getDefiningOp();
    }
    maker->setAttr(ONNXDialect::kOutputs,
                   ArrayAttr::get(op->getContext(), name));
  }
  op->replaceAllUsesWith(values);
  op->erase();
}

llvm::DenseSet<Value> findActive(func::FuncOp main, const Endpoints &ends) {
  ActivePaths paths(main);
  llvm::DenseSet<Value> dependents = paths.findDependents(ends.wanted);
  llvm::DenseSet<Value> active;
  for (Value value : paths.findSources(ends.losses))
    if (dependents.contains(value))
      active.insert(value);
  return active;
}

/// Replaces operations that gradients pass, and that others say what their
/// gradients are, by these; false if there are none.
static FailureOr<bool> expand(func::FuncOp main, const Endpoints &ends,
                              SymbolTable &symbols, size_t &budget) {
  llvm::DenseSet<Value> active = findActive(main, ends);
  SmallVector<Operation *> list;
  main.walk([&](Operation *op) {
    if (llvm::any_of(op->getResults(),
                     [&](Value result) { return active.contains(result); }))
      list.push_back(op);
  });
  bool changed = false, calls = false;
  for (Operation *op : list) {
    auto interface = dyn_cast<GradientOpInterface>(op);
    bool isCall = isa<CallOpInterface>(op);
    if (!isCall && !(interface && interface.isComposite()))
      continue;
    OpBuilder builder(op);
    onnx::NodeBuilder nodes(builder, op);
    FailureOr<SmallVector<Value>> values =
        isCall ? inlineCall(op, symbols, budget) : interface.decompose(nodes);
    if (failed(values)) {
      if (isCall)
        return failure();
      continue; // buildGradient() says that it has none
    }
    replaceBy(op, *values, nodes);
    changed = true;
    calls |= isCall;
  }
  // Functions that are called with several types have none of their own.
  if (calls && failed(onnx::inferTypes(main->getParentOfType<ModuleOp>(),
                                       {/*shapes=*/true})))
    return failure();
  return changed;
}

FailureOr<Endpoints>
expandFunctions(func::FuncOp main,
                llvm::function_ref<FailureOr<Endpoints>()> find) {
  // Functions of functions of functions.
  constexpr unsigned kMaxDepth = 64;
  size_t budget = 1'000'000;
  SymbolTable symbols(main->getParentOp());
  for (unsigned depth = 0; depth < kMaxDepth; ++depth) {
    FailureOr<Endpoints> ends = find();
    if (failed(ends))
      return failure();
    FailureOr<bool> changed = expand(main, *ends, symbols, budget);
    if (failed(changed))
      return failure();
    if (!*changed)
      return ends;
  }
  return main.emitError() << "calls functions that call others, more than "
                          << kMaxDepth << " deep: there is no gradient then";
}

} // namespace amp
