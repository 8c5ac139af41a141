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

#include "ContribSchemas.h"
#include "RankInference.h"
#include "SchemaContext.h"
#include "SchemaRegistry.h"
#include "SchemaTypes.h"

#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/Schema.h"
#include "amp/Dialect/ONNX/TypeInference.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace amp::onnx {

namespace {

using ::onnx::OpSchema;
using ::onnx::TypeProto;

/// Subgraphs and calls within each other: what is deeper stays unknown.
constexpr unsigned kMaxDepth = 256;

class Inferrer {
public:
  Inferrer(ModuleOp module, const InferenceOptions &options)
      : module(module), options(options), symbols(module) {}

  void run();

private:
  bool inferGraphs();
  void inferFunction(func::FuncOp func);
  void forgetConflicts();
  void forgetDeclared();
  void restoreDeclared();
  void inferBlock(Block &block) {
    if (depth == kMaxDepth)
      return;
    ++depth;
    for (Operation &op : block)
      inferOperation(&op);
    --depth;
  }
  void inferOperation(Operation *op);
  void inferCustom(CustomOp op);
  void inferCall(CallOp call);
  void inferCarried(LoopOp loop);
  std::vector<const TypeProto *>
  inferRegion(Region &region, ArrayRef<const TypeProto *> inputTypes,
              std::deque<TypeProto> &results);
  void refine(Value value, Type inferred);
  void refineArguments(CallOp call, func::FuncOp callee);
  void setType(Value value, Type type) {
    changes.push_back({value, value.getType()});
    value.setType(type);
  }
  bool isNeeded(Operation *op) const;

  ModuleOp module;
  InferenceOptions options;
  SymbolTable symbols;
  ShapeValues shapeValues;
  enum class State { New, Running, Done, Conflict };
  llvm::DenseMap<Operation *, State> functions;
  /// For functions whose callers' shapes differ, what their arguments have in
  /// common.
  llvm::DenseMap<Operation *, SmallVector<Type>> joinedArguments;
  bool hasNewJoins = false;
  /// The types of before, in the order of the changes.
  SmallVector<std::pair<Value, Type>, 0> changes;
  /// Values that leave their graph, with the types that it declares.
  SmallVector<std::pair<Value, Type>> declared;
  /// Of the block that is looked at, in subgraphs and calls.
  unsigned depth = 0;
};

bool isUnknown(Type type) { return isa<UnknownType>(type); }

/// True if a shape may be found for it, or more of its shape.
bool lacksShape(Type type) {
  if (auto sequence = dyn_cast<SequenceType>(type))
    return lacksShape(sequence.getElementType());
  auto tensor = dyn_cast<TensorType>(type);
  return isUnknown(type) || (tensor && !tensor.hasStaticShape());
}

/// Elements that may say a shape.
bool isShapeData(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  return tensor && (tensor.getElementType().isSignlessInteger(64) ||
                    tensor.getElementType().isSignlessInteger(32));
}

/// What two descriptions of one shape say together; where they contradict each
/// other, the first is right.
Type mergeShapes(RankedTensorType first, RankedTensorType second) {
  if (first.getRank() != second.getRank())
    return first;
  auto firstNames = dyn_cast_or_null<DimsAttr>(first.getEncoding());
  auto secondNames = dyn_cast_or_null<DimsAttr>(second.getEncoding());
  if (first.getEncoding() && !firstNames)
    return first;
  SmallVector<int64_t> shape(first.getShape());
  SmallVector<StringAttr> names;
  bool isNamed = false;
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (ShapedType::isDynamic(size))
      size = second.getDimSize(i);
    StringAttr name = StringAttr::get(first.getContext());
    if (ShapedType::isDynamic(size)) {
      if (firstNames)
        name = firstNames.getNames()[i];
      if (name.empty() && secondNames)
        name = secondNames.getNames()[i];
    }
    names.push_back(name);
    isNamed |= !name.empty();
  }
  return RankedTensorType::get(
      shape, first.getElementType(),
      isNamed ? Attribute(DimsAttr::get(first.getContext(), names))
              : Attribute());
}

/// Callers of one function may differ in shapes.
Type withoutShape(Type type) {
  if (auto tensor = dyn_cast<TensorType>(type))
    return UnrankedTensorType::get(tensor.getElementType());
  return type;
}

