//===- ModuleReader.cpp - checks what an executable says ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleReader.h"

#include "Memory.h"
#include "Quote.h"
#include "amp/Runtime/ExecutableFormat.h"

#include "Executable.pb.h"

#include <map>
#include <set>

using namespace amp;
using namespace amp::runtime;

Status amp::runtime::malformed(std::string what) {
  return Status::error(
      std::move(what) +
      "; the executable is malformed, compile the model again");
}

std::string amp::runtime::describeValue(const Module &module, uint32_t value) {
  std::string text = "value " + std::to_string(value);
  if (value < module.values.size() && !module.values[value].name.empty())
    text += " (" + quote(module.values[value].name) + ")";
  return text;
}

static std::string outOf(std::string_view what, uint64_t index, size_t count) {
  return std::string(what) + " " + std::to_string(index) + " of " +
         std::to_string(count);
}

namespace {

/// Reads the lists of one header, in an order in which each check has what it
/// needs.
class ModuleReader {
public:
  ModuleReader(const ExecutableFile &file, Module &module)
      : file(file), header(file.getHeader()), module(module) {}

  Status readLists();
  /// What is known when programs have been read.
  Status checkValues();

private:
  Status readValues();
  Status readValue(uint32_t index, const executable::Value &from, Value &to);
  Status readDimensions(uint32_t index, const executable::Value &from,
                        Value &to);
  Status resolveViews();
  Status resolveAxes();
  Status resolveAxis(uint32_t value, uint32_t axis,
                     std::vector<bool> &isInProgress);
  Status findStaticShapes();
  Status readConstants();
  Status readInputs();
  Status readOutputs();
  Status readStates();
  Status checkArena(uint32_t index);
  Status checkView(uint32_t index);
  Status checkInitial(uint32_t value, uint32_t initial, std::string_view what);
  Status checkName(std::string_view name, std::string_view what,
                   std::set<std::string_view> &names);
  TensorInfo describeTensor(const std::string &name, uint32_t value) const;
  std::string describe(uint32_t value) const {
    return describeValue(module, value);
  }
  bool isValue(uint64_t index) const { return index < module.values.size(); }

  const ExecutableFile &file;
  const executable::Header &header;
  Module &module;
};

} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Status ModuleReader::readLists() {
  module.producer = header.producer();
  module.metadata = {header.metadata().begin(), header.metadata().end()};
  if (header.has_arena_size()) {
    module.arenaSize = header.arena_size();
    if (header.arena_size() > uint64_t{1} << 62)
      return malformed("the arena takes " +
                       std::to_string(header.arena_size()) + " bytes");
  }
  using Step = Status (ModuleReader::*)();
  for (Step step : {&ModuleReader::readValues, &ModuleReader::resolveViews,
                    &ModuleReader::resolveAxes, &ModuleReader::findStaticShapes,
                    &ModuleReader::readConstants, &ModuleReader::readInputs,
                    &ModuleReader::readOutputs, &ModuleReader::readStates})
    if (Status status = (this->*step)(); !status.ok())
      return status;
  return {};
}

Status ModuleReader::readValues() {
  module.values.resize(static_cast<size_t>(header.values_size()));
  for (uint32_t i = 0; i < module.values.size(); ++i) {
    Status status =
        readValue(i, header.values(static_cast<int>(i)), module.values[i]);
    if (!status.ok())
      return status;
  }
  return {};
}

