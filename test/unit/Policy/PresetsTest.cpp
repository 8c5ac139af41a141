//===- PresetsTest.cpp - every operator has a category --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PolicyTesting.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"

#include "onnx/defs/schema.h"

#include "gtest/gtest.h"

using namespace amp;
using llvm::StringRef;

namespace {

/// Every schema of the linked ONNX, all versions.
std::vector<onnx::OpSchema> allSchemas() {
  return onnx::OpSchemaRegistry::get_all_schemas_with_history();
}

std::string spell(const onnx::OpSchema &schema) {
  return schema.domain().empty() ? schema.Name()
                                 : schema.domain() + ":" + schema.Name();
}

Policy preset(StringRef name) {
  auto policy = Policy::preset(name);
  if (policy)
    return std::move(*policy);
  ADD_FAILURE() << llvm::toString(policy.takeError());
  return parsed("{}");
}

TEST(PresetsTest, Names) {
  EXPECT_EQ(Policy::presetNames(),
            (std::vector<std::string>{"inference", "torch"}));
  for (const std::string &name : Policy::presetNames())
    EXPECT_EQ(preset(name).name(), name);
}

TEST(PresetsTest, EveryOperatorOfONNXHasACategory) {
  for (const std::string &name : Policy::presetNames()) {
    Policy policy = preset(name);
    for (const onnx::OpSchema &schema : allSchemas()) {
      std::string op = spell(schema);
      Decision decision = policy.decide(operation(op, schema.SinceVersion()));
      EXPECT_TRUE(decision.rule.contains(schema.Name() + " is "))
          << name << " has no reason for " << op << " " << schema.SinceVersion()
          << ": " << decision.rule.str();
    }
  }
}

TEST(PresetsTest, EveryOperatorOfONNXRuntimeHasACategory) {
  auto list = llvm::MemoryBuffer::getFile(AMP_CONTRIB_OPERATORS);
  ASSERT_TRUE(bool(list)) << list.getError().message();
  for (const std::string &name : Policy::presetNames()) {
    std::vector<std::string> operators = preset(name).operators();
    unsigned count = 0;
    for (llvm::line_iterator line(**list, /*SkipBlanks=*/true, '#');
         !line.is_at_end(); ++line, ++count)
      EXPECT_TRUE(llvm::is_contained(operators, "com.microsoft:" + line->str()))
          << name << " lacks com.microsoft:" << line->str();
    EXPECT_GT(count, 200u);
  }
}

/// A misspelt name in a preset's own list would make itself known.
TEST(PresetsTest, NamesAreONNXs) {
  llvm::StringSet<> names;
  for (const onnx::OpSchema &schema : allSchemas())
    names.insert(spell(schema));
  auto list = llvm::MemoryBuffer::getFile(AMP_CONTRIB_OPERATORS);
  ASSERT_TRUE(bool(list)) << list.getError().message();
  for (llvm::line_iterator line(**list, /*SkipBlanks=*/true, '#');
       !line.is_at_end(); ++line)
    names.insert(("com.microsoft:" + *line).str());
  for (const std::string &name : Policy::presetNames())
    for (const std::string &op : preset(name).operators())
      EXPECT_TRUE(names.contains(op)) << name << " names " << op;
}

/// Pinned positions are operands that may be floating point numbers, and the
/// same ones in all versions of the operator that one line speaks of.
TEST(PresetsTest, PinsAreOperandsOfTheirOwnType) {
  for (const std::string &name : Policy::presetNames()) {
    Policy policy = preset(name);
    for (const onnx::OpSchema &schema : allSchemas()) {
      Decision decision =
          policy.decide(operation(spell(schema), schema.SinceVersion()));
      for (unsigned position : decision.pinnedOperands) {
        SCOPED_TRACE(name + ": " + spell(schema) + "-" +
                     std::to_string(schema.SinceVersion()) + " operand " +
                     std::to_string(position));
        // Of an older version the position may not exist yet.
        if (position >= schema.inputs().size())
          continue;
        const onnx::OpSchema::FormalParameter &input =
            schema.inputs()[position];
        EXPECT_TRUE(llvm::any_of(input.GetTypes(), [](onnx::DataType type) {
          return *type == "tensor(float)";
        }));
        // The caches of TensorScatter have the type of the update: there the
        // pin is on all of them.
        if (position != 0)
          EXPECT_NE(input.GetTypeStr(), schema.inputs()[0].GetTypeStr());
      }
    }
  }
}

/// Flushed positions are operands of the operator.
TEST(PresetsTest, FlushedOperandsExist) {
  for (const std::string &name : Policy::presetNames()) {
    Policy policy = preset(name);
    for (const onnx::OpSchema &schema : allSchemas())
      for (unsigned position :
           policy.decide(operation(spell(schema), schema.SinceVersion()))
               .flushedOperands)
        EXPECT_LT(position, schema.inputs().size())
            << name << ": " << spell(schema) << "-" << schema.SinceVersion();
  }
}

struct Expected {
  const char *op;
  int64_t version;
  Category torch, inference;
};

TEST(PresetsTest, SomeCategories) {
  const Expected table[] = {
      {"MatMul", 13, Category::Allow, Category::Allow},
      {"Conv", 11, Category::Allow, Category::Allow},
      {"Attention", 23, Category::Allow, Category::Allow},
      {"Softmax", 13, Category::Deny, Category::Deny},
      {"LayerNormalization", 17, Category::Deny, Category::Deny},
      {"Add", 14, Category::Promote, Category::Promote},
      {"Relu", 14, Category::Follow, Category::Follow},
      {"Sin", 22, Category::Follow, Category::Deny},
      {"Resize", 18, Category::Deny, Category::Follow},
      {"PRelu", 16, Category::Allow, Category::Promote},
      {"Concat", 13, Category::Promote, Category::Clear},
      {"Gather", 13, Category::Clear, Category::Clear},
      {"Cast", 13, Category::Keep, Category::Keep},
      {"QuantizeLinear", 21, Category::Keep, Category::Keep},
      {"ai.onnx.ml:Scaler", 1, Category::Keep, Category::Keep},
      {"com.microsoft:FusedMatMul", 1, Category::Allow, Category::Allow},
      {"com.example:Custom", 1, Category::Keep, Category::Keep},
  };
  Policy torch = preset("torch"), inference = preset("inference");
  for (const Expected &entry : table) {
    EXPECT_EQ(category(torch, entry.op, entry.version), entry.torch)
        << entry.op;
    EXPECT_EQ(category(inference, entry.op, entry.version), entry.inference)
        << entry.op;
  }
}

TEST(PresetsTest, EmbeddingTablesOfInference) {
  Policy inference = preset("inference");
  EXPECT_EQ(category(inference, "Gather", 13, "", 1 << 20), Category::Allow);
  EXPECT_EQ(category(inference, "Gather", 13, "", 4), Category::Clear);
  EXPECT_EQ(category(inference, "Gather", 13), Category::Clear);
  Policy torch = preset("torch");
  EXPECT_EQ(category(torch, "Gather", 13, "", 1 << 20), Category::Clear);
}

TEST(PresetsTest, ConstantsOfInference) {
  Policy inference = preset("inference");
  Decision matmul = inference.decide(operation("MatMul"));
  EXPECT_EQ(matmul.outOfRange, OutOfRange::KeepFloat32);
  EXPECT_EQ(matmul.underflow, Underflow::KeepFloat32);
  Decision where = inference.decide(operation("Where"));
  EXPECT_EQ(where.outOfRange, OutOfRange::Saturate);
  EXPECT_EQ(where.category, Category::Promote);
  EXPECT_EQ(inference.decide(operation("Conv")).flushedOperands.front(), 2u);
  // An epsilon must not vanish, biases may.
  OperationDescription add = operation("Add");
  auto second = [](unsigned position) { return position == 1; };
  add.isConstantOperand = second;
  uint64_t elements = 1;
  auto count = [&](unsigned) { return std::optional<uint64_t>(elements); };
  add.operandElements = count;
  EXPECT_EQ(inference.decide(add).underflow, Underflow::KeepFloat32);
  elements = 64;
  EXPECT_EQ(inference.decide(add).underflow, Underflow::Flush);
}

} // namespace