/// What is true of both of two types with the same elements.
Type joinShapes(Type first, Type second) {
  auto a = dyn_cast<RankedTensorType>(first);
  auto b = dyn_cast<RankedTensorType>(second);
  if (first == second || !a || !b || a.getRank() != b.getRank())
    return first == second ? first : withoutShape(first);
  auto aNames = dyn_cast_or_null<DimsAttr>(a.getEncoding());
  auto bNames = dyn_cast_or_null<DimsAttr>(b.getEncoding());
  SmallVector<int64_t> shape(a.getShape());
  SmallVector<StringAttr> names(shape.size(),
                                StringAttr::get(first.getContext()));
  bool isNamed = false;
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (size != b.getDimSize(i))
      size = ShapedType::kDynamic;
    else if (ShapedType::isDynamic(size) && aNames && bNames &&
             aNames.getNames()[i] == bNames.getNames()[i])
      names[i] = aNames.getNames()[i];
    isNamed |= !names[i].empty();
  }
  return RankedTensorType::get(
      shape, a.getElementType(),
      isNamed ? Attribute(DimsAttr::get(first.getContext(), names))
              : Attribute());
}

/// What is known and what was inferred of a type, together.
Type mergeTypes(Type known, Type inferred) {
  auto sequence = dyn_cast<SequenceType>(known);
  auto inferredSequence = dyn_cast<SequenceType>(inferred);
  if (sequence && inferredSequence)
    return SequenceType::get(known.getContext(),
                             mergeTypes(sequence.getElementType(),
                                        inferredSequence.getElementType()));
  auto tensor = dyn_cast<TensorType>(known);
  auto ranked = dyn_cast<RankedTensorType>(inferred);
  if (!tensor || !ranked || tensor.getElementType() != ranked.getElementType())
    return known;
  auto knownRanked = dyn_cast<RankedTensorType>(tensor);
  return knownRanked ? mergeShapes(knownRanked, ranked) : ranked;
}

/// True for what a graph returns: it declares the type.
bool isDeclaredByGraph(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<YieldOp>(user) ||
           (isa<func::ReturnOp>(user) &&
            user->getParentOp()->hasAttr(ONNXDialect::kGraph));
  });
}

/// True for ranks, or sizes that are known, that differ.
bool contradict(Type a, Type b) {
  auto one = dyn_cast<RankedTensorType>(a),
       other = dyn_cast<RankedTensorType>(b);
  if (!one || !other)
    return false;
  return one.getRank() != other.getRank() ||
         llvm::any_of(
             llvm::zip_equal(one.getShape(), other.getShape()), [](auto sizes) {
               auto [size, otherSize] = sizes;
               return !ShapedType::isDynamic(size) &&
                      !ShapedType::isDynamic(otherSize) && size != otherSize;
             });
}

/// Gives a value the type that was inferred, as far as it does not contradict
/// the type that it has.
void Inferrer::refine(Value value, Type inferred) {
  Type type = value.getType();
  if (!inferred || (!options.shapes && !isUnknown(type)))
    return;
  if (options.contradicted && contradict(type, inferred))
    options.contradicted(value);
  Type refined = isUnknown(type) ? inferred : mergeTypes(type, inferred);
  if (refined == type)
    return;
  // It is exported as it stands; inside the graph more may be known.
  if (options.shapes && !options.corrects && isDeclaredByGraph(value))
    declared.push_back({value, type});
  setType(value, refined);
}

std::vector<const TypeProto *>
Inferrer::inferRegion(Region &region, ArrayRef<const TypeProto *> inputTypes,
                      std::deque<TypeProto> &results) {
  std::vector<const TypeProto *> pointers;
  if (region.empty())
    return pointers;
  Block &block = region.front();
  for (auto [argument, type] : llvm::zip(block.getArguments(), inputTypes))
    if (type)
      refine(argument, fromProto(module.getContext(), *type));
  inferBlock(block);
  for (Value value : block.getTerminator()->getOperands()) {
    // Of an unknown type comes an empty message: no pointer may be null.
    TypeProto &proto = results.emplace_back();
    if (!toProto(value.getType(), options.shapes, proto))
      proto.Clear();
    pointers.push_back(&proto);
  }
  return pointers;
}