Status ModuleReader::readValue(uint32_t index, const executable::Value &from,
                               Value &to) {
  to.name = from.name();
  std::optional<DataType> type = getDataType(from.type());
  if (!type)
    return malformed(describe(index) + " has type " +
                     std::to_string(from.type()) +
                     ", which is no element type of ONNX");
  to.type = *type;
  to.base = to.root = index;
  auto setRoot = [&](Storage storage, uint32_t place, int count,
                     std::string_view what) -> Status {
    to.storage = storage;
    to.index = place;
    if (place >= static_cast<uint32_t>(count))
      return malformed(describe(index) + " is " +
                       outOf(what, place, static_cast<size_t>(count)));
    return {};
  };
  Status status;
  switch (from.storage_case()) {
  case executable::Value::kInput:
    status =
        setRoot(Storage::Input, from.input(), header.inputs_size(), "input");
    break;
  case executable::Value::kConstant:
    to.storage = Storage::Constant;
    // Strings are not in a blob.
    if (to.type != DataType::String)
      status = setRoot(Storage::Constant, from.constant(),
                       header.constants_size(), "constant");
    break;
  case executable::Value::kState:
    status =
        setRoot(Storage::State, from.state(), header.states_size(), "state");
    break;
  case executable::Value::kOutput:
    status = setRoot(Storage::Output, from.output(), header.outputs_size(),
                     "output");
    break;
  case executable::Value::kView:
    to.base = from.view().value();
    to.offset = from.view().offset();
    if (to.base >= module.values.size())
      status = malformed(describe(index) + " is a view of " +
                         outOf("value", to.base, module.values.size()));
    else if (to.base == index)
      status = malformed(describe(index) + " is a view of itself");
    break;
  case executable::Value::kArena:
    if (from.arena().has_offset())
      to.arenaOffset = from.arena().offset();
    break;
  case executable::Value::STORAGE_NOT_SET:
    status = malformed(describe(index) + " has no storage");
    break;
  }
  if (!status.ok())
    return status;
  bool isStringConstant = from.has_constant() && to.type == DataType::String;
  if (from.strings_size() > 0 && !isStringConstant)
    return malformed(describe(index) +
                     " has strings, but is no constant of strings");
  to.strings = {from.strings().begin(), from.strings().end()};
  return readDimensions(index, from, to);
}

Status ModuleReader::readDimensions(uint32_t index,
                                    const executable::Value &from, Value &to) {
  to.unknownRank = from.unknown_rank();
  if (to.unknownRank)
    return {};
  if (from.dims_size() > static_cast<int>(Shape::maxRank))
    return malformed(describe(index) + " has rank " +
                     std::to_string(from.dims_size()) + ", but at most " +
                     std::to_string(Shape::maxRank) + " is possible");
  for (const executable::Dimension &dim : from.dims()) {
    Dimension &added = to.dims.emplace_back();
    if (dim.has_size()) {
      added.kind = Dimension::Kind::Size;
      added.size = dim.size();
      if (dim.size() < 0)
        return malformed(describe(index) + " has a dimension of " +
                         std::to_string(dim.size()));
    } else if (dim.has_axis()) {
      added.kind = Dimension::Kind::Axis;
      added.value = dim.axis().value();
      added.axis = dim.axis().axis();
    }
  }
  return {};
}

Status ModuleReader::resolveViews() {
  enum : uint8_t { New, InProgress, Done };
  std::vector<uint8_t> states(module.values.size(), New);
  std::vector<uint32_t> path;
  for (uint32_t first = 0; first < module.values.size(); ++first) {
    path.clear();
    uint32_t next = first;
    // Up to what is no view, or is resolved.
    while (states[next] == New && module.values[next].base != next) {
      states[next] = InProgress;
      path.push_back(next);
      next = module.values[next].base;
    }
    if (states[next] == InProgress)
      return malformed(describe(next) + " is a view of itself");
    states[next] = Done;
    for (; !path.empty(); path.pop_back()) {
      Value &view = module.values[path.back()];
      const Value &base = module.values[view.base];
      if (__builtin_add_overflow(view.offset,
                                 base.root == view.base ? 0 : base.offset,
                                 &view.offset) ||
          view.offset > uint64_t{1} << 62)
        return malformed(describe(path.back()) +
                         " begins beyond what any memory has");
      view.root = base.root;
      view.storage = module.values[base.root].storage;
      view.index = module.values[base.root].index;
      bool isString = view.type == DataType::String;
      if (isString != (module.values[view.root].type == DataType::String) ||
          (isString && view.offset != 0))
        return malformed(describe(path.back()) + " is " +
                         std::string(getName(view.type)) + ", but a view of " +
                         std::string(getName(module.values[view.root].type)) +
                         " at byte " + std::to_string(view.offset));
      if (!isString && view.offset % getByteSize(view.type) != 0)
        return malformed(describe(path.back()) + " begins at byte " +
                         std::to_string(view.offset) + ", between elements");
      states[path.back()] = Done;
    }
  }
  return {};
}

