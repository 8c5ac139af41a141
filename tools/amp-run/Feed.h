//===- Feed.h - batches of samples as a session's inputs --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_FEED_H
#define AMP_TOOLS_AMPRUN_FEED_H

#include "Buffer.h"
#include "SampleOrder.h"
#include "amp/Runtime/Session.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace amp::run {

class DataSource;

struct FeedOptions {
  /// Samples of a batch, where the model's inputs take any number.
  std::optional<uint64_t> batch;
  /// "INPUT=ARRAY": inputs whose array has another name.
  std::vector<std::string> renames;
  /// Inputs that have their value already.
  std::set<std::string> constants;
  /// An array of integers that is read with each batch although no input has
  /// its name.
  std::string labels;
};

/// Sets inputs to samples of arrays of the same name: the first axis of an
/// array counts samples, the rest is as the input has it. Consecutive samples
/// of the input's type stay where they are; others are gathered in memory that
/// is reserved once.
class Feed {
public:
  /// Names of arrays that may be of use to a model.
  static std::set<std::string, std::less<>>
  findWanted(const runtime::Executable &executable, const FeedOptions &options);

  /// Both must outlive it. An error says what of the data does not fit.
  static runtime::Result<Feed> create(runtime::Session &session,
                                      const DataSource &source,
                                      const FeedOptions &options);

  uint64_t getSampleCount() const { return samples; }
  uint64_t getBatchSize() const { return batch; }
  /// Whether each batch must have as many.
  bool isBatchFixed() const { return isFixed; }

  /// Sets the inputs to the samples at `count` <= getBatchSize() places from
  /// `first` on; with a fixed batch, the last is repeated to fill it.
  runtime::Status load(const SampleOrder &order, uint64_t first,
                       uint64_t count);

  /// The sample of the data at a place of the batch that was loaded last.
  uint64_t getSample(const SampleOrder &order, uint64_t place) const {
    return order[loadedFirst + place];
  }
  /// What was loaded last; null if it has no array.
  const runtime::TensorView *getLoaded(std::string_view name) const;
  /// The names of inputs that have an array.
  std::vector<std::string> getInputs() const;

  /// Of names, types, dimensions, and of parts of what is in the arrays.
  uint64_t computeFingerprint() const;

private:
  /// An input and its array.
  struct Column {
    std::string input, array;
    runtime::TensorView source;
    runtime::DataType type = runtime::DataType::Undefined;
    bool isInput = true;
    /// Bytes of a sample, in the array and as the input has it.
    size_t sourceBytes = 0, bytes = 0;
    runtime::Buffer gathered;
    runtime::TensorView loaded;
  };

  explicit Feed(runtime::Session &session) : session(&session) {}
  runtime::Status findColumns(const DataSource &source,
                              const FeedOptions &options);
  runtime::Status addColumn(const runtime::TensorInfo &input,
                            const std::string &array,
                            const runtime::TensorView &tensor);
  runtime::Status addLabels(const std::string &name, const std::string &array,
                            const runtime::TensorView &tensor);
  runtime::Status checkDimensions() const;
  runtime::Status findBatch(const FeedOptions &options);
  runtime::Status reserve();
  void gather(Column &column, const SampleOrder &order, uint64_t first,
              uint64_t count, uint64_t total) const;
  const runtime::TensorInfo &getInfo(const Column &column) const;

  runtime::Session *session;
  std::vector<Column> columns;
  uint64_t samples = 0, batch = 0, loadedFirst = 0;
  bool isFixed = false;
};

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_FEED_H
