//===- Safetensors.h - checkpoints of training ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_SAFETENSORS_H
#define AMP_TOOLS_ONNX_AMP_SAFETENSORS_H

#include "amp/Dialect/ONNX/ElementType.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace amp {

/// A tensor of a file, row-major and little-endian.
struct StoredTensor {
  onnx::ElementType type;
  llvm::SmallVector<int64_t> dims;
  llvm::StringRef bytes;
};

/// A mapped file in the format of huggingface/safetensors: the length of the
/// header in 8 bytes, the header in JSON, the tensors.
class Safetensors {
public:
  /// Fails, with one line that names the file, for what is not such a file.
  static llvm::Expected<Safetensors> open(llvm::StringRef path);

  /// By name; as long as this lives.
  const llvm::StringMap<StoredTensor> &getTensors() const { return tensors; }

private:
  llvm::Error readHeader();

  std::unique_ptr<llvm::MemoryBuffer> file;
  llvm::StringMap<StoredTensor> tensors;
};

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_SAFETENSORS_H