bool Inferrer::isNeeded(Operation *op) const {
  if (op->getNumRegions() != 0)
    return true;
  if (!options.shapes)
    return llvm::any_of(op->getResultTypes(), isUnknown);
  return llvm::any_of(op->getResultTypes(), lacksShape) ||
         llvm::any_of(op->getResultTypes(), isShapeData);
}

/// True if an attribute of this name may hold any number.
bool mayBeAnything(StringRef name) {
  return name == "starts" || name == "ends" || name == "value_int" ||
         name == "value_ints" || name == "seed" || name.starts_with("onnx.");
}

/// True if a number is plausible for an attribute: not so big that memory is
/// asked for, no divisor of zero, an axis that the first operand has.
bool isPlausible(StringRef name, int64_t number, Operation *op) {
  constexpr int64_t kBig = 1 << 20;
  if (number < -kBig || number > kBig)
    return false;
  if (name == "num_outputs")
    return number > 0 && number <= int64_t(op->getNumResults());
  if (name == "axis" || name == "batch_dims") {
    auto type = op->getNumOperands() != 0
                    ? dyn_cast<RankedTensorType>(op->getOperand(0).getType())
                    : RankedTensorType();
    // One more than it has, for what adds a dimension.
    int64_t rank = type ? type.getRank() + 1 : kBig;
    return number >= (name == "axis" ? -rank : 0) && number <= rank;
  }
  bool isDivisor = llvm::is_contained(
      {"strides", "dilations", "kernel_shape", "group", "blocksize",
       "channel_group", "offset_group", "q_num_heads", "kv_num_heads",
       "num_heads", "num_groups"},
      name);
  return !isDivisor || number > 0;
}

/// ONNX's inference functions expect attributes that make sense: others may
/// have them divide by zero, read beyond an end or ask for all of memory. (A
/// test tries them with numbers that make none.)
bool isSafe(Operation *op, const OperatorInfo &info) {
  if (info.name == "Col2Im")
    return false; // divides by the product of an input's elements
  return llvm::all_of(op->getAttrs(), [&](NamedAttribute attribute) {
    StringRef name = attribute.getName().getValue();
    if (mayBeAnything(name))
      return true;
    if (auto number = dyn_cast<IntegerAttr>(attribute.getValue()))
      return isPlausible(name, number.getValue().getSExtValue(), op);
    if (auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute.getValue()))
      return llvm::all_of(numbers.asArrayRef(), [&](int64_t number) {
        return isPlausible(name, number, op);
      });
    return true;
  });
}

/// The inferred type of a tensor with the element type of the operand that has
/// the same type variable. The inference function of RMSNormalization gives its
/// result the type of its data; the schema says, that of the scale.
Type withSchemaElement(Type type, OpResult result) {
  Operation *op = result.getOwner();
  const Schema *schema = getSchema(op);
  auto tensor = dyn_cast_if_present<TensorType>(type);
  const Parameter *output =
      schema && tensor
          ? schema->outputAt(outputPosition(op, result.getResultNumber()))
          : nullptr;
  if (!output || output->typeVariable < 0 || !output->homogeneous)
    return type;
  for (auto [position, operand] :
       llvm::zip_equal(inputPositions(op), op->getOperands())) {
    const Parameter *input = schema->inputAt(position);
    auto known = dyn_cast<TensorType>(operand.getType());
    if (input && input->homogeneous &&
        input->typeVariable == output->typeVariable && known &&
        !isa<UndefinedType>(known.getElementType()))
      return tensor.clone(known.getElementType());
  }
  return type;
}

