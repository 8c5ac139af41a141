//===- Trainer.cpp - runs a training step on batches of data --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trainer.h"

#include "DataSource.h"
#include "Feed.h"
#include "MetricsLog.h"
#include "NonFiniteSearch.h"
#include "Progress.h"
#include "Quote.h"
#include "ScalarValues.h"
#include "Signals.h"
#include "TrainingPosition.h"

#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unistd.h>

using namespace amp::run;
using namespace amp::runtime;

namespace {

class Trainer {
public:
  explicit Trainer(const TrainOptions &options) : options(options) {}

  Status prepare(const ModelOptions &modelOptions);
  /// The exit code.
  Result<int> run();

private:
  using Clock = Progress::Clock;

  Status loadData();
  Status resume();
  Status loadBatch(uint64_t step);
  Status runStep();
  Status checkLoss();
  Status writeCheckpoint();
  Status finish();
  void showProgress(Clock::time_point now);
  bool isStopped() const {
    return getSignal() != 0 && position.step < totalSteps;
  }
  double getSeconds(Clock::time_point now) const {
    return position.seconds +
           std::chrono::duration<double>(now - begin).count();
  }

  const TrainOptions &options;
  std::string saveState;
  Model model;
  std::optional<DataSource> source;
  std::optional<Feed> feed;
  SampleOrder order;
  std::optional<ScalarValues> values;
  std::optional<NonFiniteSearch> search;
  MetricsLog log;
  Progress progress;

