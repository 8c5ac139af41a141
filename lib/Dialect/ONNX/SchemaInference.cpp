//===- SchemaInference.cpp - types by ONNX's inference functions ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX's own driver of inference wants a whole ModelProto and copies its tables
// for every node with a subgraph. Here the schemas' functions run over the
// operations directly, by a context that shows them one operation.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/Schema.h"
#include "amp/Dialect/ONNX/TypeInference.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

#include "onnx/defs/schema.h"
#include "onnx/defs/shape_inference.h"

#include <deque>

using namespace mlir;

namespace amp::onnx {

namespace {

using ::onnx::AttributeProto;
using ::onnx::TypeProto;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// False for a type of which nothing is known.
bool toProto(Type type, bool shapes, TypeProto &proto) {
  if (auto tensor = dyn_cast<TensorType>(type)) {
    std::optional<ElementType> element = fromType(tensor.getElementType());
    if (!element || *element == ElementType::Undefined)
      return false;
    TypeProto::Tensor *message = proto.mutable_tensor_type();
    message->set_elem_type(static_cast<int32_t>(*element));
    auto ranked = dyn_cast<RankedTensorType>(type);
    if (!ranked || !shapes)
      return true;
    auto names = dyn_cast_or_null<DimsAttr>(ranked.getEncoding());
    message->mutable_shape();
    for (auto [i, size] : llvm::enumerate(ranked.getShape())) {
      auto *dim = message->mutable_shape()->add_dim();
      if (!ShapedType::isDynamic(size))
        dim->set_dim_value(size);
      else if (names && !names.getNames()[i].getValue().empty())
        dim->set_dim_param(names.getNames()[i].getValue().str());
    }
    return true;
  }
  if (auto sparse = dyn_cast<SparseTensorType>(type)) {
    TypeProto dense;
    if (!toProto(sparse.getDenseType(), shapes, dense))
      return false;
    proto.mutable_sparse_tensor_type()->set_elem_type(
        dense.tensor_type().elem_type());
    return true;
  }
  if (auto sequence = dyn_cast<SequenceType>(type))
    return toProto(sequence.getElementType(), shapes,
                   *proto.mutable_sequence_type()->mutable_elem_type());
  if (auto optional = dyn_cast<OptionalType>(type))
    return toProto(optional.getElementType(), shapes,
                   *proto.mutable_optional_type()->mutable_elem_type());
  if (auto map = dyn_cast<MapType>(type)) {
    std::optional<ElementType> key = fromType(map.getKeyType());
    if (!key)
      return false;
    proto.mutable_map_type()->set_key_type(static_cast<int32_t>(*key));
    return toProto(map.getValueType(), shapes,
                   *proto.mutable_map_type()->mutable_value_type());
  }
  return false;
}

/// Null for a type of which nothing is known.
Type fromProto(MLIRContext *context, const TypeProto &proto) {
  switch (proto.value_case()) {
  case TypeProto::kTensorType: {
    const TypeProto::Tensor &message = proto.tensor_type();
    std::optional<ElementType> element = parseElementType(message.elem_type());
    if (!element || *element == ElementType::Undefined)
      return {};
    Type elementType = toType(context, *element);
    if (!message.has_shape())
      return UnrankedTensorType::get(elementType);
    SmallVector<int64_t> shape;
    SmallVector<StringAttr> names;
    bool named = false;
    for (const auto &dim : message.shape().dim()) {
      bool known = dim.has_dim_value() && dim.dim_value() >= 0;
      shape.push_back(known ? dim.dim_value() : ShapedType::kDynamic);
      names.push_back(StringAttr::get(context, dim.dim_param()));
      named |= !dim.dim_param().empty();
    }
    return RankedTensorType::get(
        shape, elementType,
        named ? Attribute(DimsAttr::get(context, names)) : Attribute());
  }
  case TypeProto::kSequenceType: {
    Type element = fromProto(context, proto.sequence_type().elem_type());
    return element ? SequenceType::get(context, element) : Type();
  }
  case TypeProto::kOptionalType: {
    Type element = fromProto(context, proto.optional_type().elem_type());
    return element ? OptionalType::get(context, element) : Type();
  }
  case TypeProto::kMapType: {
    std::optional<ElementType> key =
        parseElementType(proto.map_type().key_type());
    Type value = fromProto(context, proto.map_type().value_type());
    return key && value ? MapType::get(context, toType(context, *key), value)
                        : Type();
  }
  default:
    return {};
  }
}

//===----------------------------------------------------------------------===//
// One operation
//===----------------------------------------------------------------------===//

class Inferrer;

/// Runs inference over a subgraph when the inference function of its operator
/// asks.
class Subgraph final : public ::onnx::GraphInferencer {
public:
  Subgraph(Inferrer &inferrer, Region &region)
      : inferrer(inferrer), region(region) {}

