//===- SelectKernels.cpp - what runs each node ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"
#include "LibraryKernels.h"

#include "amp/Dialect/AMP/ConstantData.h"
#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/OptionalOutputs.h"
#include "amp/Dialect/ONNX/SchemaFunctions.h"
#include "amp/Passes/Executable.h"
#include "amp/Support/Quoted.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace amp {
#define GEN_PASS_DEF_SELECTKERNELS
#include "amp/Passes/Executable.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;
using onnx::ONNXDialect;
using rt::AMPRTDialect;

namespace {

/// What is to be selected yet, in the order of the program: the nodes that
/// replace a function come next.
using Worklist = SmallVector<Operation *>;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// What an attribute of Constant says, as a tensor; null for what is none.
TypedAttr getConstantValue(Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type)
    return {};
  if (auto tensor = op->getAttrOfType<onnx::TensorAttr>("value"))
    return tensor.getValue();
  if (Attribute number = op->getAttr("value_float"))
    return DenseElementsAttr::get(type, number);
  if (auto number = op->getAttrOfType<IntegerAttr>("value_int"))
    return DenseElementsAttr::get(type, number.getValue());
  if (auto list = op->getAttrOfType<DenseF32ArrayAttr>("value_floats"))
    return DenseElementsAttr::get(type, list.asArrayRef());
  if (auto list = op->getAttrOfType<DenseI64ArrayAttr>("value_ints"))
    return DenseElementsAttr::get(type, list.asArrayRef());
  if (auto text = op->getAttrOfType<StringAttr>("value_string"))
    return DenseStringElementsAttr::get(type, text.getValue());
  if (auto list = op->getAttrOfType<ArrayAttr>("value_strings")) {
    SmallVector<StringRef> texts;
    for (Attribute text : list)
      texts.push_back(cast<StringAttr>(text).getValue());
    return DenseStringElementsAttr::get(type, texts);
  }
  return {};
}

FailureOr<SmallVector<Value>> selectConstant(Operation *op, OpBuilder &builder,
                                             std::string &why) {
  TypedAttr value;
  if (auto initializer = dyn_cast<onnx::InitializerOp>(op))
    value = initializer.getValue().getValue();
  else
    value = getConstantValue(op);
  if (!value || !isa<RankedTensorType>(value.getType())) {
    why = "its value is no dense tensor";
    return failure();
  }
  return SmallVector<Value>{
      rt::ConstantOp::create(builder, op->getLoc(), value.getType(), value)};
}

//===----------------------------------------------------------------------===//
// Optional values
//===----------------------------------------------------------------------===//

/// Whether a tensor is there is known: executables have no optional values.
FailureOr<SmallVector<Value>> selectOptional(Operation *op, OpBuilder &builder,
                                             std::string &why) {
  bool isThere = op->getNumOperands() > 0;
  if (isThere && !isa<TensorType>(op->getOperand(0).getType())) {
    why = "executables have no optional values and no sequences";
    return failure();
  }
  if (isa<onnx::OptionalGetElementOp>(op))
    return SmallVector<Value>{op->getOperand(0)};
  auto type = RankedTensorType::get({}, builder.getI1Type());
  return SmallVector<Value>{rt::ConstantOp::create(
      builder, op->getLoc(), type, DenseElementsAttr::get(type, isThere))};
}

//===----------------------------------------------------------------------===//
// Kernels of the library
//===----------------------------------------------------------------------===//

/// An attribute as kernels take it; null for what they can't have.
Attribute toSetting(Attribute attribute) {
  Builder builder(attribute.getContext());
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return builder.getI64IntegerAttr(number.getInt());
  if (isa<FloatAttr, StringAttr, DenseI64ArrayAttr, DenseF32ArrayAttr>(
          attribute))
    return attribute;
  if (auto list = dyn_cast<ArrayAttr>(attribute))
    return llvm::all_of(list, llvm::IsaPred<StringAttr>) ? attribute
                                                         : Attribute();
  return {};
}

