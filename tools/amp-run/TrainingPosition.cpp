//===- TrainingPosition.cpp - where a training run is ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingPosition.h"

#include "Quote.h"

#include <charconv>
#include <cstdio>

using namespace amp::run;
using namespace amp::runtime;

using Metadata = std::map<std::string, std::string>;

static std::string toHex(uint64_t number) {
  char buffer[17];
  std::snprintf(buffer, sizeof(buffer), "%016llx",
                static_cast<unsigned long long>(number));
  return buffer;
}

static std::string describeSeed(const std::optional<uint64_t> &seed) {
  return seed ? std::to_string(*seed) : "none";
}

Metadata amp::run::writePosition(const TrainingSetup &setup,
                                 const TrainingPosition &position) {
  uint64_t perEpoch = setup.samples / setup.batch;
  return {{"step", std::to_string(position.step)},
          {"epoch", std::to_string(position.step / perEpoch)},
          {"position", std::to_string(position.step % perEpoch * setup.batch)},
          {"seconds", std::to_string(position.seconds)},
          {"samples", std::to_string(setup.samples)},
          {"batch", std::to_string(setup.batch)},
          {"seed", describeSeed(setup.seed)},
          {"data", toHex(setup.data)},
          {"model", toHex(setup.model)}};
}

Result<TrainingPosition> amp::run::readPosition(const Metadata &metadata,
                                                const TrainingSetup &setup) {
  auto get = [&](const char *key) {
    auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  TrainingPosition position;
  std::string step = get("step"), batch = get("batch"), seed = get("seed");
  const char *end = step.data() + step.size();
  auto parsed = std::from_chars(step.data(), end, position.step);
  if (step.empty() || parsed.ptr != end || parsed.ec != std::errc())
    return Status::error("it does not say which step it is of; it was not "
                         "written by --checkpoint (--state FILE begins with "
                         "its states)");
  if (get("model") != toHex(setup.model))
    return Status::error("it is of another model, or of another compilation; "
                         "a run can go on with the same file only (--state "
                         "FILE begins with its states)");
  if (batch != std::to_string(setup.batch))
    return Status::error("it is of a run with --batch " + batch +
                         ", but this one has " + std::to_string(setup.batch));
  if (seed != describeSeed(setup.seed)) {
    auto name = [](const std::string &text) {
      return text == "none" ? "without --shuffle" : "with --shuffle " + text;
    };
    return Status::error("it is of a run " + name(seed) + ", but this one is " +
                         name(describeSeed(setup.seed)));
  }
  if (get("samples") != std::to_string(setup.samples))
    return Status::error("it is of a run on " + get("samples") +
                         " samples, but the data has " +
                         std::to_string(setup.samples));
  if (get("data") != toHex(setup.data))
    return Status::error("it is of a run on other data");
  std::string seconds = get("seconds");
  std::from_chars(seconds.data(), seconds.data() + seconds.size(),
                  position.seconds);
  return position;
}
