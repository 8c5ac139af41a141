//===- CostModelTest.cpp - how many bytes a program moves -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestDialect.h"

#include "amp/Analysis/CostModel.h"
#include "amp/Dialect/AMP/AMPDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace amp;
using namespace mlir;

namespace {
class CostModelTest : public ::testing::Test {
protected:
  CostModelTest() {
    context.loadDialect<AMPDialect, test::TDialect, arith::ArithDialect,
                        func::FuncDialect, scf::SCFDialect>();
  }

  /// The cost of a cast of each tensor of float32 of a module, in program
  /// order.
  std::vector<int64_t> costs(StringRef text, const CostOptions &options = {}) {
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(text, ParserConfig(&context));
    EXPECT_TRUE(module);
    FunctionFlow functions(*module);
    CostModel model(functions, options);
    std::vector<int64_t> result;
    auto add = [&](Value value) {
      if (auto type = dyn_cast<TensorType>(value.getType())) {
        result.push_back(model.getCastCost(value));
        EXPECT_EQ(model.getSaving(type, value.getParentBlock()) * 3,
                  result.back());
      }
    };
    module->walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (Value value : op->getResults())
        add(value);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Value value : block.getArguments())
            add(value);
    });
    return result;
  }

  MLIRContext context;
};
} // namespace

using Costs = std::vector<int64_t>;

TEST_F(CostModelTest, Elements) {
  EXPECT_EQ(costs("func.func private @f(tensor<2x3xf32>)"), Costs{});
  EXPECT_EQ(costs("func.func @f(%a: tensor<2x3xf32>, %b: tensor<f32>, "
                  "%c: tensor<0x5xf32>) { return }"),
            (Costs{36, 6, 6}));
}

TEST_F(CostModelTest, UnknownSizes) {
  CostOptions options;
  options.dimension = 10;
  options.elements = 7;
  EXPECT_EQ(costs("func.func @f(%a: tensor<2x?xf32>, %b: tensor<?x?xf32>, "
                  "%c: tensor<*xf32>) { return }",
                  options),
            (Costs{120, 600, 42}));
}

TEST_F(CostModelTest, SizesSaturate) {
  int64_t largest = int64_t(1) << 48;
  for (int64_t cost :
       costs("func.func @f(%a: tensor<9223372036854775807xf32>, %b: "
             "tensor<4294967296x4294967296x4294967296xf32>) { return }"))
    EXPECT_LE(cost, largest);
}

TEST_F(CostModelTest, Loops) {
  CostOptions options;
  options.iterations = 5;
  EXPECT_EQ(costs(R"(
    func.func @f(%a: tensor<f32>, %n: index, %c: i1) {
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      scf.for %i = %0 to %n step %1 {
        %b = arith.addf %a, %a : tensor<f32>
        scf.if %c {
          %d = arith.addf %a, %a : tensor<f32>
          scf.for %j = %0 to %n step %1 {
            %e = arith.addf %a, %a : tensor<f32>
          }
        }
      }
      return
    })",
                  options),
            (Costs{6, 30, 30, 150}));
}

// As many runs as there are slices.
TEST_F(CostModelTest, Slices) {
  EXPECT_EQ(costs(R"(
    func.func @f(%n: i1) {
      %0 = t.loop %n : (i1) -> tensor<20x3xf32> {
      ^bb0(%i: i1):
        %1 = t.opaque : () -> tensor<3xf32>
        t.yield %1 : tensor<3xf32>
      }
      %2 = t.loop %n : (i1) -> tensor<5xf32> {
      ^bb0(%i: i1):
        %3 = t.opaque : () -> tensor<5xf32>
        t.yield %3 : tensor<5xf32>
      }
      return
    })"),
            (Costs{360, 360, 30, 240}));
}

