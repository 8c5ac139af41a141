//===- ValueNames.h - names for the values of a model -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_VALUENAMES_H
#define AMP_LIB_TARGET_ONNX_VALUENAMES_H

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/StringSaver.h"

namespace amp {

/// Gives every value a name. Recorded names (onnx.outputs, the inputs of a
/// graph) stay, except where two values of one graph would have the same; a
/// graph's outputs go first, so that the interface keeps its names whatever was
/// inserted before it. New names are unique in the whole model.
class ValueNames {
public:
  explicit ValueNames(mlir::ModuleOp module) : module(module) {}

  /// An output that is a value with another name, such as an input: the
  /// exporter copies it.
  struct Alias {
    mlir::Value value;
    llvm::StringRef name;
  };

  /// Names the values of a block whose inputs and outputs have these names.
  /// Values of blocks around it must have their names. Returns the outputs that
  /// need a copy; an output whose name another value has gets a new one.
  llvm::SmallVector<Alias, 0>
  assign(mlir::Block &block, llvm::ArrayRef<llvm::StringRef> inputs,
         llvm::SmallVectorImpl<llvm::StringRef> &outputs);

  /// The name of a value, "" if it has none.
  llvm::StringRef operator[](mlir::Value value) const {
    return names.lookup(value);
  }

  /// The value of this name in a block that was named, or null.
  mlir::Value find(mlir::Block &block, llvm::StringRef name) const {
    auto scope = scopes.find(&block);
    return scope == scopes.end() ? mlir::Value() : scope->second.lookup(name);
  }

private:
  llvm::StringRef unique(const llvm::Twine &base);

  mlir::ModuleOp module;
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver{allocator};
  llvm::DenseMap<mlir::Value, llvm::StringRef> names;
  llvm::DenseMap<mlir::Block *, llvm::DenseMap<llvm::StringRef, mlir::Value>>
      scopes;
  /// All recorded names of the module, collected when the first new one is
  /// needed.
  llvm::StringSet<> taken;
  /// Where the search for a suffix goes on, by base.
  llvm::StringMap<unsigned> suffixes;
  bool collected = false;
};

} // namespace amp

#endif // AMP_LIB_TARGET_ONNX_VALUENAMES_H
