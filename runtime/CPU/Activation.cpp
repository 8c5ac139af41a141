//===- Activation.cpp - the functions inside recurrent cells --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Activation.h"

#include <algorithm>
#include <cctype>
#include <cmath>

using namespace amp::runtime;

namespace {

struct Sigmoid {
  template <typename T> static T apply(T x, T, T) {
    return 1 / (1 + std::exp(-x));
  }
};
struct Tanh {
  template <typename T> static T apply(T x, T, T) { return std::tanh(x); }
};
struct Relu {
  template <typename T> static T apply(T x, T, T) { return x < 0 ? 0 : x; }
};
struct Affine {
  template <typename T> static T apply(T x, T alpha, T beta) {
    return alpha * x + beta;
  }
};
struct LeakyRelu {
  template <typename T> static T apply(T x, T alpha, T) {
    return x < 0 ? alpha * x : x;
  }
};
struct ThresholdedRelu {
  template <typename T> static T apply(T x, T alpha, T) {
    return x > alpha ? x : 0;
  }
};
struct ScaledTanh {
  template <typename T> static T apply(T x, T alpha, T beta) {
    return alpha * std::tanh(beta * x);
  }
};
struct HardSigmoid {
  template <typename T> static T apply(T x, T alpha, T beta) {
    return std::min<T>(1, std::max<T>(0, alpha * x + beta));
  }
};
struct Elu {
  template <typename T> static T apply(T x, T alpha, T) {
    return x < 0 ? alpha * std::expm1(x) : x;
  }
};
struct Softsign {
  template <typename T> static T apply(T x, T, T) {
    return x / (1 + std::fabs(x));
  }
};
struct Softplus {
  template <typename T> static T apply(T x, T, T) {
    return std::max<T>(x, 0) + std::log1p(std::exp(-std::fabs(x)));
  }
};

template <typename Function, typename T>
void run(T *values, int64_t count, double alpha, double beta) {
  auto a = static_cast<T>(alpha), b = static_cast<T>(beta);
  for (int64_t i = 0; i < count; ++i)
    values[i] = Function::apply(values[i], a, b);
}

struct Entry {
  const char *name;
  bool hasAlpha, hasBeta;
  Activation activation;
};

template <typename Function>
constexpr Activation make(double alpha = 0, double beta = 0) {
  return {run<Function, float>, run<Function, double>, alpha, beta};
}

constexpr Entry entries[] = {
    {"sigmoid", false, false, make<Sigmoid>()},
    {"tanh", false, false, make<Tanh>()},
    {"relu", false, false, make<Relu>()},
    {"affine", true, true, make<Affine>(1, 0)},
    {"leakyrelu", true, false, make<LeakyRelu>(0.01f)},
    {"thresholdedrelu", true, false, make<ThresholdedRelu>(1)},
    {"scaledtanh", true, true, make<ScaledTanh>(1, 1)},
    {"hardsigmoid", true, true, make<HardSigmoid>(0.2f, 0.5)},
    {"elu", true, false, make<Elu>(1)},
    {"softsign", false, false, make<Softsign>()},
    {"softplus", false, false, make<Softplus>()},
};

const Entry *findActivation(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  for (const Entry &entry : entries)
    if (name == entry.name)
      return &entry;
  return nullptr;
}

} // namespace

Status amp::runtime::readActivations(const Attributes &attributes,
                                     const std::vector<std::string> &defaults,
                                     size_t count,
                                     std::vector<Activation> &activations) {
  std::vector<std::string> names = attributes.getStrings("activations");
  std::vector<float> alphas = attributes.getFloats("activation_alpha");
  std::vector<float> betas = attributes.getFloats("activation_beta");
  if (names.empty())
    for (size_t i = 0; i < count; ++i)
      names.push_back(defaults[i % defaults.size()]);
  if (names.size() != count)
    return Status::error("needs " + std::to_string(count) +
                         " activations, but has " +
                         std::to_string(names.size()));
  size_t alpha = 0, beta = 0;
  for (const std::string &name : names) {
    const Entry *entry = findActivation(name);
    if (!entry)
      return Status::error("has no activation " + name);
    Activation activation = entry->activation;
    if (entry->hasAlpha && alpha < alphas.size())
      activation.alpha = static_cast<double>(alphas[alpha++]);
    if (entry->hasBeta && beta < betas.size())
      activation.beta = static_cast<double>(betas[beta++]);
    activations.push_back(activation);
  }
  return {};
}
