//===- TensorReader.cpp - TensorProto in ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorReader.h"

#include "ProtoFields.h"
#include "Storage.h"

#include "amp/Support/Quoted.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include "onnx/onnx_pb.h"

#include <atomic>

using namespace mlir;
using amp::onnx::ElementType;

namespace amp {

namespace {

/// Up to so many elements a tensor is a `dense` attribute, which people can
/// read and folders can fold; beyond, a resource.
constexpr uint64_t maxDenseElements = 32;

enum : uint32_t {
  Dims = 1,
  DataType = 2,
  Segment = 3,
  FloatData = 4,
  Int32Data = 5,
  StringData = 6,
  Int64Data = 7,
  Name = 8,
  RawData = 9,
  DoubleData = 10,
  Uint64Data = 11,
  ExternalEntries = 13,
  DataLocation = 14,
};

/// A name that no other resource of the process has. Asking the context to make
/// it unique is quadratic in the number of tensors.
std::string resourceName() {
  static std::atomic<uint64_t> counter = 0;
  return "w" + std::to_string(counter++);
}

llvm::Error tensorError(StringRef name, const Twine &problem) {
  return llvm::createStringError("tensor " + quoted(name) + " " + problem);
}

std::string describe(const ElementType type, ArrayRef<int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i == 8) {
      text += ", …";
      break;
    }
    text += (i ? ", " : "") + std::to_string(dims[i]);
  }
  return nameOf(type).str() + text + "]";
}

} // namespace

/// A TensorProto's fields, in the file.
struct TensorReader::Parts {
  StringRef name;
  bool hasName = false;
  SmallVector<int64_t, 6> dims;
  std::optional<int32_t> dataType;
  /// Occurrences of the data fields that have something in them.
  SmallVector<WireField, 1> data;
  bool hasRaw = false;
  std::optional<int32_t> location;
  SmallVector<StringRef, 3> externalEntries;
  ElementType element = ElementType::Undefined;
  uint64_t numElements = 0;
  uint64_t byteSize = 0;

  bool isExternal() const { return location == ::onnx::TensorProto::EXTERNAL; }
};

TypedAttr TensorReader::constant(RankedTensorType type, ElementType element,
                                 StringRef bytes,
                                 std::shared_ptr<void> bytesOwner) {
  bool wholeBytes = element != ElementType::Bool && bitWidth(element) % 8 == 0;
  if (type.getNumElements() <= int64_t(maxDenseElements) && wholeBytes &&
      !bytes.empty())
    return DenseElementsAttr::getFromRawBuffer(
        type, ArrayRef<char>(bytes.data(), bytes.size()));
  AsmResourceBlob blob = UnmanagedAsmResourceBlob::allocateWithAlign(
      ArrayRef<char>(bytes.data(), bytes.size()), /*align=*/1,
      [bytesOwner = std::move(bytesOwner)](void *, size_t, size_t) {});
  return cast<TypedAttr>(Attribute(
      DenseResourceElementsAttr::get(type, resourceName(), std::move(blob))));
}

TypedAttr TensorReader::copied(RankedTensorType type, ElementType element,
                               StringRef bytes) {
  auto copy = std::make_shared<std::string>(bytes.str());
  StringRef view = *copy;
  return constant(type, element, view, std::move(copy));
}

