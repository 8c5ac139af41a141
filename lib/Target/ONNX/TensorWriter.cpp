//===- TensorWriter.cpp - TensorProto out ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorWriter.h"

#include "ProtoFields.h"
#include "Storage.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/AMP/ConstantData.h"
#include "amp/Dialect/ONNX/ElementType.h"

#include "llvm/Support/MathExtras.h"

#include "onnx/onnx_pb.h"

#include <atomic>
#include <mutex>
#include <vector>

using namespace mlir;
using amp::onnx::ElementType;

namespace amp {

/// A constant that is rounded while it is written.
class RoundedBytes final : public LazyBytes {
public:
  /// With `measure` the constant is measured as well.
  RoundedBytes(RoundedAttr value, uint64_t size, bool measure) : value(value) {
    if (measure)
      isMeasured =
          std::vector<std::atomic<bool>>(llvm::divideCeil(size, granularity));
  }

  void fill(uint64_t offset, llvm::MutableArrayRef<char> out) const override {
    if (isMeasured.empty())
      return round(offset, out, nullptr);
    // Some pieces are asked for more than once.
    RoundingStats pieces;
    for (; !out.empty();
         out = out.drop_front(std::min<uint64_t>(granularity, out.size()))) {
      bool isNew = !isMeasured[offset / granularity].exchange(true);
      round(offset, out.take_front(granularity), isNew ? &pieces : nullptr);
      offset += granularity;
    }
    std::lock_guard<std::mutex> lock(mutex);
    stats.merge(pieces);
  }

  RoundingStats getStats() const {
    std::lock_guard<std::mutex> lock(mutex);
    return stats;
  }

private:
  /// Offsets are multiples of the granularity, sizes of the element's.
  void round(uint64_t offset, llvm::MutableArrayRef<char> out,
             RoundingStats *stats) const {
    uint64_t width =
        cast<TensorType>(value.getType()).getElementTypeBitWidth() / 8;
    if (failed(readRounded(value, offset / width, out.size() / width,
                           out.data(), stats)))
      std::memset(out.data(), 0, out.size()); // verified: cannot happen
  }

