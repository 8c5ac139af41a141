//===- Cuts.cpp - where no gradient passes --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientRules.h"

#include "amp/Dialect/ONNX/OperatorTable.h"

using namespace mlir;

namespace amp::onnx {

namespace {

/// An input of floats that gradients do not reach: of which only the type or
/// the shape is read, that chooses among random numbers, or that PyTorch takes
/// for a setting.
struct Cut {
  StringLiteral op;
  unsigned input;
};

constexpr Cut cuts[] = {
    // Samples do not follow their distribution's parameters.
    {"Bernoulli", 0},
    {"CastLike", 1},
    // The ratio is a setting: masks do not follow it.
    {"Dropout", 1},
    {"EyeLike", 0},
    // Indices may be floats, and so may the depth.
    {"OneHot", 0},
    {"OneHot", 1},
    {"RandomNormalLike", 0},
    {"RandomUniformLike", 0},
};

} // namespace

bool isCut(Operation *op, unsigned inputPosition, unsigned) {
  const OperatorInfo *info = lookupOperator(op->getName());
  return info && info->domain.empty() &&
         llvm::any_of(cuts, [&](const Cut &cut) {
           return cut.input == inputPosition && cut.op == info->name;
         });
}

} // namespace amp::onnx
