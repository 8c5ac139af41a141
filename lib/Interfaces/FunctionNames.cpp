//===- FunctionNames.cpp - what users call arguments and results ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Interfaces/FunctionNames.h"

using namespace mlir;
using namespace amp;

template <typename Ask>
static StringRef askDialects(FunctionOpInterface function, Ask ask) {
  for (Dialect *dialect : function->getContext()->getLoadedDialects())
    if (auto *names = dialect->getRegisteredInterface<FunctionNamesInterface>())
      if (StringRef name = ask(*names); !name.empty())
        return name;
  return {};
}

StringRef amp::getArgumentName(FunctionOpInterface function,
                               unsigned argument) {
  return askDialects(function, [&](const FunctionNamesInterface &names) {
    return names.getArgumentName(function, argument);
  });
}

void amp::getScopes(Operation *op, SmallVectorImpl<std::string> &scopes) {
  for (Dialect *dialect : op->getContext()->getLoadedDialects())
    if (auto *names = dialect->getRegisteredInterface<FunctionNamesInterface>())
      names->getScopes(op, scopes);
}

StringRef amp::getResultName(FunctionOpInterface function, unsigned result) {
  return askDialects(function, [&](const FunctionNamesInterface &names) {
    return names.getResultName(function, result);
  });
}
