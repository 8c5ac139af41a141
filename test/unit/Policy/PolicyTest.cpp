//===- PolicyTest.cpp - what policies decide ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PolicyTesting.h"

#include "gtest/gtest.h"

using namespace amp;
using llvm::StringRef;

namespace {

TEST(PolicyTest, CategoriesByOperatorDomainAndVersion) {
  Policy policy = parsed("categories:\n"
                         "  allow: [MatMul, 'com.example:Fused']\n"
                         "  deny: [Celu@1-27]\n"
                         "  follow: [Celu@28+]\n"
                         "  promote: [Add@7, Mul@13+]\n"
                         "  clear: [Mul@1-12]\n");
  EXPECT_EQ(category(policy, "MatMul"), Category::Allow);
  EXPECT_EQ(category(policy, "com.example:Fused"), Category::Allow);
  EXPECT_EQ(category(policy, "Fused"), Category::Keep);
  EXPECT_EQ(category(policy, "com.example:MatMul"), Category::Keep);
  EXPECT_EQ(category(policy, "Celu", 12), Category::Deny);
  EXPECT_EQ(category(policy, "Celu", 27), Category::Deny);
  EXPECT_EQ(category(policy, "Celu", 28), Category::Follow);
  EXPECT_EQ(category(policy, "Add", 7), Category::Promote);
  EXPECT_EQ(category(policy, "Add", 8), Category::Keep);
  EXPECT_EQ(category(policy, "Mul", 12), Category::Clear);
  EXPECT_EQ(category(policy, "Mul", 13), Category::Promote);
  // Both spellings of the default domain are one.
  OperationDescription op;
  op.domain = "ai.onnx";
  op.name = "MatMul";
  EXPECT_EQ(policy.decide(op).category, Category::Allow);
}

TEST(PolicyTest, TheLastMatchingStatementHolds) {
  Policy policy = parsed("rules:\n"
                         "  - operators: MatMul\n"
                         "    category: deny\n"
                         "  - operators: MatMul\n"
                         "    nodes: encoder/.*\n"
                         "    category: keep\n"
                         "  - nodes: [.*/out, .*/last]\n"
                         "    category: follow\n"
                         "categories:\n"
                         "  allow: [MatMul]\n");
  EXPECT_EQ(category(policy, "MatMul"), Category::Deny);
  EXPECT_EQ(category(policy, "MatMul", 17, "encoder/1"), Category::Keep);
  EXPECT_EQ(category(policy, "MatMul", 17, "encoder/out"), Category::Follow);
  EXPECT_EQ(category(policy, "Conv", 17, "decoder/last"), Category::Follow);
  EXPECT_EQ(category(policy, "Conv", 17, "encoder/1"), Category::Keep);
}

TEST(PolicyTest, ADerivedFileOverridesRulesOfItsBase) {
  Policy policy = parsed("extends: inference\n"
                         "categories:\n"
                         "  deny: [Gather]\n");
  EXPECT_EQ(category(policy, "Gather", 17, "", /*elements=*/100000),
            Category::Deny);
  EXPECT_EQ(category(policy, "MatMul"), Category::Allow);
}

/// What `base` moves is what the base decides in the end, whatever statements
/// that is made of; the file's own operators come on top.
TEST(PolicyTest, CategoriesOfTheBase) {
  Policy policy = parsed("extends: inference\n"
                         "categories:\n"
                         "  follow: [Exp]\n"
                         "  deny:\n"
                         "    - {base: allow, reason: why}\n"
                         "  allow:\n"
                         "    - base: [deny, promote]\n"
                         "      operators: [Conv, Relu]\n");
  EXPECT_EQ(category(policy, "MatMul"), Category::Deny);
  EXPECT_EQ(category(policy, "Softmax"), Category::Allow);
  EXPECT_EQ(category(policy, "Add"), Category::Allow);
  EXPECT_EQ(category(policy, "Tanh"), Category::Follow);
  EXPECT_EQ(category(policy, "Exp"), Category::Follow);
  EXPECT_EQ(category(policy, "Conv"), Category::Allow);
  EXPECT_EQ(category(policy, "Relu"), Category::Allow);
  // torch.yaml denies Resize and promotes Concat, inference.yaml does not.
  EXPECT_EQ(category(policy, "Resize"), Category::Follow);
  EXPECT_EQ(category(policy, "Concat"), Category::Clear);
  // Rules with conditions are the base's, too.
  EXPECT_EQ(category(policy, "Gather", 13, "", 1 << 20), Category::Deny);
  EXPECT_EQ(category(policy, "Gather", 13, "", 4), Category::Clear);
  EXPECT_EQ(policy.decide(operation("MatMul")).rule,
            "policy 'test' line 5: MatMul is deny, allow in the base: why");
  EXPECT_EQ(policy.decide(operation("Softmax")).rule,
            "policy 'test' line 7: Softmax is allow, deny in the base");
  // Pins and the rest stay.
  EXPECT_EQ(policy.decide(operation("Pow")).pinnedOperands.front(), 1u);
}

TEST(PolicyTest, ConditionalStatements) {
  Policy policy = parsed("categories: {follow: [Gather]}\n"
                         "rules:\n"
                         "  - operators: Gather@13+\n"
                         "    when: {constant: 0, elements: {0: 8+, 1: 2-4}}\n"
                         "    category: allow\n"
                         "    pin: [1]\n"
                         "    reason: why\n"
                         "  - nodes: a\n"
                         "    no_pull: true\n"
                         "    flush: [0, 2]\n"
                         "    out_of_range: clamp\n"
                         "    underflow: flush\n"
                         "  - {operators: Relu, no_pull: false}\n");
  std::vector<ConditionalStatement> statements =
      policy.conditionalStatements("ai.onnx", "Gather", 13);
  ASSERT_EQ(statements.size(), 2u);
  EXPECT_EQ(statements[0].conditions, "the node has a name of the rule");
  EXPECT_EQ(statements[0].effect, "no_pull: true; flush: [0, 2]; "
                                  "out_of_range: clamp; underflow: flush");
  EXPECT_EQ(statements[0].rule, "policy 'test' line 8");
  EXPECT_EQ(statements[1].conditions,
            "operand 0 is a constant and operand 0 has 8 or more elements and "
            "operand 1 has 2 to 4 elements");
  EXPECT_EQ(statements[1].effect, "allow; pin: [1]");
  EXPECT_EQ(statements[1].rule, "policy 'test' line 3: allow: why");
  EXPECT_EQ(policy.conditionalStatements("", "Gather", 12).size(), 1u);
  EXPECT_EQ(policy.conditionalStatements("com.x", "Gather", 13).size(), 1u);
  // The rest of what is overridden in part.
  Policy derived = parsed("extends: inference\n"
                          "rules:\n"
                          "  - nodes: a\n"
                          "    category: keep\n"
                          "    underflow: keep\n"
                          "  - {operators: Gather, category: deny}\n");
  statements = derived.conditionalStatements("", "Gather", 13);
  ASSERT_EQ(statements.size(), 1u);
  EXPECT_EQ(statements[0].effect, "underflow: keep");
}

TEST(PolicyTest, NodeExpressionsMatchTheWholeName) {
  Policy policy = parsed("rules:\n"
                         "  - nodes: layer.1|a{2}(b|bc)\n"
                         "    category: keep\n"
                         "categories: {allow: [MatMul]}\n");
  EXPECT_EQ(category(policy, "MatMul", 17, "layer.1"), Category::Keep);
  EXPECT_EQ(category(policy, "MatMul", 17, "layer.10"), Category::Allow);
  EXPECT_EQ(category(policy, "MatMul", 17, "my/layer.1"), Category::Allow);
  EXPECT_EQ(category(policy, "MatMul", 17, "aabc"), Category::Keep);
  EXPECT_EQ(category(policy, "MatMul", 17, "aab"), Category::Keep);
  EXPECT_EQ(category(policy, "MatMul", 17, ""), Category::Allow);
}

TEST(PolicyTest, AnUnnamedNodeHasTheNameOfItsFirstOutput) {
  Policy policy = parsed("categories: {allow: [Split]}\n");
  ASSERT_FALSE(bool(policy.keepNode("first")));
  StringRef outputs[] = {"first", "second"};
  OperationDescription op;
  op.name = "Split";
  op.outputNames = outputs;
  EXPECT_EQ(policy.decide(op).category, Category::Keep);
  op.nodeName = "split";
  EXPECT_EQ(policy.decide(op).category, Category::Allow);
}

TEST(PolicyTest, NodeExpressionsAreKnown) {
  EXPECT_TRUE(parsed("categories: {allow: [Add]}").nodeExpressions().empty());
  Policy policy = parsed("rules:\n"
                         "  - nodes: [head, /enc/.*]\n"
                         "    category: keep\n"
                         "  - nodes: 'a|b'\n"
                         "    operators: Add\n"
                         "    category: deny\n");
  ASSERT_EQ(policy.nodeExpressions().size(), 3u);
  const NodeExpression &encoder = policy.nodeExpressions()[1];
  EXPECT_EQ(encoder.text, "/enc/.*");
  EXPECT_EQ(encoder.place, "policy 'test' line 2");
  EXPECT_TRUE(encoder.matches("/enc/MatMul"));
  EXPECT_FALSE(encoder.matches("x/enc/MatMul"));
  EXPECT_EQ(policy.nodeExpressions()[2].place, "policy 'test' line 4");
}

TEST(PolicyTest, Conditions) {
  Policy policy = parsed("rules:\n"
                         "  - operators: Gather\n"
                         "    when: {constant: [0, 1]}\n"
                         "    category: allow\n"
                         "  - operators: Add\n"
                         "    when: {elements: {1: 16-32}}\n"
                         "    category: deny\n"
                         "  - operators: Mul\n"
                         "    when:\n"
                         "      constant: 1\n"
                         "      elements: {1: 1}\n"
                         "    category: deny\n");
  OperationDescription op;
  op.name = "Gather";
  EXPECT_EQ(policy.decide(op).category, Category::Keep);
  auto onlyFirst = [](unsigned position) { return position == 0; };
  op.isConstantOperand = onlyFirst;
  EXPECT_EQ(policy.decide(op).category, Category::Keep);
  auto all = [](unsigned) { return true; };
  op.isConstantOperand = all;
  EXPECT_EQ(policy.decide(op).category, Category::Allow);

  op.name = "Add";
  EXPECT_EQ(policy.decide(op).category, Category::Keep);
  std::optional<uint64_t> elements;
  auto second = [&](unsigned position) {
    return position == 1 ? elements : std::nullopt;
  };
  op.operandElements = second;
  for (auto [count, expected] :
       {std::pair(15, Category::Keep), std::pair(16, Category::Deny),
        std::pair(32, Category::Deny), std::pair(33, Category::Keep)}) {
    elements = count;
    EXPECT_EQ(policy.decide(op).category, expected) << count;
  }
  elements = std::nullopt;
  EXPECT_EQ(policy.decide(op).category, Category::Keep);

  op.name = "Mul";
  elements = 1;
  EXPECT_EQ(policy.decide(op).category, Category::Deny);
  op.isConstantOperand = onlyFirst;
  EXPECT_EQ(policy.decide(op).category, Category::Keep);
}

TEST(PolicyTest, PinsNoPullAndConstants) {
  Policy policy = parsed("out_of_range: saturate\n"
                         "underflow: flush\n"
                         "categories:\n"
                         "  follow: [BatchNormalization, Resize]\n"
                         "  promote: [Less, Add, Mul]\n"
                         "no_pull: [Less]\n"
                         "pin:\n"
                         "  BatchNormalization@14: [4, 3]\n"
                         "  BatchNormalization@15+: [1, 2, 3, 4]\n"
                         "  Resize: 2\n"
                         "rules:\n"
                         "  - operators: Add\n"
                         "    out_of_range: convert\n"
                         "    underflow: keep\n"
                         "  - operators: Resize\n"
                         "    nodes: bare\n"
                         "    pin: []\n"
                         "  - operators: [Less, Mul]\n"
                         "    nodes: pulled\n"
                         "    no_pull: false\n");
  auto pins = [&](StringRef name, int64_t version, StringRef node = "") {
    Decision decision = policy.decide(operation(name, version, node));
    return std::vector<unsigned>(decision.pinnedOperands.begin(),
                                 decision.pinnedOperands.end());
  };
  using Positions = std::vector<unsigned>;
  EXPECT_EQ(pins("BatchNormalization", 9), Positions());
  EXPECT_EQ(pins("BatchNormalization", 14), (Positions{3, 4}));
  EXPECT_EQ(pins("BatchNormalization", 17), (Positions{1, 2, 3, 4}));
  EXPECT_EQ(pins("Resize", 17), Positions{2});
  EXPECT_EQ(pins("Resize", 17, "bare"), Positions());
  EXPECT_TRUE(policy.decide(operation("Less")).noPull);
  EXPECT_FALSE(policy.decide(operation("Less", 17, "pulled")).noPull);
  EXPECT_FALSE(policy.decide(operation("Add")).noPull);
  EXPECT_EQ(policy.outOfRange(), OutOfRange::Saturate);
  EXPECT_EQ(policy.underflow(), Underflow::Flush);
  EXPECT_EQ(policy.decide(operation("Mul")).outOfRange, OutOfRange::Saturate);
  EXPECT_EQ(policy.decide(operation("Mul")).underflow, Underflow::Flush);
  EXPECT_EQ(policy.decide(operation("Add")).outOfRange, OutOfRange::Convert);
  EXPECT_EQ(policy.decide(operation("Add")).underflow, Underflow::KeepFloat32);
  // A rule that says nothing of the category leaves it.
  EXPECT_EQ(category(policy, "Add"), Category::Promote);
}

TEST(PolicyTest, FlushedOperands) {
  Policy policy = parsed("flush: {Conv: [2], LSTM@7+: [5, 3]}\n"
                         "rules:\n"
                         "  - operators: Conv\n"
                         "    nodes: bare\n"
                         "    flush: []\n");
  auto flushed = [&](StringRef name, int64_t version, StringRef node = "") {
    Decision decision = policy.decide(operation(name, version, node));
    return std::vector<unsigned>(decision.flushedOperands.begin(),
                                 decision.flushedOperands.end());
  };
  using Positions = std::vector<unsigned>;
  EXPECT_EQ(flushed("Conv", 11), Positions{2});
  EXPECT_EQ(flushed("Conv", 11, "bare"), Positions());
  EXPECT_EQ(flushed("LSTM", 1), Positions());
  EXPECT_EQ(flushed("LSTM", 7), (Positions{3, 5}));
}

TEST(PolicyTest, AFilesDefaultsOverrideRulesOfItsBase) {
  Policy policy = parsed("extends: inference\nout_of_range: convert\n");
  EXPECT_EQ(policy.decide(operation("Where")).outOfRange, OutOfRange::Convert);
  EXPECT_EQ(policy.decide(operation("Where")).underflow,
            Underflow::KeepFloat32);
}

TEST(PolicyTest, KeptNodesAndOperatorsComeLast) {
  Policy policy = parsed("extends: inference\n"
                         "rules:\n"
                         "  - nodes: .*\n"
                         "    category: allow\n");
  EXPECT_EQ(category(policy, "MatMul", 17, "a"), Category::Allow);
  ASSERT_FALSE(bool(policy.keepNode("^a$")));
  ASSERT_FALSE(bool(policy.keepOperator("Conv")));
  ASSERT_FALSE(bool(policy.keepOperator("com.example:Any")));
  EXPECT_EQ(category(policy, "MatMul", 17, "a"), Category::Keep);
  EXPECT_EQ(category(policy, "MatMul", 17, "ab"), Category::Allow);
  EXPECT_EQ(category(policy, "Conv", 17, "ab"), Category::Keep);
  EXPECT_EQ(category(policy, "com.example:Any", 1, "x"), Category::Keep);
  EXPECT_EQ(policy.decide(operation("MatMul", 17, "a")).rule,
            "asked to keep nodes whose name matches '^a$'");
  EXPECT_EQ(policy.decide(operation("Conv")).rule,
            "asked to keep operator 'Conv'");
}

TEST(PolicyTest, KeptNamesAreChecked) {
  Policy policy = parsed("extends: torch\n");
  EXPECT_EQ(llvm::toString(policy.keepOperator("Softmaxx")),
            "unknown operator 'Softmaxx', did you mean 'Softmax'?");
  EXPECT_EQ(llvm::toString(policy.keepOperator("matmul")),
            "unknown operator 'matmul', did you mean 'MatMul'?");
  EXPECT_EQ(llvm::toString(policy.keepOperator("FusedMatMul")),
            "unknown operator 'FusedMatMul', did you mean "
            "'com.microsoft:FusedMatMul'?");
  EXPECT_EQ(llvm::toString(policy.keepOperator("Blabberblubb")),
            "unknown operator 'Blabberblubb'");
  EXPECT_EQ(llvm::toString(policy.keepOperator("ai.onnx.ml:Scale")),
            "unknown operator 'ai.onnx.ml:Scale', did you mean "
            "'ai.onnx.ml:Scaler'?");
  EXPECT_EQ(llvm::toString(policy.keepOperator("")),
            "expected an operator as 'Op' or 'domain:Op', got ''");
  EXPECT_EQ(llvm::toString(policy.keepOperator(":Add")),
            "expected an operator as 'Op' or 'domain:Op', got ':Add'");
  EXPECT_EQ(llvm::toString(policy.keepOperator("Add Mul")),
            "expected an operator as 'Op' or 'domain:Op', got 'Add Mul'");
  EXPECT_EQ(llvm::toString(policy.keepOperator("Add@3-2")),
            "expected versions as 'Op@N', 'Op@N+' or 'Op@N-M', got 'Add@3-2'");
  EXPECT_EQ(llvm::toString(policy.keepNode("a(b")),
            "malformed regular expression 'a(b': parentheses not balanced");
  // None of these changed anything.
  EXPECT_EQ(category(policy, "Softmax"), Category::Deny);
  EXPECT_EQ(category(policy, "MatMul", 17, "a(b"), Category::Allow);
}

TEST(PolicyTest, OperatorsAreChecked) {
  auto errorOf = [](StringRef op) {
    return llvm::toString(Policy::checkOperator(op));
  };
  EXPECT_EQ(errorOf("MatMul"), "");
  EXPECT_EQ(errorOf("com.example:Anything@3+"), "");
  EXPECT_EQ(errorOf("MatMull"),
            "unknown operator 'MatMull', did you mean 'MatMul'?");
  EXPECT_EQ(errorOf("Mat Mul"),
            "expected an operator as 'Op' or 'domain:Op', got 'Mat Mul'");
}

TEST(PolicyTest, ExpressionsThatCostTooMuchAreRefused) {
  Policy policy = parsed("{}\n");
  EXPECT_EQ(llvm::toString(policy.keepNode("((((a{255}){255}){255}){255})")),
            "regular expression '((((a{255}){255}){255}){255})' repeats too "
            "much, expected bounds whose product is at most 10000");
  EXPECT_EQ(llvm::toString(policy.keepNode(R"((a*)*\1)")),
            R"(back references are not supported in regular expression )"
            R"('(a*)*\\1')");
  EXPECT_EQ(llvm::toString(policy.keepNode(std::string(5000, 'a'))),
            "regular expression has 5000 characters, expected at most 4096");
  // What Python's re.escape makes of a name.
  ASSERT_FALSE(bool(policy.keepNode(R"(^/layer\.1/Mat\-Mul\ \{x\}$)")));
  EXPECT_EQ(
      policy.decide(operation("MatMul", 17, "/layer.1/Mat-Mul {x}")).category,
      Category::Keep);
}

TEST(PolicyTest, EveryDecisionHasAReason) {
  Policy policy = parsed("categories:\n"
                         "  deny:\n"
                         "    - Exp\n"
                         "    - reason: >\n"
                         "        sums grow\n"
                         "        with their length\n"
                         "      operators: [ReduceSum, CumSum]\n"
                         "rules:\n"
                         "  - operators: MatMul\n"
                         "    category: allow\n"
                         "    reason: tensor cores\n"
                         "  - operators: Conv\n"
                         "    category: allow\n");
  auto rule = [&](StringRef name) {
    return policy.decide(operation(name)).rule;
  };
  EXPECT_EQ(rule("Exp"), "policy 'test' line 3: Exp is deny");
  EXPECT_EQ(rule("CumSum"), "policy 'test' line 7: CumSum is deny: sums grow "
                            "with their length");
  EXPECT_EQ(rule("MatMul"), "policy 'test' line 9: allow: tensor cores");
  EXPECT_EQ(rule("Conv"), "policy 'test' line 12: allow");
  EXPECT_EQ(rule("Tanh"), "policy 'test' does not list the operator: keep");
  EXPECT_FALSE(policy.decide(operation("Tanh")).isListed);
  EXPECT_TRUE(policy.decide(operation("Exp")).isListed);
  ASSERT_FALSE(bool(policy.keepOperator("Tanh")));
  EXPECT_TRUE(policy.decide(operation("Tanh")).isListed);
}

/// Whether a rule with these conditions holds for an operation that `describe`
/// fills in; without it nothing is known but the operator.
bool holds(StringRef conditions,
           llvm::function_ref<bool(OperationDescription &, const Policy &)>
               ask = nullptr) {
  Policy policy = parsed(("categories: {deny: [MatMul]}\nrules: [{" +
                          conditions + ", category: allow}]\n")
                             .str());
  OperationDescription op = operation("MatMul");
  return ask ? ask(op, policy) : policy.decide(op).category == Category::Allow;
}

TEST(PolicyTest, ConditionsOnNames) {
  auto ask = [](OperationDescription &op, const Policy &policy) {
    StringRef outputs[] = {"first", "second"};
    op.outputNames = outputs;
    auto isInScope = [](const void *,
                        llvm::function_ref<bool(StringRef)> matches) {
      return matches("encoder") || matches("encoder.layer.0") ||
             matches("pkg.Layer");
    };
    op.isInScope = isInScope;
    return policy.decide(op).category == Category::Allow;
  };
  EXPECT_TRUE(holds("outputs: seco.*", ask));
  EXPECT_TRUE(holds("outputs: [third, first]", ask));
  EXPECT_FALSE(holds("outputs: seco", ask));
  EXPECT_FALSE(holds("outputs: .*"));
  EXPECT_TRUE(holds(R"(scopes: 'encoder\.layer\.0')", ask));
  EXPECT_TRUE(holds("scopes: [decoder, pkg.Layer]", ask));
  EXPECT_FALSE(holds("scopes: layer", ask));
  EXPECT_FALSE(holds("scopes: .*"));
  EXPECT_FALSE(holds("scopes: encoder, outputs: third", ask));
}

TEST(PolicyTest, ConditionsOnOperandsAndAttributes) {
  auto ask = [](OperationDescription &op, const Policy &policy) {
    auto shape =
        [](unsigned position) -> std::optional<llvm::SmallVector<int64_t>> {
      if (position == 2)
        return std::nullopt;
      return llvm::SmallVector<int64_t>{4, -1, 64};
    };
    auto absmax = [](unsigned position) {
      return position ? std::nullopt : std::optional<double>(7e4);
    };
    auto length = [] { return std::optional<int64_t>(4096); };
    auto attribute = [](StringRef name) {
      return name == "mode"   ? std::optional<std::string>("linear")
             : name == "axis" ? std::optional<std::string>("-1")
                              : std::nullopt;
    };
    op.operandShape = shape;
    op.operandAbsmax = absmax;
    op.reductionLength = length;
    op.attribute = attribute;
    op.low = FloatFormat::bf16();
    return policy.decide(op).category == Category::Allow;
  };
  EXPECT_TRUE(holds("when: {shape: {0: [4, any, 8+]}}", ask));
  EXPECT_FALSE(holds("when: {shape: {0: [4, 0+, 8+]}}", ask)); // not known
  EXPECT_FALSE(holds("when: {shape: {0: [4, any]}}", ask));
  EXPECT_FALSE(holds("when: {shape: {0: [4, any, 65+]}}", ask));
  EXPECT_FALSE(holds("when: {shape: {2: [any]}}", ask));
  EXPECT_FALSE(holds("when: {shape: {0: []}}"));
  EXPECT_TRUE(holds("when: {absmax: {0: 65504+}}", ask));
  EXPECT_TRUE(holds("when: {absmax: {0: 1e4..1e5}}", ask));
  EXPECT_TRUE(holds("when: {absmax: {0: 70000}}", ask));
  EXPECT_FALSE(holds("when: {absmax: {0: 0..1e4}}", ask));
  EXPECT_FALSE(holds("when: {absmax: {1: 0+}}", ask));
  EXPECT_FALSE(holds("when: {absmax: {0: 0+}}"));
  EXPECT_TRUE(holds("when: {reduction: 1024+}", ask));
  EXPECT_FALSE(holds("when: {reduction: 1-4095}", ask));
  EXPECT_FALSE(holds("when: {reduction: 0+}"));
  EXPECT_TRUE(holds("when: {attributes: {mode: [cubic, linear]}}", ask));
  EXPECT_TRUE(holds("when: {attributes: {mode: linear, axis: -1}}", ask));
  EXPECT_FALSE(holds("when: {attributes: {mode: linear, axis: 1}}", ask));
  EXPECT_FALSE(holds("when: {attributes: {other: 1}}", ask));
  EXPECT_FALSE(holds("when: {attributes: {mode: linear}}"));
  EXPECT_TRUE(holds("when: {low: [tf32, bf16]}", ask));
  EXPECT_FALSE(holds("when: {low: tf32}", ask));
  EXPECT_TRUE(holds("when: {low: fp16}"));
}

TEST(PolicyTest, ConditionsAreDescribed) {
  Policy policy =
      parsed("rules:\n"
             "  - when: {shape: {0: [4, any, 8+]}, absmax: {1: 1e5+},\n"
             "           reduction: 1024+, low: [fp16, bf16],\n"
             "           attributes: {mode: [cubic, linear]}}\n"
             "    outputs: x\n"
             "    scopes: y\n"
             "    low: bf16\n"
             "    island: true\n");
  std::vector<ConditionalStatement> statements =
      policy.conditionalStatements("", "Resize", 13);
  ASSERT_EQ(statements.size(), 1u);
  EXPECT_EQ(statements[0].conditions,
            "operand 0 has the shape [4, any, 8 or more] and operand 1 has "
            "values up to 100000 or more and it reduces 1024 or more elements "
            "to one and the low format is fp16 or bf16 and mode is cubic or "
            "linear and an output has a name of the rule and it is inside a "
            "scope of the rule");
  EXPECT_EQ(statements[0].effect, "low: bf16; island: true");
}

TEST(PolicyTest, LowFormatsAndIslands) {
  Policy policy = parsed("low: bf16\n"
                         "categories: {allow: [MatMul]}\n"
                         "rules:\n"
                         "  - {nodes: head, low: tf32}\n"
                         "  - {nodes: loss, island: true}\n");
  EXPECT_EQ(policy.low(), FloatFormat::bf16());
  EXPECT_EQ(policy.decide(operation("MatMul")).low, std::nullopt);
  EXPECT_FALSE(policy.decide(operation("MatMul")).island);
  EXPECT_EQ(policy.decide(operation("MatMul", 17, "head")).low,
            FloatFormat::tf32());
  EXPECT_EQ(policy.decide(operation("MatMul", 17, "head")).category,
            Category::Allow);
  EXPECT_TRUE(policy.decide(operation("Mul", 17, "loss")).island);
}

TEST(PolicyTest, KeptInputsAndOutputs) {
  EXPECT_EQ(parsed("{}").keepsInput("x"), std::nullopt);
  EXPECT_EQ(parsed("keep_io_types: false").keepsOutput("x"), false);
  EXPECT_EQ(parsed("keep_io_types: true").keepsInput("x"), true);
  Policy policy = parsed("keep_io_types: {inputs: [x, 'mask.*']}");
  EXPECT_EQ(policy.keepsInput("x"), true);
  EXPECT_EQ(policy.keepsInput("mask_1"), true);
  EXPECT_EQ(policy.keepsInput("y"), false);
  EXPECT_EQ(policy.keepsOutput("x"), false);
}

TEST(PolicyTest, CopiesAreIndependent) {
  Policy policy = parsed("low: bf16\ncategories: {allow: [MatMul]}\n");
  Policy copy = policy;
  ASSERT_FALSE(bool(copy.keepOperator("MatMul")));
  EXPECT_EQ(category(policy, "MatMul"), Category::Allow);
  EXPECT_EQ(category(copy, "MatMul"), Category::Keep);
  copy = policy;
  EXPECT_EQ(category(copy, "MatMul"), Category::Allow);
  Policy moved = std::move(copy);
  EXPECT_EQ(category(moved, "MatMul"), Category::Allow);
  EXPECT_EQ(moved.low(), FloatFormat::bf16());
  EXPECT_EQ(moved.name(), "test");
  EXPECT_EQ(moved.operators(), std::vector<std::string>{"MatMul"});
}

TEST(PolicyTest, CategoryNames) {
  for (Category category :
       {Category::Allow, Category::Deny, Category::Promote, Category::Follow,
        Category::Clear, Category::Keep, Category::Ban})
    EXPECT_EQ(parseCategory(stringifyCategory(category)), category);
  EXPECT_FALSE(parseCategory("ALLOW"));
}

//===----------------------------------------------------------------------===//
// Operators of MLIR's dialects
//===----------------------------------------------------------------------===//

TEST(CounterpartTest, GoesWithItsCounterpart) {
  Policy policy = parsed("categories: {deny: [Exp], allow: [MatMul]}");
  EXPECT_EQ(category(policy, "tosa:exp", 0), Category::Deny);
  EXPECT_EQ(category(policy, "math:exp2", 0), Category::Deny);
  EXPECT_EQ(category(policy, "linalg:matmul", 0), Category::Allow);
  EXPECT_EQ(category(policy, "tosa:unknown", 0), Category::Keep);
  EXPECT_FALSE(policy.decide(operation("tosa:tanh", 0)).isListed);
}

TEST(CounterpartTest, IsReadAsTheNewestVersion) {
  Policy policy =
      parsed("categories: {deny: ['Exp@1-12'], allow: ['Exp@13+']}");
  EXPECT_EQ(category(policy, "tosa:exp", 0), Category::Allow);
}

TEST(CounterpartTest, TheLastStatementHolds) {
  const char *own = "categories: {deny: [Exp], allow: ['tosa:exp']}";
  EXPECT_EQ(category(parsed(own), "tosa:exp", 0), Category::Allow);
  EXPECT_EQ(category(parsed(own), "math:exp", 0), Category::Deny);
  EXPECT_EQ(category(parsed(own), "Exp"), Category::Deny);
  const char *rule = "categories: {allow: ['tosa:exp']}\n"
                     "rules: [{operators: Exp, category: deny}]";
  EXPECT_EQ(category(parsed(rule), "tosa:exp", 0), Category::Deny);
}

TEST(CounterpartTest, PinsAndConditionsAreOfBoth) {
  Policy policy = parsed("categories: {clear: [Gather]}\n"
                         "pin: {Gather: [1]}\n"
                         "rules: [{operators: Gather, when: {constant: 0}, "
                         "category: allow}]");
  EXPECT_EQ(category(policy, "tosa:gather", 0), Category::Clear);
  EXPECT_EQ(category(policy, "tosa:gather", 0, "", 4), Category::Allow);
  EXPECT_EQ(policy.decide(operation("tosa:gather", 0)).pinnedOperands.size(),
            1u);
  EXPECT_EQ(policy.conditionalStatements("tosa", "gather", 0).size(), 1u);
}

TEST(CounterpartTest, CanBeKeptAlone) {
  Policy policy = parsed("categories: {deny: [Exp]}");
  ASSERT_FALSE(bool(policy.keepOperator("tosa:exp")));
  EXPECT_EQ(category(policy, "tosa:exp", 0), Category::Keep);
  EXPECT_EQ(category(policy, "Exp"), Category::Deny);
}

} // namespace
