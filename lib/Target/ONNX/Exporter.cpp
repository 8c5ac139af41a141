//===- Exporter.cpp - operations into a model's messages ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Exporter.h"

#include "NodeFields.h"
#include "ProtoFields.h"
#include "Types.h"

#include "amp/Dialect/ONNX/ElementType.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Dialect/ONNX/OperatorTable.h"
#include "amp/Dialect/ONNX/Schema.h"

#include "mlir/IR/SymbolTable.h"

#include "onnx/onnx_pb.h"

using namespace mlir;

namespace amp {

namespace {

using onnx::AttributeKind;
using onnx::ONNXDialect;

SmallVector<StringRef> entryNames(DictionaryAttr fields, StringRef key) {
  SmallVector<StringRef> names;
  auto entries = fields ? fields.getAs<ArrayAttr>(key) : ArrayAttr();
  if (!entries)
    return names;
  for (Attribute entry : entries) {
    auto name = dyn_cast<StringAttr>(entry);
    if (auto info = dyn_cast<DictionaryAttr>(entry))
      name = info.getAs<StringAttr>("name");
    names.push_back(name ? name.getValue() : StringRef());
  }
  return names;
}

/// `declared` with the element type of `actual`.
Type withElementOf(Type declared, Type actual) {
  Type element = innermostElementType(actual);
  if (!element || innermostElementType(declared) == element)
    return declared;
  if (auto tensor = dyn_cast<TensorType>(declared))
    return tensor.clone(element);
  if (auto sparse = dyn_cast<onnx::SparseTensorType>(declared))
    return onnx::SparseTensorType::get(
        declared.getContext(),
        cast<TensorType>(sparse.getDenseType().clone(element)));
  if (auto sequence = dyn_cast<onnx::SequenceType>(declared))
    return onnx::SequenceType::get(
        declared.getContext(),
        withElementOf(sequence.getElementType(), actual));
  if (auto optional = dyn_cast<onnx::OptionalType>(declared))
    return onnx::OptionalType::get(
        declared.getContext(),
        withElementOf(optional.getElementType(), actual));
  return actual;
}

/// The nodes of a graph are those operations that are none of these.
bool isNode(Operation &op) {
  return !isa<onnx::InitializerOp, onnx::SparseInitializerOp,
              onnx::DefaultInputOp, onnx::ReferenceOp, onnx::YieldOp,
              func::ReturnOp>(op);
}

} // namespace

LogicalResult Exporter::writeModel() {
  auto fields = module->getAttrOfType<DictionaryAttr>(ONNXDialect::kModel);
  if (!fields)
    return module.emitError("is no ONNX model: it lacks the attribute ")
           << ONNXDialect::kModel;
  auto main = symbols.lookup<func::FuncOp>("main");
  if (!main || main.getBody().empty())
    return module.emitError("is no ONNX model: it has no function @main");
  encodeFields(::onnx::ModelProto::descriptor(), fields, writer);

  writer.begin(::onnx::ModelProto::kGraphFieldNumber);
  LogicalResult graph =
      writeGraph(main.getBody().front(),
                 main->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph));
  writer.end();
  if (failed(graph))
    return failure();

  for (auto func : module.getOps<func::FuncOp>())
    if (auto function =
            func->getAttrOfType<DictionaryAttr>(ONNXDialect::kFunction))
      if (failed(writeFunction(func, function)))
        return failure();
  auto trainings = fields.getAs<ArrayAttr>("training");
  if (!trainings)
    return success();
  std::vector<SmallVector<func::FuncOp, 2>> graphs(trainings.size());
  for (auto func : module.getOps<func::FuncOp>()) {
    auto training = func->getAttrOfType<DictionaryAttr>(ONNXDialect::kTraining);
    auto index =
        training ? training.getAs<IntegerAttr>("index") : IntegerAttr();
    if (index && index.getValue().ult(graphs.size()) && !func.getBody().empty())
      graphs[index.getInt()].push_back(func);
  }
  for (auto [training, functions] : llvm::zip_equal(trainings, graphs))
    if (auto entry = dyn_cast<DictionaryAttr>(training))
      if (failed(writeTraining(entry, functions)))
        return failure();
  return success();
}

