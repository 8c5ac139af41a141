//===- Evaluator.cpp - runs a model on data and judges it -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

#include "Accuracy.h"
#include "DataSource.h"
#include "Feed.h"
#include "NearestName.h"
#include "Quote.h"
#include "ScalarValues.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

using namespace amp::run;
using namespace amp::runtime;

static bool isFloat(DataType type) {
  return type == DataType::Float || type == DataType::Double ||
         type == DataType::Float16 || type == DataType::BFloat16;
}

/// The one that was named, or is called `usual`, or is the only candidate.
static Result<std::string> choose(const std::vector<std::string_view> &names,
                                  const std::string &named,
                                  std::string_view usual,
                                  const std::string &what,
                                  const std::string &option) {
  auto has = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (!named.empty() && !has(named))
    return Status::error(option + ": there is no " + what + " " + quote(named) +
                         suggestName(named, names));
  if (!named.empty())
    return named;
  if (has(usual))
    return std::string(usual);
  if (names.size() == 1)
    return std::string(names[0]);
  return Status::error("which " + what + " has the " + std::string(usual) +
                       "? say it by " + option + " NAME" +
                       suggestName("", names));
}

static Result<std::string> findLogits(const Executable &executable,
                                      const std::string &named) {
  std::vector<std::string_view> names;
  for (const TensorInfo &output : executable.getOutputs())
    if (isFloat(output.type) && (!output.hasRank || output.dims.size() > 1))
      names.push_back(output.name);
  return choose(names, named, "logits", "output", "--logits");
}

/// Labels are an input of integers, or what --labels says of the data.
static Result<std::string> findLabels(const Executable &executable,
                                      const std::string &named) {
  if (!named.empty())
    return named;
  std::vector<std::string_view> names;
  for (const TensorInfo &input : executable.getInputs())
    if (input.type == DataType::Int64 || input.type == DataType::Int32)
      names.push_back(input.name);
  // A model that has logits only takes none.
  if (names.empty())
    return std::string("labels");
  return choose(names, named, "labels", "input", "--labels");
}

namespace {
class Evaluator {
public:
  explicit Evaluator(const EvaluateOptions &options) : options(options) {}

  Status prepare(const ModelOptions &modelOptions);
  Status run();
  void print() const;

private:
  Status addBatch(uint64_t first, uint64_t count);

  const EvaluateOptions &options;
  Model model;
  std::optional<DataSource> source;
  std::optional<Feed> feed;
  std::string logits, labels;
  std::optional<ScalarValues> values;

  Accuracy accuracy;
  double lossSum = 0;
  uint64_t lossSamples = 0;
};
} // namespace

Status Evaluator::prepare(const ModelOptions &modelOptions) {
  Result<Model> opened = openModel(modelOptions);
  if (!opened.ok())
    return opened.getStatus();
  model = std::move(*opened);
  const Executable &executable = model.session->getExecutable();
  FeedOptions feedOptions;
  feedOptions.batch = options.batch;
  feedOptions.renames = options.renames;
  feedOptions.constants = model.constants;
  if (options.accuracy) {
    Result<std::string> output = findLogits(executable, options.logits);
    if (!output.ok())
      return output.getStatus();
    logits = *output;
    Result<std::string> input = findLabels(executable, options.labels);
    if (!input.ok())
      return input.getStatus();
    labels = feedOptions.labels = *input;
  }
  if (options.loss) {
    Result<ScalarValues> found =
        ScalarValues::find(executable, options.lossName);
    if (!found.ok())
      return found.getStatus();
    values = std::move(*found);
  }
  auto wanted = Feed::findWanted(executable, feedOptions);
  Result<DataSource> data =
      DataSource::open(options.data, [&](std::string_view name) {
        return wanted.find(name) != wanted.end();
      });
  if (!data.ok())
    return data.getStatus();
  source = std::move(*data);
  Result<Feed> created = Feed::create(*model.session, *source, feedOptions);
  if (!created.ok())
    return created.getStatus();
  feed = std::move(*created);
  if (options.loss && !options.accuracy && feed->isBatchFixed() &&
      feed->getSampleCount() < feed->getBatchSize())
    return Status::error("the data has " +
                         std::to_string(feed->getSampleCount()) +
                         " samples, fewer than the model's batch of " +
                         std::to_string(feed->getBatchSize()));
  return {};
}

Status Evaluator::addBatch(uint64_t first, uint64_t count) {
  if (options.accuracy) {
    Result<TensorView> output = model.session->getOutput(logits);
    if (!output.ok())
      return output.getStatus();
    if (Status status = addAccuracy(*output, *feed->getLoaded(labels), count,
                                    first, accuracy);
        !status.ok())
      return status;
  }
  // The loss of a batch that was filled up is not that of its samples.
  bool isFilled = feed->isBatchFixed() && count < feed->getBatchSize();
  if (!options.loss || isFilled)
    return {};
  if (Status status = values->read(*model.session); !status.ok())
    return status;
  lossSum += values->getLoss() * static_cast<double>(count);
  lossSamples += count;
  return {};
}

Status Evaluator::run() {
  uint64_t samples = feed->getSampleCount(), batch = feed->getBatchSize();
  Result<SampleOrder> order = SampleOrder::create(samples, std::nullopt);
  if (!order.ok())
    return order.getStatus();
  for (uint64_t first = 0; first < samples; first += batch) {
    uint64_t count = std::min(batch, samples - first);
    if (Status status = feed->load(*order, first, count); !status.ok())
      return status;
    if (Status status = model.session->step(); !status.ok())
      return Status::error("samples from " + std::to_string(first) +
                           " on: " + status.getMessage());
    if (Status status = addBatch(first, count); !status.ok())
      return status;
  }
  return {};
}

void Evaluator::print() const {
  if (options.accuracy)
    std::printf("accuracy %.6g (%" PRIu64 " of %" PRIu64 ")\n",
                accuracy.total ? static_cast<double>(accuracy.correct) /
                                     static_cast<double>(accuracy.total)
                               : 0.0,
                accuracy.correct, accuracy.total);
  if (!options.loss)
    return;
  uint64_t left = feed->getSampleCount() - lossSamples;
  std::printf("%s %.9g (%" PRIu64 " samples", values->getLossName().c_str(),
              lossSamples ? lossSum / static_cast<double>(lossSamples) : 0.0,
              lossSamples);
  if (left > 0)
    std::printf("; the last %" PRIu64 " are no whole batch", left);
  std::printf(")\n");
}

Status amp::run::evaluate(const ModelOptions &modelOptions,
                          const EvaluateOptions &options) {
  Evaluator evaluator(options);
  if (Status status = evaluator.prepare(modelOptions); !status.ok())
    return status;
  if (Status status = evaluator.run(); !status.ok())
    return status;
  evaluator.print();
  return {};
}
