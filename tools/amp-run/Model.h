//===- Model.h - an executable, its session, and constant inputs *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_MODEL_H
#define AMP_TOOLS_AMPRUN_MODEL_H

#include "ArrayFile.h"
#include "amp/Runtime/Session.h"

#include <memory>
#include <set>
#include <string>

namespace amp::run {

/// What all uses of a model share. Paths are empty where nothing was said.
struct ModelOptions {
  std::string executable;
  /// Inputs that stay as they are.
  std::string inputs;
  std::string state, saveState;
  unsigned threads = 0;
  bool verify = false;
};

struct Model {
  /// Inputs stay where they are: the file must outlive the steps.
  ArrayFile inputs;
  std::set<std::string> constants;
  std::unique_ptr<runtime::Session> session;
};

runtime::Result<Model> openModel(const ModelOptions &options);

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_MODEL_H
