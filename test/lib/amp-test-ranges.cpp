//===- amp-test-ranges.cpp - prints what is known of ONNX's values --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StaticRanges.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/AMP/ConstantData.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Interfaces/AutocastOpInterface.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace {
/// Prints `NAME [LOW, HIGH] KIND` for each result of an operation that has a
/// name in ONNX and bounds.
struct PrintStaticRanges
    : PassWrapper<PrintStaticRanges, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintStaticRanges)

  StringRef getArgument() const final { return "test-static-ranges"; }
  StringRef getDescription() const final { return "Print static ranges"; }

  void runOnOperation() final {
    amp::StaticRanges ranges(getOperation());
    getOperation().walk([&](amp::AutocastOpInterface op) {
      for (OpResult result : op->getResults()) {
        StringRef name = op.getAutocastResultName(result.getResultNumber());
        amp::Interval interval = ranges.get(result);
        if (!name.empty() && !interval.isTop())
          llvm::outs() << name << llvm::format(" [%.17g, ", interval.lo)
                       << llvm::format("%.17g] ", interval.hi)
                       << spell(interval.kind) << '\n';
      }
    });
  }

  static StringRef spell(amp::Interval::Kind kind) {
    switch (kind) {
    case amp::Interval::Kind::Bound:
      return "bound";
    case amp::Interval::Kind::Attained:
      return "attained";
    case amp::Interval::Kind::Constant:
      return "constant";
    }
    llvm_unreachable("unknown kind");
  }
};

/// Prints `NAME mean … variance … terms …` for each such result, by channel.
struct PrintMoments : PassWrapper<PrintMoments, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintMoments)

  StringRef getArgument() const final { return "test-moments"; }
  StringRef getDescription() const final { return "Print moments"; }

  void runOnOperation() final {
    getOperation().walk([&](amp::RangeOpInterface op) {
      auto autocast = cast<amp::AutocastOpInterface>(op.getOperation());
      std::optional<amp::Moments> found = op.inferMoments(
          [&](unsigned operand) -> const amp::Moments * {
            auto known = moments.find(op->getOperand(operand));
            return known == moments.end() ? nullptr : &known->second;
          },
          amp::readConstant);
      if (!found)
        return;
      llvm::outs() << autocast.getAutocastResultName(0);
      print(" mean", found->mean);
      print(" variance", found->variance);
      print(" terms", found->terms);
      llvm::outs() << '\n';
      moments[op->getResult(0)] = std::move(*found);
    });
  }

  static void print(StringRef name, ArrayRef<double> numbers) {
    llvm::outs() << name;
    for (double number : numbers)
      llvm::outs() << llvm::format(" %.4g", number);
  }

  PrintMoments() = default;
  PrintMoments(const PrintMoments &) : PassWrapper() {}

  DenseMap<Value, amp::Moments> moments;
};
} // namespace

int main(int argc, char **argv) {
  DialectRegistry registry;
  registry.insert<amp::AMPDialect, amp::onnx::ONNXDialect, func::FuncDialect>();
  PassRegistration<PrintStaticRanges>();
  PassRegistration<PrintMoments>();
  return asMainReturnCode(
      MlirOptMain(argc, argv, "What is known of ONNX's values\n", registry));
}
