//===- Nodes.h - what patterns around products ask of nodes -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_EXECUTABLE_FUSEPRODUCTS_NODES_H
#define AMP_PASSES_EXECUTABLE_FUSEPRODUCTS_NODES_H

#include "../ONNXToLinalg/Dimensions.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SetVector.h"

namespace amp {

/// The nodes of a graph, and how patterns change them. What nobody reads any
/// more is erased at the end, so that values stay what they are for the
/// analysis of dimensions.
class Nodes {
public:
  /// With `roundEachNode`, results of 16 bits are rounded as often as before.
  Nodes(mlir::Operation *graph, bool roundEachNode)
      : roundEachNode(roundEachNode) {
    dimensions.remember(graph);
  }
  ~Nodes();
  Nodes(const Nodes &) = delete;
  Nodes &operator=(const Nodes &) = delete;

  Dimensions &getDimensions() { return dimensions; }

  /// Whether what becomes of a value may be rounded once, at the end.
  bool mayJoin(mlir::Value value) const;

  /// An input by position; null if it is left out.
  static mlir::Value getInput(mlir::Operation *op, unsigned position);
  /// The node that alone reads a value, once, in the value's own block; null if
  /// there is no such.
  static mlir::Operation *getOnlyUser(mlir::Value value);
  /// The operand of a node of two that is not `value`.
  static mlir::Value getOther(mlir::Operation *op, mlir::Value value) {
    return op->getOperand(op->getOperand(0) == value ? 1 : 0);
  }

  static int64_t getRank(mlir::Value value); ///< -1 if it is not known
  /// The elements are of float32, float16 or bfloat16, and the rank is known.
  static bool isFloat(mlir::Value value);
  static bool is16Bit(mlir::Value value);

  /// What is known when compiled, of a tensor of one element: a constant, or
  /// what is computed of constants and of dimensions.
  std::optional<double> getNumber(mlir::Value value);
  /// The same where it broadcasts to any tensor of the rank of `other`.
  std::optional<double> getNumberFor(mlir::Value value, mlir::Value other);

  /// Whether two values are known to have one shape.
  bool haveSameShape(mlir::Value a, mlir::Value b);
  /// Whether a value is known to broadcast to these sizes.
  bool isBroadcastTo(mlir::Value value, llvm::ArrayRef<Size> sizes);

  /// The value of which this one is the same with the last two dimensions
  /// exchanged; null if there is none.
  mlir::Value getExchanged(mlir::Value value);

  /// `made` takes the place of a value, and nodes that are read no more go.
  void replace(mlir::Value value, mlir::Value made);
  /// The same for a node that nobody reads.
  void drop(mlir::Operation *op);

private:
  std::optional<double> getNumber(mlir::Value value, unsigned depth);

  Dimensions dimensions;
  bool roundEachNode;
  llvm::SetVector<mlir::Operation *> dropped;
};

/// Like `expected`, as precisely as the element type of `like` has it.
bool isNearly(std::optional<double> number, double expected, mlir::Value like);

/// Whether multiplying by a number only changes the exponent.
bool isPowerOfTwo(double number);

} // namespace amp

#endif // AMP_PASSES_EXECUTABLE_FUSEPRODUCTS_NODES_H
