//===- Flops.cpp - what a command computes --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flops.h"

using namespace amp::runtime;

uint64_t amp::run::countFlops(const CommandEvent &event) {
  if (event.inputCount < 2 || event.outputCount < 1)
    return 0;
  const Shape &a = event.inputs[0].shape, &b = event.inputs[1].shape,
              &out = event.outputs[0].shape;
  auto count = [](const Shape &shape) {
    return uint64_t(shape.getElementCount());
  };
  std::string_view kernel = event.operation;
  // Each element of the output is a sum over the dimension that the operands
  // share: of A, whichever is transposed, what is not rows.
  if (kernel == "gemm" && out.getRank() == 2 && out[0] > 0)
    return 2 * count(out) * (count(a) / uint64_t(out[0]));
  if (kernel == "matmul" && a.getRank() > 0)
    return 2 * count(out) * uint64_t(a[a.getRank() - 1]);
  // Each element of the output, or of the transposed one's input, is multiplied
  // by the weights of a channel.
  if (kernel == "conv" && b.getRank() > 0 && b[0] > 0)
    return 2 * count(out) * (count(b) / uint64_t(b[0]));
  if (kernel == "conv_transpose" && b.getRank() > 0 && b[0] > 0)
    return 2 * count(a) * (count(b) / uint64_t(b[0]));
  // Queries by keys, then weights by values.
  if (kernel == "attention" && b.getRank() > 1)
    return 4 * count(a) * uint64_t(b[b.getRank() - 2]);
  return 0;
}
