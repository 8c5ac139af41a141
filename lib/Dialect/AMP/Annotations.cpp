//===- Annotations.cpp - decisions as attributes --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMP/Annotations.h"

using namespace mlir;
using namespace amp;

/// Sets the discardable attributes of `op` to those that `keep` accepts.
static void filterAttributes(Operation *op,
                             llvm::function_ref<bool(StringRef)> keep) {
  auto isKept = [&](NamedAttribute attribute) {
    return keep(attribute.getName().getValue());
  };
  DictionaryAttr all = op->getDiscardableAttrDictionary();
  if (llvm::all_of(all, isKept))
    return;
  SmallVector<NamedAttribute> kept;
  llvm::copy_if(all, std::back_inserter(kept), isKept);
  op->setDiscardableAttrs(
      DictionaryAttr::getWithSorted(op->getContext(), kept));
}

void amp::removeAnnotations(Operation *root, ArrayRef<StringRef> names) {
  root->walk([&](Operation *op) {
    filterAttributes(op, [&](StringRef name) {
      return !name.starts_with("amp.") || !llvm::is_contained(names, name);
    });
  });
}

void amp::removeAnnotations(Operation *root) {
  root->walk([](Operation *op) {
    filterAttributes(op, [](StringRef name) {
      return !name.starts_with("amp.") || name == AMPDialect::kCompute;
    });
  });
}

void amp::addAnnotations(Operation *op, ArrayRef<NamedAttribute> annotations) {
  if (annotations.empty())
    return;
  SmallVector<NamedAttribute> all(op->getDiscardableAttrs());
  llvm::append_range(all, annotations);
  op->setDiscardableAttrs(DictionaryAttr::get(op->getContext(), all));
}

FloatType amp::getAnnotatedType(ArrayAttr elementTypes, unsigned index) {
  if (!elementTypes || index >= elementTypes.size())
    return {};
  auto type = dyn_cast<TypeAttr>(elementTypes[index]);
  return type ? dyn_cast<FloatType>(type.getValue()) : FloatType();
}
