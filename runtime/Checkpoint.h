//===- Checkpoint.h - tensors in a safetensors file -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CHECKPOINT_H
#define AMP_RUNTIME_CHECKPOINT_H

#include "amp/Runtime/Session.h"

#include <map>
#include <string>
#include <vector>

namespace amp::runtime {

/// Writes the tensors; the file is the old one or the new one at any moment.
Status saveCheckpoint(const std::string &path,
                      const std::vector<NamedTensor> &tensors,
                      const std::map<std::string, std::string> &metadata);

/// Fills the tensors with those of the same name, type and dimensions; nothing
/// is written unless all are there. `metadata` may be null.
Status loadCheckpoint(const std::string &path,
                      const std::vector<NamedTensor> &tensors,
                      std::map<std::string, std::string> *metadata);

} // namespace amp::runtime

#endif // AMP_RUNTIME_CHECKPOINT_H
