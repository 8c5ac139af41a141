//===- Pipelines.cpp - the compiler in reading order ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Passes/Pipelines.h"

#include "amp/Passes/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace amp;

void amp::buildAutocastPipeline(OpPassManager &manager,
                                const AutocastPipelineOptions &options) {
  // 1. Decide, from the policy and the flow of formats through the module.
  //    Only attributes change.
  AnnotatePrecisionOptions annotate;
  annotate.low = options.low;
  annotate.policy = options.policy;
  annotate.ioTypes = options.ioTypes;
  annotate.placement = options.placement;
  annotate.dimensions.assign(options.dimensions.begin(),
                             options.dimensions.end());
  annotate.keepIslands = options.keepIslands;
  annotate.keepOps.assign(options.keepOps.begin(), options.keepOps.end());
  annotate.keepNodes.assign(options.keepNodes.begin(), options.keepNodes.end());
  annotate.rangeMargin = options.rangeMargin;
  annotate.estimates = options.estimates;
  annotate.reasons = options.keepReasons;
  manager.addPass(createAnnotatePrecision(std::move(annotate)));

  // 2. Carry the decisions out: element types change, casts and rounded
  //    constants appear.
  manager.addPass(createInsertCasts());

  // 3. Remove the casts that change no value, and move others where they cost
  //    less.
  OptimizeCastsOptions optimize;
  optimize.dimensions.assign(options.dimensions.begin(),
                             options.dimensions.end());
  manager.addPass(createOptimizeCasts(std::move(optimize)));

  // 4. See that every operation admits what it got.
  manager.addPass(createVerifyPrecision());

  // What remains of the amp dialect, amp.cast and #amp.rounded, is for the
  // lowering of the program's own dialect: it comes after this pipeline.
}

void amp::registerPipelines() {
  PassPipelineRegistration<AutocastPipelineOptions>(
      "amp-autocast",
      "Mixed precision by a policy: decide, cast, optimize, "
      "verify",
      buildAutocastPipeline);
}
