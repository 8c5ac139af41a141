//===- FusedActivation.cpp - what a product ends with ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/FusedActivation.h"

namespace amp::runtime {

Result<FusedActivation> FusedActivation::get(const Attributes &attributes) {
  static constexpr struct {
    std::string_view name;
    Activation kind;
  } names[] = {
      {"", Activation::None},
      {"relu", Activation::Relu},
      {"leaky_relu", Activation::LeakyRelu},
      {"sigmoid", Activation::Sigmoid},
      {"tanh", Activation::Tanh},
      {"gelu", Activation::Gelu},
      {"gelu_tanh", Activation::GeluTanh},
      {"swish", Activation::Swish},
      {"clip", Activation::Clip},
      {"hard_sigmoid", Activation::HardSigmoid},
      {"hard_swish", Activation::HardSwish},
  };
  std::string wanted = attributes.getString("activation", "");
  for (const auto &[name, kind] : names)
    if (name == wanted)
      return FusedActivation{
          kind,
          static_cast<float>(attributes.getFloat("activation_alpha", 1.0)),
          static_cast<float>(attributes.getFloat("activation_beta", 0.0))};
  return Status::error("there is no activation '" + wanted + "'");
}

bool isEngineType(DataType type) {
  return type == DataType::Float || type == DataType::Float16 ||
         type == DataType::BFloat16;
}

} // namespace amp::runtime
