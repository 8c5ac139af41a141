//===- ONNXToLinalg.cpp - nodes that become loops -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ONNXToLinalg/Node.h"

#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Passes/Executable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_ONNXTOLINALG
#include "amp/Passes/Executable.h.inc"

namespace {

/// The rule of an operation, in the table of its family.
struct Rule {
  const LinalgRule *any = nullptr;
  const ElementwiseRule *elementwise = nullptr;

  LogicalResult build(Node &node) const {
    return any ? any->build(node) : buildElementwise(node, *elementwise);
  }
};

/// The rules of all families by the name of the operation.
const llvm::StringMap<Rule> &getRules() {
  static const llvm::StringMap<Rule> rules = [] {
    llvm::StringMap<Rule> all;
    auto at = [&](StringRef op) -> Rule & {
      const onnx::OperatorInfo *info = onnx::lookupOperator(/*domain=*/"", op);
      return all[info ? StringRef(info->operationName) : ""];
    };
    for (ArrayRef<ElementwiseRule> family :
         {getActivationRules(), getElementwiseRules()})
      for (const ElementwiseRule &rule : family)
        at(rule.op).elementwise = &rule;
    for (ArrayRef<LinalgRule> family :
         {getIndexingRules(), getLossRules(), getMovementRules(),
          getNormalizationRules(), getReductionRules()})
      for (const LinalgRule &rule : family)
        at(rule.op).any = &rule;
    return all;
  }();
  return rules;
}

} // namespace

bool hasRule(StringRef operation) { return getRules().contains(operation); }

namespace {

/// At most so many integers are computed of so many: lists of dimensions and
/// positions, which the library computes as fast as any loop.
bool isOfFewIntegers(Operation *op, int64_t most) {
  auto isShort = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() &&
           tensor.getNumElements() <= most &&
           tensor.getElementType().isIntOrIndex();
  };
  return llvm::all_of(op->getOperandTypes(), isShort) &&
         llvm::all_of(op->getResultTypes(), isShort);
}

struct ONNXToLinalg final : impl::ONNXToLinalgBase<ONNXToLinalg> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> nodes;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (getRules().contains(op->getName().getStringRef()) &&
          !isOfFewIntegers(op, fewIntegers))
        nodes.push_back(op);
    });
    Dimensions dimensions;
    for (Operation *op : nodes) {
      Node node(op, dimensions);
      if (failed(getRules().lookup(op->getName().getStringRef()).build(node)))
        continue;
      replace(op, node);
      ++numNodes;
    }
    foldMovement(getOperation());
  }

private:
  /// What reads an output that is said less of in its type reads that type.
  static void replace(Operation *op, const Node &node) {
    for (auto [output, value] : node.getReplacements()) {
      Value made = value;
      bool isTyped = llvm::any_of(output.getUsers(), [](Operation *user) {
        return !isa<onnx::ONNXDialect, linalg::LinalgDialect>(
                   user->getDialect()) ||
               user->hasTrait<OpTrait::IsTerminator>();
      });
      if (made.getType() != output.getType() && isTyped) {
        OpBuilder builder(op);
        made = tensor::CastOp::create(builder, op->getLoc(), output.getType(),
                                      value);
      }
      output.replaceAllUsesWith(made);
    }
    op->erase();
  }
};

} // namespace

} // namespace amp
