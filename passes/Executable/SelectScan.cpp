//===- SelectScan.cpp - Scan as a loop ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"

#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Dialect/ONNX/ONNXOps.h"

using namespace mlir;
using namespace amp;

namespace {

/// A Scan: N states, then M inputs that iterations see slices of; states, then
/// K outputs that are made of slices.
class ScanSelection {
public:
  ScanSelection(onnx::ScanOp op, OpBuilder &builder)
      : op(op), builder(builder), loc(op.getLoc()),
        numInputs(op->getAttrOfType<IntegerAttr>("num_scan_inputs").getInt()),
        numStates(op->getNumOperands() - numInputs),
        numOutputs(op->getNumResults() - numStates) {}

  FailureOr<SmallVector<Value>> select(std::string &why);

private:
  SmallVector<int64_t> getInts(StringRef name) const {
    auto list = op->getAttrOfType<DenseI64ArrayAttr>(name);
    return list ? SmallVector<int64_t>(list.asArrayRef())
                : SmallVector<int64_t>();
  }
  Value scanned(size_t i) const { return op->getOperand(numStates + i); }
  Value call(StringRef kernel, ValueRange operands, Type type,
             ArrayRef<NamedAttribute> settings = {}) {
    return rt::CallOp::create(builder, loc, type, kernel, operands,
                              DenseI32ArrayAttr(), /*view=*/false,
                              builder.getDictionaryAttr(settings))
        .getResult(0);
  }
  NamedAttribute setting(StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  }
  Value constant(DenseElementsAttr value) {
    return rt::ConstantOp::create(builder, loc, value.getType(), value);
  }

  /// The number of iterations, a scalar.
  Value buildTrips(int64_t axis);

  onnx::ScanOp op;
  OpBuilder &builder;
  Location loc;
  size_t numInputs, numStates, numOutputs;
  SmallVector<int64_t> inputAxes, inputDirections, outputAxes;
};

} // namespace

Value ScanSelection::buildTrips(int64_t axis) {
  Type scalar = RankedTensorType::get({}, builder.getI64Type());
  auto type = cast<RankedTensorType>(scanned(0).getType());
  if (!type.isDynamicDim(axis))
    return constant(DenseElementsAttr::get(cast<RankedTensorType>(scalar),
                                           type.getDimSize(axis)));
  Value size = call("shape", scanned(0),
                    RankedTensorType::get({1}, builder.getI64Type()),
                    {setting("end", axis + 1), setting("start", axis)});
  return rt::ViewOp::create(builder, loc, scalar, size);
}

FailureOr<SmallVector<Value>> ScanSelection::select(std::string &why) {
  inputAxes = getInts("scan_input_axes");
  inputDirections = getInts("scan_input_directions");
  outputAxes = getInts("scan_output_axes");
  inputAxes.resize(numInputs, 0);
  inputDirections.resize(numInputs, 0);
  outputAxes.resize(numOutputs, 0);
  if (llvm::any_of(getInts("scan_output_directions"),
                   [](int64_t direction) { return direction != 0; })) {
    why = "outputs that are made from their end on are not supported";
    return failure();
  }
  for (size_t i = 0; i < numInputs; ++i) {
    auto type = dyn_cast<RankedTensorType>(scanned(i).getType());
    if (!type) {
      why = "the rank of what it scans is not known";
      return failure();
    }
    if (inputAxes[i] < 0)
      inputAxes[i] += type.getRank();
  }
  for (size_t i = 0; i < numOutputs; ++i) {
    auto type =
        dyn_cast<RankedTensorType>(op->getResult(numStates + i).getType());
    if (!type && outputAxes[i] != 0) {
      why = "the rank of what it makes is not known";
      return failure();
    }
    if (outputAxes[i] < 0)
      outputAxes[i] += type.getRank();
  }

  Value trips = buildTrips(inputAxes[0]);
  // Where slices are stacked along another axis, the loop stacks them first.
  SmallVector<Type> types(op->getResultTypes());
  SmallVector<SmallVector<int64_t>> orders(numOutputs);
  for (size_t i = 0; i < numOutputs; ++i) {
    if (outputAxes[i] == 0)
      continue;
    auto type = cast<RankedTensorType>(types[numStates + i]);
    SmallVector<int64_t> dims(type.getShape());
    int64_t size = dims[outputAxes[i]];
    dims.erase(dims.begin() + outputAxes[i]);
    dims.insert(dims.begin(), size);
    types[numStates + i] = type.clone(dims);
    for (int64_t axis = 1; axis < type.getRank(); ++axis)
      orders[i].push_back(axis);
    orders[i].insert(orders[i].begin() + outputAxes[i], 0);
  }
  auto loop = rt::LoopOp::create(builder, loc, types, trips, Value(),
                                 op->getOperands().take_front(numStates));
  loop.getBody().takeBody(op->getRegion(0));
  Block &block = loop.getBody().front();
  Operation *yield = block.getTerminator();

  SmallVector<Value> results(loop.getResults());
  for (size_t i = 0; i < numOutputs; ++i)
    if (outputAxes[i] != 0)
      results[numStates + i] =
          call("transpose", results[numStates + i],
               op->getResult(numStates + i).getType(),
               builder.getNamedAttr("perm",
                                    builder.getDenseI64ArrayAttr(orders[i])));

  // Slices of what is scanned, in place of the body's arguments for them.
  OpBuilder::InsertionGuard guard(builder);
  Type index = RankedTensorType::get({}, builder.getI64Type());
  Value iteration = block.insertArgument(0u, index, loc);
  Value goesOn = block.insertArgument(
      1u, RankedTensorType::get({}, builder.getI1Type()), loc);
  builder.setInsertionPointToStart(&block);
  for (size_t i = 0; i < numInputs; ++i) {
    Value position = iteration;
    if (inputDirections[i] != 0) {
      Value one = constant(
          DenseElementsAttr::get(cast<RankedTensorType>(index), int64_t(1)));
      position = call(
          "sub",
          ValueRange{call("sub", ValueRange{trips, one}, index), iteration},
          index);
    }
    BlockArgument argument = block.getArgument(2 + numStates);
    Value slice = call("gather", ValueRange{scanned(i), position},
                       argument.getType(), setting("axis", inputAxes[i]));
    argument.replaceAllUsesWith(slice);
    block.eraseArgument(argument.getArgNumber());
  }
  builder.setInsertionPoint(yield);
  SmallVector<Value> yielded = {goesOn};
  llvm::append_range(yielded, yield->getOperands());
  rt::YieldOp::create(builder, loc, yielded);
  yield->erase();
  return results;
}

FailureOr<SmallVector<Value>> amp::selectScan(Operation *op, OpBuilder &builder,
                                              std::string &why) {
  return ScanSelection(cast<onnx::ScanOp>(op), builder).select(why);
}
