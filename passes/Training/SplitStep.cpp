//===- SplitStep.cpp - amp-split-step -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeadNodes.h"
#include "NamedValues.h"
#include "TrainingState.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/NodeBuilder.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_SPLITSTEP
#include "amp/Passes/Training.h.inc"

namespace {

using onnx::Expr;
using onnx::NodeBuilder;

constexpr StringLiteral kMicroStep = "amp.micro_step";

/// A sum of gradients, and where it is.
struct Accumulator {
  BlockArgument value;
  unsigned output;
};

/// What the parts of a step have.
struct StepParts {
  // Outputs: each is of one of them.
  llvm::BitVector ofMicroBatch, areSums, ofStep;
  SmallVector<Accumulator> accumulators; ///< of the sums
  /// The input, for outputs that are state.
  llvm::DenseMap<unsigned, BlockArgument> stateInputs;
};

StepParts findParts(func::FuncOp main, ArrayAttr microOutputs) {
  Operation *terminator = main.getBody().front().getTerminator();
  unsigned count = terminator->getNumOperands();
  llvm::StringSet<> ofMicroBatch, accumulated;
  for (auto name : microOutputs.getAsRange<StringAttr>()) {
    StringRef base = name.getValue();
    ofMicroBatch.insert(base);
    if (base.consume_back(kGradientSuffix))
      accumulated.insert(getAccumulatorName(base));
  }
  NamedValues named(main);
  llvm::StringMap<std::string> inputs;
  for (const auto &[input, output] :
       getStatePairs(main->getParentOfType<ModuleOp>()))
    inputs[output] = input;
  StepParts parts;
  for (llvm::BitVector *outputs :
       {&parts.ofMicroBatch, &parts.areSums, &parts.ofStep})
    outputs->resize(count);
  for (unsigned i = 0; i < count; ++i) {
    StringRef name = getOutputName(main, i);
    auto known = inputs.find(name);
    BlockArgument input;
    if (known != inputs.end())
      input = dyn_cast_if_present<BlockArgument>(named.lookup(known->second));
    if (input)
      parts.stateInputs[i] = input;
    if (input && accumulated.contains(known->second)) {
      parts.accumulators.push_back({input, i});
      parts.areSums.set(i);
    } else {
      (ofMicroBatch.contains(name) ? parts.ofMicroBatch : parts.ofStep).set(i);
    }
  }
  return parts;
}

//===----------------------------------------------------------------------===//
// One graph
//===----------------------------------------------------------------------===//

/// Moves what only the body of an operation reads into it.
void sinkInto(Operation *op, Block &body) {
  for (Operation *maker = op->getPrevNode(), *before = nullptr; maker;
       maker = before) {
    before = maker->getPrevNode();
    bool isOnlyReadThere =
        !maker->use_empty() && llvm::all_of(maker->getUsers(), [&](auto *user) {
          return body.findAncestorOpInBlock(*user);
        });
    if (isOnlyReadThere && !isa<onnx::InitializerOp>(maker))
      maker->moveBefore(&body, body.begin());
  }
}

/// Makes the step a region that waits for the last micro-batch.
LogicalResult putIntoRegion(func::FuncOp main, const StepParts &parts,
                            int64_t microBatches) {
  Operation *terminator = main.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  NodeBuilder b(builder, main);
  Value counter = addInput(
      main, kMicroStep,
      DenseElementsAttr::get(RankedTensorType::get({}, builder.getI64Type()),
                             int64_t(0)));
  Expr next = b.expr(counter) + 1.0;
  Expr waits = next < double(microBatches);
  addOutput(main, nextName(kMicroStep), b.where(waits, next, 0.0));
  addStatePairs(main->getParentOfType<ModuleOp>(),
                {{kMicroStep.str(), nextName(kMicroStep)}});
  SmallVector<Value> kept, made;
  llvm::BitVector changed = parts.ofStep;
  changed |= parts.areSums;
  for (unsigned i : changed.set_bits()) {
    Value value = terminator->getOperand(i);
    made.push_back(value);
    if (parts.areSums.test(i)) {
      kept.push_back(value);
      continue;
    }
    if (BlockArgument input = parts.stateInputs.lookup(i)) {
      kept.push_back(input);
      continue;
    }
    auto type = dyn_cast<RankedTensorType>(value.getType());
    TypedAttr zero =
        type ? builder.getZeroAttr(type.getElementType()) : TypedAttr();
    if (!zero || !type.hasStaticShape())
      return main.emitError()
             << "output " << quoted(getOutputName(main, i))
             << " of the step expects numbers of a static shape, but is "
             << value.getType();
    kept.push_back(b.constant(DenseElementsAttr::get(type, Attribute(zero))));
  }
  auto guard = GuardOp::create(builder, main.getLoc(),
                               ValueRange(kept).getTypes(), waits, kept);
  Block &body = guard.getBody().emplaceBlock();
  OpBuilder::InsertionGuard saved(builder);
  builder.setInsertionPointToEnd(&body);
  for (auto [index, i] : llvm::enumerate(changed.set_bits())) {
    if (parts.areSums.test(i))
      made[index] = b.filledLike(made[index], 0);
    terminator->setOperand(i, guard.getNewState()[index]);
  }
  YieldOp::create(builder, main.getLoc(), made);
  sinkInto(guard, body);
  return success();
}

//===----------------------------------------------------------------------===//
// Two graphs
//===----------------------------------------------------------------------===//

/// The inputs that nothing reads; defaults don't.
llvm::BitVector findUnread(Block &block) {
  llvm::BitVector unread(block.getNumArguments());
  for (BlockArgument argument : block.getArguments())
    if (llvm::all_of(argument.getUsers(), llvm::IsaPred<onnx::DefaultInputOp>))
      unread.set(argument.getArgNumber());
  return unread;
}

/// Erases what nobody reads, whatever names it has.
void eraseUnread(Block &block) {
  for (Operation *op = block.getTerminator()->getPrevNode(), *before = nullptr;
       op; op = before) {
    before = op->getPrevNode();
    if (op->getNumResults() > 0 && op->use_empty())
      op->erase();
  }
}

void keepMicroBatch(func::FuncOp main, const StepParts &parts) {
  Block &block = main.getBody().front();
  llvm::BitVector wasUnread = findUnread(block);
  eraseOutputs(main, parts.ofStep);
  eraseDeadNodes(block);
  eraseInputs(main, findUnread(block).reset(wasUnread));
}

void keepStep(func::FuncOp main, const StepParts &parts) {
  Block &block = main.getBody().front();
  Operation *terminator = block.getTerminator();
  OpBuilder builder(terminator);
  NodeBuilder b(builder, main);
  for (const Accumulator &each : parts.accumulators) {
    terminator->getOperand(each.output).replaceAllUsesWith(each.value);
    terminator->setOperand(each.output, b.filledLike(each.value, 0));
  }
  eraseOutputs(main, parts.ofMicroBatch);
  eraseUnread(block);
  eraseInputs(main, findUnread(block));
}

/// Drops pairs whose output is gone.
void dropPairs(func::FuncOp main) {
  llvm::StringSet<> outputs;
  unsigned count = main.getBody().front().getTerminator()->getNumOperands();
  for (unsigned i = 0; i < count; ++i)
    outputs.insert(getOutputName(main, i));
  auto module = main->getParentOfType<ModuleOp>();
  SmallVector<StatePair> pairs = getStatePairs(module);
  llvm::erase_if(pairs, [&](const StatePair &pair) {
    return !outputs.contains(pair.second);
  });
  setStatePairs(module, pairs);
}

/// Drops local functions that nothing calls.
void dropFunctions(ModuleOp module, func::FuncOp main) {
  // What is called by what goes first may go next.
  for (bool isDone = false; !isDone;) {
    isDone = true;
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function != main && function.isPrivate() &&
          SymbolTable::symbolKnownUseEmpty(function, module)) {
        function.erase();
        isDone = false;
      }
  }
}

