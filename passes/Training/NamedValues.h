//===- NamedValues.h - values of a graph by name ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_NAMEDVALUES_H
#define AMP_PASSES_TRAINING_NAMEDVALUES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Regex.h"

namespace amp {

/// The names of an operation's results, empty where there is none.
llvm::SmallVector<llvm::StringRef> getResultNames(mlir::Operation *op);
/// Gives a result another name; an empty one takes it away.
void setResultName(mlir::OpResult result, llvm::StringRef name);

/// The values of a graph, without its subgraphs, by name.
class NamedValues {
public:
  explicit NamedValues(mlir::func::FuncOp graph);

  mlir::Value lookup(llvm::StringRef name) const { return values.lookup(name); }
  auto getNames() const { return values.keys(); }
  /// The name that is spelled most alike; empty if none is near.
  llvm::StringRef nearest(llvm::StringRef name) const;
  bool contains(llvm::StringRef name) const { return values.contains(name); }

private:
  void add(mlir::Attribute name, mlir::Value value) {
    if (auto text = llvm::dyn_cast_if_present<mlir::StringAttr>(name))
      values.try_emplace(text.getValue(), value);
  }
  void addEntries(mlir::DictionaryAttr fields, llvm::StringRef key,
                  mlir::ValueRange range);

  llvm::StringMap<mlir::Value> values;
};

/// A regular expression that has to match the whole of a name.
llvm::Expected<llvm::Regex> getWholeNameRegex(llvm::StringRef expression);

} // namespace amp

#endif // AMP_PASSES_TRAINING_NAMEDVALUES_H
