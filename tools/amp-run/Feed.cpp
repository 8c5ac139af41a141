//===- Feed.cpp - batches of samples as a session's inputs ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Feed.h"

#include "CPU/Conversion.h"
#include "Checksum.h"
#include "DataSource.h"
#include "Lossless.h"
#include "NearestName.h"
#include "NpyHeader.h"
#include "Quote.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

using namespace amp::run;
using namespace amp::runtime;

using Rename = std::pair<std::string, std::string>;

static Rename split(const std::string &rename) {
  size_t equals = rename.find('=');
  if (equals == std::string::npos)
    return {rename, ""};
  return {rename.substr(0, equals), rename.substr(equals + 1)};
}

static bool isInteger(DataType type) {
  return isLossless(type, DataType::Int64) || type == DataType::UInt64;
}

std::set<std::string, std::less<>>
Feed::findWanted(const Executable &executable, const FeedOptions &options) {
  std::set<std::string, std::less<>> wanted;
  for (const TensorInfo &input : executable.getInputs())
    wanted.insert(input.name);
  for (const std::string &rename : options.renames)
    wanted.insert(split(rename).second);
  if (!options.labels.empty())
    wanted.insert(options.labels);
  return wanted;
}

Result<Feed> Feed::create(Session &session, const DataSource &source,
                          const FeedOptions &options) {
  Feed feed(session);
  if (Status status = feed.findColumns(source, options); !status.ok())
    return status;
  if (Status status = feed.checkDimensions(); !status.ok())
    return status;
  if (Status status = feed.findBatch(options); !status.ok())
    return status;
  if (Status status = feed.reserve(); !status.ok())
    return status;
  return feed;
}

//===----------------------------------------------------------------------===//
// Arrays and inputs
//===----------------------------------------------------------------------===//

Status Feed::findColumns(const DataSource &source, const FeedOptions &options) {
  const std::vector<TensorInfo> &inputs = session->getExecutable().getInputs();
  std::map<std::string, std::string, std::less<>> renames;
  for (const std::string &each : options.renames) {
    auto [input, array] = split(each);
    std::vector<std::string_view> names;
    bool isThere = input == options.labels;
    for (const TensorInfo &info : inputs) {
      names.push_back(info.name);
      isThere |= info.name == input;
    }
    if (!isThere)
      return Status::error("--array " + each + ": there is no input " +
                           quote(input) + suggestName(input, names));
    renames[input] = array;
  }

  auto find = [&](const std::string &name) -> Rename {
    auto renamed = renames.find(name);
    return {name, renamed == renames.end() ? name : renamed->second};
  };
  auto missing = [&](const Rename &names) {
    std::string text = "the data has no array " + quote(names.second);
    if (names.first == names.second)
      text += ", which the model takes";
    text += suggestName(names.second, source.getNames());
    if (names.first == names.second)
      text += "; --array " + names.first + "=ARRAY takes one of another name";
    return Status::error(text);
  };
  for (const TensorInfo &input : inputs) {
    Rename names = find(input.name);
    const TensorView *array = source.find(names.second);
    if (options.constants.count(input.name)) {
      if (array)
        return Status::error("input " + quote(input.name) +
                             " is in the data and in --inputs");
      continue;
    }
    if (!array && input.isOptional && names.first == names.second)
      continue;
    if (!array)
      return missing(names);
    if (Status status = addColumn(input, names.second, *array); !status.ok())
      return status;
  }
  if (options.labels.empty() || getLoaded(options.labels))
    return {};
  Rename names = find(options.labels);
  if (!source.find(names.second))
    return missing(names);
  return addLabels(names.first, names.second, *source.find(names.second));
}