llvm::Expected<onnx::TensorAttr> TensorReader::read(StringRef message,
                                                    StringAttr *name) {
  Parts parts;
  FieldCollector others(context, input, ::onnx::TensorProto::descriptor());
  bool hasSegment = false;
  WireReader reader(input, message);
  for (WireField field; reader.next(field);) {
    switch (field.number) {
    case Dims:
      if (!appendVarints(input, field, parts.dims))
        others.addUnknown(field);
      break;
    case DataType:
      if (field.isVarint())
        parts.dataType = field.asInt32();
      else
        others.addUnknown(field);
      break;
    case Segment:
      hasSegment = true;
      break;
    case FloatData:
    case DoubleData:
    case Int32Data:
    case Int64Data:
    case Uint64Data:
    case StringData: {
      WireType scalar = field.number == FloatData    ? WireType::Fixed32
                        : field.number == DoubleData ? WireType::Fixed64
                        : field.number == StringData ? WireType::Bytes
                                                     : WireType::Varint;
      if (field.isBytes() && field.number != StringData && field.bytes.empty())
        break; // a packed field of nothing
      if (field.type == scalar || field.isBytes())
        parts.data.push_back(field);
      else
        others.addUnknown(field);
      break;
    }
    case RawData:
      if (!field.isBytes()) {
        others.addUnknown(field);
        break;
      }
      // The last one counts.
      llvm::erase_if(parts.data, [](const WireField &other) {
        return other.number == RawData;
      });
      parts.hasRaw = true;
      parts.data.push_back(field);
      break;
    case Name:
      if (!field.isBytes()) {
        others.addUnknown(field);
        break;
      }
      parts.name = field.bytes;
      parts.hasName = true;
      break;
    case ExternalEntries:
      if (field.isBytes())
        parts.externalEntries.push_back(field.bytes);
      others.add(field);
      break;
    case DataLocation:
      if (field.isVarint())
        parts.location = field.asInt32();
      else
        others.addUnknown(field);
      break;
    default:
      others.add(field);
    }
  }
  if (input.failed())
    return input.takeError();

  if (hasSegment)
    return tensorError(
        parts.name, "is a segment of a bigger tensor, which is not supported");
  if (parts.location && *parts.location != ::onnx::TensorProto::DEFAULT &&
      *parts.location != ::onnx::TensorProto::EXTERNAL)
    return tensorError(parts.name, "has unknown data location " +
                                       Twine(*parts.location) +
                                       ", expected 0 or 1");
  std::optional<ElementType> element =
      onnx::parseElementType(parts.dataType.value_or(0));
  if (!element || *element == ElementType::Undefined)
    return tensorError(parts.name, "has unknown data type " +
                                       Twine(parts.dataType.value_or(0)));
  parts.element = *element;
  std::optional<uint64_t> numElements = onnx::numElements(parts.dims);
  std::optional<uint64_t> bytes =
      numElements ? onnx::byteSize(*element, *numElements) : std::nullopt;
  if (!bytes)
    return tensorError(parts.name, "has invalid dimensions " +
                                       describe(*element, parts.dims) +
                                       ": negative, or too big for memory");
  parts.numElements = *numElements;
  parts.byteSize = *bytes;
  auto type =
      RankedTensorType::get(parts.dims, onnx::toType(context, *element));

  StringRef storage;
  llvm::Expected<TypedAttr> value = elements(parts, type, storage);
  if (!value)
    return value.takeError();
  if (input.failed())
    return input.takeError();

  StringAttr nameAttribute =
      parts.hasName ? StringAttr::get(context, parts.name) : StringAttr();
  if (name)
    *name = nameAttribute;
  else if (nameAttribute)
    others.set("name", nameAttribute);
  if (!storage.empty())
    others.set("storage", StringAttr::get(context, storage));
  if (parts.location == ::onnx::TensorProto::DEFAULT)
    others.set("data_location", Builder(context).getI64IntegerAttr(0));
  DictionaryAttr proto = others.empty() && storage.empty() && !parts.location &&
                                 (name || !nameAttribute)
                             ? DictionaryAttr()
                             : others.finish();
  if (input.failed())
    return input.takeError();
  return onnx::TensorAttr::get(context, *value, proto);
}

