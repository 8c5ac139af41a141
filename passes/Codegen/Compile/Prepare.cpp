//===- Prepare.cpp - brings a kernel's body to one form -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <map>

using namespace mlir;

/// Constants first, in an order of their own: bodies are equal whatever theirs
/// was.
static void sortConstants(func::FuncOp func) {
  Block &block = func.getBody().front();
  std::map<std::string, Operation *> constants;
  for (auto constant : block.getOps<arith::ConstantOp>()) {
    std::string text;
    llvm::raw_string_ostream(text) << constant.getValue();
    constants[text] = constant;
  }
  for (auto &[text, constant] : llvm::reverse(constants))
    constant->moveBefore(&block, block.begin());
}

void amp::codegen::prepareKernel(func::FuncOp func) {
  MLIRContext *context = func.getContext();
  IRRewriter rewriter(context);
  func.walk([&](linalg::LinalgOp op) {
    if (isa<linalg::GenericOp>(op))
      return;
    rewriter.setInsertionPoint(op);
    (void)linalg::generalizeNamedOp(rewriter, op);
  });
  RewritePatternSet patterns(context);
  linalg::populateFoldReshapeOpsByExpansionPatterns(
      patterns, [](OpOperand *operand) {
        // Arguments' reshapes are only another way to count.
        Operation *producer = operand->get().getDefiningOp();
        return isa<linalg::GenericOp>(operand->getOwner()) ||
               isa<linalg::GenericOp>(producer);
      });
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::DimOp::getCanonicalizationPatterns(patterns, context);
  tensor::CastOp::getCanonicalizationPatterns(patterns, context);
  (void)applyPatternsGreedily(func, std::move(patterns));
  DominanceInfo dominance(func);
  eliminateCommonSubExpressions(rewriter, dominance, func);
  sortConstants(func);
}
