//===- PairGradients.cpp - onnx-pair-gradients ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientPairs.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Passes/Training.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_PAIRGRADIENTS
#include "amp/Passes/Training.h.inc"

namespace {

struct PairGradientsPass final : impl::PairGradientsBase<PairGradientsPass> {
  using Base::Base;

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.getBody().empty())
      return;
    Builder builder(&getContext());
    llvm::DenseMap<Operation *, Attribute> numbers;
    GradientPairs pairs(main.getBody().front());
    for (auto [gradient, forward] : pairs.get()) {
      Attribute &number = numbers[forward];
      if (!number) {
        number = builder.getI64IntegerAttr(int64_t(numbers.size()) - 1);
        forward->setDiscardableAttr(AMPDialect::kPair, number);
      }
      gradient->setDiscardableAttr(AMPDialect::kPair, number);
    }
  }
};

} // namespace
} // namespace amp
