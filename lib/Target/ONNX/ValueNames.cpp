//===- ValueNames.cpp - names for the values of a model -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ValueNames.h"

#include "Types.h"

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"

using namespace mlir;

namespace amp {

namespace {

using onnx::ONNXDialect;

/// The recorded names of an operation's results; empty if there are none or
/// their number is wrong. A result that nobody reads may have an empty one.
SmallVector<StringRef, 2> recordedNames(Operation *op) {
  SmallVector<StringRef, 2> result;
  if (auto outputs = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs))
    for (Attribute output : outputs)
      if (auto name = dyn_cast<StringAttr>(output);
          name &&
          (!name.getValue().empty() || outputs.size() == op->getNumResults()))
        result.push_back(name.getValue());
  if (result.size() != op->getNumResults())
    result.clear();
  return result;
}

/// "_float16", for a value that is another one in a new type.
std::string typeSuffix(Value value) {
  Type element = innermostElementType(value.getType());
  std::optional<onnx::ElementType> number =
      element ? onnx::fromType(element) : std::nullopt;
  return number ? "_" + nameOf(*number).str() : std::string("_copy");
}

void collectNames(DictionaryAttr fields, llvm::StringSet<> &names) {
  if (!fields)
    return;
  for (StringRef key : {"input", "output", "value_info"})
    if (auto entries = fields.getAs<ArrayAttr>(key))
      for (Attribute entry : entries) {
        if (auto name = dyn_cast<StringAttr>(entry))
          names.insert(name.getValue());
        else if (auto info = dyn_cast<DictionaryAttr>(entry))
          if (auto name = info.getAs<StringAttr>("name"))
            names.insert(name.getValue());
      }
}

} // namespace

StringRef ValueNames::unique(const Twine &base) {
  if (!collected) {
    collected = true;
    module->walk([&](Operation *op) {
      for (StringRef name : recordedNames(op))
        taken.insert(name);
      for (StringRef key : {ONNXDialect::kGraph, ONNXDialect::kFunction})
        collectNames(op->getAttrOfType<DictionaryAttr>(key), taken);
    });
  }
  std::string text = base.str();
  unsigned &suffix = suffixes[text];
  std::string candidate = suffix ? text + "_" + std::to_string(suffix) : text;
  while (!taken.insert(candidate).second)
    candidate = text + "_" + std::to_string(++suffix);
  return saver.save(candidate);
}

SmallVector<ValueNames::Alias, 0>
ValueNames::assign(Block &block, ArrayRef<StringRef> inputs,
                   SmallVectorImpl<StringRef> &outputs) {
  SmallVector<Alias, 0> aliases;
  auto &scope = scopes[&block];
  auto name = [&](Value value, StringRef text) {
    names[value] = text;
    scope.insert({text, value});
  };
  for (auto [index, argument] : llvm::enumerate(block.getArguments()))
    name(argument, index < inputs.size() ? inputs[index]
                                         : unique("input_" + Twine(index)));

  // Outputs first: which value of this block will have which of their names.
  llvm::DenseMap<Value, StringRef> forced;
  llvm::DenseMap<StringRef, Value> reserved;
  Operation *terminator = block.getTerminator();
  for (unsigned i = outputs.size(); i < terminator->getNumOperands(); ++i)
    outputs.push_back(unique("output_" + Twine(i)));
  for (auto [value, text] :
       llvm::zip_first(terminator->getOperands(), outputs)) {
    auto [known, isNew] = reserved.try_emplace(text, value);
    if (!isNew) {
      if (known->second == value)
        continue;
      // One value was returned twice, and the two are no longer the same.
      text = unique(text);
      reserved[text] = value;
    }
    bool ours = value.getDefiningOp() && value.getParentBlock() == &block;
    if (ours && !forced.count(value))
      forced[value] = text;
    else if ((ours ? forced.lookup(value) : names.lookup(value)) != text)
      aliases.push_back({value, text});
  }

  for (Operation &op : block.without_terminator()) {
    SmallVector<StringRef, 2> recorded = recordedNames(&op);
    for (OpResult result : op.getResults()) {
      StringRef text = forced.lookup(result);
      if (text.empty() && !recorded.empty()) {
        text = recorded[result.getResultNumber()];
        if (text.empty() && result.use_empty())
          continue;
        // The output's name, or that of another value of this graph.
        if (reserved.count(text) || scope.count(text))
          text = unique(text + typeSuffix(result));
      }
      if (text.empty()) {
        StringRef source =
            op.getNumOperands() ? names.lookup(op.getOperand(0)) : StringRef();
        text = source.empty() ? unique("value" + typeSuffix(result))
                              : unique(source + typeSuffix(result));
      }
      name(result, text);
    }
  }
  return aliases;
}

} // namespace amp
