//===- Differentiate.cpp - amp-differentiate ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActivePaths.h"
#include "DeadNodes.h"
#include "ExpandFunctions.h"
#include "LoopShapes.h"
#include "NamedValues.h"
#include "ReverseMode.h"
#include "TrainingState.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Passes/Training.h"
#include "amp/Support/Quoted.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace amp {

#define GEN_PASS_DEF_DIFFERENTIATE
#include "amp/Passes/Training.h.inc"

namespace {

using onnx::ONNXDialect;

class DifferentiatePass : public impl::DifferentiateBase<DifferentiatePass> {
public:
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    func::FuncOp main = findMainGraph(getOperation(), "differentiate");
    if (!main)
      return signalPassFailure();
    if (failed(differentiate(main)))
      signalPassFailure();
  }

private:
  LogicalResult differentiate(func::FuncOp main);
  FailureOr<Endpoints> findArguments(func::FuncOp main);
  FailureOr<SmallVector<Value>> findValues(func::FuncOp main,
                                           const NamedValues &named,
                                           ArrayRef<std::string> names,
                                           StringRef option);
};

FailureOr<SmallVector<Value>>
DifferentiatePass::findValues(func::FuncOp main, const NamedValues &named,
                              ArrayRef<std::string> names, StringRef option) {
  if (names.empty())
    return main.emitError() << "expected '" << option << "', names of values";
  SmallVector<Value> found;
  for (StringRef name : names) {
    Value value = named.lookup(name);
    if (!value) {
      InFlightDiagnostic error =
          main.emitError() << option << ": no value is named " << quoted(name);
      if (StringRef nearest = named.nearest(name); !nearest.empty())
        error << "; did you mean " << quoted(nearest) << "?";
      return error;
    }
    if (!isa<TensorType>(value.getType()) ||
        !getFloatElementType(value.getType()))
      return main.emitError()
             << option << ": " << quoted(name)
             << " expects a tensor of floats, but it is " << value.getType();
    if (llvm::count(names, name) > 1)
      return main.emitError()
             << option << ": " << quoted(name) << " is named twice";
    found.push_back(value);
  }
  return found;
}

/// Scalars, or tensors with one element.
bool mayBeScalar(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return !tensor || llvm::all_of(tensor.getShape(), [](int64_t size) {
    return size == 1 || ShapedType::isDynamic(size);
  });
}

/// Finds what the options name.
FailureOr<Endpoints> DifferentiatePass::findArguments(func::FuncOp main) {
  NamedValues named(main);
  FailureOr<SmallVector<Value>> lossValues =
      findValues(main, named, losses, "loss");
  if (failed(lossValues))
    return failure();
  FailureOr<SmallVector<Value>> wanted = findValues(main, named, wrt, "wrt");
  if (failed(wanted))
    return failure();
  for (auto [loss, name] : llvm::zip_equal(*lossValues, losses))
    if (!mayBeScalar(loss.getType()))
      return main.emitError()
             << "loss: " << quoted(name) << " expects a scalar, but it is "
             << loss.getType();
  llvm::DenseSet<Value> sources = ActivePaths(main).findSources(*lossValues);
  for (auto [value, name] : llvm::zip_equal(*wanted, wrt)) {
    if (!sources.contains(value))
      return main.emitError() << "wrt: no differentiable path leads from "
                              << quoted(name) << " to the loss";
    if (named.lookup(getGradientName(name)))
      return main.emitError()
             << "wrt: the gradient of " << quoted(name) << " would be named "
             << quoted(getGradientName(name)) << ", as another value is";
  }
  return Endpoints{*lossValues, *wanted};
}

LogicalResult DifferentiatePass::differentiate(func::FuncOp main) {
  auto parameters = main->getAttrOfType<ArrayAttr>(AMPDialect::kParameters);
  if (parameters && wrt.empty())
    for (auto name : parameters.getAsRange<StringAttr>())
      wrt.push_back(name.str());
  Block &block = main.getBody().front();
  Operation *terminator = block.getTerminator();
  FailureOr<Endpoints> ends =
      expandFunctions(main, [&] { return findArguments(main); });
  if (failed(ends))
    return failure();

  // What is known of shapes makes gradients short: here it follows from all.
  onnx::InferenceOptions inference;
  inference.shapes = true;
  if (failed(onnx::inferTypes(getOperation(), inference)))
    return failure();
  inferLoopShapes(block);
  OpBuilder builder(terminator);
  onnx::NodeBuilder nodes(builder, main);
  if (nodes.getOpset() < onnx::NodeBuilder::kMinOpset)
    return main.emitError() << "expects opset " << onnx::NodeBuilder::kMinOpset
                            << " or later of ai.onnx, but the model imports "
                            << nodes.getOpset();

  if (microBatches < 1)
    return main.emitError() << "micro-batches: expects 1 or more, but got "
                            << microBatches.getValue();
  onnx::Expr scale;
  if (!seed.empty()) {
    FailureOr<SmallVector<Value>> found =
        findValues(main, NamedValues(main), {seed}, "seed");
    if (failed(found))
      return failure();
    scale = nodes.expr(found->front());
    if (!mayBeScalar(scale.getType()))
      return main.emitError()
             << "seed: " << quoted(seed) << " expects a scalar, but it is "
             << scale.getType();
  }
  if (microBatches > 1) {
    // The quotient that PyTorch has where the loss is divided.
    double count = microBatches;
    scale =
        scale
            ? scale / count
            : nodes.number(1 / count,
                           getFloatElementType(ends->losses.front().getType()));
    main->setAttr(AMPDialect::kMicroBatches,
                  builder.getI64IntegerAttr(microBatches));
  }
  FailureOr<SmallVector<Value>> gradients = buildGradients(
      block, nodes, ends->losses, ends->wanted, findActive(main, *ends), scale);
  if (failed(gradients))
    return failure();

  SmallVector<Attribute> outputs;
  auto fields = main->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph);
  if (auto known = fields ? fields.getAs<ArrayAttr>("output") : ArrayAttr())
    outputs.append(known.begin(), known.end());
  for (StringRef name : wrt)
    outputs.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        "name", builder.getStringAttr(getGradientName(name)))));
  terminator->insertOperands(terminator->getNumOperands(), *gradients);
  eraseDeadNodes(block);
  main.setFunctionType(builder.getFunctionType(block.getArgumentTypes(),
                                               terminator->getOperandTypes()));
  NamedAttrList entries(fields);
  entries.set("output", builder.getArrayAttr(outputs));
  main->setAttr(ONNXDialect::kGraph, entries.getDictionary(&getContext()));
  return success();
}

} // namespace
} // namespace amp
