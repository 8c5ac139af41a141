//===- PresetsTest.cpp - every operator has a category --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PolicyTesting.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"

#include "onnx/defs/schema.h"

#include "gtest/gtest.h"

#include <map>

using namespace amp;
using llvm::StringRef;
using llvm::json::Object;

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
            (std::vector<std::string>{
                "accuracy", "apex-O1", "apex-O2", "apex-O3", "inference",
                "modelopt", "onnxconverter-common", "ort-transformers",
                "performance", "tensorflow", "tf32", "tf32-conv", "torch",
                "torch-cpu", "training"}));
  for (const std::string &name : Policy::presetNames())
    EXPECT_EQ(preset(name).name(), name);
}

TEST(PresetsTest, EveryOperatorOfONNXHasACategory) {
  for (const std::string &name : Policy::presetNames()) {
    Policy policy = preset(name);
    for (const onnx::OpSchema &schema : allSchemas()) {
      std::string op = spell(schema);
      Decision decision = policy.decide(operation(op, schema.SinceVersion()));
      // "policy 'torch' line 53: Exp is deny: steep or …", with or without
      // versions.
      StringRef said = decision.rule.split(": ").second;
      StringRef why = said.split(": ").second;
      EXPECT_TRUE(
          (said.starts_with(op + " is ") || said.starts_with(op + "@")) &&
          !why.empty())
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

//===----------------------------------------------------------------------===//
// The lists of other systems
//===----------------------------------------------------------------------===//

/// Their lists, with versions and sources, in terms of ONNX: `operators` are
/// ONNX's names for what `theirs` are (none if ONNX has no operator for it),
/// `others` is the category of all ONNX operators that no list names, and
/// `differences` are where a preset means to differ, and why.
class PeersTest : public testing::Test {
protected:
  void SetUp() override {
    auto file = llvm::MemoryBuffer::getFile(AMP_PEERS);
    ASSERT_TRUE(bool(file)) << file.getError().message();
    auto value = llvm::json::parse((*file)->getBuffer());
    ASSERT_TRUE(bool(value)) << llvm::toString(value.takeError());
    peers = std::move(*value->getAsObject());
    for (const onnx::OpSchema &schema : allSchemas()) {
      int64_t &version = latest[spell(schema)];
      version = std::max<int64_t>(version, schema.SinceVersion());
    }
    // Of com.microsoft the linked ONNX has no schemas.
    auto list = llvm::MemoryBuffer::getFile(AMP_CONTRIB_OPERATORS);
    ASSERT_TRUE(bool(list)) << list.getError().message();
    for (llvm::line_iterator line(**list, /*SkipBlanks=*/true, '#');
         !line.is_at_end(); ++line)
      contrib["com.microsoft:" + line->str()] = 1;
  }

  int64_t versionOf(const std::string &op) {
    for (auto *versions : {&latest, &contrib})
      if (auto found = versions->find(op); found != versions->end())
        return found->second;
    ADD_FAILURE() << "no operator " << op;
    return 1;
  }

  /// Their category of each operator that they have one for.
  std::map<std::string, std::string> theirCategories(const Object &peer) {
    std::map<std::string, std::string> categories;
    auto add = [&](const std::string &op, StringRef category) {
      versionOf(op);
      auto [entry, isNew] = categories.insert({op, category.str()});
      EXPECT_TRUE(isNew || entry->second == category) << op << " is in two";
    };
    for (const auto &[category, groups] : *peer.getObject("lists"))
      for (const llvm::json::Value &value : *groups.getAsArray()) {
        const Object &group = *value.getAsObject();
        EXPECT_FALSE(group.getArray("theirs")->empty());
        bool same = group.getString("operators") == "same";
        for (const llvm::json::Value &name :
             same ? *group.getArray("theirs") : *group.getArray("operators")) {
          std::string op = name.getAsString()->str();
          if (same && !latest.count(op))
            op = "ai.onnx.ml:" + op;
          add(op, category);
        }
      }
    if (std::optional<StringRef> others = peer.getString("others"))
      for (const auto &[op, version] : latest)
        categories.insert({op, others->str()});
    return categories;
  }

  Object peers;
  std::map<std::string, int64_t> latest, contrib;
};

TEST_F(PeersTest, AllPresetsThatAreOthersLists) {
  std::vector<std::string> ours = {"accuracy", "inference", "performance",
                                   "tf32",     "tf32-conv", "training"};
  for (const auto &[name, peer] : peers) {
    ours.push_back(name.str());
    for (const char *key : {"system", "version"})
      EXPECT_FALSE(peer.getAsObject()->getString(key)->empty());
    EXPECT_FALSE(peer.getAsObject()->getArray("source")->empty());
  }
  llvm::sort(ours);
  EXPECT_EQ(ours, Policy::presetNames());
}

TEST_F(PeersTest, PresetsDifferOnlyWhereTheyMeanTo) {
  for (const auto &[name, value] : peers) {
    SCOPED_TRACE(name.str());
    const Object &peer = *value.getAsObject();
    Policy policy = preset(name);

    std::map<std::string, std::string> differences;
    // Categories in which operators of `others` may be.
    std::map<std::string, unsigned> otherDifferences;
    for (const llvm::json::Value &item : *peer.getArray("differences")) {
      const Object &difference = *item.getAsObject();
      EXPECT_FALSE(difference.getString("why")->empty());
      std::string category = difference.getString("category")->str();
      if (difference.getString("operators") == "others")
        otherDifferences[category] = 0;
      else
        for (const llvm::json::Value &op : *difference.getArray("operators"))
          differences[op.getAsString()->str()] = category;
    }

    for (const auto &[op, theirs] : theirCategories(peer)) {
      std::string ours =
          stringifyCategory(category(policy, op, versionOf(op))).str();
      auto difference = differences.find(op);
      if (difference != differences.end()) {
        EXPECT_EQ(ours, difference->second) << op;
        EXPECT_NE(ours, theirs) << op << " does not differ";
        differences.erase(difference);
        continue;
      }
      auto other = otherDifferences.find(ours);
      if (ours != theirs && other != otherDifferences.end())
        ++other->second;
      else
        EXPECT_EQ(ours, theirs) << op;
    }
    for (const auto &[op, category] : differences)
      ADD_FAILURE() << "their lists do not have " << op;
    for (const auto &[category, count] : otherDifferences)
      EXPECT_GT(count, 0u) << category;
  }
}

TEST_F(PeersTest, PinsOfOthersArePinned) {
  for (const auto &[name, value] : peers) {
    Policy policy = preset(name);
    const Object *pins = value.getAsObject()->getObject("pins");
    if (!pins)
      continue;
    for (const auto &[spelling, positions] : *pins) {
      auto [op, versions] = StringRef(spelling).split('@');
      int64_t version = 1;
      versions.consumeInteger(10, version);
      Decision decision = policy.decide(operation(op, version));
      for (const llvm::json::Value &position : *positions.getAsArray())
        EXPECT_TRUE(llvm::is_contained(decision.pinnedOperands,
                                       *position.getAsInteger()))
            << name.str() << " does not pin an operand of " << spelling.str();
    }
  }
}

//===----------------------------------------------------------------------===//
// Single presets
//===----------------------------------------------------------------------===//

/// "com.microsoft:BiasGeluGrad_dX" is a gradient of "com.microsoft:BiasGelu";
/// "" for what is no gradient of one operator.
std::string forwardOf(StringRef gradient,
                      llvm::function_ref<bool(StringRef)> isOperator) {
  // Those whose name is another's.
  static const std::pair<StringRef, StringRef> others[] = {
      {"FusedSoftmaxCrossEntropyLossInternal", "SoftmaxCrossEntropyLoss"},
      {"InvertibleLayerNormalization", "LayerNormalization"},
      {"SoftmaxDropout", "Softmax"},
      {"T5LayerNormalization", "com.microsoft:SimplifiedLayerNormalization"},
      {"FakeQuant", "com.microsoft:FakeQuant"},
  };
  StringRef name = gradient.split(':').second;
  for (StringRef suffix : {"Grad", "Grad_13", "Grad_dX"}) {
    StringRef stem = name;
    if (!stem.consume_back(suffix))
      continue;
    for (const auto &[theirs, forward] : others)
      if (stem == theirs)
        return forward.str();
    for (std::string forward : {stem.str(), "com.microsoft:" + stem.str()})
      if (isOperator(forward))
        return forward;
  }
  return "";
}

TEST_F(PeersTest, GradientsOfTrainingGoWithTheirForwardOperator) {
  // Where the gradient is another kind of work, and why.
  const std::map<std::string, StringRef> exceptions = {
      {"com.microsoft:DivGrad", "sums over the axes that were broadcast"},
      {"com.microsoft:GatherElementsGrad", "adds up equal indices"},
      {"com.microsoft:GatherGrad", "adds up equal indices"},
      {"com.microsoft:GatherNDGrad", "adds up equal indices"},
      {"com.microsoft:MaxPoolGrad", "adds up where windows overlap"},
  };
  Policy training = preset("training");
  auto isOperator = [&](StringRef op) {
    return latest.count(op.str()) || contrib.count(op.str());
  };
  unsigned count = 0;
  for (const auto &[gradient, version] : contrib) {
    std::string forward = forwardOf(gradient, isOperator);
    if (forward.empty())
      continue;
    ++count;
    bool same = category(training, gradient) ==
                category(training, forward, versionOf(forward));
    EXPECT_EQ(same, !exceptions.count(gradient))
        << gradient << " is "
        << stringifyCategory(category(training, gradient)).str() << ", "
        << forward << " is otherwise";
  }
  EXPECT_GT(count, 35u);
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

struct ExpectedOfMode {
  const char *op;
  int64_t version;
  Category accuracy, inference, performance, training;
};

TEST(PresetsTest, ModesDifferInWhatTheySay) {
  using C = Category;
  const ExpectedOfMode table[] = {
      {"MatMul", 13, C::Allow, C::Allow, C::Allow, C::Allow},
      {"Softmax", 13, C::Deny, C::Deny, C::Follow, C::Deny},
      {"LayerNormalization", 17, C::Deny, C::Deny, C::Follow, C::Deny},
      {"GroupNormalization", 18, C::Deny, C::Deny, C::Deny, C::Deny},
      {"GroupNormalization", 21, C::Deny, C::Deny, C::Follow, C::Deny},
      {"Exp", 13, C::Deny, C::Deny, C::Deny, C::Deny},
      {"ReduceSum", 13, C::Deny, C::Deny, C::Deny, C::Deny},
      {"ReduceMean", 18, C::Deny, C::Follow, C::Follow, C::Deny},
      {"LSTM", 14, C::Deny, C::Allow, C::Allow, C::Allow},
      {"BatchNormalization", 9, C::Deny, C::Follow, C::Follow, C::Deny},
      {"BatchNormalization", 15, C::Follow, C::Follow, C::Follow, C::Follow},
      {"ScatterND", 13, C::Promote, C::Promote, C::Promote, C::Promote},
      {"ScatterND", 16, C::Deny, C::Promote, C::Promote, C::Promote},
      {"Resize", 19, C::Follow, C::Follow, C::Follow, C::Deny},
      {"SoftmaxCrossEntropyLoss", 13, C::Deny, C::Deny, C::Deny, C::Deny},
      {"com.microsoft:SkipLayerNormalization", 1, C::Deny, C::Deny, C::Follow,
       C::Deny},
      {"com.microsoft:NcclAllReduce", 1, C::Follow, C::Follow, C::Follow,
       C::Deny},
  };
  for (const ExpectedOfMode &entry : table)
    for (auto [name, expected] : {std::pair("accuracy", entry.accuracy),
                                  {"inference", entry.inference},
                                  {"performance", entry.performance},
                                  {"training", entry.training}})
      EXPECT_EQ(category(preset(name), entry.op, entry.version), expected)
          << name << ": " << entry.op << " " << entry.version;
}

TEST(PresetsTest, LowFormatsAndConstants) {
  using O = OutOfRange;
  using U = Underflow;
  const std::tuple<const char *, O, U> table[] = {
      {"apex-O3", O::Convert, U::Flush},
      {"inference", O::KeepFloat32, U::KeepFloat32},
      {"modelopt", O::KeepFloat32, U::Flush},
      {"onnxconverter-common", O::Clamp, U::Flush},
      {"ort-transformers", O::Clamp, U::Flush},
      {"torch", O::Convert, U::Flush},
      {"training", O::KeepFloat32, U::KeepFloat32},
  };
  for (auto [name, outOfRange, underflow] : table) {
    EXPECT_EQ(preset(name).outOfRange(), outOfRange) << name;
    EXPECT_EQ(preset(name).underflow(), underflow) << name;
  }
  for (const std::string &name : Policy::presetNames())
    EXPECT_EQ(preset(name).low(), name == "torch-cpu"
                                      ? std::optional(FloatFormat::bf16())
                                  : StringRef(name).starts_with("tf32")
                                      ? std::optional(FloatFormat::tf32())
                                      : std::nullopt)
        << name;
}

/// torch.backends.cuda.matmul.allow_tf32 and torch.backends.cudnn.allow_tf32.
TEST(PresetsTest, SwitchesOfTF32) {
  Policy both = preset("tf32"), conv = preset("tf32-conv");
  for (const char *op : {"Conv", "ConvTranspose", "LSTM", "GRU", "RNN"}) {
    EXPECT_EQ(category(both, op), Category::Allow) << op;
    EXPECT_EQ(category(conv, op), Category::Allow) << op;
  }
  for (const char *op : {"MatMul", "Gemm", "Einsum", "Attention"}) {
    EXPECT_EQ(category(both, op), Category::Allow) << op;
    EXPECT_EQ(category(conv, op), Category::Deny) << op;
  }
  for (const char *op : {"PRelu", "Gather", "Softmax", "Add"})
    for (const Policy &policy : {both, conv})
      EXPECT_NE(category(policy, op, 17, "", 1 << 20), Category::Allow) << op;
}

/// stash_type and softmax_precision say what a node computes in inside.
TEST(PresetsTest, AttributesOfPerformance) {
  Policy policy = preset("performance");
  auto categoryWith = [&](StringRef op, StringRef name, const char *value) {
    OperationDescription description = operation(op, 23);
    auto attribute = [&](StringRef asked) {
      return asked == name ? std::optional<std::string>(value) : std::nullopt;
    };
    description.attribute = attribute;
    return policy.decide(description).category;
  };
  for (const char *op :
       {"LayerNormalization", "RMSNormalization", "GroupNormalization"}) {
    EXPECT_EQ(categoryWith(op, "stash_type", "1"), Category::Follow) << op;
    EXPECT_EQ(categoryWith(op, "stash_type", "10"), Category::Deny) << op;
    EXPECT_EQ(categoryWith(op, "stash_type", "16"), Category::Deny) << op;
  }
  EXPECT_EQ(categoryWith("Attention", "softmax_precision", "1"),
            Category::Allow);
  EXPECT_EQ(categoryWith("Attention", "softmax_precision", "10"),
            Category::Deny);
}

TEST(PresetsTest, BatchNormalizationOfApex) {
  Decision o2 = preset("apex-O2").decide(operation("BatchNormalization", 15));
  EXPECT_EQ(o2.category, Category::Allow);
  EXPECT_EQ(o2.pinnedOperands.size(), 4u);
  EXPECT_EQ(category(preset("apex-O2"), "BatchNormalization", 14),
            Category::Deny);
  Decision o3 = preset("apex-O3").decide(operation("BatchNormalization", 15));
  EXPECT_EQ(o3.category, Category::Allow);
  EXPECT_TRUE(o3.pinnedOperands.empty());
}

TEST(PresetsTest, EmbeddingTablesOfInference) {
  Policy inference = preset("inference");
  EXPECT_EQ(category(inference, "Gather", 13, "", 1 << 20), Category::Allow);
  EXPECT_EQ(category(inference, "Gather", 13, "", 4), Category::Clear);
  EXPECT_EQ(category(inference, "Gather", 13), Category::Clear);
  Policy torch = preset("torch");
  EXPECT_EQ(category(torch, "Gather", 13, "", 1 << 20), Category::Clear);
  for (const char *name : {"accuracy", "training"})
    EXPECT_EQ(category(preset(name), "Gather", 13, "", 1 << 20),
              Category::Clear);
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
