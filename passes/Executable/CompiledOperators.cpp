//===- CompiledOperators.cpp - what executables can have ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"
#include "LibraryKernels.h"
#include "ONNXToLinalg/Node.h"

#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Passes/Executable.h"

using namespace mlir;

namespace amp {

/// What runs nodes of an operator; empty if nothing does.
static std::string describe(const onnx::OperatorInfo &info) {
  StringRef operation = info.operationName;
  std::string how = hasRule(operation) ? "loops" : "";
  auto add = [&](const Twine &more) {
    how += (how.empty() ? "" : ", ") + more.str();
  };
  for (const Candidate &candidate : getCandidates())
    if (llvm::is_contained(candidate.ops, operation))
      add(candidate.name);
  for (const LibraryKernel &kernel : getLibraryKernels())
    if (kernel.domain == info.domain && kernel.op == info.name)
      add("kernel " + kernel.kernel);
  // ExpandOptimizers.cpp.
  if (operation == onnx::PreviewTrainingAdagradOp::getOperationName() ||
      operation == onnx::PreviewTrainingAdamOp::getOperationName() ||
      operation == onnx::PreviewTrainingMomentumOp::getOperationName())
    add("its definition");
  return how;
}

std::vector<CompiledOperator> listCompiledOperators(MLIRContext &context) {
  std::vector<CompiledOperator> list;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    const onnx::OperatorInfo *info = onnx::lookupOperator(name);
    std::string how = info ? describe(*info) : "";
    if (!how.empty())
      list.push_back({info->domain, info->name, how});
  }
  llvm::sort(list, [](const CompiledOperator &a, const CompiledOperator &b) {
    return std::pair(a.domain, a.name) < std::pair(b.domain, b.name);
  });
  return list;
}

} // namespace amp
