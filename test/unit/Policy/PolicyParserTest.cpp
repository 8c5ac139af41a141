//===- PolicyParserTest.cpp - what policy files may say -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PolicyTesting.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <random>

using namespace amp;
using llvm::StringRef;

namespace {

std::string errorOf(llvm::Expected<Policy> policy) {
  if (policy)
    return "no error";
  return llvm::toString(policy.takeError());
}

std::string errorOf(StringRef text) {
  return errorOf(Policy::parse({text, "p.yaml"}));
}

TEST(PolicyParserTest, EverythingIsOptional) {
  EXPECT_EQ(errorOf("{}"), "no error");
  EXPECT_EQ(errorOf("# nothing\n---\n{}\n"), "no error");
  Policy policy = parsed("extends: torch\n");
  EXPECT_FALSE(policy.low());
  EXPECT_EQ(policy.outOfRange(), OutOfRange::Convert);
  Policy empty = parsed("{}");
  EXPECT_EQ(empty.outOfRange(), OutOfRange::KeepFloat32);
  EXPECT_EQ(empty.underflow(), Underflow::KeepFloat32);
  EXPECT_EQ(parsed("low: fp16").low(), FloatFormat::fp16());
}

#define PRESET_NAMES                                                           \
  "accuracy, apex-O1, apex-O2, apex-O3, inference, modelopt, "                 \
  "onnxconverter-common, ort-transformers, performance, tensorflow, tf32, "    \
  "tf32-conv, torch, torch-cpu, training"

struct ErrorCase {
  const char *text, *error;
};

const ErrorCase errorCases[] = {
    // Not a policy at all.
    {"", "p.yaml:1:1: expected a mapping with the policy's keys, got nothing"},
    {"- a\n",
     "p.yaml:1:1: expected a mapping with the policy's keys, got a list"},
    {"just text",
     "p.yaml:1:1: expected a mapping with the policy's keys, got 'just text'"},
    {"low: [1, 2", nullptr},
    {"low: \"fp16", nullptr},
    {"low: @", nullptr},
    {"low: fp16\n---\nlow: bf16\n",
     "p.yaml:3:1: expected one document, got a second"},
    {"low: &x fp16", "p.yaml:1:9: anchors and aliases are not supported"},
    {"low: !!str fp16", "p.yaml:1:12: tags are not supported"},
    {"low: {a: {a: {a: {a: {a: {a: {a: {a: {a: {}}}}}}}}}}",
     "p.yaml:1:35: nested too deeply"},
    {"low: fp16\nlow: bf16\n", "p.yaml:2:1: key 'low' is given twice"},
    {"[a]: fp16\n", "p.yaml:1:1: expected a key, got a list"},

    // The keys of a file.
    {"lwo: fp16\n", "p.yaml:1:1: unknown key 'lwo', did you mean 'low'?"},
    {"low: fp16\n\ncatgories: {}\n",
     "p.yaml:3:1: unknown key 'catgories', did you mean 'categories'?"},
    {"something else: 1\n",
     "p.yaml:1:1: unknown key 'something else', expected one of extends, low, "
     "out_of_range, underflow, keep_io_types, categories, no_pull, pin, "
     "flush, rules"},
    {"low: fp8\n", "p.yaml:1:6: expected one of fp16, bf16, tf32, got 'fp8'"},
    {"low:\n", "p.yaml:1:1: expected one of fp16, bf16, tf32, got nothing"},
    {"low: [fp16]\n",
     "p.yaml:1:6: expected one of fp16, bf16, tf32, got a list"},
    {"out_of_range: clip\n", "p.yaml:1:15: expected one of saturate, clamp, "
                             "keep, convert, got 'clip'"},
    {"underflow: {}\n",
     "p.yaml:1:12: expected one of keep, flush, got a mapping"},

    // extends.
    {"extends: [torch]\n",
     "p.yaml:1:10: expected the name of a policy, got a list"},
    {"extends: torhc\n",
     "p.yaml:1:10: unknown policy 'torhc', did you mean 'torch'?"},
    {"extends: nothing\n",
     "p.yaml:1:10: unknown policy 'nothing', expected " PRESET_NAMES
     " or a path that ends in .yaml or has a slash"},
    {"extends: ./missing.yaml\n",
     "p.yaml:1:10: cannot read policy file './missing.yaml': no such file or "
     "directory"},
    {"extends: /dev/null\n", "p.yaml:1:10: cannot read policy file "
                             "'/dev/null': not a regular file"},

    // categories.
    {"categories: [Add]\n", "p.yaml:1:13: expected a mapping from categories "
                            "to operators, got a list"},
    {"categories:\n  alow: [Add]\n",
     "p.yaml:2:3: unknown category 'alow', did you mean 'allow'?"},
    {"categories:\n  fp16: [Add]\n",
     "p.yaml:2:3: unknown category 'fp16', expected one of allow, deny, "
     "promote, follow, clear, keep, ban"},
    {"categories:\n  allow: MatMul\n",
     "p.yaml:2:10: expected a list of operators, got 'MatMul'"},
    {"categories:\n  allow: [MatMull]\n",
     "p.yaml:2:11: unknown operator 'MatMull', did you mean 'MatMul'?"},
    {"categories:\n  allow: [Gelux]\n",
     "p.yaml:2:11: unknown operator 'Gelux', did you mean 'Gelu'?"},
    {"categories:\n  allow: [[MatMul]]\n",
     "p.yaml:2:11: expected an operator, or 'operators' with a 'reason', got "
     "a list"},
    {"categories:\n  allow: ['Mat Mul']\n",
     "p.yaml:2:11: expected an operator as 'Op' or 'domain:Op', got 'Mat Mul'"},
    {"categories:\n  allow: [MatMul@]\n",
     "p.yaml:2:11: expected versions as 'Op@N', 'Op@N+' or 'Op@N-M', got "
     "'MatMul@'"},
    {"categories:\n  allow: [MatMul@9-]\n",
     "p.yaml:2:11: expected versions as 'Op@N', 'Op@N+' or 'Op@N-M', got "
     "'MatMul@9-'"},
    {"categories:\n  allow: [MatMul]\n  deny: [Exp, MatMul@9]\n",
     "p.yaml:3:15: operator 'MatMul@9' is in 'allow' already, on line 2"},
    {"categories:\n  allow:\n    - {reason: why}\n",
     "p.yaml:3:7: expected 'operators' or 'base' beside the reason"},
    {"categories:\n  allow:\n    - {operators: [Exp], because: why}\n",
     "p.yaml:3:26: unknown key 'because', expected one of operators, base, "
     "reason"},
    {"categories:\n  allow:\n    - base: deny\n",
     "p.yaml:3:13: 'base' is for files that extend another"},
    {"extends: torch\ncategories:\n  allow:\n    - base: [dney]\n",
     "p.yaml:4:14: unknown category 'dney', did you mean 'deny'?"},
    {"extends: torch\ncategories:\n  allow:\n    - base: {deny: x}\n",
     "p.yaml:4:13: expected a list of categories, got a mapping"},
    {"extends: torch\ncategories:\n  allow:\n    - base: [[deny]]\n",
     "p.yaml:4:14: expected a category, got a list"},
    {"extends: torch\ncategories:\n  allow: [{base: deny}]\n"
     "  keep:\n    - base: [follow, deny]\n",
     "p.yaml:5:22: 'deny' of the base is in 'allow' already, on line 3"},
    {"categories:\n  allow:\n    - {operators: [Exp], reason: [a]}\n",
     "p.yaml:3:34: expected a text, got a list"},

    // no_pull and pin.
    {"no_pull: {}\n", "p.yaml:1:10: expected a list of operators, got a "
                      "mapping"},
    {"no_pull: [Lesss]\n",
     "p.yaml:1:11: unknown operator 'Lesss', did you mean 'Less'?"},
    {"pin: [Resize]\n",
     "p.yaml:1:6: expected a mapping from operators to positions, got a list"},
    {"pin:\n  Resiz: [1]\n",
     "p.yaml:2:3: unknown operator 'Resiz', did you mean 'Resize'?"},
    {"pin:\n  Resize: [roi]\n", "p.yaml:2:12: expected an operand's position, "
                                "counted from 0, got 'roi'"},
    {"pin:\n  Resize: [-1]\n", "p.yaml:2:12: expected an operand's position, "
                               "counted from 0, got '-1'"},
    {"pin:\n  Resize: {1: 2}\n",
     "p.yaml:2:11: expected a list of operand positions, got a mapping"},
    {"flush: [Conv]\n",
     "p.yaml:1:8: expected a mapping from operators to positions, got a list"},

    // rules.
    {"rules: {}\n", "p.yaml:1:8: expected a list of rules, got a mapping"},
    {"rules: [MatMul]\n", "p.yaml:1:9: expected a rule, got 'MatMul'"},
    {"rules:\n  - operator: MatMul\n",
     "p.yaml:2:5: unknown key of a rule 'operator', did you mean "
     "'operators'?"},
    {"rules:\n  - operators: MatMul\n",
     "p.yaml:2:5: expected the rule to say one of category, no_pull, pin, "
     "flush, out_of_range, underflow, low, island"},
    {"rules:\n  - {operators: [], category: keep}\n",
     "p.yaml:2:17: expected at least one operator"},
    {"rules:\n  - {operators: Mul@x, category: keep}\n",
     "p.yaml:2:17: expected versions as 'Op@N', 'Op@N+' or 'Op@N-M', got "
     "'Mul@x'"},
    {"rules:\n  - {nodes: 'a(', category: keep}\n",
     "p.yaml:2:13: malformed regular expression 'a(': parentheses not "
     "balanced"},
    {"rules:\n  - {nodes: [], category: keep}\n",
     "p.yaml:2:13: expected at least one regular expression"},
    {"rules:\n  - {nodes: [{}], category: keep}\n",
     "p.yaml:2:14: expected a regular expression, got a mapping"},
    {"rules:\n  - {outputs: {}, category: keep}\n",
     "p.yaml:2:15: expected a regular expression on output names, got a "
     "mapping"},
    {"rules:\n  - {scopes: [], category: keep}\n",
     "p.yaml:2:14: expected at least one regular expression"},
    {"rules:\n  - {scopes: 'a[', category: keep}\n",
     "p.yaml:2:14: malformed regular expression 'a[': brackets ([ ]) not "
     "balanced"},
    {"rules:\n  - {nodes: a, low: fp32}\n",
     "p.yaml:2:21: expected one of fp16, bf16, tf32, got 'fp32'"},
    {"rules:\n  - {nodes: a, island: 1}\n",
     "p.yaml:2:24: expected one of true, false, got '1'"},
    {"rules:\n  - {nodes: a, category: keeep}\n",
     "p.yaml:2:26: unknown category 'keeep', did you mean 'keep'?"},
    {"rules:\n  - {nodes: a, category: [keep]}\n",
     "p.yaml:2:26: expected a category, got a list"},
    {"rules:\n  - {nodes: a, no_pull: yes}\n",
     "p.yaml:2:25: expected one of true, false, got 'yes'"},
    {"rules:\n  - {nodes: a, pin: x}\n",
     "p.yaml:2:21: expected an operand's position, counted from 0, got 'x'"},
    {"rules:\n  - {nodes: a, flush: x}\n",
     "p.yaml:2:23: expected an operand's position, counted from 0, got 'x'"},
    {"rules:\n  - {nodes: a, out_of_range: 1}\n",
     "p.yaml:2:30: expected one of saturate, clamp, keep, convert, got '1'"},
    {"rules:\n  - {nodes: a, underflow: 1}\n",
     "p.yaml:2:27: expected one of keep, flush, got '1'"},
    {"rules:\n  - {nodes: a, category: keep, reason: {}}\n",
     "p.yaml:2:40: expected a text, got a mapping"},
    {"rules:\n  - {when: [constant], category: keep}\n",
     "p.yaml:2:12: expected a mapping with conditions, got a list"},
    {"rules:\n  - {when: {constnt: 0}, category: keep}\n",
     "p.yaml:2:13: unknown condition 'constnt', did you mean 'constant'?"},
    {"rules:\n  - {when: {constant: yes}, category: keep}\n",
     "p.yaml:2:23: expected an operand's position, counted from 0, got 'yes'"},
    {"rules:\n  - {when: {elements: 12}, category: keep}\n",
     "p.yaml:2:23: expected a mapping from operand positions to numbers, got "
     "'12'"},
    {"rules:\n  - {when: {elements: {x: 12}}, category: keep}\n",
     "p.yaml:2:24: expected an operand's position, counted from 0, got 'x'"},
    {"rules:\n  - {when: {elements: {0: many}}, category: keep}\n",
     "p.yaml:2:27: expected a number of elements as 'N', 'N+' or 'N-M', got "
     "'many'"},
    {"rules:\n  - {when: {shape: [1]}, category: keep}\n",
     "p.yaml:2:20: expected a mapping from operand positions to shapes, got a "
     "list"},
    {"rules:\n  - {when: {shape: {0: 4}}, category: keep}\n",
     "p.yaml:2:24: expected a list of sizes, got '4'"},
    {"rules:\n  - {when: {shape: {0: [any, x]}}, category: keep}\n",
     "p.yaml:2:30: expected 'any' or a size as 'N', 'N+' or 'N-M', got 'x'"},
    {"rules:\n  - {when: {absmax: {0: '-1'}}, category: keep}\n",
     "p.yaml:2:25: expected a magnitude as '1e4', '1e4+' or '10..1e4', got "
     "'-1'"},
    {"rules:\n  - {when: {absmax: {0: 9..1}}, category: keep}\n",
     "p.yaml:2:25: expected a magnitude as '1e4', '1e4+' or '10..1e4', got "
     "'9..1'"},
    {"rules:\n  - {when: {reduction: long}, category: keep}\n",
     "p.yaml:2:24: expected a number of elements as 'N', 'N+' or 'N-M', got "
     "'long'"},
    {"rules:\n  - {when: {attributes: [axis]}, category: keep}\n",
     "p.yaml:2:25: expected a mapping from attribute names to values, got a "
     "list"},
    {"rules:\n  - {when: {attributes: {axis: [[1]]}}, category: keep}\n",
     "p.yaml:2:33: expected a number or a text, got a list"},
    {"rules:\n  - {when: {low: fp8}, category: keep}\n",
     "p.yaml:2:18: expected one of fp16, bf16, tf32, got 'fp8'"},

    // keep_io_types.
    {"keep_io_types: some\n",
     "p.yaml:1:16: expected one of true, false, got 'some'"},
    {"keep_io_types: {input: x}\n",
     "p.yaml:1:17: unknown key 'input', did you mean 'inputs'?"},
    {"keep_io_types: {inputs: []}\n",
     "p.yaml:1:25: expected at least one regular expression"},
};

TEST(PolicyParserTest, Errors) {
  for (const ErrorCase &test : errorCases) {
    testing::internal::CaptureStderr();
    std::string error = errorOf(test.text);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << test.text;
    // LLVM words the faults of YAML; where they are is ours to say.
    if (test.error)
      EXPECT_EQ(error, test.error) << test.text;
    else
      EXPECT_EQ(error.find("p.yaml:1:"), 0u) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(PolicyParserTest, NamesInErrorsCannotBreakTheLine) {
  EXPECT_EQ(errorOf(Policy::parse({"low: 1", "a\nb.yaml"})),
            R"('a\nb.yaml':1:6: expected one of fp16, bf16, tf32, got '1')");
  EXPECT_EQ(
      errorOf("low: \"a\\n\\e[31m\"\n"),
      R"(p.yaml:1:6: expected one of fp16, bf16, tf32, got 'a\n\x1b[31m')");
}

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::error_code error =
        llvm::sys::fs::createUniqueDirectory("policy", path);
    EXPECT_FALSE(error) << error.message();
  }
  ~TemporaryFolder() { llvm::sys::fs::remove_directories(path); }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string file(StringRef name) const { return (path + "/" + name).str(); }
  std::string write(StringRef name, StringRef text) const {
    std::error_code error;
    llvm::raw_fd_ostream out(file(name), error);
    EXPECT_FALSE(error) << error.message();
    out << text;
    return file(name);
  }

private:
  llvm::SmallString<128> path;
};

TEST(PolicyParserTest, FilesExtendFiles) {
  TemporaryFolder folder;
  folder.write("base.yaml", "extends: torch\n"
                            "categories: {deny: [Gelu, Tanh]}\n");
  std::string derived =
      folder.write("derived.yml", "extends: base.yaml\n"
                                  "categories: {allow: [Tanh]}\n");
  auto policy = Policy::load(derived);
  ASSERT_TRUE(bool(policy)) << llvm::toString(policy.takeError());
  EXPECT_EQ(policy->name(), "derived");
  EXPECT_EQ(category(*policy, "Tanh"), Category::Allow);
  EXPECT_EQ(category(*policy, "Gelu"), Category::Deny);
  EXPECT_EQ(category(*policy, "MatMul"), Category::Allow);
  EXPECT_EQ(policy->decide(operation("Gelu")).rule,
            "policy 'base' line 2: Gelu is deny");
}

TEST(PolicyParserTest, ErrorsNameTheFileThatHasThem) {
  TemporaryFolder folder;
  std::string base = folder.write("base.yaml", "low: fp61\n");
  std::string derived = folder.write("derived.yaml", "extends: base.yaml\n");
  EXPECT_EQ(errorOf(Policy::load(derived)),
            base + ":1:6: expected one of fp16, bf16, tf32, got 'fp61'");
}

TEST(PolicyParserTest, Cycles) {
  TemporaryFolder folder;
  std::string a = folder.write("a.yaml", "extends: b.yaml\n");
  std::string b = folder.write("b.yaml", "extends: ./a.yaml\n");
  EXPECT_EQ(errorOf(Policy::load(a)),
            b + ":1:10: policy extends itself: 'a -> b -> a'");
  std::string self = folder.write("self.yaml", "extends: self.yaml\n");
  EXPECT_EQ(errorOf(Policy::load(self)),
            self + ":1:10: policy extends itself: 'self -> self'");
}

TEST(PolicyParserTest, PathsAndPresets) {
  for (const char *path : {"a.yaml", "a.yml", "./inference", "/", "../x"})
    EXPECT_TRUE(Policy::isPath(path)) << path;
  for (const char *name : {"inference", "inferense", "", "yaml", "a.json"})
    EXPECT_FALSE(Policy::isPath(name)) << name;
}

TEST(PolicyParserTest, FilesThatCannotBeRead) {
  TemporaryFolder folder;
  EXPECT_EQ(errorOf(Policy::load("x/y.yaml")),
            "cannot read policy file 'x/y.yaml': no such file or directory");
  EXPECT_EQ(errorOf(Policy::load("inferense")),
            "unknown policy 'inferense', did you mean 'inference'?");
  EXPECT_EQ(errorOf(Policy::load("")),
            "unknown policy '', expected " PRESET_NAMES
            " or a path that ends in .yaml or has a slash");
  std::string big = folder.write("big.yaml", std::string(5 << 20, '#'));
  std::string error = errorOf(Policy::load(big));
  EXPECT_NE(error.find(": 5242880 bytes, expected at most 4194304"),
            std::string::npos)
      << error;
  EXPECT_NE(
      errorOf(Policy::load(folder.file(".") + "/")).find("not a regular file"),
      std::string::npos);
}

/// Whatever the bytes, parsing ends with a policy or with one line.
TEST(PolicyParserTest, DamagedFiles) {
  const std::string whole = "low: fp16\n"
                            "categories:\n"
                            "  deny:\n"
                            "    - reason: \"a \\u00e9\"\n"
                            "      operators: [Exp, 'com.x:Y']\n"
                            "pin: {Resize@10: [1], ? Pow : 1}\n"
                            "rules:\n"
                            "  - nodes: |\n"
                            "      a.*\n"
                            "    when: {constant: [0], elements: {1: 4+}}\n"
                            "    category: keep # why\n";
  auto check = [](StringRef text) {
    std::string error = errorOf(text);
    ASSERT_EQ(error.find('\n'), std::string::npos) << error;
  };
  testing::internal::CaptureStderr();
  for (size_t length = 0; length <= whole.size(); ++length)
    check(StringRef(whole).take_front(length));
  std::mt19937 generator(6);
  const StringRef pieces = "\t\n :-[]{},?!&*#|>'\"%@`\\x00\xff\xc3\xe2\x80\x00";
  for (int round = 0; round < 5000; ++round) {
    std::string text = whole;
    for (unsigned edits = 1 + generator() % 4; edits--;) {
      size_t at = generator() % text.size();
      char piece = pieces[generator() % pieces.size()];
      switch (generator() % 4) {
      case 0:
        text[at] = piece;
        break;
      case 1:
        text.insert(at, 1, piece);
        break;
      case 2:
        text.erase(at, 1 + generator() % 5);
        break;
      case 3:
        text.insert(at, text.substr(generator() % text.size(), 20));
        break;
      }
      if (text.empty())
        break;
    }
    check(text);
  }
  for (const char *open : {"[", "{", "- ", "? ", "{a: ", "[[", "!a ", "'"}) {
    std::string text = "low: ";
    for (int i = 0; i < 20000; ++i)
      text += open;
    check(text);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

/// The examples of docs/policy-format.md are policies.
TEST(PolicyParserTest, DocumentedExamples) {
  auto page = llvm::MemoryBuffer::getFile(AMP_POLICY_FORMAT_PAGE);
  ASSERT_TRUE(bool(page)) << page.getError().message();
  StringRef rest = (*page)->getBuffer();
  unsigned examples = 0;
  while (true) {
    auto [before, after] = rest.split("```yaml\n");
    if (after.empty())
      break;
    auto [example, following] = after.split("```");
    EXPECT_EQ(errorOf(example), "no error") << example.str();
    ++examples;
    rest = following;
  }
  EXPECT_GE(examples, 5u);
}

} // namespace
