//===- Activation.h - the functions inside recurrent cells ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_ACTIVATION_H
#define AMP_RUNTIME_CPU_ACTIVATION_H

#include "Kernel.h"

#include <vector>

namespace amp::runtime {

/// A function of a recurrent cell by ONNX's names, with alpha and beta.
struct Activation {
  /// In place, in float32 or float64.
  void (*applyFloat)(float *values, int64_t count, double alpha, double beta);
  void (*applyDouble)(double *values, int64_t count, double alpha, double beta);
  double alpha, beta;

  void apply(float *values, int64_t count) const {
    applyFloat(values, count, alpha, beta);
  }
  void apply(double *values, int64_t count) const {
    applyDouble(values, count, alpha, beta);
  }
};

/// Reads activations, activation_alpha and activation_beta: `count` functions,
/// those named `defaults` if there are none. Of alphas and betas each function
/// takes one if it has such a parameter.
Status readActivations(const Attributes &attributes,
                       const std::vector<std::string> &defaults, size_t count,
                       std::vector<Activation> &activations);

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_ACTIVATION_H