/// The dimensions that a rule gives an output; none if they are not known.
std::optional<RankedTensorType> shapeOf(const ShapeRule &rule, CustomOp op,
                                        Type element, ShapeValues &values) {
  Value input;
  for (auto [position, operand] :
       llvm::zip_equal(inputPositions(op), op->getOperands()))
    if (position == rule.input)
      input = operand;
  auto like =
      input ? dyn_cast<RankedTensorType>(input.getType()) : RankedTensorType();
  switch (rule.kind) {
  case ShapeRule::Unknown:
    return std::nullopt;
  case ShapeRule::Scalar:
    return RankedTensorType::get({}, element);
  case ShapeRule::Like:
    if (like)
      return RankedTensorType::get(like.getShape(), element,
                                   like.getEncoding());
    return std::nullopt;
  case ShapeRule::Length:
    if (like && rule.dimension < like.getRank())
      return RankedTensorType::get(like.getDimSize(rule.dimension), element);
    return std::nullopt;
  case ShapeRule::Elements: {
    const ::onnx::TensorShapeProto *sizes =
        input ? values.lookup(input) : nullptr;
    if (!sizes)
      return std::nullopt;
    SmallVector<int64_t> shape;
    for (const auto &size : sizes->dim())
      shape.push_back(size.has_dim_value() && size.dim_value() >= 0
                          ? size.dim_value()
                          : ShapedType::kDynamic);
    return RankedTensorType::get(shape, element);
  }
  }
  llvm_unreachable("a kind");
}

/// The types of an operator without inference function, as far as its inputs
/// say them.
void Inferrer::inferCustom(CustomOp op) {
  const ContribSchema *schema = getContribSchema(op);
  if (!schema)
    return;
  for (auto [position, result] :
       llvm::zip_equal(outputPositions(op), op->getResults())) {
    const Parameter *output = schema->outputAt(position);
    if (!output || output->typeVariable < 0)
      continue;
    if (isUnknown(result.getType()))
      for (auto [inputPosition, operand] :
           llvm::zip_equal(inputPositions(op), op->getOperands())) {
        const Parameter *input = schema->inputAt(inputPosition);
        FloatType element = amp::getFloatElementType(operand.getType());
        if (input && input->typeVariable == output->typeVariable && element) {
          refine(result, UnrankedTensorType::get(element));
          break;
        }
      }
    FloatType element = amp::getFloatElementType(result.getType());
    if (!options.shapes || !element || position >= schema->shapes.size())
      continue;
    if (std::optional<RankedTensorType> shape =
            shapeOf(schema->shapes[position], op, element, shapeValues))
      refine(result, *shape);
  }
}

/// Shows a type that was inferred for a result, null if none was, and whether
/// it tells a shape.
using ShowType = llvm::function_ref<void(OpResult, Type, bool withShapes)>;

/// Runs the inference function of an operation's schema; for shapes, too, if
/// there are values to look them up in.
void runInference(Operation *op, const OperatorInfo &info, ShapeValues *values,
                  InferRegion infer, ShowType show) {
  std::optional<int64_t> opset = getOpsetVersion(op, info.domain);
  const OpSchema *schema =
      opset ? lookupOpSchema(info.domain, info.name, *opset) : nullptr;
  if (!schema)
    return;
  // Some functions take an input of unknown type for one that is left out.
  bool withShapes = values && isSafe(op, info) &&
                    (op->getNumRegions() != 0 ||
                     llvm::none_of(op->getOperandTypes(), isUnknown));
  if (info.domain.empty() && op->getNumOperands() != 0 &&
      op->getNumResults() == 1 &&
      !schema->has_type_and_shape_inference_function()) {
    // ONNX infers the bodies of these functions: GroupNormalization and
    // MeanVarianceNormalization, whose results are like their first inputs.
    Type type = op->getOperand(0).getType();
    show(op->getResult(0), withShapes ? type : withoutShape(type), withShapes);
    return;
  }
  SchemaContext context(op, info, withShapes ? values : nullptr, infer);
  try {
    schema->GetTypeAndShapeInferenceFunction()(context);
    if (withShapes && schema->has_data_propagation_function() &&
        llvm::any_of(op->getResultTypes(), isShapeData))
      schema->GetDataPropagationFunction()(context);
  } catch (const std::exception &) { // NOLINT(bugprone-empty-catch)
    // A type stays unknown; whether the node is right is not asked here.
  }
  for (OpResult result : op->getResults()) {
    Type type = withSchemaElement(context.getInferredType(result), result);
    // ONNX's checker knows nothing of these ranks.
    if (withShapes && isa_and_present<UnrankedTensorType>(type) &&
        !isa<RankedTensorType>(result.getType()))
      if (std::optional<int64_t> rank = inferRank(op))
        type = RankedTensorType::get(
            SmallVector<int64_t>(*rank, ShapedType::kDynamic),
            cast<TensorType>(type).getElementType());
    show(result, type, withShapes);
  }
}