Status Feed::addColumn(const TensorInfo &input, const std::string &name,
                       const TensorView &tensor) {
  Column column;
  column.input = input.name;
  column.array = name;
  column.source = tensor;
  column.source.type = adaptType(tensor.type, input.type);
  column.type = input.type;
  std::string array = "array " + quote(name);
  std::string as = "input " + quote(input.name);
  if (!isLossless(column.source.type, input.type))
    return Status::error(
        array + " has type " + std::string(getName(tensor.type)) + ", but " +
        as + " has " + std::string(getName(input.type)) +
        ", which has not all of its values; save array.astype('" +
        std::string(getName(input.type)) + "')");
  const Shape &shape = tensor.shape;
  if (shape.empty() || (input.hasRank && input.dims.empty()))
    return Status::error((shape.empty() ? array : as) +
                         " is a scalar, which has no axis of samples" +
                         (shape.empty() ? "" : "; give it by --inputs"));
  if (input.hasRank && shape.getRank() != input.dims.size())
    return Status::error(
        array + " has rank " + std::to_string(shape.getRank()) + " (" +
        toString(shape) + "), but " + as + " has rank " +
        std::to_string(input.dims.size()) + " (" + describeDims(input) + ")");
  for (size_t axis = 1; input.hasRank && axis < shape.getRank(); ++axis)
    if (input.dims[axis] >= 0 && input.dims[axis] != shape[axis])
      return Status::error(array + " has " + std::to_string(shape[axis]) +
                           " for axis " + std::to_string(axis) + " (" +
                           toString(shape) + "), but " + as + " has " +
                           std::to_string(input.dims[axis]) + " (" +
                           describeDims(input) + ")");
  columns.push_back(std::move(column));
  return {};
}

Status Feed::addLabels(const std::string &name, const std::string &array,
                       const TensorView &tensor) {
  Column column;
  column.input = name;
  column.array = array;
  column.source = tensor;
  column.isInput = false;
  column.type = column.source.type;
  if (!isInteger(column.type) || column.source.shape.empty())
    return Status::error("labels must be integers, one or more for each "
                         "sample, but array " +
                         quote(array) + " is " + toString(column.source.shape) +
                         " of " + std::string(getName(column.type)));
  columns.push_back(std::move(column));
  return {};
}

const TensorInfo &Feed::getInfo(const Column &column) const {
  const std::vector<TensorInfo> &inputs = session->getExecutable().getInputs();
  return *std::find_if(
      inputs.begin(), inputs.end(),
      [&](const TensorInfo &info) { return info.name == column.input; });
}

Status Feed::checkDimensions() const {
  // Where a symbol was met first.
  std::map<std::string, std::pair<const Column *, size_t>> symbols;
  for (const Column &column : columns) {
    const Column &first = columns[0];
    if (column.source.shape[0] != first.source.shape[0])
      return Status::error("array " + quote(first.array) + " has " +
                           std::to_string(first.source.shape[0]) +
                           " samples, but array " + quote(column.array) +
                           " has " + std::to_string(column.source.shape[0]));
    if (!column.isInput)
      continue;
    const TensorInfo &info = getInfo(column);
    for (size_t axis = 1; axis < info.symbols.size(); ++axis) {
      if (info.symbols[axis].empty())
        continue;
      auto [found, isNew] =
          symbols.emplace(info.symbols[axis], std::make_pair(&column, axis));
      const auto &[other, otherAxis] = found->second;
      int64_t size = column.source.shape[axis];
      int64_t otherSize = other->source.shape[otherAxis];
      if (size != otherSize)
        return Status::error(
            "array " + quote(column.array) + " has " + std::to_string(size) +
            " for axis " + std::to_string(axis) + " (" + quote(found->first) +
            "), but array " + quote(other->array) + " has " +
            std::to_string(otherSize) + " for axis " +
            std::to_string(otherAxis) + ", which must be equal");
    }
  }
  return {};
}

Status Feed::findBatch(const FeedOptions &options) {
  const Column *fixed = nullptr;
  bool hasInput = false;
  for (const Column &column : columns) {
    if (!column.isInput)
      continue;
    hasInput = true;
    const TensorInfo &info = getInfo(column);
    if (!info.hasRank || info.dims[0] < 0)
      continue;
    auto size = static_cast<uint64_t>(info.dims[0]);
    if (fixed && size != batch)
      return Status::error("the model takes batches of different sizes: " +
                           std::to_string(batch) + " for input " +
                           quote(fixed->input) + ", " + std::to_string(size) +
                           " for input " + quote(column.input));
    fixed = &column;
    batch = size;
  }
  if (!hasInput)
    return Status::error("the model takes no data: it has no inputs");
  samples = static_cast<uint64_t>(columns[0].source.shape[0]);
  if (samples == 0)
    return Status::error("array " + quote(columns[0].array) +
                         " has no samples");
  isFixed = fixed != nullptr;
  if (fixed && options.batch && *options.batch != batch)
    return Status::error("--batch " + std::to_string(*options.batch) +
                         ": input " + quote(fixed->input) + " has " +
                         std::to_string(batch) + " for axis 0 (" +
                         describeDims(getInfo(*fixed)) + ")");
  if (!fixed && !options.batch)
    return Status::error("the model takes batches of any size; choose one by "
                         "--batch N");
  if (!fixed)
    batch = *options.batch;
  if (batch == 0)
    return Status::error("the model takes batches of no samples");
  return {};
}