  TrainingSetup setup;
  /// `seconds` is of runs before this one.
  TrainingPosition position;
  uint64_t firstStep = 0, stepsPerEpoch = 0, totalSteps = 0;
  std::optional<uint64_t> savedStep;
  uint64_t skipped = 0;
  /// When this run began, and when the last step did.
  Clock::time_point begin, lastStep;
  double samplesPerSecond = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

Status Trainer::prepare(const ModelOptions &modelOptions) {
  saveState = modelOptions.saveState;
  Result<Model> opened = openModel(modelOptions);
  if (!opened.ok())
    return opened.getStatus();
  model = std::move(*opened);
  const Executable &executable = model.session->getExecutable();
  if (executable.getStates().empty())
    return Status::error("the model has no states to train; `onnx-amp "
                         "train-graph` makes a training step of a model");
  Result<ScalarValues> found = ScalarValues::find(executable, options.loss);
  if (!found.ok())
    return found.getStatus();
  values = std::move(*found);
  if (Status status = loadData(); !status.ok())
    return status;
  if (!options.resume.empty())
    if (Status status = resume(); !status.ok())
      return status;
  firstStep = position.step;
  if (!options.log.empty())
    if (Status status = log.open(options.log, position.step); !status.ok())
      return status;
  if (options.stopOnNonFinite)
    search.emplace(
        *model.session,
        NonFiniteSearch::Data{
            [this](uint64_t step) { return loadBatch(step); },
            [this] {
              std::vector<NamedTensor> inputs;
              for (const std::string &name : feed->getInputs())
                inputs.push_back({name, *feed->getLoaded(name)});
              return inputs;
            },
            [this](uint64_t place) { return feed->getSample(order, place); }});
  return {};
}

Status Trainer::loadData() {
  const Executable &executable = model.session->getExecutable();
  FeedOptions feedOptions;
  feedOptions.batch = options.batch;
  feedOptions.renames = options.renames;
  feedOptions.constants = model.constants;
  auto wanted = Feed::findWanted(executable, feedOptions);
  Result<DataSource> opened =
      DataSource::open(options.data, [&](std::string_view name) {
        return wanted.find(name) != wanted.end();
      });
  if (!opened.ok())
    return opened.getStatus();
  source = std::move(*opened);
  Result<Feed> created = Feed::create(*model.session, *source, feedOptions);
  if (!created.ok())
    return created.getStatus();
  feed = std::move(*created);
  setup.model = executable.getChecksum();
  setup.data = feed->computeFingerprint();
  setup.samples = feed->getSampleCount();
  setup.batch = feed->getBatchSize();
  setup.seed = options.seed;

  if (setup.samples < setup.batch)
    return Status::error("the data has " + std::to_string(setup.samples) +
                         " samples, fewer than a batch of " +
                         std::to_string(setup.batch));
  stepsPerEpoch = setup.samples / setup.batch;
  if (options.steps)
    totalSteps = *options.steps;
  else if (__builtin_mul_overflow(options.epochs.value_or(1), stepsPerEpoch,
                                  &totalSteps))
    return Status::error("--epochs: too many");
  Result<SampleOrder> made = SampleOrder::create(setup.samples, options.seed);
  if (!made.ok())
    return made.getStatus();
  order = std::move(*made);
  return {};
}

Status Trainer::resume() {
  std::map<std::string, std::string> metadata;
  if (Status status = model.session->loadStates(options.resume, &metadata);
      !status.ok())
    return status;
  Result<TrainingPosition> read = readPosition(metadata, setup);
  if (!read.ok())
    return Status::error("checkpoint " + quote(options.resume) + ": " +
                         read.getMessage());
  position = *read;
  if (options.resume == options.checkpoint)
    savedStep = position.step;
  return {};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Status Trainer::loadBatch(uint64_t step) {
  order.beginEpoch(step / stepsPerEpoch);
  return feed->load(order, step % stepsPerEpoch * setup.batch, setup.batch);
}

Status Trainer::runStep() {
  if (search)
    if (Status status = search->prepare(position.step); !status.ok())
      return status;
  if (Status status = loadBatch(position.step); !status.ok())
    return status;
  if (Status status = model.session->step(); !status.ok())
    return Status::error("step " + std::to_string(position.step + 1) + ": " +
                         status.getMessage());
  if (Status status = values->read(*model.session); !status.ok())
    return status;
  ++position.step;
  skipped += values->isSkipped();

  Clock::time_point now = Clock::now();
  std::chrono::duration<double> time = now - lastStep;
  samplesPerSecond = static_cast<double>(setup.batch) / time.count();
  lastStep = now;
  if (log.isOpen()) {
    StepRecord record;
    record.step = position.step;
    record.epoch = (position.step - 1) / stepsPerEpoch + 1;
    record.samplesPerSecond = samplesPerSecond;
    record.seconds = getSeconds(now);
    if (Status status = log.write(record, *values); !status.ok())
      return status;
  }
  showProgress(now);
  return checkLoss();
}

Status Trainer::checkLoss() {
  if (!search || std::isfinite(values->getLoss()) || values->isSkipped())
    return {};
  double loss = values->getLoss();
  Result<std::string> why = search->explain(position.step - 1);
  if (!why.ok())
    return why.getStatus();
  const char *what = std::isnan(loss) ? "nan" : loss > 0 ? "inf" : "-inf";
  return Status::error(quote(values->getLossName()) + " is " + what +
                       " in step " + std::to_string(position.step) + ": " +
                       *why);
}

void Trainer::showProgress(Clock::time_point now) {
  if (!progress.isDue(now))
    return;
  ProgressState state;
  state.step = position.step;
  state.steps = totalSteps;
  if (!options.steps) {
    state.epoch = (position.step - 1) / stepsPerEpoch + 1;
    state.epochs = totalSteps / stepsPerEpoch;
  }
  state.loss = values->getLoss();
  state.scale = values->getScale();
  state.skipped = skipped;
  std::chrono::duration<double> time = now - begin;
  double perStep =
      time.count() / static_cast<double>(position.step - firstStep);
  state.samplesPerSecond = static_cast<double>(setup.batch) / perStep;
  state.secondsLeft = static_cast<double>(totalSteps - position.step) * perStep;
  progress.draw(state, now);
}

/// Makes FILE also FILE.1, what was that FILE.2, and so on; FILE is there at
/// any moment.
static Status keepOlder(const std::string &path, unsigned keep) {
  auto getName = [&](unsigned age) { return path + "." + std::to_string(age); };
  for (unsigned age = keep - 1; age > 1; --age)
    std::rename(getName(age - 1).c_str(), getName(age).c_str());
  if (keep < 2)
    return {};
  unlink(getName(1).c_str());
  if (link(path.c_str(), getName(1).c_str()) == 0 || errno == ENOENT)
    return {};
  return Status::error("cannot keep " + quote(path) + " as " +
                       quote(getName(1)) + ": " + std::strerror(errno));
}

Status Trainer::writeCheckpoint() {
  if (savedStep == position.step)
    return {};
  // The log has the lines of all steps that the checkpoint has.
  if (Status status = log.sync(); !status.ok())
    return status;
  Clock::time_point now = Clock::now();
  TrainingPosition saved = position;
  saved.seconds = getSeconds(now);
  if (Status status = keepOlder(options.checkpoint, options.keep); !status.ok())
    return status;
  if (Status status = model.session->saveStates(options.checkpoint,
                                                writePosition(setup, saved));
      !status.ok())
    return status;
  savedStep = position.step;
  // Not a part of the next step's time.
  lastStep += Clock::now() - now;
  return {};
}

Result<int> Trainer::run() {
  catchSignals();
  begin = lastStep = Clock::now();
  while (position.step < totalSteps && !isStopped()) {
    if (Status status = runStep(); !status.ok())
      return status;
    if (options.checkpointEvery > 0 &&
        position.step % options.checkpointEvery == 0)
      if (Status status = writeCheckpoint(); !status.ok())
        return status;
  }
  if (Status status = finish(); !status.ok())
    return status;
  return isStopped() ? 128 + getSignal() : 0;
}

Status Trainer::finish() {
  progress.clear();
  if (!options.checkpoint.empty())
    if (Status status = writeCheckpoint(); !status.ok())
      return status;
  if (isStopped()) {
    std::fprintf(stderr,
                 "amp-run: stopped after step %" PRIu64 " of %" PRIu64 "%s\n",
                 position.step, totalSteps,
                 options.checkpoint.empty() ? "" : "; the checkpoint has it");
    return {};
  }
  if (!saveState.empty())
    if (Status status = model.session->saveStates(saveState); !status.ok())
      return status;
  uint64_t done = position.step - firstStep;
  double seconds = std::chrono::duration<double>(lastStep - begin).count();
  if (done == 0) {
    std::printf("nothing to do: %" PRIu64 " of %" PRIu64 " steps are done\n",
                position.step, totalSteps);
    return {};
  }
  std::printf("%" PRIu64 " steps: loss %.6g, %.4g samples/s, %.1f s\n", done,
              values->getLoss(),
              static_cast<double>(done * setup.batch) / seconds, seconds);
  return {};
}

Result<int> amp::run::train(const ModelOptions &modelOptions,
                            const TrainOptions &options) {
  Trainer trainer(options);
  if (Status status = trainer.prepare(modelOptions); !status.ok())
    return status;
  return trainer.run();
}
