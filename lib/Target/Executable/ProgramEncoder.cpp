//===- ProgramEncoder.cpp - programs as executables say them --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramEncoder.h"

#include "../ONNX/Storage.h"

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/ONNXDialect.h"
#include "amp/Support/Quoted.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace amp;
using rt::AMPRTDialect;

namespace {

StringRef getString(DictionaryAttr entry, StringRef name) {
  auto text = entry.getAs<StringAttr>(name);
  return text ? text.getValue() : StringRef();
}

/// The name of a result in the model; empty if it has none.
StringRef getResultName(OpResult result) {
  auto names =
      result.getOwner()->getAttrOfType<ArrayAttr>(AMPRTDialect::kNames);
  if (!names || result.getResultNumber() >= names.size())
    return {};
  auto name = dyn_cast<StringAttr>(names[result.getResultNumber()]);
  return name ? name.getValue() : StringRef();
}

SmallVector<int64_t> getInts(ArrayAttr list) {
  return llvm::map_to_vector(list.getAsRange<IntegerAttr>(),
                             [](IntegerAttr entry) { return entry.getInt(); });
}

/// [argument, axis] of a compiled kernel, with its values; a size otherwise.
void setDimension(executable::Dimension &dimension, Attribute entry,
                  llvm::function_ref<uint32_t(int64_t)> getValue) {
  if (auto size = dyn_cast<IntegerAttr>(entry)) {
    dimension.set_size(size.getInt());
    return;
  }
  SmallVector<int64_t> pair = getInts(cast<ArrayAttr>(entry));
  dimension.mutable_axis()->set_value(getValue(pair[0]));
  dimension.mutable_axis()->set_axis(pair[1]);
}

} // namespace

//===----------------------------------------------------------------------===//
// Values and constants
//===----------------------------------------------------------------------===//

FailureOr<uint32_t> ProgramEncoder::addValue(Location loc, Type type,
                                             StringRef name) {
  auto tensor = dyn_cast<TensorType>(type);
  std::optional<onnx::ElementType> element =
      tensor ? onnx::fromType(tensor.getElementType()) : std::nullopt;
  if (!element)
    return emitError(loc) << "value " << quoted(name) << " has the type "
                          << type << ", expected a tensor: executables have no "
                          << "values of other types";
  executable::Value &value = *header.add_values();
  value.set_name(name.str());
  value.set_type(static_cast<uint32_t>(*element));
  if (!tensor.hasRank()) {
    value.set_unknown_rank(true);
  } else {
    if (tensor.getRank() > 8)
      return emitError(loc)
             << "value " << quoted(name) << " has rank " << tensor.getRank()
             << ", expected at most 8: executables have no "
                "tensors of a higher rank";
    for (int64_t size : tensor.getShape()) {
      executable::Dimension &dimension = *value.add_dims();
      if (!ShapedType::isDynamic(size))
        dimension.set_size(size);
    }
  }
  return header.values_size() - 1;
}

FailureOr<uint32_t> ProgramEncoder::addConstant(Location loc,
                                                TypedAttr attribute) {
  auto [place, isNew] =
      constantIndices.try_emplace(attribute, header.values_size());
  if (!isNew)
    return place->second;
  FailureOr<uint32_t> index = addValue(loc, attribute.getType(), "");
  if (failed(index))
    return failure();
  executable::Value &value = *header.mutable_values(*index);
  if (auto texts = dyn_cast<DenseStringElementsAttr>(attribute)) {
    for (StringRef text : texts.getRawStringData())
      value.add_strings(text.str());
    if (texts.isSplat())
      for (int64_t i = 1; i < texts.getNumElements(); ++i)
        value.add_strings(texts.getRawStringData().front().str());
  } else {
    std::optional<ConstantBytes> bytes = getConstantBytes(attribute);
    if (!bytes)
      return emitError(loc) << "the data of a constant of type "
                            << attribute.getType() << " can't be had";
    constants.push_back(std::move(*bytes));
  }
  // Strings take an empty blob.
  if (isa<DenseStringElementsAttr>(attribute))
    constants.push_back(ConstantBytes());
  value.set_constant(constants.size() - 1);
  return index;
}

