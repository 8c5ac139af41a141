//===- NodeBuilder.h - ONNX nodes as formulas -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds ai.onnx nodes with the types that their schemas infer, so that a rule
// for a gradient reads like the formula that it is:
//
//   Expr slope = 1.0 - y * y;
//   gradient.set(0, dy * slope);
//
// Nodes are those of opset 18 or later (NodeBuilder::kMinOpset).
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_NODEBUILDER_H
#define AMP_DIALECT_ONNX_NODEBUILDER_H

#include "amp/Dialect/ONNX/TypeInference.h"

#include "mlir/IR/Builders.h"

namespace amp::onnx {

class NodeBuilder;

/// A value in a formula; null for what is left out. Operators build nodes where
/// its builder stands; both sides have one builder and one element type, and
/// broadcast as ONNX does. Numbers take the element type of the other side.
class Expr {
public:
  Expr() = default;
  Expr(NodeBuilder &builder, mlir::Value value)
      : builder(&builder), value(value) {}

  operator mlir::Value() const { return value; }
  explicit operator bool() const { return bool(value); }
  NodeBuilder &getBuilder() const { return *builder; }
  mlir::Type getType() const { return value.getType(); }
  /// Of a tensor.
  mlir::Type getElementType() const;
  /// None if the rank is not known.
  std::optional<int64_t> getRank() const;
  /// The size of a dimension; none if it is not known.
  std::optional<int64_t> getSize(int64_t dimension) const;

