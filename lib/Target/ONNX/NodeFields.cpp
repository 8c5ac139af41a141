//===- NodeFields.cpp - the fields of AttributeProto ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeFields.h"

#include "mlir/IR/Builders.h"

#include "onnx/onnx_pb.h"

using namespace mlir;
using amp::onnx::AttributeKind;

namespace amp::nodefields {

namespace {
struct Row {
  AttributeKind kind;
  uint32_t field;
};
constexpr Row rows[] = {
    {AttributeKind::Float, ::onnx::AttributeProto::kFFieldNumber},
    {AttributeKind::Int, ::onnx::AttributeProto::kIFieldNumber},
    {AttributeKind::String, ::onnx::AttributeProto::kSFieldNumber},
    {AttributeKind::Tensor, ::onnx::AttributeProto::kTFieldNumber},
    {AttributeKind::Graph, ::onnx::AttributeProto::kGFieldNumber},
    {AttributeKind::SparseTensor,
     ::onnx::AttributeProto::kSparseTensorFieldNumber},
    {AttributeKind::TypeProto, ::onnx::AttributeProto::kTpFieldNumber},
    {AttributeKind::Floats, ::onnx::AttributeProto::kFloatsFieldNumber},
    {AttributeKind::Ints, ::onnx::AttributeProto::kIntsFieldNumber},
    {AttributeKind::Strings, ::onnx::AttributeProto::kStringsFieldNumber},
    {AttributeKind::Tensors, ::onnx::AttributeProto::kTensorsFieldNumber},
    {AttributeKind::Graphs, ::onnx::AttributeProto::kGraphsFieldNumber},
    {AttributeKind::SparseTensors,
     ::onnx::AttributeProto::kSparseTensorsFieldNumber},
    {AttributeKind::TypeProtos, ::onnx::AttributeProto::kTypeProtosFieldNumber},
};
} // namespace

AttributeKind kindOfField(uint32_t field) {
  for (const Row &row : rows)
    if (row.field == field)
      return row.kind;
  return AttributeKind::Undefined;
}

uint32_t fieldOfKind(AttributeKind kind) {
  for (const Row &row : rows)
    if (row.kind == kind)
      return row.field;
  return 0;
}

bool ValueBuilder::add(const WireField &field) {
  switch (kind) {
  case AttributeKind::Float:
    if (!field.isFixed32())
      return false;
    floats.assign({field.asFloat()});
    return true;
  case AttributeKind::Int:
    if (!field.isVarint())
      return false;
    integers.assign({field.asInt64()});
    return true;
  case AttributeKind::String:
    if (!field.isBytes())
      return false;
    values.assign({StringAttr::get(context, field.bytes)});
    return true;
  case AttributeKind::Floats:
    return appendFixed(input, field, floats);
  case AttributeKind::Ints:
    return appendVarints(input, field, integers);
  case AttributeKind::Strings:
    if (!field.isBytes())
      return false;
    values.push_back(StringAttr::get(context, field.bytes));
    return true;
  default:
    return false;
  }
}

bool ValueBuilder::unset() const {
  switch (kind) {
  case AttributeKind::Float:
    return floats.empty();
  case AttributeKind::Int:
    return integers.empty();
  case AttributeKind::String:
    return values.empty();
  default:
    return false;
  }
}

Attribute ValueBuilder::finish() {
  Builder builder(context);
  switch (kind) {
  case AttributeKind::Float: {
    // Through the bits: a signalling NaN stays one.
    uint32_t bits = 0;
    if (!floats.empty())
      std::memcpy(&bits, &floats[0], sizeof(bits));
    return FloatAttr::get(
        builder.getF32Type(),
        llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits)));
  }
  case AttributeKind::Int:
    return builder.getI64IntegerAttr(integers.empty() ? 0 : integers[0]);
  case AttributeKind::String:
    return values.empty() ? StringAttr::get(context, "") : values[0];
  case AttributeKind::Floats:
    return builder.getDenseF32ArrayAttr(floats);
  case AttributeKind::Ints:
    return builder.getDenseI64ArrayAttr(integers);
  case AttributeKind::Strings:
  case AttributeKind::Tensors:
  case AttributeKind::SparseTensors:
  case AttributeKind::TypeProtos:
    return builder.getArrayAttr(values);
  default:
    return values.empty() ? Attribute() : values[0];
  }
}

} // namespace amp::nodefields