llvm::Expected<TypedAttr> TensorReader::elements(const Parts &parts,
                                                 RankedTensorType type,
                                                 StringRef &storage) {
  auto error = [&](const Twine &problem) {
    return tensorError(parts.name, problem);
  };
  std::string what = describe(parts.element, parts.dims);

  if (parts.isExternal()) {
    if (!parts.data.empty())
      return error("has both external data and data of its own");
    if (parts.element == ElementType::String)
      return error("has external data, which strings can't have");
    ExternalDataReference reference;
    for (StringRef entry : parts.externalEntries) {
      StringRef key, value;
      WireReader reader(input, entry);
      for (WireField field; reader.next(field);)
        if (field.isBytes() && field.number == 1)
          key = field.bytes;
        else if (field.isBytes() && field.number == 2)
          value = field.bytes;
      std::optional<StringRef> *into = key == "location" ? &reference.location
                                       : key == "offset" ? &reference.offset
                                       : key == "length" ? &reference.length
                                                         : nullptr;
      if (!into)
        continue;
      if (*into)
        return error("has external data with more than one " + key);
      *into = value;
    }
    if (input.failed())
      return input.takeError();
    llvm::Expected<ExternalDataView> view =
        externalData.resolve(reference, parts.byteSize, parts.name);
    if (!view)
      return view.takeError();
    storage = storage::kExternal;
    return constant(type, parts.element, view->bytes, view->file);
  }

  for (const WireField &field : parts.data)
    if (field.number != parts.data[0].number)
      return error("has data in two fields");
  if (parts.data.empty() || (parts.hasRaw && parts.data[0].bytes.empty())) {
    if (parts.numElements != 0)
      return error("has no data, expected " + Twine(parts.numElements) +
                   " elements (" + what + ")");
    storage = parts.hasRaw ? StringRef() : StringRef(storage::kNone);
    return cast<TypedAttr>(
        Attribute(DenseElementsAttr::get(type, ArrayRef<Attribute>())));
  }

  uint32_t number = parts.data[0].number;
  if (number == RawData) {
    if (parts.element == ElementType::String)
      return error("has raw data, which strings can't have");
    StringRef bytes = parts.data[0].bytes;
    if (bytes.size() != parts.byteSize)
      return error("has " + Twine(bytes.size()) + " bytes of data, expected " +
                   Twine(parts.byteSize) + " (" + what + ")");
    return constant(type, parts.element, bytes, owner);
  }

  storage = storage::fieldOf(parts.element);
  if (storage::numberOf(storage) != number)
    return error("has its data in the wrong field, expected " + storage +
                 " for " + nameOf(parts.element));

  if (number == StringData) {
    if (parts.data.size() != parts.numElements)
      return error("has " + Twine(parts.data.size()) + " strings, expected " +
                   Twine(parts.numElements) + " (" + what + ")");
    SmallVector<StringRef> strings;
    for (const WireField &field : parts.data)
      strings.push_back(field.bytes);
    return cast<TypedAttr>(
        Attribute(DenseElementsAttr::get(type, ArrayRef(strings))));
  }

  // One packed run of fixed numbers has the very bytes of raw_data.
  std::string bytes;
  if (number == FloatData || number == DoubleData) {
    if (parts.data.size() == 1 && parts.data[0].isBytes() &&
        parts.data[0].bytes.size() == parts.byteSize)
      return constant(type, parts.element, parts.data[0].bytes, owner);
    for (const WireField &field : parts.data) {
      if (field.isBytes()) {
        bytes.append(field.bytes.begin(), field.bytes.end());
      } else if (number == FloatData) {
        auto bits = static_cast<uint32_t>(field.value);
        bytes.append(reinterpret_cast<const char *>(&bits), sizeof(bits));
      } else {
        bytes.append(reinterpret_cast<const char *>(&field.value),
                     sizeof(field.value));
      }
    }
    unsigned width = number == FloatData ? 4 : 8;
    if (bytes.size() % width) {
      input.fail(parts.data[0].bytes.begin(), "packed floats of tensor " +
                                                  quoted(parts.name) +
                                                  " end inside a number");
      return input.takeError();
    }
    if (bytes.size() != parts.byteSize)
      return error("has " + Twine(bytes.size() / width) +
                   " numbers, expected " + Twine(parts.byteSize / width) +
                   " (" + what + ")");
    return copied(type, parts.element, bytes);
  }

  storage::VarintPacker packer(parts.element, parts.numElements);
  for (const WireField &field : parts.data) {
    if (field.isVarint()) {
      packer.add(field.value);
      continue;
    }
    WireReader reader(input, field.bytes);
    for (uint64_t value; reader.nextVarint(value);)
      packer.add(value);
  }
  if (input.failed())
    return input.takeError();
  if (packer.outOfRange)
    return error("has a number in " + storage + " that is no " +
                 nameOf(parts.element));
  if (packer.count != packer.expected)
    return error("has " + Twine(packer.count) + " numbers in " + storage +
                 ", expected " + Twine(packer.expected) + " (" + what + ")");
  return copied(type, parts.element, packer.bytes);
}