LogicalResult Exporter::writeTraining(DictionaryAttr fields,
                                      ArrayRef<func::FuncOp> graphs) {
  writer.begin(::onnx::ModelProto::kTrainingInfoFieldNumber);
  LogicalResult result = success();
  for (func::FuncOp func : graphs) {
    auto training = func->getAttrOfType<DictionaryAttr>(ONNXDialect::kTraining);
    auto role = training.getAs<StringAttr>("role");
    writer.begin(role && role.getValue() == "initialization"
                     ? ::onnx::TrainingInfoProto::kInitializationFieldNumber
                     : ::onnx::TrainingInfoProto::kAlgorithmFieldNumber);
    if (failed(writeGraph(
            func.getBody().front(),
            func->getAttrOfType<DictionaryAttr>(ONNXDialect::kGraph))))
      result = failure();
    writer.end();
  }
  encodeFields(::onnx::TrainingInfoProto::descriptor(), fields, writer);
  writer.end();
  return result;
}

//===----------------------------------------------------------------------===//
// Graphs and functions
//===----------------------------------------------------------------------===//

LogicalResult Exporter::writeGraph(Block &block, DictionaryAttr fields) {
  SmallVector<StringRef> inputs = entryNames(fields, "input");
  SmallVector<StringRef> outputs = entryNames(fields, "output");
  SmallVector<ValueNames::Alias, 0> aliases =
      names.assign(block, inputs, outputs);
  if (failed(writeNodes(block, ::onnx::GraphProto::kNodeFieldNumber)))
    return failure();
  for (const ValueNames::Alias &alias : aliases)
    writer.message(::onnx::GraphProto::kNodeFieldNumber, [&] {
      writer.bytes(::onnx::NodeProto::kInputFieldNumber, names[alias.value]);
      writer.bytes(::onnx::NodeProto::kOutputFieldNumber, alias.name);
      writer.bytes(::onnx::NodeProto::kOpTypeFieldNumber, "Identity");
    });
  if (failed(writeInitializers(block)))
    return failure();
  encodeFields(::onnx::GraphProto::descriptor(), fields, writer,
               {"input", "output", "value_info"});
  auto entries = [&](StringRef key) {
    return fields ? fields.getAs<ArrayAttr>(key) : ArrayAttr();
  };
  auto entryAt = [&](ArrayAttr list, size_t index) {
    return list && index < list.size() ? dyn_cast<DictionaryAttr>(list[index])
                                       : DictionaryAttr();
  };
  ArrayAttr inputEntries = entries("input"), outputEntries = entries("output");
  for (auto [index, argument] : llvm::enumerate(block.getArguments()))
    writeValueInfo(::onnx::GraphProto::kInputFieldNumber, names[argument],
                   entryAt(inputEntries, index), argument.getType());
  Operation *terminator = block.getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
    writeValueInfo(::onnx::GraphProto::kOutputFieldNumber, outputs[index],
                   entryAt(outputEntries, index), value.getType());
  writeValueInfos(block, ::onnx::GraphProto::kValueInfoFieldNumber,
                  entries("value_info"));
  return success();
}

LogicalResult Exporter::writeFunction(func::FuncOp func,
                                      DictionaryAttr fields) {
  if (func.getBody().empty())
    return func.emitError("has no body");
  Block &block = func.getBody().front();
  SmallVector<StringRef> outputs = entryNames(fields, "output");
  SmallVector<ValueNames::Alias, 0> aliases =
      names.assign(block, entryNames(fields, "input"), outputs);
  writer.begin(::onnx::ModelProto::kFunctionsFieldNumber);
  LogicalResult result =
      writeNodes(block, ::onnx::FunctionProto::kNodeFieldNumber);
  for (const ValueNames::Alias &alias : aliases)
    writer.message(::onnx::FunctionProto::kNodeFieldNumber, [&] {
      writer.bytes(::onnx::NodeProto::kInputFieldNumber, names[alias.value]);
      writer.bytes(::onnx::NodeProto::kOutputFieldNumber, alias.name);
      writer.bytes(::onnx::NodeProto::kOpTypeFieldNumber, "Identity");
    });
  for (StringRef output : outputs)
    writer.bytes(::onnx::FunctionProto::kOutputFieldNumber, output);
  encodeFields(::onnx::FunctionProto::descriptor(), fields, writer,
               {"output", "value_info", "attribute_proto"});
  writeValueInfos(block, ::onnx::FunctionProto::kValueInfoFieldNumber,
                  fields.getAs<ArrayAttr>("value_info"));
  if (auto defaults = fields.getAs<ArrayAttr>("attribute_proto"))
    for (Attribute attribute : defaults) {
      auto entry = dyn_cast<DictionaryAttr>(attribute);
      auto name = entry ? entry.getAs<StringAttr>("name") : StringAttr();
      if (!name)
        continue;
      writer.begin(::onnx::FunctionProto::kAttributeProtoFieldNumber);
      if (failed(writeAttribute(name.getValue(), entry.get("value"), {},
                                entry.getAs<DictionaryAttr>("fields"), func)))
        result = failure();
      writer.end();
    }
  writer.end();
  return result;
}

