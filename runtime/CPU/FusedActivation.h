//===- FusedActivation.h - what a product ends with -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_FUSEDACTIVATION_H
#define AMP_RUNTIME_CPU_FUSEDACTIVATION_H

#include "CPU/Gemm.h"
#include "Kernel.h"

namespace amp::runtime {

/// The attributes `activation`, `activation_alpha` and `activation_beta` of
/// kernels that end with one.
struct FusedActivation {
  Activation kind = Activation::None;
  float alpha = 0.0f, beta = 0.0f;

  /// An error if there is no such activation.
  static Result<FusedActivation> get(const Attributes &attributes);
};

/// Whether products are summed in floats: float32, float16 and bfloat16.
bool isEngineType(DataType type);

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_FUSEDACTIVATION_H