TEST_F(CostModelTest, Calls) {
  CostOptions options;
  options.iterations = 5;
  EXPECT_EQ(costs(R"(
    func.func @main(%a: tensor<f32>, %n: index) {
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      func.call @twice(%a) : (tensor<f32>) -> ()
      scf.for %i = %0 to %n step %1 {
        func.call @leaf(%a) : (tensor<f32>) -> ()
      }
      func.call @recursive(%a) : (tensor<f32>) -> ()
      return
    }
    func.func private @leaf(%a: tensor<f32>) { return }
    func.func private @twice(%a: tensor<f32>) {
      func.call @leaf(%a) : (tensor<f32>) -> ()
      func.call @leaf(%a) : (tensor<f32>) -> ()
      return
    }
    func.func private @never(%a: tensor<f32>) { return }
    func.func private @recursive(%a: tensor<f32>) {
      func.call @recursive(%a) : (tensor<f32>) -> ()
      return
    }
    func.func @public(%a: tensor<f32>) {
      func.call @public(%a) : (tensor<f32>) -> ()
      return
    })",
                  options),
            (Costs{6, 42, 6, 6, 6, 6}));
}

TEST_F(CostModelTest, MovedBytes) {
  auto count = [&](StringRef body) {
    std::string text = ("func.func @f(%a: tensor<2x3xf32>, %b: tensor<5xf16>, "
                        "%n: i1) {\n" +
                        body + "\nreturn }")
                           .str();
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(text, ParserConfig(&context));
    EXPECT_TRUE(module);
    MovedBytes moved = countMovedBytes(*module, {}, [](Operation *op) {
      StringRef name = op->getName().getStringRef();
      return name == "t.cast"     ? Movement::Casts
             : name == "t.argmax" ? Movement::None
                                  : Movement::Computes;
    });
    EXPECT_EQ(moved.total(), moved.operations + moved.casts);
    return std::pair(moved.operations, moved.casts);
  };
  using Pair = std::pair<int64_t, int64_t>;
  EXPECT_EQ(count(""), Pair(0, 0));
  EXPECT_EQ(count("%0 = t.relu %a : (tensor<2x3xf32>) -> tensor<2x3xf32>\n"
                  "%1 = t.relu %b : (tensor<5xf16>) -> tensor<5xf16>"),
            Pair(48 + 20, 0));
  EXPECT_EQ(count("%0 = amp.cast %a : tensor<2x3xf32> to tensor<2x3xf16>\n"
                  "%1 = t.cast %b : (tensor<5xf16>) -> tensor<5xf32>"),
            Pair(0, 36 + 30));
  EXPECT_EQ(count("%0 = t.argmax %a : (tensor<2x3xf32>) -> tensor<2xi64>"),
            Pair(0, 0));
  // Operands of a fixed type count for nobody; loops count as often as they
  // run.
  EXPECT_EQ(count("%0 = t.resize %b, %a : (tensor<5xf16>, tensor<2x3xf32>) -> "
                  "tensor<5xf16>"),
            Pair(20, 0));
  EXPECT_EQ(count(R"(%0 = t.loop %n : (i1) -> tensor<5xf16> {
                       ^bb0(%i: i1):
                         %1 = t.relu %b : (tensor<5xf16>) -> tensor<5xf16>
                         t.yield %1 : tensor<5xf16>
                       })"),
            Pair(8 * 20, 0));
  // A cast of a constant is none at run time.
  EXPECT_EQ(count("%0 = t.const dense<1.0> : tensor<4xf32>\n"
                  "%1 = amp.cast %0 : tensor<4xf32> to tensor<4xf16>"),
            Pair(0, 0));
}

TEST(CostOptions, Dimensions) {
  CostOptions options;
  EXPECT_EQ(llvm::toString(options.addDimension("N=4")), "");
  EXPECT_EQ(llvm::toString(options.addDimension("a=b=12")), "");
  EXPECT_EQ(options.dimensions.lookup("N"), 4);
  EXPECT_EQ(options.dimensions.lookup("a=b"), 12);
  for (StringRef text :
       {"", "N", "N=", "=4", "N=0", "N=-1", "N=4x", "N=99999999999999999999"})
    EXPECT_EQ(llvm::toString(options.addDimension(text)),
              "expects a dimension as NAME=SIZE with a size of 1 or more, but "
              "got '" +
                  text.str() + "'");
}