LogicalResult Exporter::writeInitializers(Block &block) {
  for (Operation &op : block) {
    if (auto initializer = dyn_cast<onnx::InitializerOp>(op)) {
      writer.message(::onnx::GraphProto::kInitializerFieldNumber, [&] {
        tensors.write(initializer.getValue(), writer,
                      names[initializer.getResult()]);
      });
    } else if (auto input = dyn_cast<onnx::DefaultInputOp>(op)) {
      writer.message(::onnx::GraphProto::kInitializerFieldNumber, [&] {
        tensors.write(input.getValue(), writer, names[input.getInput()]);
      });
    } else if (auto sparse = dyn_cast<onnx::SparseInitializerOp>(op)) {
      writer.message(::onnx::GraphProto::kSparseInitializerFieldNumber, [&] {
        tensors.writeSparse(sparse.getValue(), writer,
                            names[sparse.getResult()]);
      });
    }
  }
  return success();
}

void Exporter::writeValueInfo(uint32_t field, StringRef name,
                              DictionaryAttr entry, Type type) {
  writer.message(field, [&] {
    writer.bytes(::onnx::ValueInfoProto::kNameFieldNumber, name);
    auto proto = entry ? entry.getAs<StringAttr>("type_proto") : StringAttr();
    if (proto || !entry || !entry.contains("untyped"))
      writer.message(::onnx::ValueInfoProto::kTypeFieldNumber, [&] {
        if (proto)
          encodeRetyped(proto.getValue(), type, writer);
        else
          encodeType(type, writer);
      });
    encodeFields(::onnx::ValueInfoProto::descriptor(), entry, writer,
                 {"name", "type"});
  });
}

