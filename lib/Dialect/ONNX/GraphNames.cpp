//===- GraphNames.cpp - names of a graph's inputs and outputs -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/ONNX/GraphNames.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"

using namespace mlir;

namespace amp::onnx {

static StringRef getEntryName(func::FuncOp graph, StringRef list,
                              size_t position) {
  auto fields = graph->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
  auto entries = fields ? fields.getAs<ArrayAttr>(list) : ArrayAttr();
  auto entry = entries && position < entries.size()
                   ? dyn_cast<DictionaryAttr>(entries[position])
                   : DictionaryAttr();
  auto name = entry ? entry.getAs<StringAttr>("name") : StringAttr();
  return name ? name.getValue() : StringRef();
}

StringRef getInputName(func::FuncOp graph, size_t position) {
  return getEntryName(graph, "input", position);
}

StringRef getOutputName(func::FuncOp graph, size_t position) {
  return getEntryName(graph, "output", position);
}

StringRef nameOfInput(BlockArgument input) {
  auto graph = dyn_cast<func::FuncOp>(input.getOwner()->getParentOp());
  return graph ? getInputName(graph, input.getArgNumber()) : StringRef();
}

} // namespace amp::onnx
