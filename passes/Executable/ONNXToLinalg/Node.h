//===- Node.h - nodes that become linalg operations -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule first looks whether it can take a node, then builds its values. What
// it builds are loops over a space of sizes:
//
//   Space rows = n.getSpace(n.x(), axes);
//   Value sum = n.reduce(rows, Fold::Sum, {n.x()}, [](Body &b) { return b.x(0);
//   }); Value mean = n.map(rows, …);
//
// 16-bit floats are float32 in bodies, and rounded once to what is made.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_EXECUTABLE_ONNXTOLINALG_NODE_H
#define AMP_PASSES_EXECUTABLE_ONNXTOLINALG_NODE_H

#include "Dimensions.h"
#include "Scalar.h"

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace amp {

/// What a body of a loop reads.
class Body {
public:
  Body(mlir::ImplicitLocOpBuilder &builder, llvm::ArrayRef<Scalar> operands)
      : builder(builder), operands(operands) {}

  /// The element of an operand.
  Scalar x(unsigned operand = 0) const { return operands[operand]; }
  llvm::ArrayRef<Scalar> getOperands() const { return operands; }
  mlir::ImplicitLocOpBuilder &getBuilder() const { return builder; }
  /// The position in a dimension of the space, an int64.
  Scalar index(unsigned dimension) const;
  Scalar number(double number, mlir::Type elementType) const {
    return makeNumber(builder, number, elementType);
  }
  /// A number that is known outside of the loop only, as a float.
  Scalar outer(mlir::Value index, mlir::Type elementType) const;

private:
  mlir::ImplicitLocOpBuilder &builder;
  llvm::ArrayRef<Scalar> operands;
};

/// An operand of loops. Its dimensions are those of the space, some left out.
struct Operand {
  Operand(mlir::Value value) : value(value) {}
  Operand(mlir::Value value, llvm::ArrayRef<int64_t> dimensions)
      : value(value), dimensions(dimensions) {}
  mlir::Value value;
  /// For each of its dimensions that of the space, or kOnce. Without any, for
  /// values with dimensions: those of the space, in order.
  llvm::SmallVector<int64_t> dimensions;
  static constexpr int64_t kOnce = -1;
};

/// How a reduction joins elements.
enum class Fold { Sum, Product, Min, Max };

/// The sizes of loops, and which of them are reduced.
struct Space {
  llvm::SmallVector<Size> sizes;
  llvm::SmallVector<bool> isReduced;

  int64_t getRank() const { return sizes.size(); }
  llvm::SmallVector<int64_t> getKept() const;
  /// Elements that make one result, if that is known.
  std::optional<int64_t> countReduced() const;
  bool isAnyReduced() const { return llvm::is_contained(isReduced, true); }
};

/// An ONNX node.
class Node {
public:
  using Formula = llvm::function_ref<Scalar(Body &)>;

  Node(mlir::Operation *op, Dimensions &dimensions);

  mlir::Operation *getOperation() const { return op; }
  mlir::MLIRContext *getContext() const { return op->getContext(); }
  /// An input by position; null if it is left out.
  mlir::Value x(unsigned position = 0) const;
  unsigned getNumInputs() const { return inputs.size(); }
  /// Null if it is left out.
  mlir::Value y(unsigned position = 0) const;
  /// True if somebody reads an output.
  bool isUsed(unsigned position) const;
  mlir::Type getElementType(unsigned input = 0) const;
  mlir::Type getResultElementType(unsigned output = 0) const;

  // Attributes; `missing` stands for the schema's default, a float32 as all.
  int64_t getInt(llvm::StringRef name, int64_t missing) const;
  double getFloat(llvm::StringRef name, double missing) const;
  llvm::StringRef getString(llvm::StringRef name,
                            llvm::StringRef missing) const;
  /// The elements of an input that is a constant of integers.
  std::optional<llvm::SmallVector<int64_t>>
  getConstantInts(unsigned position) const;

  /// True if all inputs and outputs are tensors of known rank, with elements
  /// that bodies know: floats of 16 to 64 bits, integers of 8 to 64, bools.
  bool isPlain() const;

  Dimensions &getDimensions() const { return dimensions; }

  //===--------------------------------------------------------------------===//
  // Loops
  //===--------------------------------------------------------------------===//

  /// The space of a value's elements, of which `axes` are reduced.
  Space getSpace(mlir::Value value, llvm::ArrayRef<int64_t> axes = {}) const;
  /// The space of values that are broadcast as ONNX does, and how they are
  /// read; none where it is not known at compile time which of them are.
  std::optional<Space>
  broadcast(llvm::ArrayRef<mlir::Value> values,
            llvm::SmallVectorImpl<Operand> &operands) const;

  /// A tensor of what a formula makes of each element of the space. Without
  /// `widen`, 16-bit floats are read and written as they are.
  mlir::Value map(const Space &space, llvm::ArrayRef<Operand> operands,
                  mlir::Type elementType, Formula formula, bool widen = true);
  /// The same of what is not reduced: operands and result have those
  /// dimensions alone, in order.
  mlir::Value mapKept(const Space &space, llvm::ArrayRef<mlir::Value> operands,
                      mlir::Type elementType, Formula formula);
  /// Joins what a formula makes of each element over the reduced dimensions,
  /// which the result does not have. It has the type that elements are computed
  /// in.
  mlir::Value reduce(const Space &space, Fold fold,
                     llvm::ArrayRef<Operand> operands, Formula formula);
  /// A value that was reduced, for loops over the whole space.
  Operand perRow(const Space &space, mlir::Value reduced) const;
  /// What a formula makes of it, with ones for what was reduced.
  mlir::Value keepDims(const Space &space, mlir::Value reduced,
                       mlir::Type elementType, Formula formula);
  /// The elements that make one result, for Body::outer(): an index.
  mlir::Value countReduced(const Space &space);

  /// The same elements in other dimensions, each of which is one of the
  /// value's, or several of one: `sizes` are those of the result, `groups` says
  /// which of them make each of the value's.
  mlir::Value expand(mlir::Value value, llvm::ArrayRef<Size> sizes,
                     llvm::ArrayRef<mlir::ReassociationIndices> groups);
  mlir::Value collapse(mlir::Value value, llvm::ArrayRef<Size> sizes,
                       llvm::ArrayRef<mlir::ReassociationIndices> groups);

  /// Gives an output its value.
  void set(unsigned position, mlir::Value value);
  llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>> getReplacements() const {
    return replacements;
  }

private:
  mlir::Value
  makeLoops(const Space &space, llvm::ArrayRef<Operand> operands,
            mlir::Value init, mlir::AffineMap initMap,
            llvm::function_ref<mlir::Value(Body &, mlir::Value)> body,
            bool widen);
  mlir::Value makeEmpty(llvm::ArrayRef<Size> sizes, mlir::Type elementType);
  mlir::OpFoldResult getSize(Size size);

  mlir::Operation *op;
  Dimensions &dimensions;
  mlir::ImplicitLocOpBuilder builder;
  llvm::SmallVector<mlir::Value, 4> inputs, outputs;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> replacements;
};

/// float32 for 16-bit floats; other types as they are.
mlir::Type widen(mlir::Type elementType);

/// `op` is the operator's name, of ai.onnx.
struct LinalgRule {
  llvm::StringLiteral op;
  llvm::LogicalResult (*build)(Node &);
};

// The families, each in the file of its name.
llvm::ArrayRef<LinalgRule> getIndexingRules();
llvm::ArrayRef<LinalgRule> getLossRules();
llvm::ArrayRef<LinalgRule> getMovementRules();
llvm::ArrayRef<LinalgRule> getNormalizationRules();
llvm::ArrayRef<LinalgRule> getReductionRules();

/// An operator of each element by itself, of operands that are broadcast.
struct ElementwiseRule {
  enum Kind {
    Any,
    /// Made of functions that float64 leaves to the library.
    Elementary,
    /// Bits are moved as they are.
    Raw
  };
  llvm::StringLiteral op;
  Scalar (*formula)(const Node &, llvm::ArrayRef<Scalar>);
  Kind kind = Any;
  /// Null for any node of plain types.
  bool (*accepts)(const Node &) = nullptr;
};

llvm::ArrayRef<ElementwiseRule> getActivationRules();
llvm::ArrayRef<ElementwiseRule> getElementwiseRules();

/// True for an operation ("onnx.Add") that one of the rules is for.
bool hasRule(llvm::StringRef operation);

llvm::LogicalResult buildElementwise(Node &node, const ElementwiseRule &rule);

/// Lets loops read through Transpose and Expand where rows stay rows, and
/// erases those that nobody else reads.
void foldMovement(mlir::Operation *function);

} // namespace amp

#endif // AMP_PASSES_EXECUTABLE_ONNXTOLINALG_NODE_H