  RoundedAttr value;
  /// Per `granularity` of bytes; empty if there is no need.
  mutable std::vector<std::atomic<bool>> isMeasured;
  mutable std::mutex mutex;
  mutable RoundingStats stats;
};

namespace {

/// Tensors below this many bytes stay in the model, where a reference would
/// take as much.
constexpr uint64_t minExternalSize = 1024;

std::optional<StringRef> entry(DictionaryAttr proto, StringRef key) {
  auto entries = proto.getAs<ArrayAttr>("external_data");
  if (entries)
    for (Attribute attribute : entries) {
      auto pair = dyn_cast<DictionaryAttr>(attribute);
      auto name = pair ? pair.getAs<StringAttr>("key") : StringAttr();
      if (name && name.getValue() == key)
        if (auto value = pair.getAs<StringAttr>("value"))
          return value.getValue();
    }
  return std::nullopt;
}

} // namespace

/// Writes all bytes of a constant, into a field or, with field 0, without a
/// tag.
void TensorWriter::writeBytes(TypedAttr value, uint64_t size, uint32_t field,
                              WireWriter &writer) {
  if (auto attribute = dyn_cast<RoundedAttr>(Attribute(value))) {
    std::shared_ptr<RoundedBytes> &lazy = rounded[attribute];
    if (!lazy)
      lazy = std::make_shared<RoundedBytes>(attribute, size, measureRounding);
    field ? writer.lazy(field, size, lazy) : writer.rawLazy(size, lazy);
    return;
  }
  std::optional<StringRef> view = storage::rawView(value);
  if (view && view->size() == size) {
    field ? writer.view(field, *view) : writer.rawView(*view);
    return;
  }
  std::string bytes = checkedBytes(value, size);
  field ? writer.bytes(field, bytes) : writer.raw(bytes);
}

void TensorWriter::recordRounding(RoundingRecord &record) const {
  for (const auto &[attribute, bytes] : rounded)
    record[attribute] = bytes->getStats();
}

/// The bytes of a constant, copied; zeros, and a problem, if their number is
/// wrong.
std::string TensorWriter::checkedBytes(TypedAttr value, uint64_t size) {
  std::string bytes = storage::rawBytes(value);
  if (bytes.size() == size)
    return bytes;
  if (firstProblem.empty())
    firstProblem = "a tensor has " + std::to_string(bytes.size()) +
                   " bytes of data, expected " + std::to_string(size) +
                   " (was its resource elided?)";
  return {};
}

bool TensorWriter::staysExternal(onnx::TensorAttr tensor, uint64_t size) {
  if (!folder || mode == ExternalData::Inline || mode == ExternalData::File)
    return false;
  // The reference holds if it leads, from where the model will be, to the same
  // bytes.
  std::optional<StringRef> bytes = storage::rawView(tensor.getValue());
  std::string copy;
  if (!bytes && isa<DenseIntOrFPElementsAttr>(Attribute(tensor.getValue()))) {
    copy = storage::rawBytes(tensor.getValue());
    bytes = copy;
  }
  if (!bytes)
    return false;
  ExternalDataReference reference;
  reference.location = entry(tensor.getProto(), "location");
  reference.offset = entry(tensor.getProto(), "offset");
  reference.length = entry(tensor.getProto(), "length");
  llvm::Expected<ExternalDataView> view = folder->resolve(reference, size, "");
  if (!view) {
    llvm::consumeError(view.takeError());
    return false;
  }
  return view->bytes == *bytes;
}

bool TensorWriter::goesExternal(onnx::TensorAttr, uint64_t size,
                                bool wasExternal) {
  if (dataFile.empty() || mode == ExternalData::Inline ||
      size < minExternalSize)
    return false;
  return mode == ExternalData::File || wasExternal;
}

void TensorWriter::writeExternal(TypedAttr value, uint64_t size,
                                 WireWriter &writer) {
  // Big tensors begin on a page, so that a reader can map them.
  dataWriter.align(size >= 65536 ? 4096 : 64);
  uint64_t offset = dataWriter.size();
  writeBytes(value, size, 0, dataWriter);
  auto pair = [&](StringRef key, const std::string &text) {
    writer.message(::onnx::TensorProto::kExternalDataFieldNumber, [&] {
      writer.bytes(1, key);
      writer.bytes(2, text);
    });
  };
  pair("location", dataFile);
  pair("offset", std::to_string(offset));
  pair("length", std::to_string(size));
  writer.int64(::onnx::TensorProto::kDataLocationFieldNumber,
               ::onnx::TensorProto::EXTERNAL);
}

void TensorWriter::write(onnx::TensorAttr tensor, WireWriter &writer,
                         std::optional<StringRef> name) {
  auto type = cast<RankedTensorType>(tensor.getType());
  DictionaryAttr proto = tensor.getProto();
  ElementType element =
      onnx::fromType(type.getElementType()).value_or(ElementType::Undefined);
  uint64_t count = type.getNumElements();
  uint64_t size = onnx::byteSize(element, count).value_or(0);
  for (int64_t dim : type.getShape())
    writer.int64(::onnx::TensorProto::kDimsFieldNumber, dim);
  writer.int64(::onnx::TensorProto::kDataTypeFieldNumber, int64_t(element));
  if (name)
    writer.bytes(::onnx::TensorProto::kNameFieldNumber, *name);

  StringRef field;
  if (proto)
    if (auto text = proto.getAs<StringAttr>("storage"))
      field = text.getValue();
  SmallVector<StringRef, 3> except;
  if (name)
    except.push_back("name");
  bool external = field == storage::kExternal;
  if (external && staysExternal(tensor, size)) {
    kept += size;
    encodeFields(::onnx::TensorProto::descriptor(), proto, writer, except);
    writer.int64(::onnx::TensorProto::kDataLocationFieldNumber,
                 ::onnx::TensorProto::EXTERNAL);
    return;
  }
  if (external)
    except.push_back("external_data");
  encodeFields(::onnx::TensorProto::descriptor(), proto, writer, except);

  TypedAttr value = tensor.getValue();
  if (element == ElementType::String) {
    if (auto strings = dyn_cast<DenseStringElementsAttr>(Attribute(value)))
      for (StringRef string : strings.getValues<StringRef>())
        writer.bytes(storage::numberOf("string_data"), string);
    return;
  }
  if (field == storage::kNone && count == 0)
    return;
  if (goesExternal(tensor, size, external))
    return writeExternal(value, size, writer);
  uint32_t number = storage::numberOf(field);
  // A tensor whose type has changed has another field.
  if (number == 0 || storage::fieldOf(element) != field)
    return writeBytes(value, size, ::onnx::TensorProto::kRawDataFieldNumber,
                      writer);
  if (field == "float_data" || field == "double_data")
    return writeBytes(value, size, number, writer);
  std::string bytes = checkedBytes(value, size);
  if (bytes.size() == size)
    storage::writeVarints(element, count, bytes, number, writer);
}

void TensorWriter::writeSparse(onnx::SparseTensorAttr tensor,
                               WireWriter &writer,
                               std::optional<StringRef> name) {
  DictionaryAttr proto = tensor.getProto();
  if (!name && proto)
    if (auto text = proto.getAs<StringAttr>("name"))
      name = text.getValue();
  writer.message(::onnx::SparseTensorProto::kValuesFieldNumber,
                 [&] { write(tensor.getValues(), writer, name); });
  writer.message(::onnx::SparseTensorProto::kIndicesFieldNumber,
                 [&] { write(tensor.getIndices(), writer); });
  for (int64_t dim : tensor.getDims())
    writer.int64(::onnx::SparseTensorProto::kDimsFieldNumber, dim);
  encodeFields(::onnx::SparseTensorProto::descriptor(), proto, writer);
}

} // namespace amp
