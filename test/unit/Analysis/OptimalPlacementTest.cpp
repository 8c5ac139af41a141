//===- OptimalPlacementTest.cpp - no other choice moves less bytes --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every choice of formats that obeys the policy is carried out by
// amp-insert-casts on a copy of the program, whose operations and casts are
// then counted. What the analysis chose must be the cheapest of them. Which
// choices there are is found here, from what the test dialect's operations are.
//
//===----------------------------------------------------------------------===//

#include "PlacementRules.h"
#include "RandomProgram.h"
#include "TestDialect.h"

#include "amp/Analysis/PrecisionAnalysis.h"
#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace amp;

using Variable = PlacementProblem::Variable;
using Use = PlacementProblem::Use;
static constexpr Variable kLow = PlacementProblem::kLow;
static constexpr Variable kFloat32 = PlacementProblem::kFloat32;

static constexpr StringLiteral kPolicy = R"(
low: fp16
categories:
  allow: ["t:matmul"]
  deny: ["t:softmax"]
  promote: ["t:add"]
  follow: ["t:relu", "t:batch_norm", "t:rms_norm", "t:resize"]
  clear: ["t:transpose", "t:argmax"]
  keep: ["t:cast"]
no_pull: ["t:argmax"]
rules:
  - nodes: pinned
    pin: [0]
)";
/// CostOptions' default.
static constexpr int64_t kIterations = 8;

//===----------------------------------------------------------------------===//
// What can be chosen
//===----------------------------------------------------------------------===//

/// The type variable of an operand, -1 if it has none.
static int operandVariable(Operation *op, unsigned operand) {
  if (isa<test::OpaqueOp>(op))
    return -1;
  if (isa<test::BatchNormOp, test::RMSNormOp>(op))
    return int(operand);
  if (isa<test::ResizeOp>(op))
    return operand == 0 ? 0 : -1;
  return 0;
}

static int resultVariable(Operation *op) {
  if (isa<test::OpaqueOp, test::CastOp>(op))
    return -1;
  return isa<test::RMSNormOp>(op) ? 1 : 0;
}

static bool isFloat32(Value value) {
  FloatType elementType = getFloatElementType(value.getType());
  return elementType && elementType.isF32();
}

/// An operation that has a category.
static bool isPlain(Operation *op) {
  return isa<test::TDialect>(op->getDialect()) &&
         !isa<test::ConstOp, test::IfOp, test::LoopOp, test::YieldOp,
              test::OpaqueOp>(op);
}

static bool isPrivate(func::FuncOp function) { return function.isPrivate(); }

namespace {
/// The variables of a program, by the rules alone.
class Choices {
public:
  Choices(ModuleOp module, bool keepIOTypes) : keepIOTypes(keepIOTypes) {
    module.walk([&](func::CallOp call) {
      calls[module.lookupSymbol<func::FuncOp>(call.getCallee())].push_back(
          call);
    });
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      findConstants(op);
      addVariables(op);
      addGroups(op);
    });
    module.walk([&](Operation *op) {
      for (Value value : op->getResults())
        addValue(value);
      for (Region &region : op->getRegions())
        for (Value argument : region.getArguments())
          addValue(argument);
    });
  }

  PlacementGraph graph;

  /// Of the type variables of an operation, of operands and values that control
  /// flow connects, of the results of functions.
  DenseMap<std::pair<Operation *, unsigned>, Variable> typeVariables;
  DenseMap<OpOperand *, Variable> sources;
  DenseMap<Value, Variable> targets;
  DenseMap<std::pair<Operation *, unsigned>, Variable> functionResults;

