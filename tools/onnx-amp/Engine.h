//===- Engine.h - runs models on data ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A process of its own: ONNX Runtime through Python
// (python/onnx_amp/engine.py). Requests and answers are JSON in a temporary
// folder.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_ENGINE_H
#define AMP_TOOLS_ONNX_AMP_ENGINE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace amp {

struct EngineOptions {
  /// Threads of a run; 0 stands for all processors.
  unsigned threads = 0;
  /// What one request may take.
  unsigned timeoutSeconds = 3600;
};

class Engine {
public:
  /// Finds Python and makes the folder. Fails with one line.
  static llvm::Expected<Engine> create(const EngineOptions &options);
  Engine(Engine &&other);
  Engine &operator=(Engine &&) = delete;
  /// Removes the folder.
  ~Engine();

  /// Where models for this engine go; the name is put into the folder.
  std::string getPath(llvm::StringRef name) const;

  /// Runs a request (see engine.py), to which it adds "threads". Fails with one
  /// line.
  llvm::Expected<llvm::json::Object> run(llvm::json::Object request);

private:
  Engine(const EngineOptions &options) : options(options) {}

  EngineOptions options;
  std::string python, script, folder;
};

/// The data files that `path`, a file or a folder of .npz files, stands for,
/// sorted by name; fails with one line if there are none.
llvm::Expected<std::vector<std::string>> findData(llvm::StringRef path);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_ENGINE_H
