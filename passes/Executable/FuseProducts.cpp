//===- FuseProducts.cpp - products and what is around them ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuseProducts/Product.h"

#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Passes/Executable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_FUSEPRODUCTS
#include "amp/Passes/Executable.h.inc"

namespace {

struct FuseProducts final : impl::FuseProductsBase<FuseProducts> {
  using Base::Base;

  void runOnOperation() override {
    for (auto graph : getOperation().getOps<func::FuncOp>())
      if (!graph.isExternal())
        fuse(graph);
  }

private:
  template <typename... Ops>
  static SmallVector<Operation *> collect(func::FuncOp graph) {
    SmallVector<Operation *> found;
    graph.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<Ops...>(op) && !op->use_empty())
        found.push_back(op);
    });
    return found;
  }

  void fuse(func::FuncOp graph) {
    if (collect<onnx::ConvOp, onnx::ConvTransposeOp, onnx::EinsumOp,
                onnx::GemmOp, onnx::MatMulOp>(graph)
            .empty())
      return;
    Nodes nodes(graph, roundEachNode);
    for (Operation *op : collect<onnx::EinsumOp>(graph))
      numEinsums += expandEinsum(nodes, op);
    auto products = collect<onnx::ConvOp, onnx::ConvTransposeOp, onnx::GemmOp,
                            onnx::MatMulOp>(graph);
    // Attention first: its products are none by themselves.
    for (Operation *op : collect<onnx::SoftmaxOp>(graph))
      numAttentions += !op->use_empty() && fuseAttention(nodes, op);
    for (Operation *op : products)
      numGradients += !op->use_empty() && fuseWeightGradient(nodes, op);
    for (Operation *op : products) {
      if (op->use_empty())
        continue;
      std::optional<Product> product = Product::get(nodes, op);
      if (!product)
        continue;
      product->grow();
      if (!product->hasGrown())
        continue;
      product->build();
      ++numProducts;
    }
  }
};

} // namespace

} // namespace amp
