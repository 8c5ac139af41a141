//===- LowerOrt.cpp - onnx-lower-ort --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeadNodes.h"
#include "OrtNode.h"

#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quoted.h"

#include "mlir/Analysis/TopologicalSortUtils.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_LOWERORT
#include "amp/Passes/Training.h.inc"

namespace {

using onnx::CustomOp;

/// The rule for a node; null if there is none.
const OrtRule *findRule(CustomOp op) {
  static const llvm::StringMap<const OrtRule *> rules = [] {
    llvm::StringMap<const OrtRule *> all;
    for (ArrayRef<OrtRule> family :
         {getOrtForwardRules(), getOrtGradientRules(), getOrtOptimizerRules()})
      for (const OrtRule &rule : family)
        all[rule.op] = &rule;
    return all;
  }();
  StringRef domain = op.getDomainName();
  return domain.empty() || domain == "ai.onnx" || domain == "com.microsoft"
             ? rules.lookup(op.getOpType())
             : nullptr;
}

class LowerOrtPass final : public impl::LowerOrtBase<LowerOrtPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.getBody().empty())
      return;
    if (failed(lower(main)))
      signalPassFailure();
  }

private:
  LogicalResult lower(func::FuncOp main);
  LogicalResult rewrite(CustomOp op, Operation *forward,
                        onnx::NodeBuilder &nodes);
};

LogicalResult LowerOrtPass::rewrite(CustomOp op, Operation *forward,
                                    onnx::NodeBuilder &nodes) {
  nodes.getBuilder().setInsertionPoint(op);
  nodes.setLocation(op.getLoc());
  OrtNode node(op, forward, nodes);
  const OrtRule *rule = findRule(op);
  if (!rule)
    return node.fail("there is no rule for it here");
  return rule->rewrite(node);
}

/// Where another node reads a result of an operation, or null.
OpOperand *findUse(Operation *op) {
  for (OpOperand &use : op->getUses())
    if (!use.getOwner()->hasTrait<OpTrait::IsTerminator>())
      return &use;
  return nullptr;
}

LogicalResult LowerOrtPass::lower(func::FuncOp main) {
  Block &block = main.getBody().front();
  SmallVector<CustomOp> forward, gradients;
  WalkResult walk = getOperation().walk([&](CustomOp op) {
    bool isOurs = op.getDomainName() == "com.microsoft" || findRule(op);
    if (!isOurs)
      return WalkResult::advance();
    if (op->getBlock() != &block) {
      op.emitError() << onnx::describeNode(op)
                     << " is in a subgraph or function; operators of ONNX "
                        "Runtime are rewritten in the main graph only";
      return WalkResult::interrupt();
    }
    (isGradientOperator(op) ? gradients : forward).push_back(op);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  if (forward.empty() && gradients.empty())
    return success();
  OpBuilder builder(&getContext());
  onnx::NodeBuilder nodes(builder, main);
  if (nodes.getOpset() < onnx::NodeBuilder::kMinOpset)
    return main.emitError()
           << "expects opset " << onnx::NodeBuilder::kMinOpset
           << " or later of ai.onnx, but got " << nodes.getOpset();

  // What a gradient belongs to is an operation of ONNX's then.
  GradientPairs pairs(block);
  llvm::DenseMap<Operation *, Operation *> become;
  SmallVector<Operation *> done;
  for (CustomOp op : forward) {
    OpOperand *use = findUse(op);
    if (failed(rewrite(op, nullptr, nodes)))
      return failure();
    if (use)
      become[op] = use->get().getDefiningOp();
    done.push_back(op);
  }
  for (CustomOp op : gradients) {
    Operation *of = pairs.getForward(op);
    if (auto found = become.find(of); found != become.end())
      of = found->second;
    if (failed(rewrite(op, of, nodes)))
      return failure();
    done.push_back(op);
  }
  for (Operation *op : llvm::reverse(done)) {
    if (!op->use_empty())
      return op->emitError()
             << onnx::describeNode(op)
             << " has an output that ONNX's operators do not give";
    op->erase();
  }
  eraseDeadNodes(block);
  sortTopologically(&block);
  return success();
}

} // namespace
} // namespace amp