  std::vector<const TypeProto *>
  doInferencing(const std::vector<const TypeProto *> &inputTypes,
                const std::vector<const ::onnx::TensorProto *> &) override;

private:
  Inferrer &inferrer;
  Region &region;
  std::deque<TypeProto> results;
};

class Inferrer {
public:
  Inferrer(ModuleOp module, const InferenceOptions &options)
      : module(module), options(options), symbols(module) {}

  void inferBlock(Block &block) {
    for (Operation &op : block)
      inferOperation(&op);
  }
  void inferFunction(func::FuncOp func);
  void forgetConflicts();
  bool shapes() const { return options.shapes; }
  MLIRContext *context() { return module.getContext(); }

private:
  void inferOperation(Operation *op);
  void inferCall(CallOp call);

  ModuleOp module;
  InferenceOptions options;
  SymbolTable symbols;
  enum class State { New, Running, Done, Conflict };
  llvm::DenseMap<Operation *, State> functions;
};

/// Shows one operation to its inference function.
class Context final : public ::onnx::InferenceContext {
public:
  Context(Inferrer &inferrer, Operation *op, const OperatorInfo &info)
      : inferrer(inferrer), op(op), info(info) {
    for (auto [position, value] :
         llvm::zip_equal(inputPositions(op), op->getOperands())) {
      if (inputs.size() <= position)
        inputs.resize(position + 1);
      TypeProto proto;
      if (toProto(value.getType(), inferrer.shapes(), proto))
        inputs[position] = std::move(proto);
    }
    SmallVector<unsigned, 8> positions = outputPositions(op);
    if (!positions.empty())
      outputs.resize(positions.back() + 1);
  }

