//===- VerifyPrecision.cpp - check that operations admit their types ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Analysis/FunctionFlow.h"
#include "amp/Analysis/RegionFlow.h"
#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Passes/Passes.h"

namespace amp {
#define GEN_PASS_DEF_VERIFYPRECISION
#include "amp/Passes/Autocast.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;

namespace {
class VerifyPrecisionPass final
    : public amp::impl::VerifyPrecisionBase<VerifyPrecisionPass> {
public:
  void runOnOperation() final {
    FunctionFlow functions(getOperation());
    bool valid = true;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto autocast = dyn_cast<AutocastOpInterface>(op))
        valid &= succeeded(verifyVariables(autocast));
      if (hasRegionFlow(op))
        valid &= succeeded(verifyRegions(op));
      if (auto call = dyn_cast<CallOpInterface>(op))
        valid &= succeeded(verifyCall(call, functions.getCallee(op)));
    });
    for (const auto &[op, function] : functions.getFunctions())
      for (Operation *terminator : function.returns)
        valid &= succeeded(
            verifyTypes(terminator, terminator->getOperandTypes(),
                        cast<FunctionOpInterface>(op).getResultTypes(),
                        "operand", "its function's result"));
    if (!valid)
      signalPassFailure();
  }

private:
  LogicalResult verifyVariables(AutocastOpInterface op);
  LogicalResult verifyRegions(Operation *op);
  LogicalResult verifyCall(CallOpInterface call, FunctionOpInterface callee);
  LogicalResult verifyTypes(Operation *op, TypeRange types, TypeRange expected,
                            StringRef what, StringRef whose);
};
} // namespace

LogicalResult VerifyPrecisionPass::verifyVariables(AutocastOpInterface op) {
  // What control flow joins may differ from value to value.
  bool mayDiffer = hasRegionFlow(op);
  SmallVector<FloatType, 4> variables;
  llvm::SmallDenseSet<std::pair<int, Type>> supported;
  auto verify = [&](Type type, int number, StringRef kind,
                    unsigned index) -> LogicalResult {
    FloatType elementType = getFloatElementType(type);
    if (!elementType || number < 0)
      return success();
    if (unsigned(number) >= variables.size())
      variables.resize(number + 1);
    FloatType &known = variables[number];
    if (known == elementType)
      return success();
    if (known && !mayDiffer)
      return op->emitOpError() << "has element types " << known << " and "
                               << elementType << " in type variable " << number;
    if (!supported.contains({number, elementType}) &&
        !op.supportsElementType(number, elementType))
      return op->emitOpError() << "does not admit element type " << elementType
                               << " for " << kind << " " << index;
    supported.insert({number, elementType});
    known = elementType;
    return success();
  };
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes()))
    if (failed(verify(type, op.getOperandTypeVariable(i), "operand", i)))
      return failure();
  for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
    if (failed(verify(type, op.getResultTypeVariable(i), "result", i)))
      return failure();
  return success();
}

LogicalResult VerifyPrecisionPass::verifyRegions(Operation *op) {
  RegionFlow flow(op);
  for (const RegionFlow::Group &group : flow.getGroups()) {
    for (OpOperand *source : group.sources) {
      FloatType got = getFloatElementType(source->get().getType());
      for (Value target : group.targets) {
        FloatType expected = getFloatElementType(target.getType());
        if (got != expected && got && expected)
          return source->getOwner()->emitOpError()
                 << "operand " << source->getOperandNumber()
                 << " has element type " << got
                 << ", but flows into a value of " << expected;
      }
    }
  }
  return success();
}

LogicalResult VerifyPrecisionPass::verifyTypes(Operation *op, TypeRange types,
                                               TypeRange expected,
                                               StringRef what,
                                               StringRef whose) {
  for (auto [i, type, expectedType] : llvm::enumerate(types, expected)) {
    FloatType got = getFloatElementType(type);
    FloatType wanted = getFloatElementType(expectedType);
    if (got != wanted && got && wanted)
      return op->emitOpError()
             << what << " " << i << " has element type " << got << ", but "
             << whose << " is of " << wanted;
  }
  return success();
}

LogicalResult VerifyPrecisionPass::verifyCall(CallOpInterface call,
                                              FunctionOpInterface callee) {
  if (!callee)
    return success();
  if (failed(verifyTypes(call, call.getArgOperands().getTypes(),
                         callee.getArgumentTypes(), "argument",
                         "its callee's")))
    return failure();
  return verifyTypes(call, call->getResultTypes(), callee.getResultTypes(),
                     "result", "its callee's");
}