private:
  void findConstants(Operation *op) {
    if (auto constant = dyn_cast<test::ConstOp>(op)) {
      auto value = cast<DenseElementsAttr>(constant.getValue());
      float number = value.getSplatValue<APFloat>().convertToFloat();
      constants[constant.getOutput()] = number == 1;
      if (number < 1e-8f)
        tiny.insert(constant.getOutput());
    } else if (isa<test::TransposeOp>(op) &&
               constants.contains(op->getOperand(0))) {
      constants[op->getResult(0)] = constants[op->getOperand(0)];
      if (tiny.contains(op->getOperand(0)))
        tiny.insert(op->getResult(0));
    }
  }

  Variable newVariable() { return graph.numVariables++; }

  void addVariables(Operation *op) {
    if (!isPlain(op))
      return;
    bool isAllowed = isa<test::MatMulOp>(op);
    bool isFixed = isa<test::SoftmaxOp, test::CastOp>(op);
    bool isPinned = op->hasAttr("node_name");
    // A constant that does not fit keeps all of the operation.
    bool allFit = true;
    for (OpOperand &operand : op->getOpOperands()) {
      unsigned index = operand.getOperandNumber();
      auto constant = constants.find(operand.get());
      if (operandVariable(op, index) >= 0 && constant != constants.end() &&
          !(isPinned && index == 0))
        allFit &= constant->second || isa<test::TransposeOp>(op);
    }
    // What has met a tiny constant is not rounded by whoever reads it.
    SmallVector<bool, 3> isGuarded(3);
    bool meetsTiny = false, movesGuarded = false;
    for (OpOperand &operand : op->getOpOperands()) {
      int number = operandVariable(op, operand.getOperandNumber());
      meetsTiny |= number >= 0 && tiny.contains(operand.get());
      if (guarded.contains(operand.get()) && !isAllowed) {
        movesGuarded = true;
        if (number >= 0)
          isGuarded[number] = true;
      }
    }
    bool isClear = isa<test::TransposeOp, test::ArgMaxOp>(op);
    if (!isAllowed && (isClear ? movesGuarded : meetsTiny) &&
        resultVariable(op) >= 0)
      guarded.insert(op->getResult(0));
    PlacementGraph::Operation entry = {{}, false};
    std::optional<unsigned> main;
    for (int number = 0; number < 3; ++number) {
      bool isUsed = false, moves = true, hasData = false;
      for (OpOperand &operand : op->getOpOperands()) {
        if (operandVariable(op, operand.getOperandNumber()) != number)
          continue;
        isUsed = true;
        moves &= isFloat32(operand.get());
        hasData |= !constants.contains(operand.get());
      }
      if (!isUsed)
        continue;
      Variable variable = kFloat32;
      entry.touchesLow |= !moves;
      if (moves && !main)
        main = number;
      if (!moves || isFixed || !allFit || isGuarded[number] ||
          (isPinned && number == 0))
        ;
      else if (isAllowed)
        variable = kLow;
      else if (hasData || isa<test::TransposeOp>(op))
        entry.variables.push_back(variable = newVariable());
      else if (resultVariable(op) == number && number != int(*main))
        variable = typeVariables.lookup({op, *main});
      typeVariables[{op, number}] = variable;
    }
    graph.operations.push_back(entry);
  }

  void addGroup(ArrayRef<OpOperand *> operands, ArrayRef<Value> values,
                Operation *function = nullptr, unsigned result = 0) {
    if (operands.empty())
      return;
    bool hasConstant = false, allFit = true;
    for (OpOperand *operand : operands) {
      auto constant = constants.find(operand->get());
      if (constant == constants.end())
        continue;
      hasConstant = true;
      allFit &= constant->second;
    }
    Variable variable = kFloat32;
    if (allFit)
      graph.operations.push_back({{variable = newVariable()}, false});
    if (hasConstant) // counts as float32, and is cast for nothing
      graph.values.push_back({kFloat32, false, {{variable, Use::Flows}}});
    for (OpOperand *operand : operands)
      sources[operand] = variable;
    for (Value value : values)
      targets[value] = variable;
    if (function)
      functionResults[{function, result}] = variable;
  }

  void addGroups(Operation *op) {
    if (auto branches = dyn_cast<test::IfOp>(op)) {
      for (OpResult result : op->getResults()) {
        SmallVector<OpOperand *> operands;
        for (Region &region : op->getRegions()) {
          // Constants inside are known only when they were seen.
          region.walk([&](Operation *inner) { findConstants(inner); });
          operands.push_back(&region.front().getTerminator()->getOpOperand(
              result.getResultNumber()));
        }
        addGroup(operands, {result});
      }
    } else if (auto loop = dyn_cast<test::LoopOp>(op)) {
      loop.getBody().walk([&](Operation *inner) { findConstants(inner); });
      Operation *yield = loop.getBody().front().getTerminator();
      for (OpResult result : op->getResults()) {
        unsigned i = result.getResultNumber();
        SmallVector<OpOperand *> operands = {&yield->getOpOperand(i)};
        SmallVector<Value> values = {result};
        if (i < loop.getInitial().size()) {
          operands.push_back(&op->getOpOperand(1 + i));
          values.push_back(loop.getBody().getArgument(1 + i));
        }
        addGroup(operands, values);
      }
    } else if (auto function = dyn_cast<func::FuncOp>(op);
               function && isPrivate(function)) {
      function.walk([&](Operation *inner) { findConstants(inner); });
      for (BlockArgument argument : function.getArguments()) {
        SmallVector<OpOperand *> operands;
        for (func::CallOp call : calls[function]) {
          call->getParentOfType<func::FuncOp>().walk(
              [&](Operation *inner) { findConstants(inner); });
          operands.push_back(&call->getOpOperand(argument.getArgNumber()));
        }
        if (isFloat32(argument))
          addGroup(operands, {argument});
      }
      Operation *terminator = function.front().getTerminator();
      for (unsigned i = 0; i < terminator->getNumOperands(); ++i) {
        SmallVector<Value> values;
        for (func::CallOp call : calls[function])
          values.push_back(call.getResult(i));
        addGroup({&terminator->getOpOperand(i)}, values, function, i);
      }
    }
  }

  Variable interface() const { return keepIOTypes ? kFloat32 : kLow; }

  Variable producerOf(Value value) const {
    auto target = targets.find(value);
    if (target != targets.end())
      return target->second;
    Operation *op = value.getDefiningOp();
    if (!op) // of a public function, or a private one that nobody calls
      return isPrivate(
                 cast<func::FuncOp>(value.getParentBlock()->getParentOp()))
                 ? kFloat32
                 : interface();
    if (isa<func::CallOp>(op))
      return interface();
    int number = isPlain(op) ? resultVariable(op) : -1;
    return number < 0 ? kFloat32 : typeVariables.lookup({op, number});
  }

  Variable userOf(OpOperand &operand) const {
    auto source = sources.find(&operand);
    if (source != sources.end())
      return source->second;
    Operation *op = operand.getOwner();
    if (isa<func::CallOp, func::ReturnOp>(op))
      return interface();
    int number =
        isPlain(op) ? operandVariable(op, operand.getOperandNumber()) : -1;
    return number < 0 ? kFloat32 : typeVariables.lookup({op, number});
  }

  void addValue(Value value) {
    if (!isFloat32(value) ||
        isa_and_present<test::ConstOp>(value.getDefiningOp()))
      return;
    bool isMoved = constants.contains(value);
    PlacementGraph::Value entry = {producerOf(value), isMoved, {}};
    for (OpOperand &operand : value.getUses()) {
      Use use = Use::Reads;
      if (isa<test::AddOp, test::ArgMaxOp>(operand.getOwner()))
        use = Use::Joins;
      else if (sources.contains(&operand))
        use = Use::Flows;
      entry.users.push_back({userOf(operand), isMoved ? Use::Reads : use});
    }
    graph.values.push_back(entry);
  }

  bool keepIOTypes;
  /// Constants, and what transposes them, and whether float16 can hold them.
  DenseSet<Value> tiny, guarded;
  DenseMap<Value, bool> constants;
  DenseMap<Operation *, SmallVector<func::CallOp>> calls;
};
} // namespace

