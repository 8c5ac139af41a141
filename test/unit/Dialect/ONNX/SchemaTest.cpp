//===- SchemaTest.cpp - our schemas are those of ONNX ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/ONNX/Schema.h"

#include "onnx/defs/schema.h"

#include "gtest/gtest.h"

#include <set>
#include <thread>

namespace {

using ::onnx::OpSchema;
using ::onnx::OpSchemaRegistry;

TEST(SchemaTest, EveryOpsetHasTheVersionsOfONNX) {
  std::set<std::pair<std::string, std::string>> operators;
  for (const OpSchema &schema :
       OpSchemaRegistry::get_all_schemas_with_history())
    operators.insert({schema.domain(), schema.Name()});
  EXPECT_GT(operators.size(), 200u);
  for (const auto &[domain, name] : operators) {
    int64_t latest = amp::onnx::latestOpset(domain);
    for (int64_t opset = 1; opset <= latest + 1; ++opset) {
      const OpSchema *expected =
          OpSchemaRegistry::Schema(name, static_cast<int>(opset), domain);
      const amp::onnx::Schema *found =
          amp::onnx::lookupSchema(domain, name, opset);
      ASSERT_EQ(found != nullptr, expected != nullptr)
          << domain << ":" << name << " at " << opset;
      if (!found)
        continue;
      EXPECT_EQ(found->domain, domain);
      EXPECT_EQ(found->name, name);
      EXPECT_EQ(found->sinceVersion, expected->since_version())
          << domain << ":" << name << " at " << opset;
      EXPECT_EQ(found->deprecated, expected->deprecated());
      // Set when ONNX registers a schema.
      EXPECT_EQ(found->minInputs, expected->min_input()) << name;
      EXPECT_EQ(found->maxOutputs, expected->max_output()) << name;
    }
  }
}

TEST(SchemaTest, NamesAndOpsetsThatAreNone) {
  EXPECT_EQ(amp::onnx::lookupSchema("", "MatMull", 20), nullptr);
  EXPECT_EQ(amp::onnx::lookupSchema("", "", 20), nullptr);
  EXPECT_EQ(amp::onnx::lookupSchema("com.example", "MatMul", 20), nullptr);
  EXPECT_EQ(amp::onnx::lookupSchema("", "MatMul", 0), nullptr);
  EXPECT_EQ(amp::onnx::lookupSchema("", "MatMul", -1), nullptr);
  // The first and the last of the table.
  EXPECT_EQ(amp::onnx::lookupSchema("", "Abs", 0), nullptr);
  EXPECT_EQ(amp::onnx::lookupSchema("zzz", "Zzz", 1), nullptr);
  EXPECT_EQ(amp::onnx::lookupSchema("ai.onnx", "MatMul", 20),
            amp::onnx::lookupSchema("", "MatMul", 13));
}

TEST(SchemaTest, ThreadsGetOneAndTheSame) {
  constexpr unsigned count = 4;
  const amp::onnx::Schema *found[count] = {};
  std::vector<std::thread> threads;
  for (auto &result : found)
    threads.emplace_back(
        [&] { result = amp::onnx::lookupSchema("", "LSTM", 14); });
  for (std::thread &thread : threads)
    thread.join();
  for (const auto *result : found) {
    ASSERT_NE(result, nullptr);
    EXPECT_EQ(result, found[0]);
  }
}

} // namespace