/// Positions with -1 where there is nobody; null if they are simply in order.
DenseI32ArrayAttr getIndices(Builder &builder, ArrayRef<unsigned> positions) {
  SmallVector<int32_t> indices;
  for (auto [index, position] : llvm::enumerate(positions)) {
    indices.resize(position, -1);
    indices.push_back(index);
  }
  return indices.size() == positions.size()
             ? DenseI32ArrayAttr()
             : builder.getDenseI32ArrayAttr(indices);
}

FailureOr<SmallVector<Value>> selectLibrary(Operation *op, OpBuilder &builder,
                                            std::string &why) {
  const LibraryKernel *kernel = findLibraryKernel(op);
  if (!kernel)
    return failure();
  SmallVector<unsigned, 8> positions = onnx::outputPositions(op);
  if (positions.back() >= positions.size()) {
    // Kernels leave out last outputs only. Selected next.
    onnx::NodeBuilder nodes(builder, op);
    Operation *whole = onnx::withOutputs(op, positions.back() + 1, nodes);
    return llvm::map_to_vector(positions, [&](unsigned position) -> Value {
      return whole->getResult(position);
    });
  }
  NamedAttrList settings;
  for (NamedAttribute attribute : op->getAttrs()) {
    StringRef name = attribute.getName();
    if (name == "operandSegmentSizes" || name == "resultSegmentSizes" ||
        name.contains('.'))
      continue;
    // ConstantOfShape has an input for what may be of any type.
    if (isa<onnx::TensorAttr>(attribute.getValue()) &&
        isa<onnx::ConstantOfShapeOp>(op))
      continue;
    Attribute setting = toSetting(attribute.getValue());
    if (!setting) {
      why = "kernels have no attribute of the kind of " + quoted(name);
      return failure();
    }
    settings.set(name, setting);
  }
  SmallVector<Value> operands(op->getOperands());
  if (isa<onnx::ConstantOfShapeOp>(op))
    if (auto tensor = op->getAttrOfType<onnx::TensorAttr>("value")) {
      auto type = RankedTensorType::get(
          {}, cast<ShapedType>(tensor.getType()).getElementType());
      Value list = rt::ConstantOp::create(builder, op->getLoc(),
                                          tensor.getValue().getType(),
                                          tensor.getValue());
      operands.push_back(rt::ViewOp::create(builder, op->getLoc(), type, list));
    }
  auto call = rt::CallOp::create(
      builder, op->getLoc(), op->getResultTypes(), kernel->kernel, operands,
      getIndices(builder, onnx::inputPositions(op)), /*view=*/false,
      settings.getDictionary(op->getContext()));
  return SmallVector<Value>(call.getResults());
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> selectView(Operation *op, OpBuilder &builder,
                                         std::string &why) {
  if (isa<onnx::IdentityOp>(op) &&
      op->getOperand(0).getType() == op->getResult(0).getType())
    return SmallVector<Value>{op->getOperand(0)};
  auto from = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!isa<TensorType>(op->getOperand(0).getType()))
    return failure();
  if (from && to && to.getNumDynamicDims() <= 1 &&
      !isa<onnx::StringType>(from.getElementType()))
    return SmallVector<Value>{
        rt::ViewOp::create(builder, op->getLoc(), to, op->getOperand(0))};
  FailureOr<SmallVector<Value>> values = selectLibrary(op, builder, why);
  if (succeeded(values))
    values->front().getDefiningOp<rt::CallOp>().setView(true);
  return values;
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

/// Moves the body of a subgraph. Its nodes are selected later.
void moveBody(Region &from, Region &to) {
  to.takeBody(from);
  Operation *yield = to.front().getTerminator();
  OpBuilder builder(yield);
  rt::YieldOp::create(builder, yield->getLoc(), yield->getOperands());
  yield->erase();
}

FailureOr<SmallVector<Value>>
selectControlFlow(Operation *op, OpBuilder &builder, std::string &why) {
  if (auto branch = dyn_cast<onnx::IfOp>(op)) {
    auto selected = rt::IfOp::create(builder, op->getLoc(),
                                     op->getResultTypes(), op->getOperand(0));
    // In the order of their names.
    moveBody(op->getRegion(0), selected.getElseRegion());
    moveBody(op->getRegion(1), selected.getThenRegion());
    return SmallVector<Value>(selected.getResults());
  }
  SmallVector<unsigned, 8> positions = onnx::inputPositions(op);
  Value trips, condition;
  SmallVector<Value> carried;
  for (auto [position, operand] : llvm::zip(positions, op->getOperands()))
    if (position == 0)
      trips = operand;
    else if (position == 1)
      condition = operand;
    else
      carried.push_back(operand);
  auto selected = rt::LoopOp::create(
      builder, op->getLoc(), op->getResultTypes(), trips, condition, carried);
  moveBody(op->getRegion(0), selected.getBody());
  return SmallVector<Value>(selected.getResults());
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> selectFunction(Operation *op, OpBuilder &builder,
                                             std::string &why) {
  if (!onnx::lookupOperator(op->getName()))
    return failure();
  onnx::NodeBuilder nodes(builder, op);
  return onnx::buildFunctionBody(op, nodes);
}

constexpr StringLiteral kConstants[] = {"onnx.Constant", "onnx.Initializer"};
constexpr StringLiteral kViews[] = {"onnx.Identity", "onnx.Reshape",
                                    "onnx.Squeeze", "onnx.Unsqueeze",
                                    "onnx.Flatten"};
constexpr StringLiteral kControlFlow[] = {"onnx.If", "onnx.Loop"};
constexpr StringLiteral kScan[] = {"onnx.Scan"};
constexpr StringLiteral kOptionals[] = {"onnx.OptionalGetElement",
                                        "onnx.OptionalHasElement"};
constexpr StringLiteral kAttention[] = {"onnx.Attention"};
constexpr StringLiteral kFlexAttention[] = {"onnx.preview.FlexAttention"};

constexpr Candidate kCandidates[] = {
    {"constant", kConstants, selectConstant},
    {"view", kViews, selectView},
    {"control flow", kControlFlow, selectControlFlow},
    {"loop", kScan, selectScan},
    {"optional", kOptionals, selectOptional},
    {"attention", kAttention, selectAttention},
    {"its definition", kFlexAttention, selectFlexAttention},
    {"library", {}, selectLibrary},
    {"function", {}, selectFunction},
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// True if a type says all that another one says.
bool refines(Type type, Type other) {
  auto tensor = dyn_cast<TensorType>(type), less = dyn_cast<TensorType>(other);
  if (!tensor || !less || tensor.getElementType() != less.getElementType())
    return isa<onnx::UnknownType>(other);
  if (!less.hasRank())
    return true;
  return tensor.hasRank() && tensor.getRank() == less.getRank() &&
         llvm::all_of(llvm::zip_equal(tensor.getShape(), less.getShape()),
                      [](auto sizes) {
                        auto [size, other] = sizes;
                        return ShapedType::isDynamic(other) || size == other;
                      });
}

/// Puts what a candidate made in the place of a node's results. Their types may
/// say more than follows from what was made, or less: then graphs return, and
/// operations with types of their own read, what was said of the result.
void replaceBy(Operation *op, SmallVector<Value> values) {
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    Value value = values[i];
    Type type = result.getType();
    bool isOperand = llvm::is_contained(op->getOperands(), value);
    if (value.getType() != type && value.getDefiningOp() && !isOperand &&
        refines(type, value.getType()))
      value.setType(type);
    if (value.getType() != type &&
        tensor::CastOp::areCastCompatible(value.getType(), type)) {
      auto isTyped = [](OpOperand &use) {
        Operation *user = use.getOwner();
        return !isa<ONNXDialect>(user->getDialect()) ||
               user->hasTrait<OpTrait::IsTerminator>();
      };
      if (llvm::any_of(result.getUses(), isTyped)) {
        OpBuilder builder(op);
        Value cast = tensor::CastOp::create(builder, op->getLoc(), type, value);
        result.replaceUsesWithIf(cast, isTyped);
      }
    }
    result.replaceAllUsesWith(value);
  }
  op->erase();
}

struct SelectKernels : public amp::impl::SelectKernelsBase<SelectKernels> {
  using Base::Base;

  void runOnOperation() final {
    for (auto graph : getOperation().getOps<func::FuncOp>())
      if (graph->hasAttr(AMPRTDialect::kSignature) &&
          failed(select(graph.getBody())))
        return signalPassFailure();
    numberRandomKernels();
  }

private:
  LogicalResult select(Region &region);
  LogicalResult select(Operation *op, Worklist &next);
  void numberRandomKernels();
};

} // namespace

ArrayRef<Candidate> amp::getCandidates() { return kCandidates; }

LogicalResult SelectKernels::select(Region &region) {
  Worklist pending;
  auto push = [&](Region &from) {
    for (Block &block : from)
      for (Operation &op : llvm::reverse(block))
        pending.push_back(&op);
  };
  push(region);
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!isa<ONNXDialect>(op->getDialect())) {
      for (Region &body : op->getRegions())
        push(body);
      continue;
    }
    Worklist next;
    if (failed(select(op, next)))
      return failure();
    pending.append(next.rbegin(), next.rend());
  }
  return success();
}