//===----------------------------------------------------------------------===//
// What it costs
//===----------------------------------------------------------------------===//

/// How often an operation runs.
static int64_t countRuns(Operation *op) {
  int64_t runs = 1;
  Operation *parent = op->getParentOp();
  for (; !isa<func::FuncOp>(parent); parent = parent->getParentOp())
    if (isa<test::LoopOp>(parent))
      runs *= kIterations;
  auto function = cast<func::FuncOp>(parent);
  int64_t calls = !isPrivate(function);
  function->getParentOfType<ModuleOp>().walk([&](func::CallOp call) {
    if (call.getCallee() == function.getName())
      calls += countRuns(call);
  });
  return runs * std::max<int64_t>(calls, 1);
}

/// The bytes of all floats.
static int64_t countBytes(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    if (FloatType elementType = getFloatElementType(value.getType()))
      bytes += cast<RankedTensorType>(value.getType()).getNumElements() *
               elementType.getWidth() / 8;
  return bytes;
}

static int64_t countTraffic(ModuleOp module) {
  int64_t traffic = 0;
  module.walk([&](Operation *op) {
    // What is no reason to round saves nothing.
    if ((isPlain(op) && !isa<test::ArgMaxOp>(op)) || isa<amp::CastOp>(op))
      traffic += countRuns(op) *
                 (countBytes(op->getOperands()) + countBytes(op->getResults()));
  });
  return traffic;
}

//===----------------------------------------------------------------------===//
// Carrying a choice out
//===----------------------------------------------------------------------===//

namespace {
class OptimalPlacementTest : public ::testing::Test {
protected:
  OptimalPlacementTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<AMPDialect, test::TDialect, func::FuncDialect>();
    f16 = Float16Type::get(&context);
    manager.emplace(&context);
    manager->enableVerifier(false);
    manager->addPass(createInsertCasts());
  }

  /// `unit` or float16 for each variable of `count` numbers.
  ArrayAttr toAttribute(unsigned count,
                        llvm::function_ref<bool(unsigned)> isLow) {
    SmallVector<Attribute> entries;
    for (unsigned i = 0; i < count; ++i)
      entries.push_back(isLow(i) ? Attribute(TypeAttr::get(f16))
                                 : UnitAttr::get(&context));
    return ArrayAttr::get(&context, entries);
  }