  Expr operator-() const;

private:
  NodeBuilder *builder = nullptr;
  mlir::Value value;
};

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator+(Expr a, double b);
Expr operator-(Expr a, double b);
Expr operator*(Expr a, double b);
Expr operator/(Expr a, double b);
Expr operator+(double a, Expr b);
Expr operator-(double a, Expr b);
Expr operator*(double a, Expr b);
Expr operator/(double a, Expr b);
// Of bools, elementwise.
Expr operator==(Expr a, Expr b);
Expr operator<(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr operator==(Expr a, double b);
Expr operator<(Expr a, double b);
Expr operator>(Expr a, double b);
Expr operator<=(Expr a, double b);
Expr operator>=(Expr a, double b);
// No operators: `!e`, `a && b` ask whether a value is there.
Expr logicalNot(Expr a);
Expr logicalAnd(Expr a, Expr b);
Expr logicalOr(Expr a, Expr b);

/// Builds nodes at the insertion point of an OpBuilder, which must outlive it.
class NodeBuilder {
public:
  /// The opset whose nodes are built; later ones read them alike.
  static constexpr int64_t kMinOpset = 18;

  /// `scope` is an operation whose opset imports hold for what is built.
  NodeBuilder(mlir::OpBuilder &builder, mlir::Operation *scope);

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::MLIRContext *getContext() { return builder.getContext(); }
  /// The location of what is built from now on.
  void setLocation(mlir::Location location) { loc = location; }
  mlir::Location getLocation() const { return loc; }
  /// The version of ai.onnx.
  int64_t getOpset() const { return opset; }

  Expr expr(mlir::Value value) { return Expr(*this, value); }

  //===--------------------------------------------------------------------===//
  // Nodes
  //===--------------------------------------------------------------------===//

  /// Builds a node of ai.onnx with inputs by position, null for those that are
  /// left out, and its first `numOutputs` outputs.
  mlir::Operation *node(llvm::StringRef op, llvm::ArrayRef<mlir::Value> inputs,
                        llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                        unsigned numOutputs = 1);
  /// The same, as a formula's value: the first output.
  Expr apply(llvm::StringRef op, llvm::ArrayRef<mlir::Value> inputs,
             llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  /// Infers the types of the results of an operation once more: with regions
  /// that were filled meanwhile.
  void infer(mlir::Operation *op) { inference.infer(op); }

  /// Ends the block of a subgraph.
  void yield(llvm::ArrayRef<mlir::Value> values);
  /// Erases an operation that was built, with its regions.
  void erase(mlir::Operation *op);

  mlir::NamedAttribute attr(llvm::StringRef name, int64_t value);
  mlir::NamedAttribute attr(llvm::StringRef name, int value) {
    return attr(name, int64_t(value));
  }
  mlir::NamedAttribute attr(llvm::StringRef name, double value);
  mlir::NamedAttribute attr(llvm::StringRef name, llvm::StringRef value);
  mlir::NamedAttribute attr(llvm::StringRef name, const char *value) {
    return attr(name, llvm::StringRef(value));
  }
  mlir::NamedAttribute attr(llvm::StringRef name,
                            llvm::ArrayRef<int64_t> values);

  //===--------------------------------------------------------------------===//
  // Constants
  //===--------------------------------------------------------------------===//

  /// A Constant node; one for all in a block that are equal.
  Expr constant(mlir::DenseElementsAttr elements);
  /// A list of int64.
  Expr ints(llvm::ArrayRef<int64_t> values);
  /// A scalar of int64.
  Expr integer(int64_t value);
  /// A scalar of this element type, float or integer; rounded to nearest even.
  Expr number(double value, mlir::Type elementType);

  //===--------------------------------------------------------------------===//
  // Shapes
  //===--------------------------------------------------------------------===//

  /// The shape, a list of int64: a constant if it is known.
  Expr shape(mlir::Value value);
  /// The size of a dimension, a list of one int64; negative ones count from the
  /// end.
  Expr sizeOf(mlir::Value value, int64_t dimension);
  /// A tensor with the shape of `like`, filled with a number of the element
  /// type of `like`.
  Expr filledLike(mlir::Value like, double number);
  Expr reshape(Expr value, llvm::ArrayRef<int64_t> shape);
  Expr reshape(Expr value, Expr shape);
  /// Reshape to the shape of another value; nothing if it has it.
  Expr reshapeLike(Expr value, mlir::Value like);
  /// Broadcasts to the shape of another value; nothing if it has it.
  Expr expandLike(Expr value, mlir::Value like);
  Expr squeeze(Expr value, llvm::ArrayRef<int64_t> axes);
  Expr unsqueeze(Expr value, llvm::ArrayRef<int64_t> axes);
  /// Nothing for the identity.
  Expr transpose(Expr value, llvm::ArrayRef<int64_t> permutation);
  /// Swaps the last two dimensions of a value of this rank.
  Expr transposeMatrix(Expr value, int64_t rank);
  Expr concat(llvm::ArrayRef<mlir::Value> values, int64_t axis);
  Expr slice(Expr value, llvm::ArrayRef<int64_t> starts,
             llvm::ArrayRef<int64_t> ends, llvm::ArrayRef<int64_t> axes,
             llvm::ArrayRef<int64_t> steps = {});
  /// A Pad of some axes (null: all). Where the rank is known it is a Pad of
  /// all: ONNX Runtime 1.32 moves transposes through Pad as if it had no axes.
  Expr pad(Expr value, Expr pads, Expr axes, Expr fill = {},
           llvm::ArrayRef<mlir::NamedAttribute> attributes = {});

  //===--------------------------------------------------------------------===//
  // Numbers
  //===--------------------------------------------------------------------===//

  /// Nothing if it has the element type.
  Expr cast(Expr value, mlir::Type elementType);
  /// Nothing if both have one element type.
  Expr castLike(Expr value, mlir::Value like);
  Expr where(Expr condition, Expr a, Expr b);
  Expr where(Expr condition, Expr a, double b);
  Expr where(Expr condition, double a, Expr b);
  /// 16-bit floats as float32, for formulas of several steps that are to be
  /// rounded once; other types as they are.
  Expr widen(Expr value);

  /// Sums over axes. 16-bit values are added up in float32, and rounded once.
  /// No axes are all axes.
  Expr reduceSum(Expr value, llvm::ArrayRef<int64_t> axes, bool keepDims);
  Expr reduceMean(Expr value, llvm::ArrayRef<int64_t> axes, bool keepDims);
  Expr reduceMax(Expr value, llvm::ArrayRef<int64_t> axes, bool keepDims);
  /// Sums of values of one shape and type, in float32 for 16-bit ones.
  Expr sum(llvm::ArrayRef<mlir::Value> values);
  /// The gradient of broadcasting `like` to the shape of `value`: sums over
  /// what was repeated. Shapes that are not known are compared at run time.
  Expr sumTo(Expr value, mlir::Value like);

private:
  Expr sumToDynamic(Expr value, mlir::Value like);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t opset;
  NodeInference inference;
  llvm::DenseMap<std::pair<mlir::Block *, mlir::Attribute>, mlir::Value>
      constants;
};

/// True if types say that two dimensions have one size.
bool haveSameSize(mlir::Value a, int64_t dimensionOfA, mlir::Value b,
                  int64_t dimensionOfB);

// Elementwise functions of ONNX.
Expr abs(Expr a);
Expr exp(Expr a);
Expr log(Expr a);
Expr sqrt(Expr a);
Expr reciprocal(Expr a);
Expr sign(Expr a);
Expr sin(Expr a);
Expr cos(Expr a);
Expr tan(Expr a);
Expr sinh(Expr a);
Expr cosh(Expr a);
Expr tanh(Expr a);
Expr erf(Expr a);
Expr sigmoid(Expr a);
Expr softplus(Expr a);
Expr relu(Expr a);
Expr floor(Expr a);
Expr pow(Expr a, Expr b);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr matmul(Expr a, Expr b);

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_NODEBUILDER_H
