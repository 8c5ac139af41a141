//===- Calibration.h - what values are like on data -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_CALIBRATION_H
#define AMP_TOOLS_ONNX_AMP_CALIBRATION_H

#include "EngineModel.h"

#include "amp/Dialect/ONNX/OperatorWork.h"

#include "llvm/ADT/StringMap.h"

namespace amp {

/// What the values of one tensor were like, in all samples together.
struct MeasuredValue {
  std::string name;
  /// Where it is: the name of its function, if that is not the main graph, and
  /// for each subgraph the first output of its node and its attribute, as in
  /// "y.then_branch". Empty for values of the main graph.
  std::vector<std::string> scope;
  /// Of the last sample.
  Shape shape;
  uint64_t count = 0, zeros = 0, nan = 0, infinite = 0;
  /// Of the finite ones.
  double absmax = 0;
  /// How many have a magnitude of 2^e to 2^(e+1), e from lowestExponent on.
  int64_t lowestExponent = 0;
  std::vector<uint64_t> histogram;

  uint64_t countNonFinite() const { return nan + infinite; }
  /// How many values are 2^exponent or more, and how many are less and not 0.
  uint64_t countFrom(int64_t exponent) const;
  uint64_t countBelow(int64_t exponent) const;
};

/// The values of a model, measured on data: of its main graph, and of subgraphs
/// and functions as often as they ran.
class Calibration {
public:
  /// Fails after an error of the module's context.
  static mlir::FailureOr<Calibration> measure(mlir::ModuleOp module,
                                              Engine &engine,
                                              const EngineModel &model,
                                              llvm::StringRef data);

  /// Writes amp.ranges and amp.argument_ranges.
  void annotate(mlir::ModuleOp module) const;

  /// Null for a value that was not measured.
  const MeasuredValue *lookup(mlir::Value value) const;
  /// What was measured, or what the type says.
  std::optional<Shape> getShape(mlir::Value value) const;

  /// What nodes give, in the order of the graph; then the inputs.
  llvm::ArrayRef<MeasuredValue> getValues() const { return values; }
  llvm::ArrayRef<MeasuredValue> getInputs() const { return inputs; }

  /// One object; reductions are those of `module`.
  llvm::json::Object toJSON(mlir::ModuleOp module) const;
  /// "'data.npz': 1 sample, 5 values measured".
  std::string toText() const;

private:
  std::string data;
  size_t samples = 0;
  /// Inputs of functions are among those inside.
  std::vector<MeasuredValue> values, inputs, inside;
  llvm::StringMap<size_t> valueOf, inputOf, insideOf;
};

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_CALIBRATION_H