  void annotate(ModuleOp module, const Choices &choices, const Formats &isLow,
                bool keepIOTypes) {
    auto isLowValue = [&](Value value) {
      auto target = choices.targets.find(value);
      return target != choices.targets.end() && isLow[target->second];
    };
    module.walk([&](Operation *op) {
      op->removeAttr(AMPDialect::kPrecision);
      if (isPlain(op)) {
        op->setAttr(AMPDialect::kPrecision, toAttribute(3, [&](unsigned i) {
                      auto found = choices.typeVariables.find({op, i});
                      return found != choices.typeVariables.end() &&
                             isLow[found->second];
                    }));
        return;
      }
      auto function = dyn_cast<func::FuncOp>(op);
      if (!function && op->getNumRegions() == 0)
        return;
      bool isRetyped = function && !isPrivate(function) && !keepIOTypes;
      SmallVector<Attribute> arguments;
      for (Region &region : op->getRegions())
        arguments.push_back(
            toAttribute(region.getNumArguments(), [&](unsigned i) {
              Value argument = region.getArgument(i);
              return isRetyped ? isFloat32(argument) : isLowValue(argument);
            }));
      op->setAttr(AMPDialect::kArgumentTypes,
                  ArrayAttr::get(&context, arguments));
      op->setAttr(
          AMPDialect::kResultTypes,
          toAttribute(function ? function.getNumResults() : op->getNumResults(),
                      [&](unsigned i) {
                        if (!function)
                          return isLowValue(op->getResult(i));
                        auto found = choices.functionResults.find({op, i});
                        return isRetyped ||
                               (found != choices.functionResults.end() &&
                                isLow[found->second]);
                      }));
    });
  }

  /// The bytes that a program moves with these formats.
  int64_t costOf(ModuleOp module, const Choices &choices, const Formats &isLow,
                 bool keepIOTypes) {
    annotate(module, choices, isLow, keepIOTypes);
    OwningOpRef<ModuleOp> copy = module.clone();
    EXPECT_TRUE(succeeded(manager->run(*copy)));
    EXPECT_TRUE(succeeded(verify(*copy)));
    return countTraffic(*copy);
  }

  /// The analysis' choice.
  Formats choose(ModuleOp module, const Choices &choices, bool keepIOTypes) {
    llvm::Expected<Policy> policy =
        Policy::parse(llvm::MemoryBufferRef(kPolicy, "policy"));
    EXPECT_TRUE(bool(policy));
    PrecisionOptions options;
    options.keepIOTypes = keepIOTypes;
    options.placement = Placement::Optimal;
    FailureOr<PrecisionAnalysis> analysis =
        PrecisionAnalysis::compute(module, *policy, options);
    EXPECT_TRUE(succeeded(analysis));
    Formats isLow(choices.graph.numVariables);
    isLow[kLow] = true;
    for (const PrecisionDecision &decision : analysis->getDecisions())
      for (auto [number, type] : llvm::enumerate(decision.elementTypes)) {
        auto found = choices.typeVariables.find({decision.operation, number});
        if (found == choices.typeVariables.end())
          continue;
        if (found->second > kFloat32)
          isLow[found->second] = bool(type);
        else
          EXPECT_EQ(bool(type), found->second == kLow);
      }
    for (auto [value, variable] : choices.targets)
      if (variable > kFloat32)
        isLow[variable] = bool(analysis->getNewElementType(value));
    for (auto [key, variable] : choices.functionResults)
      if (variable > kFloat32)
        isLow[variable] = bool(analysis->getNewResultElementType(
            cast<FunctionOpInterface>(key.first), key.second));
    return isLow;
  }

  MLIRContext context;
  FloatType f16;
  std::optional<PassManager> manager;
};
} // namespace

TEST_F(OptimalPlacementTest, NoChoiceIsCheaper) {
  std::mt19937 random(1);
  unsigned numPrograms = 0;
  size_t numFree = 0;
  for (unsigned i = 0; i < 3000; ++i) {
    std::string text = generateProgram(random, 2 + random() % 9);
    bool keepIOTypes = random() % 4;
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(text, ParserConfig(&context));
    ASSERT_TRUE(module) << text;
    Choices choices(*module, keepIOTypes);
    Formats expected = findCheapest(
        choices.graph,
        [&](const Formats &isLow) {
          return costOf(*module, choices, isLow, keepIOTypes);
        },
        /*maxFree=*/7);
    if (expected.empty())
      continue; // too many
    ASSERT_EQ(choose(*module, choices, keepIOTypes), expected) << i << "\n"
                                                               << text;
    ++numPrograms;
    numFree += findFreeVariables(choices.graph).size();
  }
  EXPECT_GT(numPrograms, 1500u);
  EXPECT_GT(numFree, 2 * numPrograms);
}
