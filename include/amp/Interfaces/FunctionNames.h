//===- FunctionNames.h - what users call arguments and results --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_INTERFACES_FUNCTIONNAMES_H
#define AMP_INTERFACES_FUNCTIONNAMES_H

#include "mlir/IR/DialectInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace amp {

/// A dialect that knows the names of functions' arguments and results, of
/// whatever dialect the functions are. A policy's `keep_io_types` refers to
/// them; its `scopes` to what else functions and calls are known by.
class FunctionNamesInterface
    : public mlir::DialectInterface::Base<FunctionNamesInterface> {
public:
  using Base::Base;

  /// Empty if there is none.
  virtual llvm::StringRef getArgumentName(mlir::FunctionOpInterface function,
                                          unsigned argument) const = 0;
  virtual llvm::StringRef getResultName(mlir::FunctionOpInterface function,
                                        unsigned result) const = 0;
  /// Adds the names that a user knows a function by, beside its symbol, or a
  /// call, and what the call was part of.
  virtual void getScopes(mlir::Operation *op,
                         llvm::SmallVectorImpl<std::string> &scopes) const {}
};

/// The name that some loaded dialect knows; empty if none does.
llvm::StringRef getArgumentName(mlir::FunctionOpInterface function,
                                unsigned argument);
llvm::StringRef getResultName(mlir::FunctionOpInterface function,
                              unsigned result);

/// Adds the names that loaded dialects know a function or a call by.
void getScopes(mlir::Operation *op, llvm::SmallVectorImpl<std::string> &scopes);

} // namespace amp

#endif // AMP_INTERFACES_FUNCTIONNAMES_H