LogicalResult SelectKernels::select(Operation *op, Worklist &next) {
  std::string why;
  for (const Candidate &candidate : kCandidates) {
    if (!candidate.ops.empty() &&
        !llvm::is_contained(candidate.ops, op->getName().getStringRef()))
      continue;
    Operation *before = op->getPrevNode();
    OpBuilder builder(op);
    FailureOr<SmallVector<Value>> values = candidate.select(op, builder, why);
    // Who knows the operator knows why it can't be had.
    if (failed(values) && !candidate.ops.empty() && !why.empty())
      break;
    if (failed(values))
      continue;
    Attribute name = op->getAttr(ONNXDialect::kName);
    for (Operation *made = before ? before->getNextNode()
                                  : &op->getBlock()->front();
         made != op; made = made->getNextNode()) {
      next.push_back(made);
      if (name && !made->hasAttr(AMPRTDialect::kNode) &&
          !made->hasAttr(ONNXDialect::kName))
        made->setAttr(isa<ONNXDialect>(made->getDialect())
                          ? ONNXDialect::kName
                          : AMPRTDialect::kNode,
                      name);
    }
    // The values keep their names.
    if (auto names = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs))
      if (names.size() == op->getNumResults() && !values->empty())
        if (Operation *maker = values->front().getDefiningOp())
          if (llvm::equal(maker->getResults(), *values) &&
              isa<AMPRTDialect>(maker->getDialect()) &&
              !maker->hasAttr(AMPRTDialect::kNames))
            maker->setAttr(AMPRTDialect::kNames, names);
    replaceBy(op, *values);
    return success();
  }
  InFlightDiagnostic error = op->emitError(onnx::describeNode(op));
  if (auto custom = dyn_cast<onnx::CustomOp>(op))
    error << " (" << custom.getDomainName() << "." << custom.getOpType() << ")";
  error << " can't be compiled: ";
  if (why.empty())
    error << "there is no kernel for its operator, nor a definition by "
             "operators that have one; 'onnx-amp compile --list-operators' "
             "prints those";
  else
    error << why;
  return failure();
}

/// Those that draw with the same seed draw different numbers.
void SelectKernels::numberRandomKernels() {
  Builder builder(&getContext());
  int64_t stream = 0;
  getOperation().walk([&](rt::CallOp call) {
    const LibraryKernel *kernel = findLibraryKernel(call.getKernel());
    if (!kernel || !kernel->isRandom)
      return;
    NamedAttrList settings(call.getSettings());
    settings.set("stream", builder.getI64IntegerAttr(stream++));
    call.setSettingsAttr(settings.getDictionary(&getContext()));
  });
}
