//===- InlineFunctions.cpp - bodies of local functions --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Training/ExpandFunctions.h"
#include "../Training/InlineCall.h"
#include "../Training/TrainingState.h"

#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/TypeInference.h"
#include "amp/Passes/Executable.h"

namespace amp {
#define GEN_PASS_DEF_INLINEFUNCTIONS
#include "amp/Passes/Executable.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;

namespace {
struct InlineFunctions
    : public amp::impl::InlineFunctionsBase<InlineFunctions> {
  using Base::Base;

  void runOnOperation() final {
    func::FuncOp graph = findMainGraph(getOperation(), "compile");
    if (!graph || failed(inlineCalls(graph)))
      return signalPassFailure();
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (function != graph && function->hasAttr(onnx::ONNXDialect::kFunction))
        function.erase();
  }

private:
  LogicalResult inlineCalls(func::FuncOp graph);
};
} // namespace

LogicalResult InlineFunctions::inlineCalls(func::FuncOp graph) {
  // Functions of functions of functions.
  constexpr unsigned kMaxDepth = 64;
  size_t budget = 1'000'000;
  SymbolTable symbols(getOperation());
  for (unsigned depth = 0; depth < kMaxDepth; ++depth) {
    SmallVector<onnx::CallOp> calls;
    graph.walk([&](onnx::CallOp call) { calls.push_back(call); });
    if (calls.empty())
      return success();
    for (onnx::CallOp call : calls) {
      OpBuilder builder(call);
      onnx::NodeBuilder nodes(builder, call);
      FailureOr<SmallVector<Value>> values = inlineCall(call, symbols, budget);
      if (failed(values))
        return failure();
      replaceBy(call, *values, nodes);
    }
    if (failed(onnx::inferTypes(getOperation(), {/*shapes=*/true})))
      return failure();
  }
  return graph.emitError() << "calls functions that call others, more than "
                           << kMaxDepth << " deep";
}
