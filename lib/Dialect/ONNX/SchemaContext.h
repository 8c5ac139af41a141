//===- SchemaContext.h - an operation for inference -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_SCHEMACONTEXT_H
#define AMP_LIB_DIALECT_ONNX_SCHEMACONTEXT_H

#include "amp/Dialect/ONNX/OperatorTable.h"

#include "mlir/IR/Operation.h"

#include "onnx/defs/shape_inference.h"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace amp::onnx {

/// What is known of the values of integers that make shapes: constants, and
/// what follows from them and from shapes ("data propagation").
class ShapeValues {
public:
  /// The elements of a value of rank 0 or 1, each a number, a symbol or
  /// unknown; null if nothing is known.
  const ::onnx::TensorShapeProto *lookup(mlir::Value value);
  /// The tensor of a small constant of numbers, or null.
  const ::onnx::TensorProto *getConstant(mlir::Value value);
  /// More than a shape's worth of elements are not kept.
  void set(mlir::Value value, ::onnx::TensorShapeProto &&elements);
  /// Forgets what was known of a value, or of one that is gone and was where
  /// it is.
  void forget(mlir::Value value);

private:
  std::unique_ptr<::onnx::TensorProto> computeConstant(mlir::Value value);

  // By reference: pointers to what is in here are handed out.
  std::map<void *, ::onnx::TensorShapeProto> known;
  std::map<void *, std::unique_ptr<::onnx::TensorProto>> constants;
};

/// Runs inference over a subgraph: for block arguments of these types (null:
/// not known), the types of what its terminator yields.
using InferRegion = llvm::function_ref<std::vector<const ::onnx::TypeProto *>(
    mlir::Region &, llvm::ArrayRef<const ::onnx::TypeProto *>,
    std::deque<::onnx::TypeProto> &results)>;

/// Shows one operation to the inference functions of its schema, and takes what
/// they find.
class SchemaContext final : public ::onnx::InferenceContext,
                            public ::onnx::DataPropagationContext {
public:
  /// Without `values`, neither shapes nor values are shown: of ONNX's functions
  /// less code runs.
  /// Without `inferRegion`, nothing is known of what subgraphs yield.
  SchemaContext(mlir::Operation *op, const OperatorInfo &info,
                ShapeValues *values, InferRegion inferRegion = nullptr);
  ~SchemaContext() override;

  /// Whether the operation has an input or an output at a position, of whatever
  /// type.
  bool hasOperand(size_t index) const {
    return index < operands.size() && operands[index];
  }
  bool hasResult(size_t index) const {
    return index < results.size() && results[index];
  }
  /// The type that was found for a result; null if none was.
  mlir::Type getInferredType(mlir::OpResult result);

  // Both contexts.
  const ::onnx::AttributeProto *
  getAttribute(const std::string &name) const override;
  size_t getNumInputs() const override { return inputs.size(); }
  const ::onnx::TypeProto *getInputType(size_t index) const override;
  size_t getNumOutputs() const override { return outputs.size(); }

  // InferenceContext.
  const ::onnx::TensorProto *getInputData(size_t index) const override;
  const ::onnx::SparseTensorProto *getInputSparseData(size_t) const override {
    return nullptr;
  }
  const ::onnx::TensorShapeProto *getSymbolicInput(size_t index) const override;
  ::onnx::TypeProto *getOutputType(size_t index) override;
  ::onnx::GraphInferencer *
  getGraphAttributeInferencer(const std::string &name) override;

  // DataPropagationContext.
  const ::onnx::TypeProto *getOutputType(size_t index) const override;
  const ::onnx::TensorShapeProto *getInputData(size_t index) override;
  void addOutputData(size_t index,
                     ::onnx::TensorShapeProto &&elements) override;

private:
  class Subgraph;

  mlir::Operation *op;
  const OperatorInfo &info;
  ShapeValues *values;
  InferRegion inferRegion;
  // By position, where inputs and outputs that are left out count.
  std::vector<mlir::Value> operands, results;
  /// And the position of each result of the operation.
  llvm::SmallVector<unsigned, 4> resultPositions;
  std::vector<std::optional<::onnx::TypeProto>> inputs;
  std::vector<::onnx::TypeProto> outputs;
  std::vector<std::unique_ptr<Subgraph>> subgraphs;
  mutable std::map<std::string, ::onnx::AttributeProto> attributes;
};

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_SCHEMACONTEXT_H
