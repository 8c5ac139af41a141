//===- ConvertAMPToTosa.cpp - amp operations as tosa operations -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CastConversion.h"

#include "amp/Passes/Embedding.h"

#include "mlir/Dialect/Tosa/IR/TosaOps.h"

namespace amp {
#define GEN_PASS_DEF_CONVERTAMPTOTOSA
#include "amp/Passes/Embedding.h.inc"
} // namespace amp

using namespace mlir;

namespace {
class ConvertAMPToTosaPass final
    : public amp::impl::ConvertAMPToTosaBase<ConvertAMPToTosaPass> {
public:
  void runOnOperation() final {
    auto build = [](OpBuilder &builder, Location location, Type type,
                    Value value) -> Value {
      return tosa::CastOp::create(builder, location, type, value);
    };
    if (failed(amp::convertAMP(getOperation(), "tosa", build)))
      signalPassFailure();
  }
};
} // namespace
