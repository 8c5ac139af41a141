//===- Importer.cpp - models, graphs and functions into operations --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"

#include "ProtoFields.h"

#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Support/Quoted.h"

#include "onnx/onnx_pb.h"

using namespace mlir;

namespace amp {

namespace {

using onnx::ONNXDialect;

StringRef normalizedDomain(StringRef domain) {
  return domain == "ai.onnx" ? StringRef() : domain;
}

} // namespace

Importer::Importer(MLIRContext *context, StringRef bytes,
                   std::shared_ptr<void> owner, ExternalDataFiles &externalData)
    : context(context), input(bytes), types(context, input),
      tensors(context, input, std::move(owner), externalData),
      location(UnknownLoc::get(context)),
      unknownType(onnx::UnknownType::get(context)) {}

//===----------------------------------------------------------------------===//
// Model
//===----------------------------------------------------------------------===//

llvm::Expected<OwningOpRef<ModuleOp>> Importer::importModel() {
  FieldCollector collector(context, input, ::onnx::ModelProto::descriptor());
  std::optional<StringRef> graph;
  SmallVector<StringRef, 0> functionMessages, trainingInfos;
  WireReader reader(input);
  for (WireField field; reader.next(field);) {
    if (field.number == ::onnx::ModelProto::kGraphFieldNumber &&
        field.isBytes()) {
      if (graph)
        return llvm::createStringError("the model has two graphs");
      graph = field.bytes;
    } else if (field.number == ::onnx::ModelProto::kFunctionsFieldNumber &&
               field.isBytes()) {
      functionMessages.push_back(field.bytes);
    } else if (field.number == ::onnx::ModelProto::kTrainingInfoFieldNumber &&
               field.isBytes()) {
      trainingInfos.push_back(field.bytes);
    } else {
      collector.add(field);
    }
  }
  if (input.failed())
    return input.takeError();
  DictionaryAttr fields = collector.finish();
  if (input.failed())
    return input.takeError();
  if (!graph)
    return llvm::createStringError("not a valid ONNX model: it has no graph");

  auto irVersion = fields.getAs<IntegerAttr>("ir_version");
  if (!irVersion)
    return llvm::createStringError("the model has no ir_version");
  if (irVersion.getInt() < 1 || irVersion.getInt() > onnx::latestIRVersion())
    return llvm::createStringError(
        "unsupported ir_version " + Twine(irVersion.getInt()) +
        ", expected 1 to " + Twine(onnx::latestIRVersion()));
  auto imports = fields.getAs<ArrayAttr>("opset_import");
  llvm::StringMap<int64_t> modelOpsets;
  if (llvm::Error error = readOpsets(imports, irVersion.getInt(), modelOpsets))
    return error;
  opsets = &modelOpsets;

  OwningOpRef<ModuleOp> module = ModuleOp::create(location);
  auto builder = OpBuilder::atBlockEnd(module->getBody());
  if (llvm::Error error = indexFunctions(functionMessages))
    return error;
  llvm::Expected<func::FuncOp> main =
      importGraphFunction(*graph, "main", builder);
  if (!main)
    return main.takeError();

  for (auto [index, function] : llvm::enumerate(functions)) {
    currentFunction = static_cast<int64_t>(index);
    if (llvm::Error error = importFunction(function, builder))
      return error;
    opsets = &modelOpsets;
  }
  currentFunction = -1;
  if (llvm::Error error = checkCallGraph())
    return error;

  SmallVector<mlir::Attribute, 1> trainings;
  for (auto [index, message] : llvm::enumerate(trainingInfos)) {
    DictionaryAttr training;
    if (llvm::Error error =
            importTrainingInfo(message, index, builder, training))
      return error;
    trainings.push_back(training);
  }
  SmallVector<NamedAttribute> modelFields(fields.begin(), fields.end());
  if (!trainings.empty())
    modelFields.push_back(
        {string("training"), ArrayAttr::get(context, trainings)});
  (*module)->setAttr(ONNXDialect::kModel,
                     DictionaryAttr::get(context, modelFields));
  return module;
}

llvm::Error Importer::readOpsets(ArrayAttr imports, int64_t irVersion,
                                 llvm::StringMap<int64_t> &into) {
  if (!imports || imports.empty()) {
    // Before IR version 3 models did not say, and there was one opset.
    if (irVersion >= 3)
      return llvm::createStringError("the model has no opset_import");
    into[""] = 1;
    return llvm::Error::success();
  }
  for (mlir::Attribute import : imports) {
    auto fields = dyn_cast<DictionaryAttr>(import);
    auto domain = fields ? fields.getAs<StringAttr>("domain") : StringAttr();
    auto version =
        fields ? fields.getAs<IntegerAttr>("version") : IntegerAttr();
    StringRef name = normalizedDomain(domain ? domain.getValue() : "");
    std::string quotedName = quoted(name.empty() ? "ai.onnx" : name);
    if (!version)
      return llvm::createStringError("the opset_import of domain " +
                                     quotedName + " has no version");
    int64_t latest = onnx::latestOpset(name);
    // An opset of nothing: version 0 is written by exporters for domains that
    // they list without need.
    bool known = onnx::isKnownDomain(name);
    if (version.getInt() < 0 || (name.empty() && version.getInt() < 1) ||
        (known && version.getInt() > latest))
      return llvm::createStringError(
          "unsupported opset version " + Twine(version.getInt()) +
          " of domain " + quotedName +
          (known ? ", expected 1 to " + std::to_string(latest)
                 : std::string(", expected a positive number")));
    auto [it, inserted] = into.insert({name, version.getInt()});
    if (!inserted && it->second != version.getInt())
      return llvm::createStringError("two opset versions of domain " +
                                     quotedName);
  }
  return llvm::Error::success();
}

std::optional<int64_t> Importer::opsetOf(StringRef domain) const {
  auto it = opsets->find(domain);
  if (it == opsets->end())
    return std::nullopt;
  return it->second;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

llvm::Error Importer::indexFunctions(ArrayRef<StringRef> messages) {
  for (StringRef message : messages) {
    StringRef name, domain, overload;
    WireReader reader(input, message);
    for (WireField field; reader.next(field);) {
      if (!field.isBytes())
        continue;
      if (field.number == ::onnx::FunctionProto::kNameFieldNumber)
        name = field.bytes;
      else if (field.number == ::onnx::FunctionProto::kDomainFieldNumber)
        domain = normalizedDomain(field.bytes);
      else if (field.number == ::onnx::FunctionProto::kOverloadFieldNumber)
        overload = field.bytes;
    }
    if (input.failed())
      return input.takeError();
    if (name.empty())
      return llvm::createStringError("a function of domain " + quoted(domain) +
                                     " has no name");
    std::string key = (domain + "::" + name + "::" + overload).str();
    if (!functionsByKey.insert({key, functions.size()}).second)
      return llvm::createStringError("function " + quoted(name) +
                                     " of domain " + quoted(domain) +
                                     " is defined twice");
    Function function;
    function.message = message;
    function.symbol = overload.empty() ? (domain + "::" + name).str() : key;
    functions.push_back(std::move(function));
  }
  return llvm::Error::success();
}

llvm::Error Importer::checkCallGraph() {
  // Colours of a depth-first search with a stack of its own.
  enum Colour { White, Grey, Black };
  std::vector<Colour> colours(functions.size(), White);
  for (size_t root = 0; root < functions.size(); ++root) {
    if (colours[root] != White)
      continue;
    SmallVector<std::pair<size_t, size_t>> stack = {{root, 0}};
    colours[root] = Grey;
    while (!stack.empty()) {
      auto &[index, next] = stack.back();
      if (next == functions[index].callees.size()) {
        colours[index] = Black;
        stack.pop_back();
        continue;
      }
      size_t callee = functions[index].callees[next++];
      if (colours[callee] == Grey)
        return llvm::createStringError("function " +
                                       quoted(functions[callee].symbol) +
                                       " is recursive: it calls itself");
      if (colours[callee] == White) {
        colours[callee] = Grey;
        stack.push_back({callee, 0});
      }
    }
  }
  return llvm::Error::success();
}

llvm::Error Importer::importFunction(Function &function, OpBuilder &builder) {
  Graph graph;
  SmallVector<StringRef> inputs, outputs;
  SmallVector<mlir::Attribute> defaults;
  FieldCollector collector(context, input, ::onnx::FunctionProto::descriptor());
  WireReader reader(input, function.message);
  for (WireField field; reader.next(field);) {
    switch (field.isBytes() ? field.number : 0) {
    case ::onnx::FunctionProto::kInputFieldNumber:
      inputs.push_back(field.bytes);
      break;
    case ::onnx::FunctionProto::kOutputFieldNumber:
      outputs.push_back(field.bytes);
      break;
    case ::onnx::FunctionProto::kNodeFieldNumber:
      graph.nodes.push_back(field.bytes);
      break;
    case ::onnx::FunctionProto::kValueInfoFieldNumber:
      graph.valueInfos.push_back(field.bytes);
      break;
    case ::onnx::FunctionProto::kAttributeProtoFieldNumber: {
      llvm::Expected<DictionaryAttr> value = readAttributeDefault(field.bytes);
      if (!value)
        return value.takeError();
      defaults.push_back(*value);
      break;
    }
    default:
      collector.add(field);
    }
  }
  if (input.failed())
    return input.takeError();
  auto strings = [&](ArrayRef<StringRef> texts) {
    SmallVector<mlir::Attribute> attributes;
    for (StringRef text : texts)
      attributes.push_back(string(text));
    return ArrayAttr::get(context, attributes);
  };
  collector.set("input", strings(inputs));
  collector.set("output", strings(outputs));
  if (!defaults.empty())
    collector.set("attribute_proto", ArrayAttr::get(context, defaults));
  graph.fields = DictionaryAttr::get(context);

  std::string name = "function " + quoted(function.symbol);
  auto func = func::FuncOp::create(builder, location, function.symbol,
                                   builder.getFunctionType({}, {}));
  func.setPrivate();
  auto *block = new Block;
  func.getBody().push_back(block);
  auto body = OpBuilder::atBlockEnd(block);
  Scope scope;
  scope.graph = &graph;
  scope.block = block;
  for (StringRef text : inputs) {
    if (text.empty())
      return llvm::createStringError(name + " has an input without a name");
    if (llvm::Error error =
            define(scope, text, block->addArgument(unknownType, location)))
      return llvm::createStringError(name + ": " +
                                     llvm::toString(std::move(error)));
  }

  // The function's own opsets, or else the model's.
  DictionaryAttr fields = collector.finish();
  llvm::StringMap<int64_t> ownOpsets;
  if (auto imports = fields.getAs<ArrayAttr>("opset_import")) {
    opsets = &ownOpsets;
    if (llvm::Error error =
            readOpsets(imports, onnx::latestIRVersion(), ownOpsets))
      return llvm::createStringError(name + ": " +
                                     llvm::toString(std::move(error)));
  }
  SmallVector<Value> results;
  DictionaryAttr graphFields;
  if (llvm::Error error =
          importGraph(graph, scope, block, results, graphFields))
    return llvm::createStringError(name + ": " +
                                   llvm::toString(std::move(error)));
  for (StringRef text : outputs) {
    Value value = lookup(scope, text);
    if (!value)
      return undefined(scope, text, name + " returns");
    results.push_back(value);
  }
  func::ReturnOp::create(body, location, results);
  func.setFunctionType(builder.getFunctionType(block->getArgumentTypes(),
                                               ValueRange(results).getTypes()));
  SmallVector<NamedAttribute> all(fields.begin(), fields.end());
  if (ArrayAttr valueInfos = graphFields.getAs<ArrayAttr>("value_info"))
    all.push_back({string("value_info"), valueInfos});
  func->setAttr(ONNXDialect::kFunction, DictionaryAttr::get(context, all));
  function.imported = true;
  return llvm::Error::success();
}

llvm::Error Importer::importTrainingInfo(StringRef message, size_t index,
                                         OpBuilder &builder,
                                         DictionaryAttr &fields) {
  FieldCollector collector(context, input,
                           ::onnx::TrainingInfoProto::descriptor());
  WireReader reader(input, message);
  llvm::SmallDenseSet<StringRef, 2> roles;
  for (WireField field; reader.next(field);) {
    bool initialization =
        field.number == ::onnx::TrainingInfoProto::kInitializationFieldNumber;
    if (!field.isBytes() ||
        (!initialization &&
         field.number != ::onnx::TrainingInfoProto::kAlgorithmFieldNumber)) {
      collector.add(field);
      continue;
    }
    StringRef role = initialization ? "initialization" : "algorithm";
    if (!roles.insert(role).second)
      return llvm::createStringError("training_info " + Twine(index) +
                                     " has two graphs for its " + role);
    std::string symbol = ("training." + Twine(index) + "." + role).str();
    llvm::Expected<func::FuncOp> func = importGraphFunction(
        field.bytes, symbol, builder, /*refersToMain=*/true);
    if (!func)
      return llvm::createStringError("training_info: " +
                                     llvm::toString(func.takeError()));
    func->setPrivate();
    (*func)->setAttr(
        ONNXDialect::kTraining,
        builder.getDictionaryAttr(
            {builder.getNamedAttr("index", builder.getI64IntegerAttr(index)),
             builder.getNamedAttr("role", string(role))}));
  }
  if (input.failed())
    return input.takeError();
  fields = collector.finish();
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

llvm::Expected<func::FuncOp> Importer::importGraphFunction(StringRef message,
                                                           StringRef symbol,
                                                           OpBuilder &builder,
                                                           bool refersToMain) {
  llvm::Expected<Graph> graph = readGraph(message);
  if (!graph)
    return graph.takeError();
  auto func = func::FuncOp::create(builder, location, symbol,
                                   builder.getFunctionType({}, {}));
  auto *block = new Block;
  func.getBody().push_back(block);
  Scope scope;
  scope.graph = &*graph;
  scope.refersToMain = refersToMain;
  SmallVector<Value> results;
  DictionaryAttr fields;
  if (llvm::Error error = importGraph(*graph, scope, block, results, fields))
    return error;
  auto body = OpBuilder::atBlockEnd(block);
  func::ReturnOp::create(body, location, results);
  func.setFunctionType(builder.getFunctionType(block->getArgumentTypes(),
                                               ValueRange(results).getTypes()));
  func->setAttr(ONNXDialect::kGraph, fields);
  if (!refersToMain)
    for (auto [name, value] : scope.values)
      mainTypes[name] = value.getType();
  return func;
}

llvm::Expected<Importer::Graph> Importer::readGraph(StringRef message) {
  Graph graph;
  FieldCollector collector(context, input, ::onnx::GraphProto::descriptor());
  WireReader reader(input, message);
  for (WireField field; reader.next(field);) {
    switch (field.isBytes() ? field.number : 0) {
    case ::onnx::GraphProto::kNodeFieldNumber:
      graph.nodes.push_back(field.bytes);
      break;
    case ::onnx::GraphProto::kInitializerFieldNumber:
      graph.initializers.push_back(field.bytes);
      break;
    case ::onnx::GraphProto::kSparseInitializerFieldNumber:
      graph.sparseInitializers.push_back(field.bytes);
      break;
    case ::onnx::GraphProto::kInputFieldNumber:
      graph.inputs.push_back(field.bytes);
      break;
    case ::onnx::GraphProto::kOutputFieldNumber:
      graph.outputs.push_back(field.bytes);
      break;
    case ::onnx::GraphProto::kValueInfoFieldNumber:
      graph.valueInfos.push_back(field.bytes);
      break;
    default:
      collector.add(field);
    }
  }
  if (input.failed())
    return input.takeError();
  graph.fields = collector.finish();
  if (input.failed())
    return input.takeError();
  return graph;
}

llvm::Expected<Importer::ValueInfo> Importer::readValueInfo(StringRef message,
                                                            bool keepType) {
  ValueInfo info;
  std::optional<StringRef> name, type;
  FieldCollector collector(context, input,
                           ::onnx::ValueInfoProto::descriptor());
  WireReader reader(input, message);
  for (WireField field; reader.next(field);) {
    if (field.number == ::onnx::ValueInfoProto::kNameFieldNumber &&
        field.isBytes()) {
      name = field.bytes;
    } else if (field.number == ::onnx::ValueInfoProto::kTypeFieldNumber &&
               field.isBytes()) {
      if (type)
        return llvm::createStringError("value " + quoted(name.value_or("")) +
                                       " has its type in two pieces");
      type = field.bytes;
    } else {
      collector.add(field);
    }
  }
  if (input.failed())
    return input.takeError();
  if (name) {
    info.name = string(*name);
    collector.set("name", info.name);
  }
  if (type) {
    std::string problem;
    DecodedType decoded = types.decode(*type, problem);
    if (input.failed())
      return input.takeError();
    if (!decoded.type)
      return llvm::createStringError("value " + quoted(name.value_or("")) +
                                     " " + problem);
    // Undefined elements say as little as no type does, which inference may
    // find out; the message stays as it is.
    bool isOpen = isa<onnx::UnknownType>(decoded.type) ||
                  isa_and_nonnull<onnx::UndefinedType>(
                      innermostElementType(decoded.type));
    info.type = isOpen ? unknownType : decoded.type;
    if (keepType)
      collector.set("type", TypeAttr::get(decoded.type));
    if (!decoded.canonical || isOpen)
      collector.set("type_proto", string(*type));
  } else if (!keepType) {
    collector.set("untyped", UnitAttr::get(context));
  }
  DictionaryAttr fields = collector.finish();
  info.fields.assign(fields.begin(), fields.end());
  return info;
}

llvm::Error Importer::importGraph(const Graph &graph, Scope &scope,
                                  Block *block, SmallVectorImpl<Value> &outputs,
                                  DictionaryAttr &fields) {
  // The region of a subgraph is no operation's yet.
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(block);
  scope.block = block;
  SmallVector<NamedAttribute> entries(graph.fields.begin(), graph.fields.end());
  auto addInfos = [&](StringRef key, ArrayRef<ValueInfo> infos) {
    if (infos.empty())
      return;
    SmallVector<mlir::Attribute> dictionaries;
    for (const ValueInfo &info : infos)
      dictionaries.push_back(DictionaryAttr::get(context, info.fields));
    entries.push_back({string(key), ArrayAttr::get(context, dictionaries)});
  };

  SmallVector<ValueInfo, 0> inputInfos, outputInfos, valueInfos;
  for (StringRef message : graph.inputs) {
    llvm::Expected<ValueInfo> info = readValueInfo(message, /*keepType=*/false);
    if (!info)
      return info.takeError();
    if (!info->name || info->name.getValue().empty())
      return llvm::createStringError("a graph input has no name");
    Value argument =
        block->addArgument(info->type ? info->type : unknownType, location);
    if (llvm::Error error = define(scope, info->name.getValue(), argument))
      return error;
    inputInfos.push_back(std::move(*info));
  }
  for (StringRef message : graph.valueInfos) {
    llvm::Expected<ValueInfo> info = readValueInfo(message, /*keepType=*/true);
    if (!info)
      return info.takeError();
    if (info->name && info->type)
      scope.declared[info->name.getValue()] = info->type;
    valueInfos.push_back(std::move(*info));
  }
  for (StringRef message : graph.outputs) {
    llvm::Expected<ValueInfo> info = readValueInfo(message, /*keepType=*/false);
    if (!info)
      return info.takeError();
    if (!info->name || info->name.getValue().empty())
      return llvm::createStringError("a graph output has no name");
    if (info->type && !isa<onnx::UnknownType>(info->type))
      scope.declared[info->name.getValue()] = info->type;
    outputInfos.push_back(std::move(*info));
  }
  if (llvm::Error error = importInitializers(graph, scope, builder))
    return error;
  for (StringRef message : graph.nodes)
    if (llvm::Error error = importNode(message, scope, builder))
      return error;
  for (ValueInfo &info : outputInfos) {
    StringRef name = info.name.getValue();
    Value value = lookup(scope, name);
    if (!value)
      return undefined(scope, name, "the graph returns");
    outputs.push_back(value);
    // The value's own type says it all, or else the message is kept.
    if (info.type && value.getType() != info.type &&
        llvm::none_of(info.fields, [](NamedAttribute field) {
          return field.getName() == "type_proto";
        })) {
      WireWriter writer;
      encodeType(info.type, writer);
      info.fields.push_back(
          {string("type_proto"), string(writer.bufferBytes())});
    }
  }
  for (ValueInfo &info : valueInfos)
    if (!info.name || !scope.values.count(info.name.getValue()))
      info.fields.push_back({string("dangling"), UnitAttr::get(context)});
  addInfos("input", inputInfos);
  addInfos("output", outputInfos);
  addInfos("value_info", valueInfos);
  fields = DictionaryAttr::get(context, entries);
  return llvm::Error::success();
}

llvm::Error Importer::importInitializers(const Graph &graph, Scope &scope,
                                         OpBuilder &builder) {
  llvm::DenseSet<StringRef> defaults;
  for (StringRef message : graph.initializers) {
    StringAttr name;
    llvm::Expected<onnx::TensorAttr> value = tensors.read(message, &name);
    if (!value)
      return value.takeError();
    if (!name || name.getValue().empty())
      return llvm::createStringError("an initializer has no name");
    // In a graph of inputs and initializers only an input can have the name.
    auto argument = scope.values.find(name.getValue());
    if (argument != scope.values.end() &&
        isa<BlockArgument>(argument->second)) {
      if (!defaults.insert(argument->first).second)
        return llvm::createStringError(
            "initializer " + quoted(name.getValue()) + " is defined twice");
      auto type = dyn_cast<TensorType>(argument->second.getType());
      auto valueType = cast<TensorType>(value->getType());
      if (type && type.getElementType() != valueType.getElementType())
        return llvm::createStringError(
            "initializer " + quoted(name.getValue()) +
            " has another element type than the input of that name");
      onnx::DefaultInputOp::create(builder, location, argument->second, *value);
      continue;
    }
    auto op = onnx::InitializerOp::create(builder, location, value->getType(),
                                          *value);
    op->setAttr(ONNXDialect::kOutputs, builder.getArrayAttr({name}));
    if (llvm::Error error = define(scope, name.getValue(), op.getResult()))
      return error;
  }
  for (StringRef message : graph.sparseInitializers) {
    StringAttr name;
    llvm::Expected<onnx::SparseTensorAttr> value =
        tensors.readSparse(message, &name);
    if (!value)
      return value.takeError();
    if (!name || name.getValue().empty())
      return llvm::createStringError("a sparse initializer has no name");
    auto element =
        cast<TensorType>(value->getValues().getType()).getElementType();
    auto op = onnx::SparseInitializerOp::create(
        builder, location, RankedTensorType::get(value->getDims(), element),
        *value);
    op->setAttr(ONNXDialect::kOutputs, builder.getArrayAttr({name}));
    if (llvm::Error error = define(scope, name.getValue(), op.getResult()))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Importer::importSubgraph(StringRef message, Scope &parent,
                                     Region &region) {
  // The parser, printer, verifier and every pass recurse over regions.
  constexpr unsigned maxDepth = 32;
  if (depth >= maxDepth)
    return llvm::createStringError("subgraphs are nested deeper than " +
                                   Twine(maxDepth));
  ++depth;
  llvm::Expected<Graph> graph = readGraph(message);
  if (!graph)
    return graph.takeError();
  auto *block = new Block;
  region.push_back(block);
  Scope scope;
  scope.parent = &parent;
  scope.graph = &*graph;
  SmallVector<Value> outputs;
  DictionaryAttr fields;
  if (llvm::Error error = importGraph(*graph, scope, block, outputs, fields))
    return error;
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(block);
  auto yield = onnx::YieldOp::create(builder, location, outputs);
  yield->setAttr(ONNXDialect::kGraph, fields);
  --depth;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

llvm::Error Importer::define(Scope &scope, StringRef name, Value value) {
  if (!scope.values.insert({name, value}).second)
    return llvm::createStringError("value " + quoted(name) +
                                   " is defined more than once in one graph");
  return llvm::Error::success();
}

Value Importer::lookup(Scope &scope, StringRef name) {
  for (Scope *at = &scope; at; at = at->parent) {
    auto it = at->values.find(name);
    if (it != at->values.end())
      return it->second;
    if (!at->parent && at->refersToMain) {
      auto type = mainTypes.find(name);
      if (type == mainTypes.end())
        return {};
      OpBuilder builder(context);
      builder.setInsertionPointToStart(at->block);
      auto op = onnx::ReferenceOp::create(builder, location, type->second,
                                          string(name));
      op->setAttr(ONNXDialect::kOutputs, builder.getArrayAttr({string(name)}));
      at->values.insert({name, op.getResult()});
      return op.getResult();
    }
  }
  return {};
}

llvm::Error Importer::undefined(const Scope &scope, StringRef name,
                                const std::string &reader) {
  // Made by a later node, or by none? Only now is it worth a search.
  for (const Scope *at = &scope; at; at = at->parent)
    for (StringRef message : at->graph->nodes) {
      WireReader fields(input, message);
      for (WireField field; fields.next(field);)
        if (field.number == ::onnx::NodeProto::kOutputFieldNumber &&
            field.isBytes() && field.bytes == name)
          return llvm::createStringError(
              reader + " " + quoted(name) +
              ", which a later node makes: the graph has a cycle or is not in "
              "topological order");
    }
  return llvm::createStringError(reader + " " + quoted(name) +
                                 ", which is not defined");
}

} // namespace amp
