//===- ReferenceNames.cpp - names that other graphs know values by --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceNames.h"

#include "NamedValues.h"
#include "TrainingBindings.h"

using namespace mlir;

namespace amp {

ReferenceNames::ReferenceNames(func::FuncOp graph, const GraphSlice &part,
                               unsigned numOutputs)
    : graph(graph), part(part) {
  Block &block = graph.getBody().front();
  for (auto [name, argument] :
       llvm::zip(getEntryNames(graph, "input"), block.getArguments())) {
    names[argument] = name;
    interface.insert(name);
  }
  SmallVector<std::string> outputs = getEntryNames(graph, "output");
  for (StringRef name : outputs)
    taken.insert(name);
  outputs.resize(std::min<size_t>(outputs.size(), numOutputs));
  for (auto [name, value] :
       llvm::zip(outputs, block.getTerminator()->getOperands())) {
    interface.insert(name);
    if (isa<OpResult>(value))
      names.try_emplace(value, name);
  }
  for (Operation &op : block)
    for (StringRef name : getResultNames(&op)) {
      taken.insert(name);
      if (part.contains(&op) && !name.empty())
        ++recordedCounts[name];
    }
  for (StringRef name : interface.keys())
    taken.insert(name);
}

std::string ReferenceNames::makeName(OpResult value, StringRef recorded) {
  std::string base = recorded.str();
  if (base.empty())
    for (Value operand : value.getOwner()->getOperands())
      if (base = names.lookup(operand); base.empty())
        if (auto result = dyn_cast<OpResult>(operand))
          base =
              getResultNames(result.getOwner())[result.getResultNumber()].str();
  if (base.empty())
    base = "value";
  for (unsigned number = 1;; ++number)
    if (std::string name = base + "_" + std::to_string(number);
        taken.insert(name).second)
      return name;
}

std::string ReferenceNames::get(Value value) {
  if (auto known = names.find(value); known != names.end())
    return known->second;
  auto result = cast<OpResult>(value);
  StringRef recorded =
      getResultNames(result.getOwner())[result.getResultNumber()];
  // Inputs and outputs are named before others.
  bool isOwn =
      recordedCounts.lookup(recorded) == 1 && !interface.contains(recorded);
  std::string name = isOwn ? recorded.str() : makeName(result, recorded);
  if (!isOwn) {
    setResultName(result, name);
    ++recordedCounts[name];
  }
  names[value] = name;
  return name;
}

} // namespace amp
