//===- FuseKernels.cpp - loops become kernels -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuse/Groups.h"
#include "Fuse/Outline.h"
#include "Fuse/Prepare.h"

#include "amp/Passes/Codegen.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_FUSEKERNELS
#include "amp/Passes/Codegen.h.inc"

using namespace codegen;

namespace {

struct FuseKernels final : impl::FuseKernelsBase<FuseKernels> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable table(getOperation());
    for (auto function :
         llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      if (function.isExternal() || function->hasAttr(rt::AMPRTDialect::kKernel))
        continue;
      foldViews(function);
      shareLoops(function);
      SmallVector<Block *> blocks;
      function.walk([&](Block *block) {
        if (!isa<linalg::LinalgOp>(block->getParentOp()) &&
            !block->getOps<linalg::GenericOp>().empty())
          blocks.push_back(block);
      });
      for (Block *block : blocks)
        if (failed(fuse(*block, table)))
          return signalPassFailure();
      restoreViews(function);
      function.walk([](Block *block) { eraseDead(*block); });
    }
  }

private:
  /// Copies change what is best to be one kernel; more rounds change little.
  static constexpr unsigned kMostRounds = 4;

  LogicalResult fuse(Block &block, SymbolTable &table) {
    eraseDead(block);
    splitReductions(block);
    rootDimensions(block);
    eraseDead(block);
    std::optional<Sizes> sizes;
    std::optional<Groups> groups;
    for (unsigned round = 0; round < kMostRounds; ++round) {
      sizes.emplace(block);
      groups.emplace(block, *sizes);
      if (round == 0)
        numBytesBefore += groups->countBytes();
      groups->fuse();
      if (round + 1 == kMostRounds || !groups->copyCheap())
        break;
      eraseDead(block);
    }
    numBytes += groups->countBytes();
    groups->sortBlock();
    // Groups in the order of the block: their kernels are numbered by it.
    auto all = groups->get();
    llvm::sort(all, [](const auto &a, const auto &b) {
      return a.front()->isBeforeInBlock(b.front());
    });
    for (ArrayRef<linalg::GenericOp> group : all) {
      FailureOr<rt::LaunchOp> launch = outlineKernel(group, *sizes, table);
      if (failed(launch))
        return failure();
      auto kernel =
          table.lookup<func::FuncOp>((*launch).getFunctionAttr().getAttr());
      simplifyKernel(kernel);
      ++numKernels;
    }
    eraseDead(block);
    return success();
  }

  /// Loops that are equal become one, whatever nodes they come from.
  static void shareLoops(func::FuncOp function) {
    DenseMap<Operation *, Attribute> nodes;
    function.walk([&](linalg::GenericOp op) {
      if (Attribute node = op->removeAttr(rt::AMPRTDialect::kNode))
        nodes[op] = node;
    });
    IRRewriter rewriter(function.getContext());
    DominanceInfo dominance(function);
    eliminateCommonSubExpressions(rewriter, dominance, function);
    function.walk([&](linalg::GenericOp op) {
      if (Attribute node = nodes.lookup(op))
        op->setAttr(rt::AMPRTDialect::kNode, node);
    });
  }

  /// Nobody reads what loops were made for.
  static void eraseDead(Block &block) {
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(block.getOperations())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }
};

} // namespace

} // namespace amp
