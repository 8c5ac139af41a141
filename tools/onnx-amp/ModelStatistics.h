//===- ModelStatistics.h - nodes and weights, counted -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_MODELSTATISTICS_H
#define AMP_TOOLS_ONNX_AMP_MODELSTATISTICS_H

#include "amp/Dialect/ONNX/ONNXDialect.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace amp {

/// True for what is a node of a graph, and not an initializer, a terminator, ….
bool isNode(mlir::Operation *op);

/// How policies call a node's operator: "MatMul", "com.microsoft:Gelu". Not
/// escaped.
std::string getOperatorName(mlir::Operation *op);

/// The node's name, or else that of its first output; may be empty. Not
/// escaped.
llvm::StringRef getNodeName(mlir::Operation *op);

/// The name of a node's or initializer's output; may be empty.
llvm::StringRef getOutputName(mlir::Operation *op, unsigned result);

/// The name of a graph's input or output, `kind` says which; may be empty. Not
/// escaped.
llvm::StringRef getInterfaceName(mlir::Operation *function,
                                 llvm::StringRef kind, unsigned index);

/// The tensor of an initializer, a Constant node or the default of an input;
/// null for everything else.
onnx::TensorAttr getStoredTensor(mlir::Operation *op);

/// Bytes that a tensor takes in raw form; 0 for strings.
uint64_t getTensorBytes(onnx::TensorAttr tensor);

struct TensorTotals {
  uint64_t tensors = 0;
  uint64_t elements = 0;
  /// Strings count nothing.
  uint64_t bytes = 0;

  void add(onnx::TensorAttr tensor);
};

/// What is in a module, all functions and subgraphs together.
struct ModelStatistics {
  uint64_t nodes = 0;
  /// Of these, in If, Loop, Scan, ….
  uint64_t subgraphNodes = 0;
  uint64_t subgraphs = 0;
  uint64_t casts = 0;
  /// By name of the operator.
  std::map<std::string, uint64_t> operators;
  /// Initializers and Constant nodes by element type.
  std::map<std::string, TensorTotals> weights;
  /// The same, of data outside of the model by location.
  std::map<std::string, TensorTotals> externalData;

  uint64_t externalBytes() const;

  static ModelStatistics collect(mlir::ModuleOp module);
};

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_MODELSTATISTICS_H
