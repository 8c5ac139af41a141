//===- AMPBase.td - What operations of the amp dialect share -*- tablegen -*-=//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_AMPBASE
#define AMP_DIALECT_AMP_AMPBASE

include "amp/Dialect/AMP/AMPDialect.td"
include "mlir/IR/OpBase.td"

class AMP_Op<string mnemonic, list<Trait> traits = []>
    : Op<AMP_Dialect, mnemonic, traits>;

#endif // AMP_DIALECT_AMP_AMPBASE