LogicalResult ProgramEncoder::addResults(Operation *op) {
  auto places = op->getAttrOfType<DenseI64ArrayAttr>(AMPRTDialect::kInPlace);
  auto states = op->getAttrOfType<DenseI64ArrayAttr>(AMPRTDialect::kNextState);
  for (OpResult result : op->getResults()) {
    unsigned number = result.getResultNumber();
    FailureOr<uint32_t> value =
        addValue(op->getLoc(), result.getType(), getResultName(result));
    if (failed(value))
      return failure();
    values[result] = *value;
    if (op->hasAttr(AMPRTDialect::kAtEntry))
      madeAtEntry.insert(*value);
    executable::Value &added = *header.mutable_values(*value);
    if (places && places[number] >= 0)
      added.mutable_view()->set_value(lookup(op->getOperand(places[number])));
    else if (states && states[number] >= 0)
      added.set_state(stateIndices[states[number]]);
    else
      added.mutable_arena();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

LogicalResult ProgramEncoder::encode(func::FuncOp main) {
  header.set_producer("onnx-amp " AMP_VERSION);
  if (auto model =
          module->getAttrOfType<DictionaryAttr>(onnx::ONNXDialect::kModel))
    if (auto list = model.getAs<ArrayAttr>("metadata_props"))
      for (Attribute entry : list)
        if (auto pair = dyn_cast<DictionaryAttr>(entry))
          (*header.mutable_metadata())[getString(pair, "key").str()] =
              getString(pair, "value").str();
  uint32_t program = addProgram();
  return success(succeeded(encodeCodes()) && succeeded(encodeInterface(main)) &&
                 succeeded(encodeBlock(main.getBody().front(), program)) &&
                 succeeded(encodeResults(main)));
}

LogicalResult ProgramEncoder::encodeInterface(func::FuncOp main) {
  auto signature =
      main->getAttrOfType<DictionaryAttr>(AMPRTDialect::kSignature);
  auto inputs = signature.getAs<ArrayAttr>("inputs");
  auto outputs = signature.getAs<ArrayAttr>("outputs");
  // The file has states in the order of arguments.
  llvm::DenseMap<unsigned, unsigned> numbers;
  auto states = signature.getAs<ArrayAttr>("states");
  for (auto [number, state] :
       llvm::enumerate(states.getAsRange<DictionaryAttr>()))
    numbers[state.getAs<IntegerAttr>("argument").getInt()] = number;
  stateIndices.resize(states.size());

  for (BlockArgument argument : main.getArguments()) {
    auto entry = cast<DictionaryAttr>(inputs[argument.getArgNumber()]);
    StringRef name = getString(entry, "name");
    FailureOr<uint32_t> index =
        addValue(main.getLoc(), argument.getType(), name);
    if (failed(index))
      return failure();
    values[argument] = *index;

    if (auto number = numbers.find(argument.getArgNumber());
        number != numbers.end()) {
      auto state = cast<DictionaryAttr>(states[number->second]);
      FailureOr<uint32_t> initial =
          addConstant(main.getLoc(), state.getAs<TypedAttr>("initial"));
      if (failed(initial))
        return failure();
      auto next = cast<DictionaryAttr>(
          outputs[state.getAs<IntegerAttr>("result").getInt()]);
      executable::State &written = *header.add_states();
      written.set_name(name.str());
      written.set_next(getString(next, "name").str());
      written.set_value(*index);
      written.set_initial(*initial);
      stateIndices[number->second] = header.states_size() - 1;
      header.mutable_values(*index)->set_state(header.states_size() - 1);
      continue;
    }
    executable::Input &input = *header.add_inputs();
    input.set_name(name.str());
    input.set_value(*index);
    auto symbols = entry.getAs<ArrayAttr>("symbols");
    for (auto symbol : symbols.getAsRange<StringAttr>())
      input.add_symbols(symbol.getValue().str());
    if (auto otherwise = entry.getAs<TypedAttr>("initial")) {
      FailureOr<uint32_t> constant = addConstant(main.getLoc(), otherwise);
      if (failed(constant))
        return failure();
      input.set_otherwise(*constant);
    }
    header.mutable_values(*index)->set_input(header.inputs_size() - 1);
  }
  return success();
}

LogicalResult ProgramEncoder::encodeResults(func::FuncOp main) {
  auto signature =
      main->getAttrOfType<DictionaryAttr>(AMPRTDialect::kSignature);
  auto outputs = signature.getAs<ArrayAttr>("outputs");
  auto states = signature.getAs<ArrayAttr>("states");
  llvm::DenseSet<unsigned> nextValues;
  for (auto state : states.getAsRange<DictionaryAttr>())
    nextValues.insert(state.getAs<IntegerAttr>("result").getInt());

  Operation *terminator = main.getBody().front().getTerminator();
  uint32_t numOutputs = 0;
  for (auto [i, returned] : llvm::enumerate(terminator->getOperands())) {
    if (nextValues.contains(i))
      continue;
    // The memory is the output's, whichever view of it is returned.
    uint32_t root = lookup(returned);
    while (header.values(root).has_view())
      root = header.values(root).view().value();
    uint32_t value = lookup(returned);
    executable::Value &owner = *header.mutable_values(root);
    if (owner.has_arena() && !madeAtEntry.contains(root))
      owner.set_output(numOutputs++);
    // A state changes before anybody looks; what is made at entry stays there.
    if (owner.has_state() || madeAtEntry.contains(root)) {
      FailureOr<uint32_t> copy =
          addValue(main.getLoc(), returned.getType(), "");
      if (failed(copy))
        return failure();
      header.mutable_values(*copy)->set_output(numOutputs++);
      addCopy(0, value, *copy);
      value = *copy;
    }
    executable::Output &output = *header.add_outputs();
    output.set_name(getString(cast<DictionaryAttr>(outputs[i]), "name").str());
    output.set_value(value);
  }

  // Next values that are others' present ones must not be overwritten first.
  SmallVector<std::pair<uint32_t, uint32_t>> copies;
  for (auto [i, state] : llvm::enumerate(states.getAsRange<DictionaryAttr>())) {
    Value next =
        terminator->getOperand(state.getAs<IntegerAttr>("result").getInt());
    uint32_t from = lookup(next), to = header.states(stateIndices[i]).value();
    uint32_t root = from;
    while (header.values(root).has_view())
      root = header.values(root).view().value();
    // It is in place.
    if (header.values(root).has_state() &&
        header.values(root).state() == stateIndices[i])
      continue;
    if (header.values(root).has_state()) {
      FailureOr<uint32_t> copy = addValue(main.getLoc(), next.getType(), "");
      if (failed(copy))
        return failure();
      header.mutable_values(*copy)->mutable_arena();
      addCopy(0, from, *copy);
      from = *copy;
    }
    copies.push_back({from, to});
  }
  for (auto [from, to] : copies) {
    // What a command writes is a value of its own.
    executable::Value next = header.values(to);
    *header.add_values() = next;
    addCopy(0, from, header.values_size() - 1);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

LogicalResult ProgramEncoder::encodeCodes() {
  auto list = module->getAttrOfType<ArrayAttr>("amprt.code");
  if (!list)
    return success();
  for (auto entry : list.getAsRange<DictionaryAttr>()) {
    header.add_codes()->set_cpu(getString(entry, "cpu").str());
    std::optional<StringRef> image =
        storage::rawView(entry.getAs<TypedAttr>("image"));
    if (!image)
      return module.emitError("the code of ")
             << quoted(getString(entry, "cpu")) << " can't be had";
    codes.push_back(*image);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

uint32_t ProgramEncoder::addProgram() {
  header.add_programs();
  return header.programs_size() - 1;
}

executable::Command &ProgramEncoder::addCommand(Operation *op,
                                                uint32_t program) {
  executable::Command &command =
      *header.mutable_programs(program)->add_commands();
  if (auto node = op->getAttrOfType<StringAttr>(AMPRTDialect::kNode))
    command.set_node(node.getValue().str());
  command.set_at_entry(op->hasAttr(AMPRTDialect::kAtEntry));
  return command;
}

void ProgramEncoder::addCopy(uint32_t program, uint32_t from, uint32_t to) {
  executable::Command &command =
      *header.mutable_programs(program)->add_commands();
  command.mutable_call()->set_kernel("copy");
  command.add_inputs(from);
  command.add_outputs(to);
}

LogicalResult ProgramEncoder::encodeBlock(Block &block, uint32_t program) {
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>() && failed(encode(&op, program)))
      return failure();
  return success();
}

LogicalResult ProgramEncoder::encode(Operation *op, uint32_t program) {
  if (auto constant = dyn_cast<rt::ConstantOp>(op)) {
    FailureOr<uint32_t> value =
        addConstant(op->getLoc(), cast<TypedAttr>(constant.getValue()));
    if (failed(value))
      return failure();
    values[constant.getResult()] = *value;
    return success();
  }
  if (auto view = dyn_cast<rt::ViewOp>(op))
    return encodeView(view, program);
  // Says less or more of the same value.
  if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    values[cast.getDest()] = lookup(cast.getSource());
    return success();
  }

  // Programs of regions come first: adding one moves commands.
  executable::Command command;
  LogicalResult result =
      llvm::TypeSwitch<Operation *, LogicalResult>(op)
          .Case([&](rt::CallOp call) { return encodeCall(call, command); })
          .Case([&](rt::LaunchOp launch) {
            return encodeLaunch(launch, command);
          })
          .Case([&](rt::IfOp branch) { return encodeIf(branch, command); })
          .Case([&](rt::LoopOp loop) { return encodeLoop(loop, command); })
          .Default([](Operation *other) {
            return other->emitError("the operation ")
                   << other->getName() << " is nothing that an executable has";
          });
  if (failed(result))
    return failure();
  executable::Command &added = addCommand(op, program);
  command.set_node(added.node());
  command.set_at_entry(added.at_entry());
  added = std::move(command);
  return success();
}

/// Values at positions of a list, -1 where there is none.
template <typename Range, typename Add>
static void addPositions(std::optional<ArrayRef<int32_t>> positions,
                         Range &&range, const Add &add) {
  if (!positions) {
    for (auto value : range)
      add(value);
    return;
  }
  for (int32_t position : *positions)
    add(position < 0 ? Value() : Value(range[position]));
}

LogicalResult ProgramEncoder::encodeCall(rt::CallOp op,
                                         executable::Command &command) {
  if (failed(addResults(op)))
    return failure();
  addPositions(op.getInputs(), op.getOperands(), [&](Value value) {
    command.add_inputs(value ? static_cast<int32_t>(lookup(value)) : -1);
  });
  for (Value result : op.getResults())
    command.add_outputs(lookup(result));
  if (op.getView())
    header.mutable_values(lookup(op.getResult(0)))
        ->mutable_view()
        ->set_value(lookup(op.getOperand(0)));
  executable::Call &call = *command.mutable_call();
  call.set_kernel(op.getKernel().str());
  for (NamedAttribute setting : op.getSettings()) {
    executable::Attribute &attribute = *call.add_attributes();
    attribute.set_name(setting.getName().str());
    LogicalResult result =
        llvm::TypeSwitch<Attribute, LogicalResult>(setting.getValue())
            .Case([&](IntegerAttr value) {
              attribute.set_int_value(value.getInt());
              return success();
            })
            .Case([&](FloatAttr value) {
              attribute.set_float_value(value.getValueAsDouble());
              return success();
            })
            .Case([&](StringAttr value) {
              attribute.set_string_value(value.str());
              return success();
            })
            .Case([&](DenseI64ArrayAttr values) {
              for (int64_t value : values.asArrayRef())
                attribute.add_ints(value);
              return success();
            })
            .Case([&](DenseF32ArrayAttr values) {
              for (float value : values.asArrayRef())
                attribute.add_floats(value);
              return success();
            })
            .Case([&](ArrayAttr values) {
              for (auto value : values.getAsRange<StringAttr>())
                attribute.add_strings(value.str());
              return success();
            })
            .Default([&](Attribute) {
              return op.emitError("has the setting ")
                     << setting.getName()
                     << " of a kind that executables don't have";
            });
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult ProgramEncoder::encodeLaunch(rt::LaunchOp op,
                                           executable::Command &command) {
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, op.getFunctionAttr());
  auto compiled = function->getAttrOfType<DictionaryAttr>("amprt.compiled");
  if (!compiled)
    return op.emitError("launches ")
           << op.getFunctionAttr() << ", which is not compiled";
  auto [place, isNew] = functions.try_emplace(
      op.getFunctionAttr(), static_cast<uint32_t>(header.functions_size()));
  if (isNew) {
    executable::Function &added = *header.add_functions();
    added.set_name(op.getFunction().str());
    for (int64_t offset : getInts(compiled.getAs<ArrayAttr>("offsets")))
      added.add_offsets(offset);
  }
  if (failed(addResults(op)))
    return failure();
  for (Value operand : op.getOperands())
    command.add_inputs(lookup(operand));
  for (Value result : op.getResults())
    command.add_outputs(lookup(result));

  auto getArgument = [&](int64_t argument) {
    return lookup(op.getOperand(argument));
  };
  executable::Launch &launch = *command.mutable_launch();
  launch.set_function(place->second);
  for (Attribute entry : compiled.getAs<ArrayAttr>("sizes"))
    setDimension(*launch.add_sizes(), entry, getArgument);
  for (Attribute entry : compiled.getAs<ArrayAttr>("extent"))
    setDimension(*launch.add_extent(), entry, getArgument);
  launch.set_grain(compiled.getAs<IntegerAttr>("grain").getInt());
  launch.set_scratch(compiled.getAs<IntegerAttr>("scratch").getInt());
  // Unknown dimensions of results.
  if (auto dims = compiled.getAs<ArrayAttr>("dims"))
    for (auto [result, list] : llvm::zip(op.getResults(), dims)) {
      executable::Value &value = *header.mutable_values(lookup(result));
      for (auto [axis, entry] : llvm::enumerate(cast<ArrayAttr>(list)))
        setDimension(*value.mutable_dims(axis), entry, getArgument);
    }
  return success();
}

LogicalResult ProgramEncoder::encodeView(rt::ViewOp op, uint32_t program) {
  FailureOr<uint32_t> value =
      addValue(op.getLoc(), op.getResult().getType(),
               getResultName(cast<OpResult>(op.getResult())));
  if (failed(value))
    return failure();
  values[op.getResult()] = *value;
  uint32_t input = lookup(op.getInput());
  if (op->hasAttr(AMPRTDialect::kAtEntry)) {
    header.mutable_values(*value)->mutable_arena();
    madeAtEntry.insert(*value);
  } else {
    header.mutable_values(*value)->mutable_view()->set_value(input);
  }
  if (cast<TensorType>(op.getResult().getType()).hasStaticShape())
    return success();
  // The kernel says the dimension; there is nothing to copy then.
  SmallVector<int64_t> shape;
  for (int64_t size : cast<TensorType>(op.getResult().getType()).getShape())
    shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
  Builder builder(op.getContext());
  FailureOr<uint32_t> list =
      addConstant(op.getLoc(), builder.getI64TensorAttr(shape));
  if (failed(list))
    return failure();
  executable::Command &command = addCommand(op, program);
  command.mutable_call()->set_kernel("reshape");
  command.add_inputs(input);
  command.add_inputs(*list);
  command.add_outputs(*value);
  return success();
}

LogicalResult ProgramEncoder::encodeIf(rt::IfOp op,
                                       executable::Command &command) {
  executable::If &branch = *command.mutable_branch();
  command.add_inputs(lookup(op.getCondition()));
  for (bool isThen : {true, false}) {
    Block &block = (isThen ? op.getThenRegion() : op.getElseRegion()).front();
    uint32_t program = addProgram();
    if (failed(encodeBlock(block, program)))
      return failure();
    if (isThen)
      branch.set_then_program(program);
    else
      branch.set_else_program(program);
    for (Value value : block.getTerminator()->getOperands())
      if (isThen)
        branch.add_then_results(lookup(value));
      else
        branch.add_else_results(lookup(value));
  }
  if (failed(addResults(op)))
    return failure();
  for (Value result : op.getResults())
    command.add_outputs(lookup(result));
  return success();
}

LogicalResult ProgramEncoder::encodeLoop(rt::LoopOp op,
                                         executable::Command &command) {
  executable::Loop &loop = *command.mutable_loop();
  for (Value optional : {op.getTrips(), op.getCondition()})
    command.add_inputs(optional ? static_cast<int32_t>(lookup(optional)) : -1);
  for (Value carried : op.getCarried())
    command.add_inputs(lookup(carried));
  Block &block = op.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    FailureOr<uint32_t> value = addValue(op.getLoc(), argument.getType(), "");
    if (failed(value))
      return failure();
    header.mutable_values(*value)->mutable_arena();
    values[argument] = *value;
    loop.add_arguments(*value);
  }
  uint32_t program = addProgram();
  if (failed(encodeBlock(block, program)))
    return failure();
  loop.set_body(program);
  for (Value value : block.getTerminator()->getOperands())
    loop.add_results(lookup(value));
  if (failed(addResults(op)))
    return failure();
  for (Value result : op.getResults())
    command.add_outputs(lookup(result));
  return success();
}
