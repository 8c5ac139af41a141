//===- TrialConversion.cpp - conversions to look at -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrialConversion.h"

#include "Preparation.h"

#include "amp/Dialect/AMP/Annotations.h"
#include "amp/Passes/Lowering.h"

#include "mlir/IR/Verifier.h"

using namespace amp;
using namespace mlir;

OwningOpRef<ModuleOp>
amp::convertCopy(ModuleOp module, AutocastPipelineOptions &options,
                 const std::function<void(ModuleOp)> &inspect) {
  OwningOpRef<ModuleOp> copy = module.clone();
  options.keepReasons = bool(inspect);
  PreparationOptions preparation;
  preparation.low = options.low;
  preparation.policy = options.policy;
  preparation.keepOps.assign(options.keepOps.begin(), options.keepOps.end());
  preparation.keepNodes.assign(options.keepNodes.begin(),
                               options.keepNodes.end());
  preparation.mayRaise = options.low == "bf16";
  if (failed(prepare(*copy, preparation)))
    return {};
  PassManager decide(module.getContext());
  decide.enableVerifier(false);
  buildAutocastPipeline(decide, options);
  decide.addPass(createMergeCasts());
  if (failed(decide.run(*copy)))
    return {};
  if (inspect)
    inspect(*copy);
  removeAnnotations(*copy);

  PassManager lower(module.getContext());
  lower.enableVerifier(false);
  lower.addPass(createConvertAMPToONNX());
  if (failed(lower.run(*copy)) || failed(verify(*copy)))
    return {};
  return copy;
}