class SplitStepPass : public impl::SplitStepBase<SplitStepPass> {
public:
  using SplitStepBase::SplitStepBase;

  void runOnOperation() override {
    func::FuncOp main = findMainGraph(getOperation());
    if (!main)
      return signalPassFailure();
    if (failed(split(main)))
      signalPassFailure();
  }

private:
  LogicalResult split(func::FuncOp main);
};

LogicalResult SplitStepPass::split(func::FuncOp main) {
  auto microBatches =
      main->getAttrOfType<IntegerAttr>(AMPDialect::kMicroBatches);
  auto microOutputs = main->getAttrOfType<ArrayAttr>(AMPDialect::kMicroOutputs);
  if (!microBatches || !microOutputs)
    return main.emitError("has no accumulated gradients: "
                          "amp-accumulate-gradients comes before");
  StepParts parts = findParts(main, microOutputs);
  if (part == "both") {
    if (failed(putIntoRegion(main, parts, microBatches.getInt())))
      return failure();
  } else if (part == "accumulate") {
    keepMicroBatch(main, parts);
    dropPairs(main);
  } else if (part == "apply") {
    keepStep(main, parts);
    dropPairs(main);
    dropFunctions(getOperation(), main);
  } else {
    return main.emitError()
           << "part: expects both, accumulate or apply, but got "
           << quoted(part);
  }
  main->removeAttr(AMPDialect::kMicroBatches);
  main->removeAttr(AMPDialect::kMicroOutputs);
  return success();
}

} // namespace
} // namespace amp