void Inferrer::inferOperation(Operation *op) {
  if (auto call = dyn_cast<CallOp>(op))
    return inferCall(call);
  const OperatorInfo *info = lookupOperator(op->getName());
  if (!info) {
    if (auto custom = dyn_cast<CustomOp>(op))
      inferCustom(custom);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        inferBlock(block);
    return;
  }
  if (!isNeeded(op))
    return;
  auto infer = [this](Region &region, ArrayRef<const TypeProto *> inputTypes,
                      std::deque<TypeProto> &results) {
    return inferRegion(region, inputTypes, results);
  };
  runInference(op, *info, options.shapes ? &shapeValues : nullptr, infer,
               [this](OpResult result, Type type, bool withShapes) {
                 if (isUnknown(result.getType()) || withShapes)
                   refine(result, type);
               });
  if (auto loop = dyn_cast<LoopOp>(op); loop && options.shapes)
    inferCarried(loop);
}

/// ONNX infers no shape for what a loop carries, as it may change. It has the
/// one that the body's argument declares if it begins so and if, when an
/// iteration gets such a value, it passes such a value on.
void Inferrer::inferCarried(LoopOp loop) {
  if (loop->getRegion(0).empty())
    return;
  Block &body = loop->getRegion(0).front();
  OperandRange next = body.getTerminator()->getOperands();
  auto fits = [](Type given, Type declared) {
    auto type = dyn_cast<RankedTensorType>(given);
    auto wanted = cast<RankedTensorType>(declared);
    return type && type.getElementType() == wanted.getElementType() &&
           type.getRank() == wanted.getRank() &&
           llvm::all_of(llvm::zip_equal(type.getShape(), wanted.getShape()),
                        [](auto sizes) {
                          auto [size, expected] = sizes;
                          return ShapedType::isDynamic(expected) ||
                                 size == expected;
                        });
  };
  constexpr unsigned kFirst = 2; // behind the number of iterations, a condition
  llvm::SmallDenseMap<unsigned, Type> carried;
  for (auto [position, operand] :
       llvm::zip_equal(inputPositions(loop), loop->getOperands()))
    if (position >= kFirst && position < body.getNumArguments() &&
        position - 1 < next.size()) {
      Type declared = body.getArgument(position).getType();
      if (isa<RankedTensorType>(declared) &&
          fits(operand.getType(), declared) &&
          fits(next[position - 1].getType(), declared))
        carried[position - kFirst] = declared;
    }
  for (OpResult result : loop->getResults())
    if (Type type =
            carried.lookup(outputPosition(loop, result.getResultNumber())))
      refine(result, type);
}

/// Nodes make what follows, whatever the model says of their results.
void Inferrer::forgetDeclared() {
  module.walk([](Operation *op) {
    if (lookupOperator(op->getName()))
      for (Value result : op->getResults())
        if (isa<RankedTensorType>(result.getType()))
          result.setType(withoutShape(result.getType()));
  });
}

/// What graphs declare of what leaves them comes back, and functions say what
/// they return.
void Inferrer::restoreDeclared() {
  for (auto [value, type] : llvm::reverse(declared))
    value.setType(type);
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.getBody().empty())
      continue;
    Block &entry = func.getBody().front();
    func.setFunctionType(
        FunctionType::get(func.getContext(), entry.getArgumentTypes(),
                          entry.getTerminator()->getOperandTypes()));
  }
}

/// The arguments that a call passes: it may leave some of them away.
static SmallVector<std::pair<BlockArgument, Value>, 8>
argumentsOf(CallOp call, func::FuncOp callee) {
  SmallVector<std::pair<BlockArgument, Value>, 8> arguments;
  for (auto [position, operand] :
       llvm::zip_equal(inputPositions(call), call.getInputs()))
    if (position < callee.getNumArguments())
      arguments.push_back({callee.getArgument(position), operand});
  return arguments;
}

