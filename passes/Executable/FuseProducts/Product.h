//===- Product.h - a product and what is around it --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is found in steps, each of which takes nodes before or behind what
// is there already, as long as the kernel computes them too. In the end it
// becomes one call.
//
//   activation(alpha * A B + beta * bias + residual)
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_EXECUTABLE_FUSEPRODUCTS_PRODUCT_H
#define AMP_PASSES_EXECUTABLE_FUSEPRODUCTS_PRODUCT_H

#include "ChannelAffine.h"
#include "Nodes.h"

namespace amp {

/// An activation of the runtime (FusedActivation).
struct FusedActivation {
  llvm::StringRef name;
  double alpha = 1.0, beta = 0.0;
  /// What the node, or the last of several, gives.
  mlir::Value result = {};

  explicit operator bool() const { return !name.empty(); }
};

/// The activation that alone reads a value: one node, or several that an
/// exporter wrote for one; none if there is no such.
FusedActivation findActivation(Nodes &nodes, mlir::Value value);

/// MatMul, Gemm, Conv or ConvTranspose.
class Product {
public:
  /// None for other nodes, and for types that kernels have no epilogues of.
  static std::optional<Product> get(Nodes &nodes, mlir::Operation *op);

  /// Takes what is around the product.
  void grow();
  /// Whether more than the node itself was taken.
  bool hasGrown() const { return count > 1 || isExchanged; }
  /// Replaces the nodes by a call.
  void build();

  /// Nodes behind the product that are part of it.
  unsigned getCount() const { return count; }

private:
  Product(Nodes &nodes, mlir::Operation *op, llvm::StringRef kernel);
  bool isConv() const { return kernel.starts_with("conv"); }
  mlir::Value getResult() const { return op->getResult(0); }

  // Each returns whether it took something.
  bool takeExchange(mlir::Value &operand, bool &isTransposed);
  bool takeFactor(mlir::Value &operand);
  bool takeAffine(mlir::Operation *user);
  bool takeScale(mlir::Operation *user);
  bool takeSum(mlir::Operation *user);
  bool takeActivation();
  bool takeView(mlir::Operation *user);

  mlir::Value asChannels(mlir::Value value);
  mlir::Value asResidual(mlir::Value value);

  Nodes &nodes;
  mlir::Operation *op;
  llvm::StringRef kernel;

  mlir::Value a, b, bias, residual;
  bool transA = false, transB = false;
  float alpha = 1.0f, beta = 1.0f;
  std::optional<ChannelAffine> affine;
  FusedActivation activation;

  /// What is computed so far.
  mlir::Value last;
  /// Views between the product and the last value.
  llvm::SmallVector<mlir::Operation *, 2> views;
  unsigned count = 1;
  bool isExchanged = false;
};

/// Replaces a Softmax between two MatMuls, and what is between them, by a call
/// of "attention".
bool fuseAttention(Nodes &nodes, mlir::Operation *softmax);

/// Replaces a Conv or a Gemm that computes the gradient of a convolution's
/// weight by a call of "conv_weight_gradient".
bool fuseWeightGradient(Nodes &nodes, mlir::Operation *op);

/// Replaces an Einsum of two operands by a MatMul between Transposes and
/// Reshapes.
bool expandEinsum(Nodes &nodes, mlir::Operation *op);

/// Names a call after the nodes that it stands for.
void nameCall(mlir::Operation *call, mlir::Operation *node, mlir::Value result);

} // namespace amp

#endif // AMP_PASSES_EXECUTABLE_FUSEPRODUCTS_PRODUCT_H
