//===- WeightHistory.cpp - what weights tell of their past ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WeightHistory.h"

#include "ModelStatistics.h"

#include "amp/Dialect/AMP/ConstantData.h"

#include <cstring>

using namespace amp;
using namespace mlir;

/// Smaller tensors are parameters of formulas: 0.5, or a power of two.
static constexpr uint64_t kFewElements = 64;

WeightHistory WeightHistory::collect(ModuleOp module) {
  WeightHistory history;
  module.walk([&](Operation *op) {
    onnx::TensorAttr tensor = getStoredTensor(op);
    if (!tensor || !cast<ShapedType>(tensor.getType()).getElementType().isF32())
      return;
    std::optional<ConstantData> data = getConstantData(tensor.getValue());
    if (!data || data->splat || data->count < kFewElements)
      return;
    for (uint64_t i = 0; i < data->count; ++i) {
      uint32_t bits;
      std::memcpy(&bits, data->bytes.data() + i * sizeof(bits), sizeof(bits));
      if ((bits & 0x7fffffff) == 0)
        continue;
      ++history.weights;
      history.bfloat16 += (bits & 0xffff) == 0;
      history.float16 += (bits & 0x1fff) == 0;
    }
  });
  return history;
}
