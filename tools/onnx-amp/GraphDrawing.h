//===- GraphDrawing.h - a model as a picture --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_GRAPHDRAWING_H
#define AMP_TOOLS_ONNX_AMP_GRAPHDRAWING_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace amp {

/// A module, between amp-autocast and its lowering, in Graphviz's language: its
/// nodes coloured by format, casts as red edges. Of large graphs the blocks
/// that the names of nodes, or their `namespace`, put them into: coloured by
/// the share of nodes that are low, edges as wide as they have casts.
std::string drawGraph(mlir::ModuleOp module, llvm::StringRef title);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_GRAPHDRAWING_H