llvm::Expected<onnx::SparseTensorAttr>
TensorReader::readSparse(StringRef message, StringAttr *name) {
  std::optional<StringRef> values, indices;
  SmallVector<int64_t, 4> dims;
  FieldCollector others(context, input,
                        ::onnx::SparseTensorProto::descriptor());
  auto error = [&](StringRef tensor, const Twine &problem) {
    return llvm::createStringError("sparse tensor " + quoted(tensor) + " " +
                                   problem);
  };
  WireReader reader(input, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1 && field.isBytes()) {
      if (values)
        return error("", "has its values in two pieces");
      values = field.bytes;
    } else if (field.number == 2 && field.isBytes()) {
      if (indices)
        return error("", "has its indices in two pieces");
      indices = field.bytes;
    } else if (field.number != 3 || !appendVarints(input, field, dims)) {
      others.addUnknown(field);
    }
  }
  if (input.failed())
    return input.takeError();
  if (!values)
    return error("", "has no values");
  StringAttr valuesName;
  llvm::Expected<onnx::TensorAttr> valuesTensor = read(*values, &valuesName);
  if (!valuesTensor)
    return valuesTensor.takeError();
  StringRef text = valuesName ? valuesName.getValue() : "";
  if (!indices)
    return error(text, "has no indices");
  llvm::Expected<onnx::TensorAttr> indicesTensor = read(*indices);
  if (!indicesTensor)
    return indicesTensor.takeError();

  // Rules of onnx.proto: values are a list of NNZ elements; indices are int64
  // [NNZ], in the order of memory, or [NNZ, rank], in lexicographic order.
  auto valuesType = cast<RankedTensorType>(valuesTensor->getType());
  auto indicesType = cast<RankedTensorType>(indicesTensor->getType());
  if (valuesType.getRank() != 1)
    return error(text, "has values of rank " + Twine(valuesType.getRank()) +
                           ", expected 1");
  std::optional<uint64_t> size = onnx::numElements(dims);
  if (!size)
    return error(text, "has dimensions that are negative or too big");
  int64_t count = valuesType.getDimSize(0);
  auto rank = static_cast<int64_t>(dims.size());
  bool linear = indicesType.getRank() == 1;
  if (!indicesType.getElementType().isInteger(64) ||
      (!linear && indicesType.getRank() != 2) ||
      indicesType.getDimSize(0) != count ||
      (!linear && indicesType.getDimSize(1) != rank))
    return error(text, "has indices that do not fit its " + Twine(count) +
                           " values of rank " + Twine(rank));
  std::string bytes = storage::rawBytes(indicesTensor->getValue());
  auto at = [&](int64_t i) {
    int64_t index;
    std::memcpy(&index, bytes.data() + i * sizeof(index), sizeof(index));
    return index;
  };
  std::optional<uint64_t> last;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t position = 0;
    if (linear) {
      if (at(i) < 0 || uint64_t(at(i)) >= *size)
        return error(text, "has index " + Twine(at(i)) + " out of range");
      position = at(i);
    } else {
      for (int64_t dim = 0; dim < rank; ++dim) {
        int64_t index = at(i * rank + dim);
        if (index < 0 || index >= dims[dim])
          return error(text, "has index " + Twine(index) + " out of range");
        position = position * dims[dim] + index;
      }
    }
    if (last && position <= *last)
      return error(text, "has indices that are not sorted");
    last = position;
  }

  if (name)
    *name = valuesName;
  else if (valuesName)
    others.set("name", valuesName);
  DictionaryAttr proto = others.empty() && (name || !valuesName)
                             ? DictionaryAttr()
                             : others.finish();
  return onnx::SparseTensorAttr::get(context, *valuesTensor, *indicesTensor,
                                     dims, proto);
}

} // namespace amp