Status ModuleReader::resolveAxes() {
  for (uint32_t i = 0; i < module.values.size(); ++i)
    for (const Dimension &dim : module.values[i].dims) {
      if (dim.kind != Dimension::Kind::Axis)
        continue;
      if (!isValue(dim.value) ||
          dim.axis >= module.values[dim.value].dims.size())
        return malformed(describe(i) + " has the size of axis " +
                         std::to_string(dim.axis) + " of " +
                         describe(dim.value) + ", which does not exist");
    }
  std::vector<bool> isInProgress(module.values.size() * Shape::maxRank);
  for (uint32_t i = 0; i < module.values.size(); ++i)
    for (uint32_t axis = 0; axis < module.values[i].dims.size(); ++axis)
      if (Status status = resolveAxis(i, axis, isInProgress); !status.ok())
        return status;
  return {};
}

Status ModuleReader::resolveAxis(uint32_t value, uint32_t axis,
                                 std::vector<bool> &isInProgress) {
  auto get = [&](uint32_t v, uint32_t a) -> Dimension & {
    return module.values[v].dims[a];
  };
  if (get(value, axis).kind != Dimension::Kind::Axis)
    return {};
  std::vector<std::pair<uint32_t, uint32_t>> path;
  uint32_t v = value, a = axis;
  while (get(v, a).kind == Dimension::Kind::Axis) {
    if (isInProgress[v * Shape::maxRank + a])
      return malformed(describe(v) + " has the size of its own axis " +
                       std::to_string(a));
    isInProgress[v * Shape::maxRank + a] = true;
    path.emplace_back(v, a);
    const Dimension &dim = get(v, a);
    v = dim.value;
    a = dim.axis;
  }
  Dimension end = get(v, a);
  if (end.kind == Dimension::Kind::Unknown)
    end = {Dimension::Kind::Axis, 0, v, a};
  for (auto [pathValue, pathAxis] : path) {
    get(pathValue, pathAxis) = end;
    isInProgress[pathValue * Shape::maxRank + pathAxis] = false;
  }
  return {};
}

