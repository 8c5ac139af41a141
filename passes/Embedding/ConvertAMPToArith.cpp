//===- ConvertAMPToArith.cpp - amp operations as arith operations ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CastConversion.h"

#include "amp/Interfaces/ElementTypes.h"
#include "amp/Passes/Embedding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace amp {
#define GEN_PASS_DEF_CONVERTAMPTOARITH
#include "amp/Passes/Embedding.h.inc"
} // namespace amp

using namespace mlir;

namespace {
class ConvertAMPToArithPass final
    : public amp::impl::ConvertAMPToArithBase<ConvertAMPToArithPass> {
public:
  void runOnOperation() final {
    auto build = [](OpBuilder &builder, Location location, Type type,
                    Value value) -> Value {
      unsigned from = amp::getFloatElementType(value.getType()).getWidth();
      if (from < amp::getFloatElementType(type).getWidth())
        return arith::ExtFOp::create(builder, location, type, value);
      return arith::TruncFOp::create(builder, location, type, value);
    };
    if (failed(amp::convertAMP(getOperation(), "arith", build)))
      signalPassFailure();
  }
};
} // namespace
