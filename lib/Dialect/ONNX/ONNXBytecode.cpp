//===- ONNXBytecode.cpp - the dialect's attributes in bytecode ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes that hold others have an encoding of their own: in the text that
// bytecode falls back to, the resources of weights would be lost. The rest of
// the dialect's attributes and types is text.
//
//===----------------------------------------------------------------------===//

#include "ONNXBytecode.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"

#include "mlir/Bytecode/BytecodeImplementation.h"

using namespace mlir;

namespace amp::onnx {

namespace {

/// Stored in files: never renumber.
enum Code : uint64_t {
  Tensor = 1,
  SparseTensor = 2,
};

struct ONNXBytecodeInterface final : BytecodeDialectInterface {
  explicit ONNXBytecodeInterface(Dialect *dialect)
      : BytecodeDialectInterface(dialect) {}

  LogicalResult writeAttribute(Attribute attribute,
                               DialectBytecodeWriter &writer) const override {
    if (auto tensor = dyn_cast<TensorAttr>(attribute)) {
      writer.writeVarInt(Tensor);
      writer.writeAttribute(tensor.getValue());
      writer.writeOptionalAttribute(tensor.getProto());
      return success();
    }
    if (auto sparse = dyn_cast<SparseTensorAttr>(attribute)) {
      writer.writeVarInt(SparseTensor);
      writer.writeAttribute(sparse.getValues());
      writer.writeAttribute(sparse.getIndices());
      writer.writeSignedVarInts(sparse.getDims());
      writer.writeOptionalAttribute(sparse.getProto());
      return success();
    }
    return failure(); // as text
  }

  Attribute readAttribute(DialectBytecodeReader &reader) const override {
    auto error = [&] { return reader.emitError(); };
    uint64_t code = 0;
    if (failed(reader.readVarInt(code)))
      return {};
    if (code == Tensor) {
      Attribute value;
      DictionaryAttr proto;
      if (failed(reader.readAttribute(value)) ||
          failed(reader.readOptionalAttribute(proto)))
        return {};
      auto typed = dyn_cast_or_null<TypedAttr>(value);
      if (!typed)
        return error() << "expected a constant in #onnx.tensor", Attribute();
      return TensorAttr::getChecked(error, getContext(), typed, proto);
    }
    if (code == SparseTensor) {
      TensorAttr values, indices;
      SmallVector<int64_t> dims;
      DictionaryAttr proto;
      if (failed(reader.readAttribute(values)) ||
          failed(reader.readAttribute(indices)) ||
          failed(reader.readSignedVarInts(dims)) ||
          failed(reader.readOptionalAttribute(proto)))
        return {};
      return SparseTensorAttr::get(getContext(), values, indices, dims, proto);
    }
    error() << "unknown attribute code " << code << " of the onnx dialect";
    return {};
  }
};

} // namespace

void addBytecodeInterface(ONNXDialect *dialect) {
  dialect->addInterfaces<ONNXBytecodeInterface>();
}

} // namespace amp::onnx