void Exporter::writeValueInfos(Block &block, uint32_t field,
                               ArrayAttr entries) {
  if (!entries)
    return;
  for (Attribute attribute : entries) {
    auto entry = dyn_cast<DictionaryAttr>(attribute);
    if (!entry)
      continue;
    auto name = entry.getAs<StringAttr>("name");
    auto declared = entry.getAs<TypeAttr>("type");
    Value value = name ? names.find(block, name.getValue()) : Value();
    // The value is gone since the import; an entry that never had one stays.
    if (!value && !entry.contains("dangling"))
      continue;
    writer.message(field, [&] {
      if (name)
        writer.bytes(::onnx::ValueInfoProto::kNameFieldNumber, name.getValue());
      if (declared) {
        Type type = declared.getValue();
        if (value)
          type = withElementOf(type, value.getType());
        writer.message(::onnx::ValueInfoProto::kTypeFieldNumber, [&] {
          if (auto proto = entry.getAs<StringAttr>("type_proto"))
            encodeRetyped(proto.getValue(), type, writer);
          else
            encodeType(type, writer);
        });
      }
      encodeFields(::onnx::ValueInfoProto::descriptor(), entry, writer,
                   {"name", "type"});
    });
  }
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

LogicalResult Exporter::writeNodes(Block &block, uint32_t field) {
  for (Operation &op : block) {
    if (!isNode(op))
      continue;
    writer.begin(field);
    LogicalResult result = writeNode(&op);
    writer.end();
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult Exporter::writeNode(Operation *op) {
  auto fields = op->getAttrOfType<DictionaryAttr>(ONNXDialect::kNode);
  StringRef opType, domain, overload;
  if (const onnx::OperatorInfo *info = onnx::lookupOperator(op->getName())) {
    opType = info->name;
    domain = info->domain;
  } else if (auto custom = dyn_cast<onnx::CustomOp>(op)) {
    opType = custom.getOpType();
    domain = custom.getDomainName();
  } else if (auto call = dyn_cast<onnx::CallOp>(op)) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    auto function =
        callee ? callee->getAttrOfType<DictionaryAttr>(ONNXDialect::kFunction)
               : DictionaryAttr();
    if (!function)
      return op->emitError("calls ")
             << call.getCalleeAttr() << ", which is no ONNX function";
    if (auto name = function.getAs<StringAttr>("name"))
      opType = name.getValue();
    if (auto name = function.getAs<StringAttr>("domain"))
      domain = name.getValue();
    if (domain == "ai.onnx")
      domain = "";
    if (auto name = function.getAs<StringAttr>("overload"))
      overload = name.getValue();
  } else {
    return op->emitError("operation '")
           << op->getName() << "' is no ONNX operator and can't be exported";
  }

  // Inputs and outputs, with empty names where there is none.
  SmallVector<StringRef, 8> inputs;
  auto put = [](SmallVectorImpl<StringRef> &list, size_t at, StringRef text) {
    if (list.size() <= at)
      list.resize(at + 1);
    list[at] = text;
  };
  for (auto [position, value] :
       llvm::zip_equal(onnx::inputPositions(op), op->getOperands())) {
    StringRef name = names[value];
    if (name.empty())
      return op->emitError("reads a value that no graph around it defines");
    put(inputs, position, name);
  }
  if (auto absent =
          op->getAttrOfType<DenseI64ArrayAttr>(ONNXDialect::kAbsentInputs))
    for (int64_t position : absent.asArrayRef())
      if (position >= 0 && position < (1 << 20) &&
          size_t(position) >= inputs.size())
        put(inputs, position, "");
  for (StringRef name : inputs)
    writer.bytes(::onnx::NodeProto::kInputFieldNumber, name);
  SmallVector<StringRef, 4> outputs;
  if (auto recorded = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs))
    if (recorded.size() > op->getNumResults() && recorded.size() < (1 << 20))
      outputs.resize(recorded.size());
  for (auto [position, value] :
       llvm::zip_equal(onnx::outputPositions(op), op->getResults()))
    put(outputs, position, names[value]);
  for (StringRef name : outputs)
    writer.bytes(::onnx::NodeProto::kOutputFieldNumber, name);

  if (auto name = op->getAttrOfType<StringAttr>(ONNXDialect::kName))
    writer.bytes(::onnx::NodeProto::kNameFieldNumber, name.getValue());
  writer.bytes(::onnx::NodeProto::kOpTypeFieldNumber, opType);
  if (!domain.empty() && (!fields || !fields.contains("domain")))
    writer.bytes(::onnx::NodeProto::kDomainFieldNumber, domain);
  if (failed(writeAttributes(op, fields)))
    return failure();
  if (!isa<onnx::CallOp>(op)) {
    encodeFields(::onnx::NodeProto::descriptor(), fields, writer);
    return success();
  }
  // The callee's, whatever it was at the import.
  if (!overload.empty())
    writer.bytes(::onnx::NodeProto::kOverloadFieldNumber, overload);
  encodeFields(::onnx::NodeProto::descriptor(), fields, writer, {"overload"});
  return success();
}

LogicalResult Exporter::writeAttributes(Operation *op, DictionaryAttr node) {
  struct Entry {
    StringRef name;
    Attribute value;
    SmallVector<Region *, 1> graphs;
  };
  SmallVector<Entry, 8> entries;
  auto addPlain = [&](StringRef name, Attribute value) {
    Entry entry{name, value, {}};
    auto region = [&](Attribute index) {
      if (auto attribute = dyn_cast<onnx::RegionAttr>(index))
        if (attribute.getIndex() < op->getNumRegions())
          entry.graphs.push_back(&op->getRegion(attribute.getIndex()));
    };
    region(value);
    if (auto array = dyn_cast<ArrayAttr>(value))
      for (Attribute element : array)
        region(element);
    entries.push_back(std::move(entry));
  };
  if (const onnx::OperatorInfo *info = onnx::lookupOperator(op->getName())) {
    for (NamedAttribute attribute : op->getAttrDictionary()) {
      StringRef name = attribute.getName();
      if (!name.contains('.') && name != "operandSegmentSizes" &&
          name != "resultSegmentSizes")
        addPlain(name, attribute.getValue());
    }
    for (auto [index, name] : llvm::enumerate(info->regionNames()))
      if (index < op->getNumRegions() && !op->getRegion(index).empty())
        entries.push_back({name, Attribute(), {&op->getRegion(index)}});
  } else if (auto attributes =
                 op->getAttrOfType<DictionaryAttr>("node_attributes")) {
    for (NamedAttribute attribute : attributes)
      addPlain(attribute.getName(), attribute.getValue());
  }
  auto fields =
      node ? node.getAs<DictionaryAttr>("attribute_fields") : DictionaryAttr();
  llvm::SmallDenseSet<StringRef, 8> known;
  for (const Entry &entry : entries)
    known.insert(entry.name);
  if (fields)
    for (NamedAttribute field : fields)
      if (!known.contains(field.getName()))
        if (auto dictionary = dyn_cast<DictionaryAttr>(field.getValue());
            dictionary && dictionary.contains("ref_attr_name"))
          entries.push_back({field.getName(), Attribute(), {}});
  llvm::DenseMap<StringRef, size_t> order;
  if (auto names =
          node ? node.getAs<ArrayAttr>("attribute_order") : ArrayAttr())
    for (auto [index, name] : llvm::enumerate(names))
      if (auto string = dyn_cast<StringAttr>(name))
        order.insert({string.getValue(), index});
  auto rank = [&](const Entry &entry) {
    auto it = order.find(entry.name);
    return std::make_pair(it == order.end() ? order.size() : it->second,
                          entry.name);
  };
  llvm::sort(entries,
             [&](const Entry &a, const Entry &b) { return rank(a) < rank(b); });
  for (const Entry &entry : entries) {
    writer.begin(::onnx::NodeProto::kAttributeFieldNumber);
    LogicalResult result = writeAttribute(
        entry.name, entry.value, entry.graphs,
        fields ? fields.getAs<DictionaryAttr>(entry.name) : DictionaryAttr(),
        op);
    writer.end();
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult Exporter::writeAttribute(StringRef name, Attribute value,
                                       ArrayRef<Region *> graphs,
                                       DictionaryAttr fields, Operation *op) {
  writer.bytes(::onnx::AttributeProto::kNameFieldNumber, name);
  auto recorded = fields ? fields.getAs<IntegerAttr>("type") : IntegerAttr();
  AttributeKind kind = AttributeKind::Undefined;
  if (!graphs.empty())
    kind = isa_and_nonnull<ArrayAttr>(value) ? AttributeKind::Graphs
                                             : AttributeKind::Graph;
  else if (std::optional<AttributeKind> known =
               value ? onnx::attributeKindOf(value) : std::nullopt)
    kind = *known;
  else if (recorded)
    kind = static_cast<AttributeKind>(recorded.getInt());
  bool untyped = fields && fields.contains("untyped");
  if (kind == AttributeKind::Undefined && !untyped)
    return op->emitError("has attribute '")
           << name << "' of a type that ONNX does not have: " << value;
  if (!untyped || recorded)
    writer.int64(::onnx::AttributeProto::kTypeFieldNumber,
                 untyped ? recorded.getInt() : int64_t(kind));
  encodeFields(::onnx::AttributeProto::descriptor(), fields, writer,
               {"type", "name"});
  if (fields && fields.contains("unset"))
    return success();

  uint32_t field = nodefields::fieldOfKind(kind);
  for (Region *graph : graphs) {
    if (graph->empty())
      return op->emitError("has a graph without a block");
    Block &block = graph->front();
    writer.begin(field);
    LogicalResult result =
        writeGraph(block, block.getTerminator()->getAttrOfType<DictionaryAttr>(
                              ONNXDialect::kGraph));
    writer.end();
    if (failed(result))
      return failure();
  }
  if (!value || !graphs.empty())
    return success();
  auto element = [&](Attribute attribute) {
    if (auto string = dyn_cast<StringAttr>(attribute)) {
      writer.bytes(field, string.getValue());
    } else if (auto tensor = dyn_cast<onnx::TensorAttr>(attribute)) {
      writer.message(field, [&] { tensors.write(tensor, writer); });
    } else if (auto sparse = dyn_cast<onnx::SparseTensorAttr>(attribute)) {
      writer.message(field, [&] { tensors.writeSparse(sparse, writer); });
    } else if (auto type = dyn_cast<TypeAttr>(attribute)) {
      writer.message(field, [&] { encodeType(type.getValue(), writer); });
    } else if (auto type = dyn_cast<onnx::TypeProtoAttr>(attribute)) {
      writer.message(field, [&] { writer.raw(type.getProto().getValue()); });
    }
  };
  if (auto integer = dyn_cast<IntegerAttr>(value))
    writer.int64(field, integer.getValue().getSExtValue());
  else if (auto number = dyn_cast<FloatAttr>(value))
    writer.fixed32(field,
                   static_cast<uint32_t>(
                       number.getValue().bitcastToAPInt().getZExtValue()));
  else if (auto integers = dyn_cast<DenseI64ArrayAttr>(value))
    for (int64_t number : integers.asArrayRef())
      writer.int64(field, number);
  else if (auto numbers = dyn_cast<DenseF32ArrayAttr>(value))
    for (float number : numbers.asArrayRef())
      writer.float32(field, number);
  else if (auto array = dyn_cast<ArrayAttr>(value))
    for (Attribute attribute : array)
      element(attribute);
  else
    element(value);
  return success();
}

} // namespace amp
