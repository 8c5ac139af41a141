//===- ThreadPool.h - threads for MLIR --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_THREADPOOL_H
#define AMP_TOOLS_ONNX_AMP_THREADPOOL_H

#include "llvm/Support/ThreadPool.h"

namespace amp {

/// The threads of the process for work in parallel, as many as there are
/// processors; lives until it ends. LLVM's own pool ends the process where a
/// thread can't be started. Here fewer do, or none: whoever waits for tasks
/// takes part in them.
llvm::ThreadPoolInterface &getThreadPool();

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_THREADPOOL_H
