//===- MarkEntry.cpp - what depends on dimensions only --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryKernels.h"

#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Passes/Executable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

namespace amp {
#define GEN_PASS_DEF_MARKENTRY
#include "amp/Passes/Executable.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;
using rt::AMPRTDialect;

namespace {

class EntryAnalysis {
public:
  void visit(Operation *op);

private:
  static bool hasStaticShape(Value value) {
    auto type = dyn_cast<ShapedType>(value.getType());
    return type && type.hasStaticShape();
  }
  static void mark(Operation *op) {
    op->setAttr(AMPRTDialect::kAtEntry, UnitAttr::get(op->getContext()));
  }
  bool hasKnownDims(Value value) const {
    return hasStaticShape(value) || knownDims.contains(value);
  }
  bool isKnown(Value value) const { return knownData.contains(value); }
  void visitCall(rt::CallOp call);

  /// Values whose dimensions are known at entry, and whose data is.
  llvm::DenseSet<Value> knownDims, knownData;

public:
  void addArgument(Value argument) { knownDims.insert(argument); }
};

struct MarkEntry : public amp::impl::MarkEntryBase<MarkEntry> {
  using Base::Base;

  void runOnOperation() final {
    for (auto graph : getOperation().getOps<func::FuncOp>()) {
      if (!graph->hasAttr(AMPRTDialect::kSignature))
        continue;
      EntryAnalysis analysis;
      for (Value argument : graph.getArguments())
        analysis.addArgument(argument);
      for (Operation &op : graph.getBody().front())
        analysis.visit(&op);
    }
  }
};

} // namespace

void EntryAnalysis::visit(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](rt::ConstantOp constant) { knownData.insert(constant); })
      .Case([&](rt::ViewOp view) {
        if (hasKnownDims(view.getInput()))
          knownDims.insert(view.getResult());
        if (!isKnown(view.getInput()))
          return;
        knownData.insert(view.getResult());
        // A static one needs no command.
        if (!hasStaticShape(view.getResult()))
          mark(view);
      })
      .Case([&](tensor::CastOp cast) {
        if (hasKnownDims(cast.getSource()))
          knownDims.insert(cast.getDest());
        if (isKnown(cast.getSource()))
          knownData.insert(cast.getDest());
      })
      .Case([&](rt::LaunchOp launch) {
        if (llvm::all_of(launch.getOperands(),
                         [&](Value operand) { return hasKnownDims(operand); }))
          knownDims.insert(launch.result_begin(), launch.result_end());
        if (!llvm::all_of(launch.getOperands(),
                          [&](Value operand) { return isKnown(operand); }))
          return;
        knownData.insert(launch.result_begin(), launch.result_end());
        mark(launch);
      })
      .Case([&](rt::CallOp call) { visitCall(call); });
}

void EntryAnalysis::visitCall(rt::CallOp call) {
  const LibraryKernel *kernel = findLibraryKernel(call.getKernel());
  if (!kernel)
    return;
  bool areDimsKnown = true, isDataKnown = !kernel->isRandom;
  unsigned position = 0;
  std::optional<ArrayRef<int32_t>> inputs = call.getInputs();
  for (Value operand : call.getOperands()) {
    while (inputs && (*inputs)[position] < 0)
      ++position;
    areDimsKnown &= hasKnownDims(operand);
    isDataKnown &= isKnown(operand);
    if (position < 8 && (kernel->shapedBy >> position & 1))
      areDimsKnown &= isKnown(operand);
    ++position;
  }
  areDimsKnown |= llvm::all_of(
      call.getResults(), [&](Value result) { return hasKnownDims(result); });
  if (areDimsKnown)
    knownDims.insert(call.result_begin(), call.result_end());
  // These look at dimensions only.
  if (kernel->kernel == "shape" || kernel->kernel == "size")
    isDataKnown = hasKnownDims(call.getOperand(0));
  if (!isDataKnown || !areDimsKnown)
    return;
  knownData.insert(call.result_begin(), call.result_end());
  mark(call);
  // What is made at entry has memory of its own.
  call.setView(false);
}
