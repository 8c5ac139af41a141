//===- TypeSpelling.cpp - types as people write them ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TypeSpelling.h"

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace amp;
using namespace mlir;

std::string amp::spellName(StringRef name) {
  std::string quotedName = quoted(name);
  bool isPlain = !name.empty() && quotedName.size() == name.size() + 2 &&
                 !name.contains(' ');
  return isPlain ? name.str() : quotedName;
}

std::string amp::spellElementType(Type elementType) {
  std::optional<onnx::ElementType> element = onnx::fromType(elementType);
  if (!element)
    return "unknown";
  // Schemas say "float" and "double", everything else with its width.
  if (*element == onnx::ElementType::Float)
    return "float32";
  if (*element == onnx::ElementType::Double)
    return "float64";
  return onnx::nameOf(*element).str();
}

static std::string spellTensor(TensorType type) {
  std::string text = spellElementType(type.getElementType()) + "[";
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked)
    return text + "...]";
  auto names = dyn_cast_if_present<onnx::DimsAttr>(ranked.getEncoding());
  for (auto [i, size] : llvm::enumerate(ranked.getShape())) {
    if (i > 0)
      text += ",";
    StringAttr name = names ? names.getNames()[i] : StringAttr();
    if (!ShapedType::isDynamic(size))
      text += std::to_string(size);
    else
      text += name && !name.empty() ? spellName(name.getValue()) : "?";
  }
  return text + "]";
}

std::string amp::spellType(Type type) {
  // Types nest as deep as the importer admits.
  return llvm::TypeSwitch<Type, std::string>(type)
      .Case([](TensorType t) { return spellTensor(t); })
      .Case([](onnx::SequenceType t) {
        return "seq(" + spellType(t.getElementType()) + ")";
      })
      .Case([](onnx::OptionalType t) {
        return "optional(" + spellType(t.getElementType()) + ")";
      })
      .Case([](onnx::MapType t) {
        return "map(" + spellElementType(t.getKeyType()) + ", " +
               spellType(t.getValueType()) + ")";
      })
      .Case([](onnx::SparseTensorType t) {
        return "sparse(" + spellType(t.getDenseType()) + ")";
      })
      .Case([](onnx::OpaqueType t) {
        return "opaque(" + spellName(t.getName().getValue()) + ")";
      })
      .Default([](Type) { return std::string("unknown"); });
}