/// A function sees what all its callers have in common. What that is, is known
/// when the last caller was seen: then everything is done again.
void Inferrer::refineArguments(CallOp call, func::FuncOp callee) {
  auto joined = joinedArguments.find(callee);
  for (auto [argument, operand] : argumentsOf(call, callee)) {
    Type type = operand.getType();
    if (!options.shapes)
      type = withoutShape(type);
    else if (joined != joinedArguments.end())
      type = joined->second[argument.getArgNumber()];
    refine(argument, type);
  }
}

void Inferrer::inferCall(CallOp call) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  if (!callee || callee.getBody().empty())
    return;
  Block &entry = callee.getBody().front();
  if (functions[callee] == State::New) {
    refineArguments(call, callee);
    functions[callee] = State::Running;
    inferFunction(callee);
    functions[callee] = State::Done;
  } else {
    for (auto [argument, operand] : argumentsOf(call, callee))
      if (withoutShape(argument.getType()) != withoutShape(operand.getType())) {
        functions[callee] = State::Conflict;
        return;
      }
  }
  if (options.shapes) {
    auto [joined, isNew] = joinedArguments.try_emplace(callee);
    if (isNew)
      llvm::append_range(joined->second, entry.getArgumentTypes());
    for (auto [argument, operand] : argumentsOf(call, callee)) {
      Type &known = joined->second[argument.getArgNumber()];
      Type join = joinShapes(known, operand.getType());
      hasNewJoins |= join != known;
      known = join;
    }
  }
  // A trailing optional input that is left away stays unknown in the callee.
  auto types = callee.getFunctionType().getResults();
  SmallVector<unsigned, 8> positions = outputPositions(call);
  for (auto [position, result] : llvm::zip_equal(positions, call->getResults()))
    if (position < types.size())
      refine(result,
             options.shapes ? types[position] : withoutShape(types[position]));
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

/// One round over the graphs; false if a function's callers turned out to have
/// less in common than was assumed.
bool Inferrer::inferGraphs() {
  hasNewJoins = false;
  functions.clear();
  shapeValues = {};
  for (auto func : module.getOps<func::FuncOp>())
    if (func->hasAttr(ONNXDialect::kGraph) && !func.getBody().empty())
      inferFunction(func);
  return !hasNewJoins;
}

void Inferrer::run() {
  if (options.corrects)
    forgetDeclared();
  // A caller's shapes may depend on what another function returns, and so on:
  // few graphs need a third round.
  constexpr unsigned kMaxRounds = 4;
  for (unsigned round = 1; !inferGraphs(); ++round) {
    if (round >= kMaxRounds)
      for (auto &[function, types] : joinedArguments)
        for (Type &type : types)
          type = withoutShape(type);
    for (auto [value, type] : llvm::reverse(changes))
      value.setType(type);
    changes.clear();
    declared.clear();
  }
  restoreDeclared();
  forgetConflicts();
}

} // namespace

LogicalResult inferTypes(ModuleOp module, const InferenceOptions &options) {
  Inferrer(module, options).run();
  return success();
}

//===----------------------------------------------------------------------===//
// One operation
//===----------------------------------------------------------------------===//

NodeInference::NodeInference() : values(std::make_unique<ShapeValues>()) {}
NodeInference::~NodeInference() = default;

/// What a region yields, as it stands.
static std::vector<const TypeProto *>
yieldedTypes(Region &region, std::deque<TypeProto> &results) {
  std::vector<const TypeProto *> pointers;
  if (region.empty() || region.front().empty())
    return pointers;
  for (Value value : region.front().back().getOperands()) {
    TypeProto &proto = results.emplace_back();
    if (!toProto(value.getType(), /*shapes=*/true, proto))
      proto.Clear();
    pointers.push_back(&proto);
  }
  return pointers;
}

void NodeInference::infer(Operation *op) {
  for (Value result : op->getResults())
    values->forget(result);
  const OperatorInfo *info = lookupOperator(op->getName());
  if (!info)
    return;
  auto infer = [](Region &region, ArrayRef<const TypeProto *>,
                  std::deque<TypeProto> &results) {
    return yieldedTypes(region, results);
  };
  runInference(
      op, *info, values.get(), infer, [](OpResult result, Type type, bool) {
        Type known = result.getType();
        if (type)
          result.setType(isUnknown(known) ? type : mergeTypes(known, type));
      });
}

} // namespace amp::onnx