Status Feed::reserve() {
  for (Column &column : columns) {
    Shape shape = column.source.shape;
    shape[0] = 1;
    auto elements = static_cast<size_t>(shape.getElementCount());
    column.sourceBytes = elements * getByteSize(column.source.type);
    column.bytes = elements * getByteSize(column.type);
    size_t total = 0;
    if (__builtin_mul_overflow(column.bytes, batch, &total))
      return Status::error("a batch of " + std::to_string(batch) +
                           " samples of array " + quote(column.array) +
                           " is more than memory can hold");
    // Something for arrays of no elements, too.
    if (Status status = column.gathered.reserve(
            std::max<size_t>(total, 1), "a batch of " + quote(column.array));
        !status.ok())
      return status;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

void Feed::gather(Column &column, const SampleOrder &order, uint64_t first,
                  uint64_t count, uint64_t total) const {
  auto *target = static_cast<char *>(column.gathered.getData());
  auto perSample =
      static_cast<int64_t>(column.bytes / getByteSize(column.type));
  for (uint64_t i = 0; i < total; ++i) {
    uint64_t sample = order[first + std::min(i, count - 1)];
    const char *from = column.source.as<char>() + sample * column.sourceBytes;
    if (column.source.type == column.type)
      std::memcpy(target, from, column.bytes);
    else
      convertElements(column.source.type, from, column.type, target, perSample);
    target += column.bytes;
  }
}

Status Feed::load(const SampleOrder &order, uint64_t first, uint64_t count) {
  uint64_t total = isFixed ? batch : count;
  loadedFirst = first;
  for (Column &column : columns) {
    column.loaded.type = column.type;
    column.loaded.shape = column.source.shape;
    column.loaded.shape[0] = static_cast<int64_t>(total);
    char *inPlace = column.source.as<char>() + first * column.sourceBytes;
    bool isInPlace =
        !order.isShuffled() && count == total &&
        column.source.type == column.type &&
        reinterpret_cast<uintptr_t>(inPlace) % getByteSize(column.type) == 0;
    if (!isInPlace)
      gather(column, order, first, count, total);
    column.loaded.data = isInPlace ? inPlace : column.gathered.getData();
    if (!column.isInput)
      continue;
    if (Status status = session->setInput(column.input, column.loaded);
        !status.ok())
      return status;
  }
  return {};
}

const TensorView *Feed::getLoaded(std::string_view name) const {
  for (const Column &column : columns)
    if (column.input == name)
      return &column.loaded;
  return nullptr;
}

std::vector<std::string> Feed::getInputs() const {
  std::vector<std::string> names;
  for (const Column &column : columns)
    if (column.isInput)
      names.push_back(column.input);
  return names;
}

uint64_t Feed::computeFingerprint() const {
  // Enough to see that it is other data, little enough for any size.
  constexpr size_t partCount = 64, partBytes = 4096;
  std::string text;
  for (const Column &column : columns) {
    text += column.input + " " + std::string(getName(column.source.type)) +
            " " + toString(column.source.shape);
    size_t size = column.source.getByteCount();
    size_t last = size - std::min(size, partBytes);
    for (size_t i = 0; i < partCount; ++i) {
      // Also where the product would not fit.
      size_t begin = last / (partCount - 1) * i;
      if (i == partCount - 1)
        begin = last;
      text += " " + std::to_string(
                        computeChecksum(column.source.as<char>() + begin,
                                        std::min(partBytes, size - begin)));
    }
    text += "\n";
  }
  return computeChecksum(text.data(), text.size());
}