Status ModuleReader::findStaticShapes() {
  for (uint32_t i = 0; i < module.values.size(); ++i) {
    Value &value = module.values[i];
    value.isStatic = !value.unknownRank;
    for (const Dimension &dim : value.dims) {
      value.isStatic &= dim.kind == Dimension::Kind::Size;
      value.shape.push_back(dim.size);
    }
    if (!value.isStatic)
      value.shape.clear();
    else if (!computeByteCount(value.type, value.shape))
      return malformed(describe(i) + " has dimensions " +
                       toString(value.shape) + ", which no memory can hold");
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Where values come from
//===----------------------------------------------------------------------===//

Status ModuleReader::readConstants() {
  for (const executable::Blob &blob : header.constants()) {
    Status status =
        file.checkBounds(blob, blobAlignment,
                         "constant " + std::to_string(module.constants.size()));
    if (!status.ok())
      return status;
    module.constants.push_back(file.getMappedFile().getData() + blob.offset());
  }
  for (uint32_t i = 0; i < module.values.size(); ++i) {
    const Value &value = module.values[i];
    if (value.storage != Storage::Constant || value.root != i)
      continue;
    if (!value.isStatic)
      return malformed(describe(i) +
                       " is a constant whose dimensions are not known");
    bool isString = value.type == DataType::String;
    uint64_t has = isString
                       ? value.strings.size()
                       : header.constants(static_cast<int>(value.index)).size();
    uint64_t needs = isString
                         ? static_cast<uint64_t>(value.shape.getElementCount())
                         : *computeByteCount(value.type, value.shape);
    if (has != needs)
      return malformed(describe(i) + ", a constant " + toString(value.shape) +
                       " of " + std::string(getName(value.type)) + ", needs " +
                       std::to_string(needs) +
                       (isString ? " strings" : " bytes") + ", but has " +
                       std::to_string(has));
  }
  return {};
}

Status ModuleReader::checkName(std::string_view name, std::string_view what,
                               std::set<std::string_view> &names) {
  if (name.empty())
    return malformed("an " + std::string(what) + " has no name");
  if (!names.insert(name).second)
    return malformed("two " + std::string(what) + "s have the name " +
                     quote(name));
  return {};
}

TensorInfo ModuleReader::describeTensor(const std::string &name,
                                        uint32_t index) const {
  const Value &value = module.values[index];
  TensorInfo info;
  info.name = name;
  info.type = value.type;
  info.hasRank = !value.unknownRank;
  for (const Dimension &dim : value.dims)
    info.dims.push_back(dim.kind == Dimension::Kind::Size ? dim.size : -1);
  info.symbols.resize(info.dims.size());
  return info;
}

/// Whether a constant may be what a tensor is at first.
Status ModuleReader::checkInitial(uint32_t index, uint32_t initial,
                                  std::string_view what) {
  if (!isValue(initial))
    return malformed(std::string(what) + " is at first " +
                     outOf("value", initial, module.values.size()));
  const Value &value = module.values[index];
  const Value &constant = module.values[initial];
  if (constant.storage != Storage::Constant || constant.root != initial)
    return malformed(std::string(what) + " is at first " + describe(initial) +
                     ", which is no constant");
  bool fits =
      constant.type == value.type &&
      (value.unknownRank || value.dims.size() == constant.shape.getRank());
  for (size_t i = 0; fits && i < value.dims.size(); ++i)
    fits = value.dims[i].kind != Dimension::Kind::Size ||
           value.dims[i].size == constant.shape[i];
  if (!fits)
    return malformed(std::string(what) + " is at first " + describe(initial) +
                     ", whose type or dimensions are others");
  return {};
}

Status ModuleReader::readInputs() {
  std::set<std::string_view> names;
  /// The first axis of each symbol.
  std::map<std::string_view, Tie> symbols;
  for (const executable::Input &input : header.inputs()) {
    auto index = static_cast<uint32_t>(module.inputs.size());
    std::string what = "input " + quote(input.name());
    if (Status status = checkName(input.name(), "input", names); !status.ok())
      return status;
    if (!isValue(input.value()))
      return malformed(what + " is " +
                       outOf("value", input.value(), module.values.size()));
    const Value &value = module.values[input.value()];
    if (value.storage != Storage::Input || value.root != input.value() ||
        value.index != index)
      return malformed(what + " is " + describe(input.value()) +
                       ", whose memory is elsewhere");
    if (input.symbols_size() != 0 &&
        input.symbols_size() != static_cast<int>(value.dims.size()))
      return malformed(what + " has rank " + std::to_string(value.dims.size()) +
                       ", but " + std::to_string(input.symbols_size()) +
                       " symbols");
    InputInfo &info = module.inputs.emplace_back();
    info.value = input.value();
    info.symbols = {input.symbols().begin(), input.symbols().end()};
    info.symbols.resize(value.dims.size());
    for (int axis = 0; axis < input.symbols_size(); ++axis) {
      Tie here = {static_cast<uint32_t>(axis), index,
                  static_cast<uint32_t>(axis)};
      if (input.symbols(axis).empty())
        continue;
      auto [first, isNew] = symbols.emplace(input.symbols(axis), here);
      if (!isNew)
        info.ties.push_back(
            {here.axis, first->second.otherInput, first->second.otherAxis});
    }
    if (input.has_otherwise()) {
      info.otherwise = input.otherwise();
      Status status = checkInitial(info.value, input.otherwise(), what);
      if (!status.ok())
        return status;
    }
    TensorInfo &tensor = module.inputInfos.emplace_back(
        describeTensor(input.name(), info.value));
    tensor.symbols = info.symbols;
    tensor.isOptional = input.has_otherwise();
  }
  for (uint32_t i = 0; i < module.values.size(); ++i) {
    const Value &value = module.values[i];
    if (value.storage != Storage::Input || value.root != i)
      continue;
    if (module.inputs[value.index].value != i)
      return malformed(describe(i) + " is input " +
                       std::to_string(value.index) + ", which is " +
                       describe(module.inputs[value.index].value));
    InputInfo &info = module.inputs[value.index];
    for (uint32_t axis = 0; axis < value.dims.size(); ++axis) {
      const Dimension &dim = value.dims[axis];
      if (dim.kind != Dimension::Kind::Axis)
        continue;
      const Value &other = module.values[dim.value];
      if (other.storage != Storage::Input || other.root != dim.value)
        return malformed(describe(i) +
                         ", an input, has the size of an axis "
                         "of " +
                         describe(dim.value) + ", which is none");
      info.ties.push_back({axis, other.index, dim.axis});
    }
  }
  return {};
}

Status ModuleReader::readOutputs() {
  std::set<std::string_view> names;
  for (const executable::Output &output : header.outputs()) {
    if (Status status = checkName(output.name(), "output", names); !status.ok())
      return status;
    if (!isValue(output.value()))
      return malformed("output " + quote(output.name()) + " is " +
                       outOf("value", output.value(), module.values.size()));
    module.outputs.push_back(output.value());
    module.outputInfos.push_back(describeTensor(output.name(), output.value()));
  }
  std::set<uint32_t> taken;
  for (uint32_t i = 0; i < module.values.size(); ++i) {
    const Value &value = module.values[i];
    if (value.storage == Storage::Output && value.root == i &&
        !taken.insert(value.index).second)
      return malformed(describe(i) + " has the memory of output " +
                       std::to_string(value.index) +
                       ", which another value has");
  }
  return {};
}

Status ModuleReader::readStates() {
  std::set<std::string_view> names;
  for (const executable::State &state : header.states()) {
    auto index = static_cast<uint32_t>(module.states.size());
    std::string what = "state " + quote(state.name());
    if (Status status = checkName(state.name(), "state", names); !status.ok())
      return status;
    if (!isValue(state.value()))
      return malformed(what + " is " +
                       outOf("value", state.value(), module.values.size()));
    const Value &value = module.values[state.value()];
    if (value.storage != Storage::State || value.root != state.value() ||
        value.index != index)
      return malformed(what + " is " + describe(state.value()) +
                       ", whose memory is elsewhere");
    if (!value.isStatic || value.type == DataType::String)
      return malformed(what + " must have fixed dimensions and no strings");
    Status status = checkInitial(state.value(), state.initial(), what);
    if (!status.ok())
      return status;
    module.states.push_back({state.value(), state.initial()});
    module.stateInfos.push_back(describeTensor(state.name(), state.value()));
  }
  for (uint32_t i = 0; i < module.values.size(); ++i) {
    const Value &value = module.values[i];
    if (value.storage != Storage::State || value.root != i)
      continue;
    const Value &state = module.values[module.states[value.index].value];
    if (!value.isStatic || value.type == DataType::String ||
        *computeByteCount(value.type, value.shape) >
            *computeByteCount(state.type, state.shape))
      return malformed(describe(i) + " does not fit into state " +
                       std::to_string(value.index));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// What is known when programs have been read
//===----------------------------------------------------------------------===//

Status ModuleReader::checkValues() {
  for (uint32_t i = 0; i < module.values.size(); ++i) {
    bool isRoot = module.values[i].root == i;
    if (Status status = isRoot ? checkArena(i) : checkView(i); !status.ok())
      return status;
  }
  return {};
}

Status ModuleReader::checkArena(uint32_t index) {
  const Value &value = module.values[index];
  if (value.storage != Storage::Arena)
    return {};
  bool isPlanned =
      module.arenaSize && value.isStatic && value.type != DataType::String;
  if (!value.arenaOffset) {
    if (isPlanned && value.isMade && !value.isMadeAtEntry)
      return malformed(describe(index) + " has no place in the arena");
    return {};
  }
  if (!isPlanned)
    return malformed(describe(index) +
                     " has a place in the arena, but must have none");
  uint64_t size = *computeByteCount(value.type, value.shape);
  if (*value.arenaOffset % blobAlignment != 0 ||
      *value.arenaOffset > *module.arenaSize ||
      size > *module.arenaSize - *value.arenaOffset)
    return malformed(describe(index) + " (" + std::to_string(size) +
                     " bytes at " + std::to_string(*value.arenaOffset) +
                     ") does not fit into the arena of " +
                     std::to_string(*module.arenaSize) + " bytes");
  return {};
}

Status ModuleReader::checkView(uint32_t index) {
  const Value &view = module.values[index];
  const Value &root = module.values[view.root];
  if (!view.isMade) {
    bool isKnown = !view.unknownRank;
    for (const Dimension &dim : view.dims)
      isKnown &= dim.kind != Dimension::Kind::Unknown;
    if (!isKnown)
      return malformed(describe(index) +
                       " is a view that nothing makes, so that its "
                       "dimensions must be known");
  } else if (root.isMadeAtEntry) {
    return malformed(describe(index) + " overwrites " + describe(view.root) +
                     ", which is made at entry");
  }
  if (view.isStatic && root.isStatic) {
    bool isString = view.type == DataType::String;
    auto getSize = [&](const Value &value) {
      return isString ? static_cast<uint64_t>(value.shape.getElementCount())
                      : *computeByteCount(value.type, value.shape);
    };
    if (view.offset > getSize(root) ||
        getSize(view) > getSize(root) - view.offset)
      return malformed(describe(index) + " (" + std::to_string(getSize(view)) +
                       (isString ? " strings" : " bytes") + " at " +
                       std::to_string(view.offset) + ") reaches beyond " +
                       describe(view.root) + " of " +
                       std::to_string(getSize(root)));
  }
  return {};
}

Result<Dimension>
amp::runtime::readDimension(const executable::Dimension &dimension,
                            const Module &module, std::string_view what) {
  Dimension read;
  if (dimension.has_size()) {
    read.kind = Dimension::Kind::Size;
    read.size = dimension.size();
    if (read.size < 0)
      return malformed(std::string(what) + " is " + std::to_string(read.size));
    return read;
  }
  if (!dimension.has_axis())
    return malformed(std::string(what) + " is not known");
  uint32_t value = dimension.axis().value(), axis = dimension.axis().axis();
  if (value >= module.values.size() || axis >= module.values[value].dims.size())
    return malformed(std::string(what) + " is axis " + std::to_string(axis) +
                     " of " + describeValue(module, value) +
                     ", which does not exist");
  read = module.values[value].dims[axis];
  if (read.kind == Dimension::Kind::Unknown)
    read = {Dimension::Kind::Axis, 0, value, axis};
  return read;
}

Result<std::unique_ptr<Module>>
amp::runtime::readModule(const ExecutableFile &file, const ChosenCode &code,
                         KernelLookup lookup) {
  auto module = std::make_unique<Module>();
  ModuleReader reader(file, *module);
  Status status = reader.readLists();
  if (status.ok())
    status = readPrograms(file, code, lookup, *module);
  if (status.ok())
    status = reader.checkValues();
  if (!status.ok())
    return status;
  if (!module->arenaSize)
    computeLifetimes(*module);
  return module;
}
