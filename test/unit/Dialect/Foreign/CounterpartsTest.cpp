//===- CounterpartsTest.cpp - operators of MLIR's dialects in policies ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A new MLIR has new operations: these tests name those that a policy does not
// know yet, and those that it knows in vain.
//
//===----------------------------------------------------------------------===//

#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Passes/Embedding.h"
#include "amp/Policy/Policy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <map>
#include <set>

using namespace amp;
using namespace mlir;

namespace {

/// Operations without float operands, constants, and those that are for the
/// policy's author: the target's own, random numbers.
bool needsNoCategory(StringRef name) {
  static const std::set<StringRef> names = {
      // Integers, booleans and shapes.
      "tosa.add_shape", "tosa.apply_scale", "tosa.arithmetic_right_shift",
      "tosa.bitwise_and", "tosa.bitwise_not", "tosa.bitwise_or",
      "tosa.bitwise_xor", "tosa.clz", "tosa.concat_shape", "tosa.const_shape",
      "tosa.dim", "tosa.div_ceil_shape", "tosa.div_floor_shape",
      "tosa.exp2_shape", "tosa.intdiv", "tosa.log2_ceil_shape",
      "tosa.log2_floor_shape", "tosa.logical_and", "tosa.logical_left_shift",
      "tosa.logical_not", "tosa.logical_or", "tosa.logical_right_shift",
      "tosa.logical_xor", "tosa.max_shape", "tosa.min_shape", "tosa.mod_shape",
      "tosa.mul_shape", "tosa.reduce_all", "tosa.reduce_any", "tosa.rescale",
      "tosa.slice_shape", "tosa.sub_shape", "tosa.table", "arith.addi",
      "arith.addui_extended", "arith.andi", "arith.ceildivsi",
      "arith.ceildivui", "arith.cmpi", "arith.divsi", "arith.divui",
      "arith.extsi", "arith.extui", "arith.floordivsi", "arith.index_cast",
      "arith.index_castui", "arith.maxsi", "arith.maxui", "arith.minsi",
      "arith.minui", "arith.muli", "arith.mulsi_extended",
      "arith.mului_extended", "arith.ori", "arith.remsi", "arith.remui",
      "arith.shli", "arith.shrsi", "arith.shrui", "arith.subi", "arith.trunci",
      "arith.xori", "math.absi", "math.ctlz", "math.ctpop", "math.cttz",
      "math.ipowi", "linalg.div_unsigned",
      // Constants.
      "tosa.const", "arith.constant", "tensor.empty",
      // By kind, and by the target's name.
      "linalg.elementwise", "tosa.custom",
      // Scales of their own.
      "arith.scaling_extf", "arith.scaling_truncf",
      // Random numbers from float64 parameters.
      "linalg.fill_rng_2d"};
  if (names.count(name))
    return true;
  // Quantized.
  return name.starts_with("linalg.") &&
         (name.ends_with("_q") || name.ends_with("_unsigned") ||
          name.contains("quantized_"));
}

class CounterpartsTest : public testing::Test {
protected:
  CounterpartsTest() {
    DialectRegistry registry;
    registerForeignAutocastModels(registry);
    context.appendDialectRegistry(registry);
    context.loadDialect<arith::ArithDialect, linalg::LinalgDialect,
                        math::MathDialect, scf::SCFDialect,
                        tensor::TensorDialect, tosa::TosaDialect>();
    auto file = llvm::MemoryBuffer::getFile(AMP_COUNTERPARTS);
    if (!file)
      return;
    for (llvm::line_iterator line(**file, /*SkipBlanks=*/true, '#');
         !line.is_at_end(); ++line) {
      auto [counterpart, names] = line->split(": ");
      SmallVector<StringRef> list;
      names.split(list, ' ');
      for (StringRef name : list)
        counterparts.emplace_back(name.str(), counterpart.str());
    }
  }

  static Decision decide(const Policy &policy, StringRef spelling) {
    OperationDescription operation;
    if (spelling.contains(':'))
      std::tie(operation.domain, operation.name) = spelling.split(':');
    else
      operation.name = spelling;
    // The newest, for ONNX's.
    operation.version = spelling.contains(':') ? 0 : 1000;
    return policy.decide(operation);
  }

  MLIRContext context;
  std::vector<std::pair<std::string, std::string>> counterparts;
};

TEST_F(CounterpartsTest, EveryOperationWithAModelHasACategory) {
  Policy policy = llvm::cantFail(Policy::preset("inference"));
  unsigned count = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (!name.hasInterface<AutocastOpInterface>() ||
        needsNoCategory(name.getStringRef()))
      continue;
    ++count;
    std::string spelling =
        (name.getDialectNamespace() + ":" + name.stripDialect()).str();
    EXPECT_TRUE(decide(policy, spelling).isListed) << spelling;
  }
  EXPECT_GT(count, 150u);
}

TEST_F(CounterpartsTest, EveryNameIsOfAnOperationWithAModel) {
  ASSERT_GT(counterparts.size(), 150u);
  std::set<std::string> seen;
  for (const auto &[spelling, counterpart] : counterparts) {
    EXPECT_TRUE(seen.insert(spelling).second) << spelling << " is there twice";
    auto [dialect, name] = StringRef(spelling).split(':');
    if (dialect == "linalg" && linalg::symbolizeElementwiseKind(name))
      continue;
    OperationName operation((dialect + "." + name).str(), &context);
    EXPECT_TRUE(operation.isRegistered()) << spelling;
    EXPECT_TRUE(operation.hasInterface<AutocastOpInterface>()) << spelling;
    EXPECT_FALSE(needsNoCategory(operation.getStringRef())) << spelling;
  }
}

TEST_F(CounterpartsTest, EveryPresetSaysTheSameOfBoth) {
  for (const std::string &preset : Policy::presetNames()) {
    Policy policy = llvm::cantFail(Policy::preset(preset));
    for (const auto &[spelling, counterpart] : counterparts) {
      Decision theirs = decide(policy, spelling);
      Decision ours = decide(policy, counterpart);
      EXPECT_TRUE(ours.isListed) << preset << " " << counterpart;
      EXPECT_EQ(theirs.category, ours.category) << preset << " " << spelling;
      EXPECT_EQ(theirs.rule, ours.rule) << preset << " " << spelling;
    }
  }
}

TEST_F(CounterpartsTest, EveryElementwiseKindHasACategory) {
  Policy policy = llvm::cantFail(Policy::preset("inference"));
  for (unsigned i = 0, e = linalg::getMaxEnumValForElementwiseKind(); i <= e;
       ++i)
    if (auto kind = linalg::symbolizeElementwiseKind(i)) {
      StringRef name = linalg::stringifyElementwiseKind(*kind);
      EXPECT_TRUE(name.ends_with("unsigned") ||
                  decide(policy, ("linalg:" + name).str()).isListed)
          << name.str();
    }
}

} // namespace
