//===- StripAnnotations.cpp - remove what the decision left behind --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMP/Annotations.h"
#include "amp/Passes/Passes.h"

namespace amp {
#define GEN_PASS_DEF_STRIPANNOTATIONS
#include "amp/Passes/Autocast.h.inc"
} // namespace amp

namespace {
class StripAnnotationsPass final
    : public amp::impl::StripAnnotationsBase<StripAnnotationsPass> {
public:
  void runOnOperation() final { amp::removeAnnotations(getOperation()); }
};
} // namespace