  const AttributeProto *getAttribute(const std::string &name) const override;
  size_t getNumInputs() const override { return inputs.size(); }
  const TypeProto *getInputType(size_t index) const override {
    return index < inputs.size() && inputs[index] ? &*inputs[index] : nullptr;
  }
  const ::onnx::TensorProto *getInputData(size_t) const override {
    return nullptr;
  }
  const ::onnx::SparseTensorProto *getInputSparseData(size_t) const override {
    return nullptr;
  }
  const ::onnx::TensorShapeProto *getSymbolicInput(size_t) const override {
    return nullptr;
  }
  size_t getNumOutputs() const override { return outputs.size(); }
  TypeProto *getOutputType(size_t index) override {
    return index < outputs.size() ? &outputs[index] : nullptr;
  }
  ::onnx::GraphInferencer *
  getGraphAttributeInferencer(const std::string &name) override {
    for (auto [index, region] : llvm::enumerate(info.regionNames()))
      if (region == name && index < op->getNumRegions() &&
          !op->getRegion(index).empty()) {
        subgraphs.push_back(
            std::make_unique<Subgraph>(inferrer, op->getRegion(index)));
        return subgraphs.back().get();
      }
    return nullptr;
  }

private:
  Inferrer &inferrer;
  Operation *op;
  const OperatorInfo &info;
  std::vector<std::optional<TypeProto>> inputs;
  std::vector<TypeProto> outputs;
  std::vector<std::unique_ptr<Subgraph>> subgraphs;
  mutable std::map<std::string, AttributeProto> attributes;
};

void fillTensor(TensorAttr tensor, ::onnx::TensorProto *proto) {
  // Of a tensor inference needs the type; data stays where it is.
  auto type = cast<RankedTensorType>(tensor.getType());
  if (std::optional<ElementType> element = fromType(type.getElementType()))
    proto->set_data_type(static_cast<int32_t>(*element));
  for (int64_t dim : type.getShape())
    proto->add_dims(dim);
}

const AttributeProto *Context::getAttribute(const std::string &name) const {
  auto known = attributes.find(name);
  if (known != attributes.end())
    return &known->second;
  AttributeProto proto;
  proto.set_name(name);
  Attribute attribute = op->getAttr(name);
  if (!attribute) {
    if (!llvm::is_contained(info.regionNames(), name))
      return nullptr;
    proto.set_type(AttributeProto::GRAPH);
    proto.mutable_g();
    return &attributes.emplace(name, std::move(proto)).first->second;
  }
  if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
    proto.set_type(AttributeProto::INT);
    proto.set_i(integer.getValue().getSExtValue());
  } else if (auto number = dyn_cast<FloatAttr>(attribute)) {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(static_cast<float>(number.getValueAsDouble()));
  } else if (auto string = dyn_cast<StringAttr>(attribute)) {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(string.getValue().str());
  } else if (auto integers = dyn_cast<DenseI64ArrayAttr>(attribute)) {
    proto.set_type(AttributeProto::INTS);
    for (int64_t value : integers.asArrayRef())
      proto.add_ints(value);
  } else if (auto numbers = dyn_cast<DenseF32ArrayAttr>(attribute)) {
    proto.set_type(AttributeProto::FLOATS);
    for (float value : numbers.asArrayRef())
      proto.add_floats(value);
  } else if (auto tensor = dyn_cast<TensorAttr>(attribute)) {
    proto.set_type(AttributeProto::TENSOR);
    fillTensor(tensor, proto.mutable_t());
  } else if (auto sparse = dyn_cast<SparseTensorAttr>(attribute)) {
    proto.set_type(AttributeProto::SPARSE_TENSOR);
    fillTensor(sparse.getValues(),
               proto.mutable_sparse_tensor()->mutable_values());
    for (int64_t dim : sparse.getDims())
      proto.mutable_sparse_tensor()->add_dims(dim);
  } else if (isa<TypeAttr, TypeProtoAttr>(attribute)) {
    Type type = isa<TypeAttr>(attribute)
                    ? cast<TypeAttr>(attribute).getValue()
                    : cast<TypeProtoAttr>(attribute).getType();
    proto.set_type(AttributeProto::TYPE_PROTO);
    toProto(type, /*shapes=*/true, *proto.mutable_tp());
  } else if (auto array = dyn_cast<ArrayAttr>(attribute)) {
    proto.set_type(AttributeProto::STRINGS);
    for (Attribute element : array)
      if (auto string = dyn_cast<StringAttr>(element))
        proto.add_strings(string.getValue().str());
  } else {
    return nullptr;
  }
  return &attributes.emplace(name, std::move(proto)).first->second;
}

std::vector<const TypeProto *>
Subgraph::doInferencing(const std::vector<const TypeProto *> &inputTypes,
                        const std::vector<const ::onnx::TensorProto *> &) {
  std::vector<const TypeProto *> pointers;
  if (region.empty())
    return pointers;
  Block &block = region.front();
  for (auto [argument, type] : llvm::zip(block.getArguments(), inputTypes))
    if (type && isa<UnknownType>(argument.getType()))
      if (Type known = fromProto(inferrer.context(), *type))
        argument.setType(known);
  inferrer.inferBlock(block);
  for (Value value : block.getTerminator()->getOperands()) {
    results.emplace_back();
    bool known = toProto(value.getType(), inferrer.shapes(), results.back());
    pointers.push_back(known ? &results.back() : nullptr);
  }
  return pointers;
}

bool isUnknown(Type type) { return isa<UnknownType>(type); }

void Inferrer::inferOperation(Operation *op) {
  if (auto call = dyn_cast<CallOp>(op))
    return inferCall(call);
  const OperatorInfo *info = lookupOperator(op->getName());
  if (!info) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        inferBlock(block);
    return;
  }
  bool needed =
      op->getNumRegions() != 0 || llvm::any_of(op->getResultTypes(), isUnknown);
  if (!needed)
    return;
  std::optional<int64_t> opset = getOpsetVersion(op, info->domain);
  const auto *schema =
      opset && *opset > 0 && *opset < std::numeric_limits<int>::max()
          ? ::onnx::OpSchemaRegistry::Schema(
                info->name.str(), static_cast<int>(*opset), info->domain.str())
          : nullptr;
  if (!schema)
    return;
  Context context(*this, op, *info);
  try {
    schema->GetTypeAndShapeInferenceFunction()(context);
  } catch (const std::exception &) {
    // A type stays unknown; whether the node is right is not asked here.
  }
  for (auto [position, result] :
       llvm::zip_equal(outputPositions(op), op->getResults())) {
    if (!isUnknown(result.getType()))
      continue;
    const TypeProto *proto = context.getOutputType(position);
    if (Type type = proto ? fromProto(op->getContext(), *proto) : Type())
      result.setType(type);
  }
}

