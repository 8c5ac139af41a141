//===- InferTypes.cpp - types and shapes of values ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Passes/Lowering.h"

#include "amp/Dialect/ONNX/TypeInference.h"

namespace amp {

#define GEN_PASS_DEF_INFERTYPES
#include "amp/Passes/Lowering.h.inc"

namespace {
struct InferTypesPass final : impl::InferTypesBase<InferTypesPass> {
  using Base::Base;

  void runOnOperation() override {
    onnx::InferenceOptions options;
    options.shapes = shapes;
    options.corrects = corrects;
    if (failed(onnx::inferTypes(getOperation(), options)))
      signalPassFailure();
  }
};
} // namespace

} // namespace amp
