//===- NamedValues.cpp - values of a graph by name ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamedValues.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Support/NearestName.h"
#include "amp/Support/Quoted.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace amp {

using onnx::ONNXDialect;

/// For each recorded name of an operation the number of its result. An empty
/// name has no result, unless there are as many.
static SmallVector<std::pair<unsigned, StringAttr>>
getRecordedNames(Operation *op, ArrayAttr outputs) {
  SmallVector<std::pair<unsigned, StringAttr>> names;
  bool allAreResults = outputs.size() == op->getNumResults();
  unsigned result = 0;
  for (Attribute output : outputs) {
    auto name = dyn_cast<StringAttr>(output);
    if (!name || result >= op->getNumResults())
      continue;
    names.push_back({result, name});
    result += allAreResults || !name.empty();
  }
  return names;
}

SmallVector<StringRef> getResultNames(Operation *op) {
  SmallVector<StringRef> names(op->getNumResults());
  if (auto outputs = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs))
    for (auto [result, name] : getRecordedNames(op, outputs))
      names[result] = name;
  return names;
}

void setResultName(OpResult result, StringRef name) {
  Operation *op = result.getOwner();
  SmallVector<StringRef> names = getResultNames(op);
  names[result.getResultNumber()] = name;
  if (llvm::all_of(names, [](StringRef known) { return known.empty(); }))
    op->removeAttr(ONNXDialect::kOutputs);
  else
    op->setAttr(ONNXDialect::kOutputs,
                Builder(op->getContext()).getStrArrayAttr(names));
}

void NamedValues::addEntries(DictionaryAttr fields, StringRef key,
                             ValueRange range) {
  auto entries = fields ? fields.getAs<ArrayAttr>(key) : ArrayAttr();
  if (!entries)
    return;
  for (auto [entry, value] : llvm::zip(entries, range))
    if (auto dictionary = dyn_cast<DictionaryAttr>(entry))
      add(dictionary.get("name"), value);
}

NamedValues::NamedValues(func::FuncOp graph) {
  Block &block = graph.getBody().front();
  auto fields = graph->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
  addEntries(fields, "input", block.getArguments());
  for (Operation &op : block)
    for (auto [name, result] :
         llvm::zip_equal(getResultNames(&op), op.getResults()))
      if (!name.empty())
        values.try_emplace(name, result);
  addEntries(fields, "output", block.getTerminator()->getOperands());
}

StringRef NamedValues::nearest(StringRef name) const {
  return findNearestName(name, llvm::to_vector(values.keys()));
}

llvm::Expected<llvm::Regex> getWholeNameRegex(StringRef expression) {
  std::string problem;
  if (!llvm::Regex(expression).isValid(problem))
    return llvm::createStringError(quoted(expression) +
                                   " is no regular expression: " + problem);
  return llvm::Regex(("^(" + expression + ")$").str());
}

} // namespace amp
