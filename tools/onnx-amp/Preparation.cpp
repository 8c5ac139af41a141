//===- Preparation.cpp - what comes before all decisions ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Preparation.h"

#include "amp/Passes/Lowering.h"
#include "amp/Passes/Training.h"

#include "mlir/Pass/PassManager.h"

using namespace amp;
using namespace mlir;

LogicalResult amp::prepare(ModuleOp module, const PreparationOptions &options) {
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  // What moves how many bytes is a matter of shapes, which models rarely say;
  // so is what some rules ask, and what some nodes mean in a later opset.
  manager.addPass(createInferTypes());
  if (options.mayRaise || options.minOpset > 0) {
    RaiseOpsetOptions raise;
    // Nothing needs another opset for float32's own sake.
    raise.low = options.mayRaise ? options.low : "tf32";
    raise.policy = options.mayRaise ? options.policy : "tf32";
    raise.minOpset = options.minOpset;
    raise.maxOpset = options.maxOpset;
    raise.keepOps.assign(options.keepOps.begin(), options.keepOps.end());
    raise.keepNodes.assign(options.keepNodes.begin(), options.keepNodes.end());
    manager.addPass(createRaiseOpset(std::move(raise)));
  }
  manager.addPass(createPairGradients());
  return manager.run(module);
}
