//===- DimensionNamesInterface.td - Encodings that name sizes -*- tablegen -*--===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_INTERFACES_DIMENSIONNAMESINTERFACE
#define AMP_INTERFACES_DIMENSIONNAMESINTERFACE

include "mlir/IR/OpBase.td"

def DimensionNamesInterface : AttrInterface<"DimensionNamesInterface"> {
  let description = [{
    The encoding of a ranked tensor type, if it gives names to dynamic
    dimensions: those of one name are of one size.
  }];
  let cppNamespace = "::amp";

  let methods = [
    InterfaceMethod<[{
        Returns the name of a dimension of the tensor; empty if it has none.
        Called by the cost model.
      }],
      "::llvm::StringRef", "getDimensionName", (ins "unsigned":$dimension)>,
  ];
}

#endif // AMP_INTERFACES_DIMENSIONNAMESINTERFACE