/// Callers of one function may differ in shapes.
Type withoutShape(Type type) {
  if (auto tensor = dyn_cast<TensorType>(type))
    return UnrankedTensorType::get(tensor.getElementType());
  return type;
}

void Inferrer::inferCall(CallOp call) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  if (!callee || callee.getBody().empty())
    return;
  Block &entry = callee.getBody().front();
  State &state = functions[callee];
  if (state == State::New) {
    for (auto [argument, operand] :
         llvm::zip(entry.getArguments(), call.getInputs()))
      if (isUnknown(argument.getType()))
        argument.setType(withoutShape(operand.getType()));
    functions[callee] = State::Running;
    inferFunction(callee);
    functions[callee] = State::Done;
  } else {
    for (auto [argument, operand] :
         llvm::zip(entry.getArguments(), call.getInputs()))
      if (withoutShape(argument.getType()) != withoutShape(operand.getType())) {
        functions[callee] = State::Conflict;
        return;
      }
  }
  // A trailing optional input that is left away stays unknown in the callee.
  auto types = callee.getFunctionType().getResults();
  SmallVector<unsigned, 8> positions = outputPositions(call);
  for (auto [position, result] : llvm::zip_equal(positions, call->getResults()))
    if (isUnknown(result.getType()) && position < types.size())
      result.setType(withoutShape(types[position]));
}

void Inferrer::inferFunction(func::FuncOp func) {
  Block &entry = func.getBody().front();
  inferBlock(entry);
  func.setFunctionType(
      FunctionType::get(func.getContext(), entry.getArgumentTypes(),
                        entry.getTerminator()->getOperandTypes()));
}

void Inferrer::forgetConflicts() {
  // What a function without types calls has none either.
  SmallVector<Operation *> list;
  for (auto func : module.getOps<func::FuncOp>())
    if (functions.lookup(func) == State::Conflict)
      list.push_back(func);
  llvm::SmallPtrSet<Operation *, 8> seen(list.begin(), list.end());
  for (size_t i = 0; i < list.size(); ++i) {
    auto func = cast<func::FuncOp>(list[i]);
    Type unknown = UnknownType::get(func.getContext());
    func.walk([&](Operation *op) {
      if (auto call = dyn_cast<CallOp>(op))
        if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee()))
          if (seen.insert(callee).second)
            list.push_back(callee);
      if (lookupOperator(op->getName()) || isa<CallOp, CustomOp>(op))
        for (Value result : op->getResults())
          result.setType(unknown);
    });
    for (BlockArgument argument : func.getArguments())
      argument.setType(unknown);
    Block &entry = func.getBody().front();
    func.setFunctionType(
        FunctionType::get(func.getContext(), entry.getArgumentTypes(),
                          entry.getTerminator()->getOperandTypes()));
  }
}

} // namespace

LogicalResult inferTypes(ModuleOp module, const InferenceOptions &options) {
  Inferrer inferrer(module, options);
  for (auto func : module.getOps<func::FuncOp>())
    if (func->hasAttr(ONNXDialect::kGraph) && !func.getBody().empty())
      inferrer.inferFunction(func);
  inferrer.forgetConflicts();
  return success();
}

} // namespace amp::onnx
