//===- NamedValues.cpp - values of a graph by name ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamedValues.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Support/NearestName.h"
#include "amp/Support/Quoted.h"

using namespace mlir;

namespace amp {

using onnx::ONNXDialect;

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
    if (auto outputs = op.getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs)) {
      // An empty name has no result, unless there are as many.
      bool allAreResults = outputs.size() == op.getNumResults();
      unsigned result = 0;
      for (Attribute name : outputs) {
        auto text = dyn_cast<StringAttr>(name);
        if (!text || result >= op.getNumResults())
          continue;
        if (!text.empty())
          add(text, op.getResult(result));
        result += allAreResults || !text.empty();
      }
    }
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
